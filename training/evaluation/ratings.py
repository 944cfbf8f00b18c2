"""Ratings: how strong the players of a tournament are, in Elo, with 95% intervals.

`python -m training.evaluation.ratings JOURNAL.jsonl [--anchor NAME=1000]`

The model is Bradley and Terry's (1952) with draws as Davidson (1970) adds them, and the advantage of moving first as a factor on
Black's strength (Davidson and Beaver, 1977). With d the difference in strength, Black's minus White's, and c Black's advantage, the
results of a game have the weights

    Black wins  exp((d + c) / 2)      draw  v      White wins  exp(-(d + c) / 2)

so 400 Elo are odds of 10 : 1 of a win against a loss, and without draws the score is 1 / (1 + 10^(-Elo / 400)). At the maximum of
the likelihood every player's expected points are the points it got. Rao and Kupper's draws do not have this property.

The prior is weak: (players - 1) virtual games, spread evenly over the pairings that were played, each half a win and half a loss;
one virtual game more for Black against White, and one for a draw against none. For two players this is Haldane's and Anscombe's
half a win and half a loss, which leaves the log-odds nearly unbiased (Firth, 1993). It keeps the ratings of undefeated players
finite; their intervals are open nevertheless, as no result sets a limit to them. On the other side they end where a fit makes the
results so unlikely that their chance is 2.5%.

Intervals take the pairs of games as the observations. The covariance is the sandwich of the likelihood's curvature and of the
observed variation from pair to pair (Huber, 1967; Liang and Zeger, 1986), so it holds however the two games of an opening depend on
each other. It does not know of pairs that are copies of each other, nor of openings that several pairings share: what colour is
worth is an estimate for the openings that were played. All of it works on counts, and costs as much for ten games as for a million.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.special import expit, ndtr

from training.evaluation.journal import read_journal
from training.evaluation.standings import Standings

Floats = npt.NDArray[np.float64]

# Elo for one unit of log-odds.
_ELO: Final = 400 / math.log(10)
_Z_95: Final = 1.959964

# The three results of a game from one player's view: its score, and whether it is a draw.
_SCORES: Final = np.array([0.0, 0.5, 1.0])
_IS_DRAW: Final = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PlayerRating:
    """How strong a player is.

    elo: the rating; nan for a player without games. low, high: its 95% interval, of the distance to the anchor, or to the mean;
    infinite where the results set no limit. games, score: of the complete pairs of games, and the share of the points it got in
    them. group: the number of its group; ratings of different groups cannot be compared.
    """

    name: str
    elo: float
    low: float
    high: float
    games: int
    score: float
    group: int


@dataclass(frozen=True, slots=True)
class Group:
    """Players that are linked by games.

    players: best first. games: between them. colour_advantage: what moving first is worth, in Elo. draw_chance: the chance of a
    draw between equals, were colour worth nothing; between 0 and 1.
    """

    players: tuple[str, ...]
    games: int
    colour_advantage: Estimate
    draw_chance: Estimate


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of a tournament.

    players: by group, then best first. groups: the one with the most games first; `PlayerRating.group` is an index here. superiority:
    [P, P] in the order of players, the likelihood that the row's player is stronger than the column's; 0.5 on the diagonal, nan
    between groups. anchor: who holds which rating; None where the mean of every group is 0. notes: sentences on what a reader must
    know.
    """

    players: tuple[PlayerRating, ...]
    groups: tuple[Group, ...]
    superiority: Floats
    anchor: tuple[str, float] | None
    notes: tuple[str, ...]

    @property
    def colour_advantage(self) -> Estimate:
        """What moving first is worth, in Elo, in the group with the most games; nan without games."""
        return self.groups[0].colour_advantage if self.groups else Estimate(math.nan, math.nan, math.nan)

    @property
    def draw_chance(self) -> Estimate:
        """The chance of a draw between equals in the group with the most games; nan without games."""
        return self.groups[0].draw_chance if self.groups else Estimate(math.nan, math.nan, math.nan)

    def __getitem__(self, name: str) -> PlayerRating:
        """A player's rating. Raises `KeyError`."""
        for player in self.players:
            if player.name == name:
                return player
        raise KeyError(name)


def fit_ratings(
    pairs: Mapping[tuple[str, str], npt.ArrayLike] | Standings,
    *,
    players: Iterable[str] | None = None,
    anchor: tuple[str, float] | None = None,
) -> Ratings:
    """The ratings that fit the results best.

    pairs: for each two players the outcomes of their game pairs, [3, 3] as in `PairCounts`; or the standings of a tournament.
    players: also named in the result, by default those of the standings or of `pairs`. anchor: a player and the rating, in Elo, that
    it shall have; by default the mean of each group is 0. Raises `ValueError` for counts that are none, and an anchor that nobody
    knows.
    """
    notes: list[str] = []
    names: list[str] = list(players or ())
    if isinstance(pairs, Standings):
        names += pairs.players
        if pairs.incomplete:
            notes.append(f"Left out, since the other game of the pair is missing: {len(pairs.incomplete)}.")
        pairs = pairs.pairs
    counts = _merged(pairs, notes)
    names = sorted({*names, *(name for pair in pairs for name in pair)})
    if anchor is not None and anchor[0] not in names:
        raise ValueError(f"anchor {anchor[0]}: not among the players {', '.join(names)}")
    fits = [_fit_group(members, counts, anchor=anchor, notes=notes) for members in _linked(names, counts)]
    fits.sort(key=lambda fit: (-fit.games, fit.names))
    _note_groups(fits, anchor, notes)
    return _assembled(fits, names, anchor=anchor, notes=notes)


def _merged(pairs: Mapping[tuple[str, str], npt.ArrayLike], notes: list[str]) -> dict[tuple[str, str], Floats]:
    """The counts of every two players that met, with the name that comes first in the alphabet as the first."""
    counts: dict[tuple[str, str], Floats] = {}
    for (first, second), given in pairs.items():
        cells = np.asarray(given, dtype=np.float64)
        if cells.shape != (3, 3) or not np.isfinite(cells).all() or (cells < 0).any():
            raise ValueError(f"pair counts of {first} and {second}: {np.asarray(given).tolist()} are no [3, 3] counts")
        if first == second:
            notes.append(f"{first}: games against itself are left out.")
        elif cells.any():
            # From the other's view wins and losses change, and so do the colours.
            names, cells = ((first, second), cells) if first < second else ((second, first), cells[::-1, ::-1].T)
            counts[names] = counts.get(names, 0) + cells
    # In one order, so that rounding does not depend on the order in which players met.
    return dict(sorted(counts.items()))


def _linked(names: Sequence[str], counts: Mapping[tuple[str, str], Floats]) -> list[list[str]]:
    """The groups of players that are linked by games; players without games are in none."""
    index = {name: number for number, name in enumerate(names)}
    edges = np.zeros((len(names), len(names)))
    for first, second in counts:
        edges[index[first], index[second]] = 1
    if not len(names):
        return []
    number, labels = connected_components(edges, directed=False)
    groups = [[name for name, label in zip(names, labels, strict=True) if label == group] for group in range(number)]
    return [group for group in groups if len(group) > 1]


@dataclass(frozen=True, slots=True)
class _Fit:
    """A group's fit: [P] for each of the names; covariance: [P, P] of elo."""

    names: list[str]
    elo: Floats
    low: Floats
    high: Floats
    covariance: Floats
    player_games: Floats
    points: Floats
    colour_advantage: Estimate
    draw_chance: Estimate

    @property
    def games(self) -> int:
        return round(float(self.player_games.sum()) / 2)


class _Likelihood:
    """The likelihood of a group's results, with the prior.

    Parameters: [P + 2] strengths, Black's advantage, the logarithm of the draws' weight v. All derivatives of a pairing are by
    (difference in strength, Black's advantage, log v), and `design` [L, 3, P + 2] takes them to the parameters.
    """

    def __init__(self, firsts: npt.NDArray[np.int64], seconds: npt.NDArray[np.int64], counts: Floats, *, num_players: int) -> None:
        """firsts, seconds: [L] players of each pairing. counts: [L, 3, 3], see `PairCounts`."""
        self.num_players = num_players
        self.counts = counts
        pairings = np.arange(len(counts))
        self.design = np.zeros((len(counts), 3, num_players + 2))
        self.design[pairings, 0, firsts] = 1
        self.design[pairings, 0, seconds] = -1
        self.design[:, 1, num_players] = 1
        self.design[:, 2, num_players + 1] = 1
        # [L, 2, 3] results of the first with Black and with White; what a game with White gains by Black's advantage is negative.
        self.results = np.stack([counts.sum(axis=2), counts.sum(axis=1)], axis=1)
        self.sides = np.array([1.0, -1.0])
        self.virtual = (num_players - 1) / len(counts)

    def _chances(self, parameters: Floats) -> tuple[Floats, Floats]:
        """log_chances: [L, 2, 3] of loss, draw, win of the first with Black and with White. difference: [L] in strength."""
        difference = self.design[:, 0] @ parameters
        edge = (difference[:, None] + self.sides * parameters[-2]) / 2
        logits = np.stack([-edge, np.full_like(edge, parameters[-1]), edge], axis=2)
        largest = logits.max(axis=2, keepdims=True)
        return logits - largest - np.log(np.exp(logits - largest).sum(axis=2, keepdims=True)), difference

    def loss(self, parameters: Floats) -> float:
        """Minus the logarithm of likelihood and prior."""
        chances, difference = self._chances(parameters)
        prior = self.virtual * _virtual_game(difference).sum() + _virtual_game(parameters[-2]) + _virtual_game(parameters[-1] - math.log(2))
        # The strengths are known up to a constant: their mean is kept at 0.
        return float(-(self.results * chances).sum() + prior + parameters[:-2].sum() ** 2 / 2)

    def gradient(self, parameters: Floats) -> Floats:
        """[P + 2], the derivative of the loss."""
        log_chances, difference = self._chances(parameters)
        chances, games = np.exp(log_chances), self.results.sum(axis=2)
        score = self.results @ _SCORES - games * (chances @ _SCORES)
        draws = self.results[..., 1] - games * chances[..., 1]
        by_pairing = -np.stack([score.sum(axis=1), score @ self.sides, draws.sum(axis=1)], axis=1)
        by_pairing[:, 0] += self.virtual * (expit(difference) - 0.5)
        gradient: Floats = np.einsum("lk,lkp->p", by_pairing, self.design)
        gradient[-2] += expit(parameters[-2]) - 0.5
        gradient[-1] += expit(parameters[-1] - math.log(2)) - 0.5
        gradient[:-2] += parameters[:-2].sum()
        return gradient

    def curvature(self, parameters: Floats) -> Floats:
        """[P + 2, P + 2], the second derivative of the loss; positive definite."""
        log_chances, difference = self._chances(parameters)
        chances, games = np.exp(log_chances), self.results.sum(axis=2)
        mean, draw = chances @ _SCORES, chances[..., 1]
        variance = games * (chances @ _SCORES**2 - mean**2)
        mixed = games * (chances @ (_SCORES * _IS_DRAW) - mean * draw)
        by_pairing = np.empty((len(games), 3, 3))
        by_pairing[:, 0, 0] = variance.sum(axis=1) + self.virtual * _spread(difference)
        by_pairing[:, 1, 1] = variance.sum(axis=1)
        by_pairing[:, 2, 2] = (games * draw * (1 - draw)).sum(axis=1)
        by_pairing[:, 0, 1] = by_pairing[:, 1, 0] = variance @ self.sides
        by_pairing[:, 0, 2] = by_pairing[:, 2, 0] = mixed.sum(axis=1)
        by_pairing[:, 1, 2] = by_pairing[:, 2, 1] = mixed @ self.sides
        curvature = self._gathered(by_pairing)
        curvature[-2, -2] += _spread(parameters[-2])
        curvature[-1, -1] += _spread(parameters[-1] - math.log(2))
        curvature[:-2, :-2] += 1
        return curvature

    def variation(self, parameters: Floats) -> Floats:
        """[P + 2, P + 2], the sum over the pairs of games of the square of each pair's derivative; virtual games are pairs too."""
        log_chances, difference = self._chances(parameters)
        chances = np.exp(log_chances)
        score = _SCORES - (chances @ _SCORES)[..., None]
        draws = _IS_DRAW - chances[..., 1, None]
        with_black, with_white = score[:, 0, :, None], score[:, 1, None, :]
        by_cell = np.stack([with_black + with_white, with_black - with_white, draws[:, 0, :, None] + draws[:, 1, None, :]], axis=3)
        by_pairing = np.einsum("lab,labj,labk->ljk", self.counts, by_cell, by_cell)
        by_pairing[:, 0, 0] += self.virtual * (0.5 - _spread(difference))
        variation = self._gathered(by_pairing)
        variation[-2, -2] += 0.5 - _spread(parameters[-2])
        variation[-1, -1] += 0.5 - _spread(parameters[-1] - math.log(2))
        return variation

    def _gathered(self, by_pairing: Floats) -> Floats:
        width = self.design.shape[2]
        gathered: Floats = self.design.reshape(-1, width).T @ (by_pairing @ self.design).reshape(-1, width)
        return gathered


def _virtual_game(log_odds: Any) -> Any:
    """Minus the logarithm of half a win and half a loss."""
    return (np.logaddexp(0, log_odds) + np.logaddexp(0, -log_odds)) / 2


def _spread(log_odds: Any) -> Any:
    """p(1 - p), the variance of a win; 1/2 - p(1 - p) is the mean square of the derivatives of half a win and half a loss."""
    return expit(log_odds) * expit(-log_odds)


def _maximum(likelihood: _Likelihood) -> Floats:
    """[P + 2] the most likely parameters."""
    start = np.zeros(likelihood.num_players + 2)
    # Scaled to one game, so that a million of them are no harder than ten.
    games = likelihood.results.sum()
    found = minimize(
        lambda at: likelihood.loss(at) / games,
        start,
        jac=lambda at: likelihood.gradient(at) / games,
        hess=lambda at: likelihood.curvature(at) / games,
        method="trust-exact",
        options={"gtol": 1e-8, "maxiter": 1000},
    )
    parameters: Floats = found.x
    # Rounding in the loss stops the search early where some results are a millionth of all: Newton's steps need the derivatives only.
    for _ in range(50):
        step = np.linalg.solve(likelihood.curvature(parameters), likelihood.gradient(parameters))
        parameters = parameters - step
        if np.abs(step).max() < 1e-8:
            return parameters
    raise ArithmeticError(f"ratings: no maximum of the likelihood found; last step {np.abs(step).max():.3g}")


def _unlikely_distance(likelihood: _Likelihood, parameters: Floats, contrast: Floats, *, direction: int) -> float:
    """How far from the estimate, in log-odds, a strength must lie for the results to have 2.5% of the chance that they have there.

    contrast: [P] weights of the strengths, whose sum is meant. All else is fitted anew. The two games of a pair count as one, since
    results that are all alike do not show how much they depend on each other. Where a player won all its games, their chance is 1 at
    best, so it is the chance itself that is 2.5%.
    """
    weights = np.append(contrast, [0.0, 0.0])
    least = likelihood.loss(parameters)
    best, estimate = parameters.copy(), float(weights @ parameters)

    def excess(distance: float) -> float:
        """What the best fit at this distance loses in likelihood, less what it may lose."""
        nonlocal best
        for _ in range(100):
            system = np.block([[likelihood.curvature(best), weights[:, None]], [weights, np.zeros((1, 1))]])
            missing = estimate + direction * distance - weights @ best
            step = np.linalg.solve(system, np.append(-likelihood.gradient(best), missing))[:-1]
            best = best + step
            if np.abs(step).max() < 1e-8:
                break
        return (likelihood.loss(best) - least) / 2 + math.log(0.025)

    # In small steps, as each fit starts from the last one.
    distance = 0.5
    while excess(distance) < 0:
        distance += 0.5
    return float(brentq(excess, distance - 0.5, distance, xtol=1e-4))


def _fit_group(names: list[str], counts: Mapping[tuple[str, str], Floats], *, anchor: tuple[str, float] | None, notes: list[str]) -> _Fit:
    """Fit the players of a group to each other."""
    index = {name: number for number, name in enumerate(names)}
    pairings = [pairing for pairing in counts if pairing[0] in index]
    firsts = np.array([index[first] for first, _ in pairings])
    seconds = np.array([index[second] for _, second in pairings])
    likelihood = _Likelihood(firsts, seconds, np.array([counts[pairing] for pairing in pairings]), num_players=len(names))
    parameters = _maximum(likelihood)
    inverse = np.linalg.inv(likelihood.curvature(parameters))
    covariance = _ELO**2 * inverse @ likelihood.variation(parameters) @ inverse
    elo = _ELO * (parameters[:-2] - parameters[:-2].mean())

    results = likelihood.results.sum(axis=1)
    games, points = np.zeros(len(names)), np.zeros(len(names))
    for player, view in ((firsts, results), (seconds, results[:, ::-1])):
        np.add.at(games, player, view.sum(axis=1))
        np.add.at(points, player, view @ _SCORES)

    beaten = _beaten(firsts, seconds, results, num_players=len(names))
    reference = _reference(names, beaten, anchor=anchor)
    contrast = np.eye(len(names)) - reference
    half_width = _Z_95 * np.sqrt(np.einsum("pi,ij,pj->p", contrast, covariance[:-2, :-2], contrast).clip(0))
    if anchor is not None and anchor[0] in index:
        elo = elo - elo[index[anchor[0]]] + anchor[1]
    below, above = _open_ends(beaten, reference)
    low, high = elo - half_width, elo + half_width
    scale = np.ones(len(names))
    for player in np.flatnonzero(below ^ above).tolist():
        # Estimates without a limit on one side are not even roughly normal.
        distance = _ELO * _unlikely_distance(likelihood, parameters, contrast[player], direction=-1 if above[player] else 1)
        low[player], high[player] = elo[player] - distance, elo[player] + distance
        scale[player] = distance / half_width[player]
    _note_open_ends(names, results, below=below, above=above, notes=notes)
    return _Fit(
        names=names,
        elo=elo,
        low=np.where(below, -math.inf, low),
        high=np.where(above, math.inf, high),
        covariance=scale[:, None] * covariance[:-2, :-2] * scale,
        player_games=games,
        points=points,
        colour_advantage=_colour_advantage(likelihood, _ELO * parameters[-2], math.sqrt(covariance[-2, -2])),
        draw_chance=_draw_chance(likelihood, parameters[-1], math.sqrt(covariance[-1, -1]) / _ELO),
    )


def _beaten(firsts: npt.NDArray[np.int64], seconds: npt.NDArray[np.int64], results: Floats, *, num_players: int) -> Floats:
    """[P, P], 1 where the row's player got points from the column's. results: [L, 3], the first's losses, draws and wins."""
    beaten = np.zeros((num_players, num_players))
    beaten[firsts, seconds] = results[:, 1:].any(axis=1)
    beaten[seconds, firsts] = results[:, :2].any(axis=1)
    return beaten


def _reference(names: Sequence[str], beaten: Floats, *, anchor: tuple[str, float] | None) -> Floats:
    """[P] weights: an interval is that of the distance to their mean.

    The anchor where there is one. Otherwise the most players that are tied together by points taken in both directions, directly
    or through others; all where there are no two such players. An undefeated player, whom nothing holds from above, thus does not
    widen the intervals of the others.
    """
    if anchor is not None and anchor[0] in names:
        return np.array([float(name == anchor[0]) for name in names])
    _, labels = connected_components(beaten, connection="strong")
    sizes = np.bincount(labels)[labels]
    if sizes.max() == 1:
        return np.full(len(names), 1 / len(names))
    # Equally large ones: the one of the name that comes first.
    weights = (labels == labels[sizes.argmax()]).astype(np.float64)
    normed: Floats = weights / weights.sum()
    return normed


def _open_ends(beaten: Floats, reference: Floats) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """[P] whose ratings have no limit below, and none above, by the results alone.

    The rating of a player is limited from above where somebody in the reference took points from it, directly or through others
    (Ford, 1957), and from below where it took points from somebody in the reference.
    """
    inside = np.flatnonzero(reference)
    below, above = np.zeros(len(beaten), dtype=np.bool_), np.zeros(len(beaten), dtype=np.bool_)
    for ends, graph in ((above, beaten), (below, beaten.T)):
        for member in inside:
            reached = np.zeros(len(beaten), dtype=np.bool_)
            reached[breadth_first_order(graph, member, return_predecessors=False)] = True
            ends |= ~reached
            if len(inside) < len(beaten):
                break  # the members of the reference reach each other, so one speaks for all
    return below, above


def _note_open_ends(
    names: Sequence[str], results: Floats, *, below: npt.NDArray[np.bool_], above: npt.NDArray[np.bool_], notes: list[str]
) -> None:
    decisive = results[:, [0, 2]].any()
    if not decisive:
        notes.append(f"Every game between {_listed(names)} was drawn: their ratings are equal, and draws alone say little about how far.")
    for ends, side, direction in ((above, "upper", "took points from"), (below, "lower", "lost points to")):
        concerned = [name for name, is_open in zip(names, ends, strict=True) if is_open]
        if concerned:
            notes.append(
                f"{_listed(concerned)}: no {side} limit. Nobody whom the rating is measured against {direction} "
                f"{'it' if len(concerned) == 1 else 'them'}, directly or through others; how far the rating lies off is the prior's guess."
            )


def _colour_advantage(likelihood: _Likelihood, value: float, deviation: float) -> Estimate:
    """Black's advantage in Elo; without a limit where only one colour won games."""
    results = likelihood.results.sum(axis=0)
    black_wins, white_wins = results[0, 2] + results[1, 0], results[0, 0] + results[1, 2]
    low = value - _Z_95 * deviation if black_wins else -math.inf
    return Estimate(value, low, value + _Z_95 * deviation if white_wins else math.inf)


def _draw_chance(likelihood: _Likelihood, log_weight: float, deviation: float) -> Estimate:
    """The chance of a draw between equals; its interval is that of its log-odds, and goes to the end where all or no games were drawn."""
    draws, games = likelihood.results[..., 1].sum(), likelihood.results.sum()
    low, value, high = (float(expit(log_weight + shift * _Z_95 * deviation - math.log(2))) for shift in (-1, 0, 1))
    return Estimate(value, low if draws else 0.0, high if draws < games else 1.0)


def _note_groups(fits: Sequence[_Fit], anchor: tuple[str, float] | None, notes: list[str]) -> None:
    if len(fits) > 1:
        groups = "; ".join(f"group {number}: {_listed(sorted(fit.names))}" for number, fit in enumerate(fits, 1))
        notes.append(f"No games link the players of {len(fits)} groups, so ratings can be compared within a group only: {groups}.")
    rated = {name for fit in fits for name in fit.names}
    if anchor is not None and anchor[0] not in rated:
        notes.append(f"The anchor {anchor[0]} has no complete pairs of games: the mean of each group is 0 instead.")
    elif anchor is not None and len(fits) > 1:
        notes.append(f"{anchor[0]} anchors its own group; the mean of each other group is 0.")


def _assembled(fits: Sequence[_Fit], names: Sequence[str], *, anchor: tuple[str, float] | None, notes: list[str]) -> Ratings:
    """All groups together, with the players that are in none last."""
    players: list[PlayerRating] = []
    groups: list[Group] = []
    superiority = np.full((len(names), len(names)), np.nan)
    for number, fit in enumerate(fits):
        order = sorted(range(len(fit.names)), key=lambda player: (-round(float(fit.elo[player]), 6), fit.names[player]))
        start = len(players)
        own = slice(start, start + len(order))
        superiority[own, own] = _superiority(fit.elo[order], fit.covariance[np.ix_(order, order)])
        for player in order:
            games = round(float(fit.player_games[player]))
            elo, low, high = float(fit.elo[player]), float(fit.low[player]), float(fit.high[player])
            players.append(PlayerRating(fit.names[player], elo, low, high, games, float(fit.points[player]) / games, number))
        groups.append(Group(tuple(fit.names[player] for player in order), fit.games, fit.colour_advantage, fit.draw_chance))
    without = [name for name in names if not any(name in fit.names for fit in fits)]
    for number, name in enumerate(without, len(groups)):
        superiority[len(players), len(players)] = 0.5
        players.append(PlayerRating(name, math.nan, math.nan, math.nan, 0, math.nan, number))
    if without:
        notes.append(f"{_listed(without)}: no complete pairs of games against others, so no rating.")
    known = {name for fit in fits for name in fit.names}
    return Ratings(tuple(players), tuple(groups), superiority, anchor if anchor and anchor[0] in known else None, tuple(notes))


def _superiority(elo: Floats, covariance: Floats) -> Floats:
    """[P, P] the chance that the row's player is the stronger one, from the joint normal distribution of the estimates."""
    variances = covariance.diagonal()
    deviation = np.sqrt((variances[:, None] + variances - 2 * covariance).clip(1e-12))
    chances: Floats = ndtr((elo[:, None] - elo) / deviation)
    np.fill_diagonal(chances, 0.5)
    return chances


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def format_ratings(ratings: Ratings) -> str:
    """A table, best player first: Elo with its interval, games, score, the likelihood of being stronger than the next; then the notes."""
    width = max([6, *(len(player.name) for player in ratings.players)])
    lines: list[str] = []
    for number, player in enumerate(ratings.players):
        if player.games and (number == 0 or player.group != ratings.players[number - 1].group):
            if len(ratings.groups) > 1:
                lines.append(f"group {player.group + 1}")
            lines.append(f"{'player':{width}}  {'Elo':>6}  {'95% interval':>16}  {'games':>8}  {'score':>6}  {'above next':>10}")
        if not player.games:
            lines.append(f"{player.name:{width}}  {'-':>6}  {'-':>16}  {0:8}")
            continue
        ends = " to ".join("no limit" if math.isinf(end) else f"{end:.0f}" for end in (player.low, player.high))
        line = f"{player.name:{width}}  {player.elo:6.0f}  {ends:>16}  {player.games:8}  {player.score:6.3f}"
        if number + 1 < len(ratings.players) and ratings.players[number + 1].group == player.group:
            line += f"  {ratings.superiority[number, number + 1]:10.1%}"
        lines.append(line)
    for number, group in enumerate(ratings.groups, 1):
        prefix = f"group {number}: " if len(ratings.groups) > 1 else ""
        colour, draw = group.colour_advantage, group.draw_chance
        lines.append(
            f"{prefix}moving first is worth {colour.value:.0f} Elo ({_range(colour, '.0f')}); "
            f"equals draw {draw.value:.1%} of their games ({_range(draw, '.1%')})"
        )
    return "\n".join([*lines, *(f"note: {note}" for note in ratings.notes)])


def _range(estimate: Estimate, style: str) -> str:
    return " to ".join("no limit" if math.isinf(end) else format(end, style) for end in (estimate.low, estimate.high))


def parse_anchor(text: str) -> tuple[str, float]:
    """The player and the Elo of `NAME=1000`; the name may contain equals signs. Raises `ValueError`."""
    name, separator, elo = text.rpartition("=")
    try:
        value = float(elo)
    except ValueError:
        value = math.nan
    if not separator or not name or not math.isfinite(value):
        raise ValueError(f"anchor {text!r}: expected NAME=ELO, for instance positional=1000")
    return name, value


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    parser = argparse.ArgumentParser(prog="python -m training.evaluation.ratings", description="Rate the players of a tournament.")
    parser.add_argument("journal", type=Path, help="the tournament's journal of games")
    parser.add_argument("--anchor", metavar="NAME=ELO", help="a player and its rating; by default the mean is 0")
    arguments = parser.parse_args(argv)
    try:
        anchor = None if arguments.anchor is None else parse_anchor(arguments.anchor)
        ratings = fit_ratings(Standings.of(read_journal(arguments.journal)), anchor=anchor)
    except (OSError, ValueError) as error:
        sys.exit(f"ratings: {' '.join(str(error).split())}")
    if not ratings.groups:
        sys.exit(f"ratings: {arguments.journal} has no complete pair of games")
    print(format_ratings(ratings))


if __name__ == "__main__":
    main()
