from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtr, ndtri

from tests.training.evaluation.commands import stopped_line
from training.evaluation.journal import GameRecord, Journal
from training.evaluation.ratings import Ratings, fit_ratings, format_ratings, parse_anchor
from training.evaluation.ratings.__main__ import main
from training.evaluation.ratings.fit import MAX_PLAYERS
from training.evaluation.ratings.likelihood import Likelihood
from training.evaluation.standings import Standings

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

ELO = 400 / math.log(10)


def counted(cells: Mapping[tuple[int, int], int]) -> Counts:
    """[3, 3] from (result with Black, result with White): how many pairs."""
    counts = np.zeros((3, 3), dtype=np.int64)
    for cell, number in cells.items():
        counts[cell] = number
    return counts


def whole(wins: int, losses: int) -> Counts:
    """Pairs that were won or lost as a whole."""
    return counted({(2, 2): wins, (0, 0): losses})


def elos(ratings: Ratings) -> dict[str, float]:
    return {player.name: player.elo for player in ratings.players}


# American League East, 1987: wins of the row's team over the column's; Agresti, Categorical Data
# Analysis (2002), table 10.10.
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WINS = (
    (0, 7, 9, 7, 7, 9, 11),
    (6, 0, 7, 5, 11, 9, 9),
    (4, 6, 0, 7, 7, 8, 12),
    (6, 8, 6, 0, 6, 7, 10),
    (6, 2, 6, 7, 0, 7, 12),
    (4, 4, 5, 6, 6, 0, 6),
    (2, 4, 1, 3, 1, 7, 0),
)


def test_published_ratings_are_reproduced() -> None:
    # Log-odds against Baltimore as BradleyTerry2's vignette prints them. A thousand times the
    # season, so that the prior does not count.
    published = (1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0)
    pairs = {(TEAMS[i], TEAMS[j]): whole(1000 * WINS[i][j], 1000 * WINS[j][i]) for i, j in combinations(range(7), 2)}
    ratings = fit_ratings(pairs, anchor=("Baltimore", 0))
    assert [player.name for player in ratings.players] == list(TEAMS)
    assert [player.elo / ELO for player in ratings.players] == pytest.approx(published, abs=2e-4)
    assert ratings.black_advantage.value == pytest.approx(0, abs=0.01)


def test_two_players_without_draws_have_the_elo_of_their_score() -> None:
    ratings = fit_ratings({("a", "b"): whole(750_000, 250_000)}, anchor=("b", 1000))
    assert elos(ratings) == pytest.approx({"a": 1000 + 400 * math.log10(3), "b": 1000}, abs=1e-3)
    assert (ratings["a"].games, ratings["a"].score) == (2_000_000, 0.75)
    assert ratings["b"].low == ratings["b"].elo == ratings["b"].high


def test_the_prior_of_two_players_is_half_a_win_and_half_a_loss() -> None:
    ratings = fit_ratings({("a", "b"): counted({(2, 0): 6, (0, 2): 6, (2, 2): 3})})
    # The virtual draw makes the last percent.
    assert ratings["a"].elo - ratings["b"].elo == pytest.approx(400 * math.log10(18.5 / 12.5), abs=1.5)


def test_draws_and_color_have_their_closed_forms() -> None:
    # With Black 60% wins, 30% draws, 10% losses, with White 30%, 30%, 40%; the games of a pair
    # independent. Davidson's model has three parameters for these four numbers; at its maximum
    # points, points with Black and draws are those of the games.
    counts = np.rint(1e7 * np.outer([0.1, 0.3, 0.6], [0.4, 0.3, 0.3])).astype(np.int64)
    ratings = fit_ratings({("a", "b"): counts}, anchor=("b", 0))
    difference, advantage = ratings["a"].elo / ELO, ratings.black_advantage.value / ELO
    weight = 2 * ratings.draw_probability.value / (1 - ratings.draw_probability.value)
    points, draws = [], 0.0
    for edge in (difference + advantage, difference - advantage):
        weights = np.array([math.exp(-edge / 2), weight, math.exp(edge / 2)])
        chances = weights / weights.sum()
        points.append(chances[2] + chances[1] / 2)
        draws += chances[1]
    assert points == pytest.approx([0.75, 0.45], abs=1e-5)
    assert draws == pytest.approx(0.6, abs=1e-5)


def test_equal_players_show_what_moving_first_and_draws_are_worth() -> None:
    # Every game: Black wins 50%, draw 20%, White wins 30%. Davidson by hand: color ln(5/3), v = 20
    # / sqrt(50 * 30).
    counts = np.rint(1e7 * np.outer([0.3, 0.2, 0.5], [0.5, 0.2, 0.3])).astype(np.int64)
    ratings = fit_ratings({("a", "b"): counts})
    assert ratings.black_advantage.value == pytest.approx(400 * math.log10(5 / 3), abs=1e-3)
    weight = 20 / math.sqrt(50 * 30)
    assert ratings.draw_probability.value == pytest.approx(weight / (2 + weight), abs=1e-6)
    assert ratings.superiority[0, 1] == pytest.approx(0.5, abs=1e-3)


def test_three_players_by_hand() -> None:
    # a : b = 3 : 1 and b : c = 2 : 1 fit the results a-c 6 : 1 exactly.
    many = 70_000
    pairs = {("a", "b"): whole(3 * many, many), ("b", "c"): whole(2 * many, many), ("a", "c"): whole(6 * many, many)}
    ratings = elos(fit_ratings(pairs, anchor=("c", 0)))
    assert ratings == pytest.approx({"a": 400 * math.log10(6), "b": 400 * math.log10(2), "c": 0}, abs=0.01)


def test_the_interval_is_of_pairs_not_of_games() -> None:
    # 60 wins in 100 games each, in pairs that are won and lost as a whole, independent, or split as
    # often as possible.
    whole_pairs = fit_ratings({("a", "b"): whole(30, 20)}, anchor=("b", 0))["a"]
    independent = fit_ratings({("a", "b"): counted({(2, 2): 18, (2, 0): 12, (0, 2): 12, (0, 0): 8})}, anchor=("b", 0))["a"]
    split = fit_ratings({("a", "b"): counted({(2, 2): 10, (2, 0): 20, (0, 2): 20})}, anchor=("b", 0))["a"]
    assert whole_pairs.elo == pytest.approx(independent.elo, abs=0.5)
    assert split.elo == pytest.approx(independent.elo, abs=0.5)
    # Woolf's and Gart's interval of the log-odds, for 60.5 and 40.5.
    by_hand = 1.96 * ELO * math.sqrt(1 / 60.5 + 1 / 40.5)
    assert independent.high - independent.elo == pytest.approx(by_hand, rel=0.02)
    assert whole_pairs.high - whole_pairs.elo == pytest.approx(math.sqrt(2) * by_hand, rel=0.02)
    # Variance of a pair's points: 0.16 instead of 0.48 of independent games.
    assert split.high - split.elo == pytest.approx(by_hand * math.sqrt(0.16 / 0.48), rel=0.05)


def test_superiority_is_that_of_the_joint_covariance() -> None:
    ratings = fit_ratings({("a", "b"): whole(30, 20)}, anchor=("b", 0))
    deviation = (ratings["a"].high - ratings["a"].elo) / 1.959964
    assert ratings.superiority[0, 1] == pytest.approx(ndtr(ratings["a"].elo / deviation))
    assert ratings.superiority.diagonal().tolist() == [0.5, 0.5]
    np.testing.assert_allclose(ratings.superiority + ratings.superiority.T, 1)


def some_pairs() -> dict[tuple[str, str], Counts]:
    rng = np.random.default_rng(5)
    return {pair: rng.integers(1, 30, size=(3, 3)) for pair in combinations("abcd", 2)}


def test_the_order_and_the_view_of_players_do_not_matter() -> None:
    pairs = some_pairs()
    ratings = fit_ratings(pairs)
    mirrored = {(second, first): counts[::-1, ::-1].T for (first, second), counts in reversed(pairs.items())}
    other = fit_ratings(mirrored, players="dcba")
    assert ratings.players == other.players
    np.testing.assert_array_equal(ratings.superiority, other.superiority)
    assert (ratings.groups, ratings.notes) == (other.groups, other.notes) == (other.groups, ())
    renamed = fit_ratings({(first.replace("a", "z"), second): counts for (first, second), counts in pairs.items()})
    assert renamed["z"].elo == pytest.approx(ratings["a"].elo)
    assert renamed["z"].high == pytest.approx(ratings["a"].high)
    assert sum(elos(ratings).values()) == pytest.approx(0)


def test_counts_from_both_views_are_added() -> None:
    counts = some_pairs()["a", "b"]
    assert fit_ratings({("a", "b"): counts, ("b", "a"): counts[::-1, ::-1].T}).players == fit_ratings({("a", "b"): 2 * counts}).players


def test_an_anchor_shifts_all_ratings() -> None:
    free, anchored = fit_ratings(some_pairs()), fit_ratings(some_pairs(), anchor=("c", 1000))
    assert anchored["c"].elo == 1000
    assert anchored["a"].elo - 1000 == pytest.approx(free["a"].elo - free["c"].elo)
    np.testing.assert_allclose(anchored.superiority, free.superiority)
    with pytest.raises(ValueError, match="anchor e"):
        fit_ratings(some_pairs(), anchor=("e", 0))


def test_a_group_without_links_changes_nothing_and_is_told_apart() -> None:
    pairs = some_pairs()
    alone, both = fit_ratings(pairs), fit_ratings({**pairs, ("x", "y"): whole(3, 1)})
    assert both.players[:4] == alone.players
    np.testing.assert_array_equal(both.superiority[:4, :4], alone.superiority)
    assert np.isnan(both.superiority[:4, 4:]).all()
    assert both.superiority[4, 5] > 0.5
    assert [player.group for player in both.players] == [0, 0, 0, 0, 1, 1]
    assert both.black_advantage == alone.black_advantage
    assert alone.notes == ()
    assert both.notes == (
        "No games connect the 2 groups, so ratings can be compared within a group only: group 1: a, b, c and d; group 2: x and y.",
    )
    assert "anchors its own group" in fit_ratings({**pairs, ("x", "y"): whole(3, 1)}, anchor=("x", 0)).notes[-1]


def test_an_undefeated_player_has_no_upper_limit_and_leaves_the_others_theirs() -> None:
    pairs = some_pairs()
    ratings = fit_ratings({**pairs, ("z", "a"): whole(20, 0), ("z", "b"): whole(20, 0)})
    z = ratings.players[0]
    assert (z.name, z.high, z.score) == ("z", math.inf, 1)
    assert math.isfinite(z.elo)
    assert z.low > ratings["a"].high
    before = fit_ratings(pairs)
    assert all(ratings[name].high - ratings[name].low == pytest.approx(before[name].high - before[name].low, rel=0.05) for name in "abcd")
    assert len(ratings.notes) == 1
    assert ratings.notes[0].startswith("z: no upper limit. No player of the reference")
    anchored = fit_ratings({**pairs, ("z", "a"): whole(20, 0)}, anchor=("z", 0))
    assert all(anchored[name].low == -math.inf and math.isfinite(anchored[name].high) for name in "abcd")


def test_limits_need_points_taken_in_both_directions() -> None:
    # a beats b, b beats c, c draws with a: all are tied together.
    circle = {("a", "b"): whole(3, 0), ("b", "c"): whole(3, 0), ("a", "c"): counted({(1, 1): 3})}
    assert all(math.isfinite(player.low) and math.isfinite(player.high) for player in fit_ratings(circle).players)
    # Without the draws every step is open.
    chain = fit_ratings({("a", "b"): whole(3, 0), ("b", "c"): whole(3, 0)})
    assert [(player.name, player.low, player.high) for player in chain.players[1:]] == [
        ("b", -math.inf, math.inf),
        ("c", -math.inf, chain["c"].high),
    ]
    assert chain["a"].high == math.inf
    assert all(math.isfinite(end) for end in (chain["a"].low, chain["c"].high))


def test_all_wins_of_one_player_are_said_plainly() -> None:
    ratings = fit_ratings({("a", "b"): whole(50, 0)})
    assert (ratings["a"].high, ratings["b"].low) == (math.inf, -math.inf)
    # Half a win and half a loss beside 100 wins; half a virtual draw takes its share of what is not
    # won.
    assert ratings["a"].elo - ratings["b"].elo == pytest.approx(400 * math.log10(100.5 / 0.5), rel=0.15)
    # Fifty wins in a row have a chance of 2.5% where one has 0.929, which are 447 Elo.
    assert fit_ratings({("a", "b"): whole(50, 0)}, anchor=("b", 0))["a"].low == pytest.approx(447, abs=50)
    assert ratings.superiority[0, 1] > 0.99
    assert len(ratings.notes) == 2


def test_all_draws_are_equal_ratings() -> None:
    ratings = fit_ratings({("a", "b"): counted({(1, 1): 50}), ("b", "c"): counted({(1, 1): 50})})
    assert list(elos(ratings).values()) == pytest.approx([0, 0, 0], abs=1e-6)
    assert ratings.superiority == pytest.approx(0.5)
    assert ratings.draw_probability.value > 0.98
    assert ratings.draw_probability.high == 1
    assert "Every game between a, b and c was drawn" in ratings.notes[0]


def test_results_that_color_alone_decides_leave_strength_open() -> None:
    ratings = fit_ratings({("a", "b"): counted({(2, 0): 50})})
    assert elos(ratings) == pytest.approx({"a": 0, "b": 0})
    assert ratings.black_advantage.value > 500
    assert ratings.black_advantage.high == math.inf
    assert ratings.draw_probability.low == 0
    assert ratings["a"].high > 100


@pytest.mark.parametrize("draws", [0, 30])
def test_black_s_advantage_has_no_limit_where_one_color_never_won(draws: int) -> None:
    # From both views: the player who comes first has the color that wins, and the other one.
    for cells in ({(2, 0): 20, (2, 1): draws}, {(2, 0): 20, (1, 0): draws}):
        advantage = fit_ratings({("a", "b"): counted(cells)}).black_advantage
        assert (math.isfinite(advantage.low), advantage.high) == (True, math.inf)
    for cells in ({(0, 2): 20, (0, 1): draws}, {(0, 2): 20, (1, 2): draws}):
        advantage = fit_ratings({("a", "b"): counted(cells)}).black_advantage
        assert (advantage.low, math.isfinite(advantage.high)) == (-math.inf, True)


def test_the_anchor_is_told_if_it_is_rated() -> None:
    pairs = {("a", "b"): whole(3, 2)}
    assert fit_ratings(pairs, anchor=("b", 500)).anchor == ("b", 500)
    assert fit_ratings(pairs).anchor is None


def test_players_without_games_have_no_rating() -> None:
    ratings = fit_ratings({("a", "b"): whole(3, 2), ("c", "a"): np.zeros((3, 3), dtype=np.int64)}, players=["d"], anchor=("d", 500))
    assert [player.name for player in ratings.players] == ["a", "b", "c", "d"]
    assert all(math.isnan(ratings[name].elo) and ratings[name].games == 0 for name in "cd")
    assert ratings.anchor is None
    assert ratings.notes == (
        "The anchor d has no complete pairs of games: the mean of each group is 0 instead.",
        "c and d: no complete pairs of games against others, so no rating.",
    )
    assert "d" in format_ratings(ratings)


def test_one_player_or_none_is_no_tournament() -> None:
    for players in ([], ["a"]):
        ratings = fit_ratings({}, players=players)
        assert (len(ratings.players), ratings.groups) == (len(players), ())
        assert math.isnan(ratings.black_advantage.value)
    alone = fit_ratings({("a", "a"): whole(3, 1)})
    assert alone.notes[0] == "a: games against itself are left out."
    assert math.isnan(alone["a"].elo)


def test_what_is_no_count_is_refused() -> None:
    for counts in (np.zeros((2, 3)), -np.ones((3, 3)), np.full((3, 3), np.nan)):
        with pytest.raises(ValueError, match="pair counts of a and b"):
            fit_ratings({("a", "b"): counts})


def test_lopsided_millions_are_fitted() -> None:
    pairs = {("a", "b"): whole(10**6, 0), ("b", "c"): whole(10**6, 1), ("c", "d"): counted({(2, 2): 10**6, (2, 1): 1})}
    ratings = fit_ratings(pairs)
    assert [player.name for player in ratings.players] == ["a", "b", "c", "d"]
    assert ratings["b"].elo - ratings["c"].elo == pytest.approx(400 * math.log10(10**6), rel=0.1)


def some_likelihood(*, counts: Floats | None = None) -> Likelihood:
    """Three players, two pairings; `counts` by default unlike each other, so that no two entries can be exchanged unseen."""
    firsts, seconds = np.array([0, 1]), np.array([1, 2])
    return Likelihood(firsts, seconds, some_counts() if counts is None else counts, num_players=3)


def some_counts() -> Floats:
    return np.random.default_rng(2).integers(1, 30, size=(2, 3, 3)).astype(np.float64)


# Strengths, Black's advantage, log of the draw weight: far from 0, where wrong signs would not
# show.
PARAMETERS = np.array([0.7, -0.4, 0.2, 0.9, -1.3])


def differences(function: Callable[[Floats], Floats | float], at: Floats, *, step: float = 1e-5) -> Floats:
    """Central differences of a function of the parameters, with the parameters as the last axis."""
    return np.stack([(np.asarray(function(at + e)) - function(at - e)) / (2 * step) for e in step * np.eye(len(at))], axis=-1)


def test_the_gradient_is_that_of_the_loss() -> None:
    likelihood = some_likelihood()
    np.testing.assert_allclose(likelihood.gradient(PARAMETERS), differences(likelihood.loss, PARAMETERS), rtol=1e-7)


def test_the_hessian_is_the_derivative_of_the_gradient() -> None:
    likelihood = some_likelihood()
    np.testing.assert_allclose(likelihood.hessian(PARAMETERS), differences(likelihood.gradient, PARAMETERS), rtol=1e-6, atol=1e-6)


def test_the_prior_is_half_a_win_and_half_a_loss_per_virtual_game() -> None:
    # Without results the loss is that of the prior: two virtual games over two pairings, one of
    # colors, one of draws against no draw.
    prior = some_likelihood(counts=np.zeros((2, 3, 3)))

    def half_and_half(log_odds: float) -> float:
        won = 1 / (1 + math.exp(-log_odds))
        return -(math.log(won) + math.log(1 - won)) / 2

    expected = sum(half_and_half(odds) for odds in (0.7 + 0.4, -0.4 - 0.2, 0.9, -1.3 - math.log(2))) + 0.5**2 / 2
    assert prior.loss(PARAMETERS) == pytest.approx(expected)


def test_the_middle_of_the_sandwich_is_the_sum_over_the_observations() -> None:
    counts = some_counts()
    base = some_likelihood().gradient(PARAMETERS)
    expected = np.zeros((5, 5))
    for cell in np.ndindex(counts.shape):
        more = counts.copy()
        more[cell] += 1
        observation = some_likelihood(counts=more).gradient(PARAMETERS) - base  # gradients are sums over the pairs of games
        expected += counts[cell] * np.outer(observation, observation)
    virtual = (
        ([1, -1, 0, 0, 0], PARAMETERS[0] - PARAMETERS[1]),
        ([0, 1, -1, 0, 0], PARAMETERS[1] - PARAMETERS[2]),
        ([0, 0, 0, 1, 0], PARAMETERS[3]),
        ([0, 0, 0, 0, 1], PARAMETERS[4] - math.log(2)),
    )
    for direction, log_odds in virtual:
        won = 1 / (1 + math.exp(-log_odds))
        expected += (won**2 + (1 - won) ** 2) / 2 * np.outer(direction, direction)
    np.testing.assert_allclose(some_likelihood().gradient_products(PARAMETERS), expected, rtol=1e-9)


def test_more_players_than_fit_into_memory_are_refused() -> None:
    names = [str(number) for number in range(MAX_PLAYERS + 1)]
    with pytest.raises(ValueError, match="2,001 players: at most 2,000"):
        fit_ratings({("0", "1"): whole(1, 1)}, players=names)


def pair_chances(difference: float, *, color: float, draw_weight: float, dependence: float) -> Floats:
    """[3, 3] chances of a pair's results where each game follows the model and an opening makes the two depend on each other.

    difference, color: in Elo. dependence: the correlation of the normal variables behind the two
    results, so that each result alone keeps its chances; negative where openings favor a color.
    """
    limits = []
    for side in (1, -1):
        edge = (difference + side * color) / ELO / 2
        weights = np.array([math.exp(-edge), draw_weight, math.exp(edge)])
        limits.append(ndtri((weights / weights.sum()).cumsum()[:2]))
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(61)
    common = math.sqrt(abs(dependence)) * nodes[:, None]
    chances = [
        np.diff(ndtr((limit - sign * common) / math.sqrt(1 - abs(dependence))), axis=1, prepend=0, append=1)
        for limit, sign in zip(limits, (1, math.copysign(1, dependence)), strict=True)
    ]
    total: Floats = np.einsum("n,na,nb->ab", node_weights / node_weights.sum(), *chances)
    normed: Floats = total / total.sum()
    return normed


DRAW_WEIGHT = 0.06


def coverage(
    strengths: Sequence[float], *, pairs: int, dependence: float, tournaments: int, seed: int
) -> tuple[float, float, float, float]:
    """Shares of 95% intervals that hold the truth: of ratings, of differences from the first player, of Black's advantage, of draws."""
    rng = np.random.default_rng(seed)
    names = [f"player {number}" for number in range(len(strengths))]
    chances = {
        (i, j): pair_chances(strengths[i] - strengths[j], color=25, draw_weight=DRAW_WEIGHT, dependence=dependence)
        for i, j in combinations(range(len(names)), 2)
    }
    mean = sum(strengths) / len(strengths)
    held: list[tuple[float, ...]] = []
    for _ in range(tournaments):
        results = {(names[i], names[j]): rng.multinomial(pairs, cell.ravel()).reshape(3, 3) for (i, j), cell in chances.items()}
        free, anchored = fit_ratings(results), fit_ratings(results, anchor=(names[0], strengths[0]))
        truths = list(zip(names, strengths, strict=True))
        held.append(
            (
                float(np.mean([free[name].low <= truth - mean <= free[name].high for name, truth in truths])),
                float(np.mean([anchored[name].low <= truth <= anchored[name].high for name, truth in truths[1:]])),
                free.black_advantage.low <= 25 <= free.black_advantage.high,
                free.draw_probability.low <= DRAW_WEIGHT / (2 + DRAW_WEIGHT) <= free.draw_probability.high,
            )
        )
    of_mean, of_first, of_color, of_draws = np.mean(held, axis=0)
    return float(of_mean), float(of_first), float(of_color), float(of_draws)


CLOSE = (0, 50, 120, -80, -200)
LOPSIDED = (0, 600, 300, -300, -600)


def test_known_strengths_are_found() -> None:
    rng = np.random.default_rng(3)
    results = {}
    for i, j in combinations(range(5), 2):
        chances = pair_chances(CLOSE[i] - CLOSE[j], color=25, draw_weight=0.06, dependence=-0.5)
        results["abcde"[i], "abcde"[j]] = rng.multinomial(20_000, chances.ravel()).reshape(3, 3)
    ratings = fit_ratings(results, anchor=("a", 0))
    assert [ratings[name].elo for name in "abcde"] == pytest.approx(CLOSE, abs=5)
    assert ratings.black_advantage.value == pytest.approx(25, abs=3)
    assert ratings.draw_probability.value == pytest.approx(0.06 / 2.06, abs=0.003)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    of_mean, of_first, _, of_draws = coverage(CLOSE, pairs=50, dependence=-0.5, tournaments=40, seed=11)
    assert 0.9 <= of_mean <= 0.99
    assert 0.9 <= of_first <= 0.99
    assert 0.9 <= of_draws <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strengths", "pairs", "dependence"),
    [
        (CLOSE, 100, 0.0),
        (CLOSE, 100, -0.6),
        (CLOSE, 100, 0.6),
        (CLOSE, 20, -0.6),
        (LOPSIDED, 100, -0.4),
        (LOPSIDED, 20, -0.4),
        ((0, 100), 100, -0.5),
        ((0, 100), 20, 0.5),
    ],
)
def test_over_200_tournaments_the_95_percent_interval_holds_in_92_to_98(strengths: Sequence[float], pairs: int, dependence: float) -> None:
    of_mean, of_first, of_color, of_draws = coverage(strengths, pairs=pairs, dependence=dependence, tournaments=200, seed=1)
    assert 0.92 <= of_mean <= 0.98
    assert 0.92 <= of_first <= 0.98
    assert 0.91 <= of_color <= 0.99
    # Two players with 20 pairs draw once or twice, which is too few for an interval of 95%.
    assert (0.92 if len(strengths) * pairs > 40 else 0.85) <= of_draws <= 0.98


def record(game: int, black: str, white: str, score: float) -> GameRecord:
    difference = 8 * round(2 * score - 1)
    opening = "X" * 8 + "O" * 8 + "-" * 48 + " X"
    return GameRecord(game, black, white, opening, "", score, difference, "played out", "", (0,), (0.1, 0.1), "2026-01-01T00:00:00Z")


def journal_of(path: Path, records: Sequence[GameRecord]) -> Path:
    with Journal(path) as journal:
        for entry in records:
            journal.append(entry)
    return path


def test_the_command_rates_a_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = []
    for pair in range(20):
        won = 1.0 if pair % 3 else 0.0
        records += [record(2 * pair, "a=1", "b", won), record(2 * pair + 1, "b", "a=1", 0.5)]
    path = journal_of(tmp_path / "games.jsonl", [*records, record(40, "a=1", "b", 1)])
    main([str(path), "--anchor", "a=1=1000"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["player", "Elo", "95%", "interval", "games", "score", "above", "next"]
    assert lines[1].split()[:6] == ["a=1", "1000", "1000", "to", "1000", "40"]
    assert lines[2].startswith("b")
    assert lines[-1] == "note: Left out, since the other game of the pair is missing: 1."
    standings = Standings.of(records)
    assert fit_ratings(standings).players == fit_ratings(standings.pairs).players


def test_the_command_takes_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = journal_of(tmp_path / "games.jsonl", [record(0, "a", "b", 1), record(1, "b", "a", 0.5)])
    outputs = []
    for source in (path, tmp_path):
        main([str(source)])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert "a " in outputs[0]


def test_the_command_refuses_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.jsonl").write_text("no json\n")
    (tmp_path / "folder").mkdir()
    empty = journal_of(tmp_path / "empty.jsonl", [])
    games = journal_of(tmp_path / "games.jsonl", [record(0, "a", "b", 1), record(1, "b", "a", 0.5)])
    for arguments, message in (
        ([str(tmp_path / "none.jsonl")], "none.jsonl: No such file"),
        ([str(tmp_path / "folder")], "games.jsonl: No such file"),
        ([str(tmp_path / "broken.jsonl")], "line 1"),
        ([str(empty)], "no complete pair"),
        ([str(games), "--anchor", "c=1000"], "anchor c: not among the players a, b"),
        ([str(games), "--anchor", "a"], "expected NAME=ELO"),
    ):
        line = stopped_line(main, arguments, capsys)
        assert line.startswith("ratings: ")
        assert message in line


def test_an_anchor_is_a_name_and_a_number() -> None:
    assert parse_anchor("positional:table=swh=1000") == ("positional:table=swh", 1000)
    for text in ("", "a", "=3", "a=b", "a=inf"):
        with pytest.raises(ValueError, match="expected NAME=ELO"):
            parse_anchor(text)
