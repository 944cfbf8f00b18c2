"""Ratings of the players of a tournament, in Elo, with 95% intervals.

`python -m training.evaluation.ratings DIR [--anchor NAME=1000]`

The model is that of Bradley and Terry (1952), with draws after Davidson (1970) and the advantage of
moving first as a factor on Black's strength (Davidson and Beaver, 1977). With d the difference in
strength, Black's minus White's, and c Black's advantage, the results of a game have the weights

    Black wins  exp((d + c) / 2)      draw  v      White wins  exp(-(d + c) / 2)

so 400 Elo are odds of 10 : 1 of a win against a loss, and without draws the score is 1 / (1 +
10^(-Elo / 400)). At the maximum of the likelihood the expected points of each player equal its
points. Rao and Kupper's model of draws does not have this property.

The prior is weak: (players - 1) virtual games, spread evenly over the pairings that were played,
each half a win and half a loss; one more virtual game for Black against White, and one for a draw
against no draw. For two players this is the half win and half loss of Haldane and Anscombe, which
leaves the log-odds nearly unbiased (Firth, 1993). The prior keeps the ratings of undefeated players
finite. Their intervals are nevertheless open on one side, because no result limits them; on the
other side they end where the profile likelihood has fallen to 2.5% of its maximum.

The observations are the pairs of games. The covariance is the sandwich of the Hessian of the
likelihood and the observed variation from pair to pair (Huber, 1967; Liang and Zeger, 1986), so it
holds however the two games of an opening depend on each other. It does not account for pairs that
are copies of each other, nor for openings that several pairings share: Black's advantage is an
estimate for the openings that were played. All computations use counts and cost the same for ten
games as for a million.
"""

from training.evaluation.ratings.fit import Estimate, Group, PlayerRating, Ratings, fit_ratings
from training.evaluation.ratings.text import format_ratings, parse_anchor

__all__ = ["Estimate", "Group", "PlayerRating", "Ratings", "fit_ratings", "format_ratings", "parse_anchor"]
