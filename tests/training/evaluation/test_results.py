from __future__ import annotations

import math

import numpy as np
import pytest

from training.evaluation.results import MatchResult, PairCounts, score_interval


def test_pairs_are_counted_by_the_outcomes_with_black_and_with_white() -> None:
    scores = np.array([[1, 0.5], [1, 0.5], [0, 1], [0.5, 0.5], [1, 1], [0.5, 0]])
    counts = PairCounts.from_scores(scores)
    assert counts.counts.tolist() == [[0, 0, 1], [1, 1, 0], [0, 2, 1]]
    assert (counts.num_pairs, counts.games, counts.wins, counts.draws, counts.losses) == (6, 12, 5, 5, 2)
    assert counts.score == scores.mean()
    added = PairCounts()
    for with_black, with_white in (2 * scores).astype(int).tolist():
        added.add(with_black, with_white)
    assert added.counts.tolist() == counts.counts.tolist()
    assert np.asarray(counts).tolist() == counts.counts.tolist()
    assert np.asarray(counts, dtype=np.float64).dtype == np.float64
    assert np.shares_memory(np.asarray(counts), counts.counts)
    assert not np.shares_memory(np.array(counts), counts.counts)


def test_points_of_pairs_are_pentanomial() -> None:
    counts = PairCounts(np.arange(9).reshape(3, 3))
    assert counts.pentanomial.tolist() == [0, 1 + 3, 2 + 4 + 6, 5 + 7, 8]
    assert counts.score == pytest.approx(counts.pentanomial @ np.linspace(0, 1, 5) / 36)


def test_the_other_view_exchanges_wins_and_losses_and_the_colors() -> None:
    counts = PairCounts(np.arange(9).reshape(3, 3))
    other = counts.swapped()
    assert other.counts[0, 1] == counts.counts[1, 2]  # lost with Black and drew with White: the other drew with Black and won with White
    assert (other.wins, other.draws, other.losses) == (counts.losses, counts.draws, counts.wins)
    assert other.score == pytest.approx(1 - counts.score)
    assert other.pentanomial.tolist() == counts.pentanomial[::-1].tolist()
    assert other.swapped().counts.tolist() == counts.counts.tolist()
    low, high = counts.interval()
    assert other.interval() == pytest.approx((1 - high, 1 - low))


def test_without_games_there_is_no_score() -> None:
    assert math.isnan(PairCounts().score)
    assert PairCounts().interval() == (0, 1)
    empty = MatchResult(("one", "two"), np.zeros((0, 2), dtype=np.int64), 0)
    assert math.isnan(empty.score)
    assert (empty.games, empty.interval) == (0, (0, 1))


@pytest.mark.parametrize("counts", [np.zeros(5, dtype=np.int64), np.zeros((3, 3)), np.diag([1, 0, -1])])
def test_other_arrays_are_no_counts(counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> None:
    with pytest.raises(ValueError, match="expected .3, 3. integers from 0"):
        PairCounts(counts)


@pytest.mark.parametrize("outcomes", [(-1, 0), (3, 0), (0, 3), (2, -3), (0, -1)])
def test_other_outcomes_cannot_be_counted(outcomes: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="expected 0, 1 or 2"):
        PairCounts().add(*outcomes)


def test_a_match_has_the_scores_of_its_disc_differences() -> None:
    result = MatchResult(("one", "two"), np.array([[4, 0], [2, -2]]), 2)
    assert result.scores.tolist() == [[1, 0.5], [1, 0]]
    assert (result.games, result.wins, result.draws, result.losses, result.score) == (4, 2, 1, 1, 0.625)
    assert result.interval == pytest.approx(score_interval(np.array([0.75, 0.5])))
    copies = MatchResult(("one", "two"), np.array([[4, 0], [4, 0]]), 1)
    assert copies.interval == pytest.approx(score_interval(np.array([0.75]), distinct_pairs=1))


def test_the_interval_of_known_scores() -> None:
    # 60 pairs won, 40 lost: nothing is won by pairing, so this is Wilson's interval for 60 of 100
    # but for the one added
    # observation: Wilson gives .502 to .691.
    pairs = np.repeat([1.0, 0.0], [60, 40])
    np.testing.assert_allclose(score_interval(pairs), (0.502, 0.691), atol=0.001)
    # All won: Wilson's interval for 100 of 100 is .963 to 1.
    np.testing.assert_allclose(score_interval(np.ones(100)), (0.963, 1.0), atol=0.001)
    low, high = score_interval(np.zeros(100))
    assert low == 0
    assert 0.03 < high < 0.04


def test_pairs_that_vary_less_give_a_narrower_interval_but_never_none() -> None:
    even = score_interval(np.full(100, 0.5))
    mixed = score_interval(np.tile([1.0, 0.0], 50))
    assert 0 < even[1] - even[0] < 0.3 * (mixed[1] - mixed[0])


@pytest.mark.parametrize("pairs", [20, 100, 500])
@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_the_interval_covers_the_true_score_as_often_as_it_says(pairs: int, probability: float) -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(1000):
        # A pair is two games that share half of their luck.
        shared, own = rng.random((pairs, 1)), rng.random((pairs, 2))
        uniform = np.where(rng.random((pairs, 2)) < 0.5, shared, own)
        low, high = score_interval((uniform < probability).mean(axis=1))
        covered += low <= probability <= high
    assert 0.92 <= covered / 1000 <= 0.98
