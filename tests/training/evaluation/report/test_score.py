from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.training.evaluation.report.journals import played
from training.evaluation.report.score import histogram, lopsided_openings, quantile, score_between
from training.evaluation.standings import Standings


def test_a_score_is_that_of_the_complete_pairs() -> None:
    game = played(0, "a", "b")
    standings = Standings()
    # a: 1.5 points of a pair, 2 of another; a game without its other one does not count.
    for number, (black, white, black_score) in enumerate(
        [("a", "b", 1.0), ("b", "a", 0.5), ("a", "b", 1.0), ("b", "a", 0.0), ("a", "b", 0.0)]
    ):
        standings.add(replace(game, game=number, black=black, white=white, black_score=black_score))
    for score, share in ((score_between(standings, "a", "b"), 3.5 / 4), (score_between(standings, "b", "a"), 0.5 / 4)):
        assert score is not None
        assert (score.games, score.draws) == (4, 1)
        assert (score.wins, score.losses) == ((3, 0) if share > 0.5 else (0, 3))
        assert score.share == pytest.approx(share)
        assert score.interval[0] < share < score.interval[1]
    assert score_between(standings, "a", "c") is None


def test_lopsided_openings_are_those_that_are_clearly_so() -> None:
    standings = Standings(
        openings={"even": np.array([5, 2, 5]), "few": np.array([0, 0, 1]), "black": np.array([1, 0, 20]), "white": np.array([9, 1, 0])}
    )
    scores = lopsided_openings(standings, 3)
    assert [(score.opening, score.games, score.share) for score in scores] == [("black", 21, 20 / 21), ("white", 10, 0.05), ("few", 1, 1.0)]
    assert all(score.interval[0] <= score.share <= score.interval[1] for score in scores)


def test_a_quantile_is_the_smallest_value_that_covers_its_share() -> None:
    counts = {-4: 1, 0: 2, 10: 1}
    assert [quantile(counts, share) for share in (0.0, 0.25, 0.26, 0.75, 0.76, 1.0)] == [-4, -4, 0, 0, 10, 10]


def test_a_histogram_has_the_shares_of_the_weight() -> None:
    assert histogram([-1, 0, 1, 2], [1, 2, 3, 2], [-1, 1, 2]) == [3 / 8, 5 / 8]
