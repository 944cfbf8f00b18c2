from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.training.evaluation.test_journal import RECORD
from training.evaluation import standings as module
from training.evaluation.journal import GameRecord
from training.evaluation.standings import Standings


def record(game: int, black: str, white: str, black_score: float, difference: int = 0, **changes: object) -> GameRecord:
    return replace(RECORD, game=game, black=black, white=white, black_score=black_score, disc_difference=difference, **changes)  # type: ignore[arg-type]


def test_pairs_are_counted_from_the_view_of_the_first_player() -> None:
    standings = Standings.of(
        [
            record(0, "a", "b", 1.0, 10),
            record(1, "b", "a", 1.0, 6),  # a won with black and lost with white
            record(3, "b", "a", 0.0, -2),
            record(2, "a", "b", 0.5),  # a drew with black and won with white
        ]
    )
    assert standings.pair_counts("a", "b").counts.tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert standings.pair_counts("b", "a").counts.tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]
    assert standings.pair_counts("a", "c").games == 0
    assert standings.games == 4
    assert standings.colors.tolist() == [1, 1, 2]
    assert (standings.totals["a"].points, standings.totals["b"].points) == (2.5, 1.5)
    assert (standings.totals["a"].disc_difference, standings.totals["b"].disc_difference) == (6, -6)
    assert not standings.incomplete


def test_half_a_pair_waits_for_the_other_half() -> None:
    standings = Standings()
    standings.add(record(5, "b", "a", 1.0))
    assert standings.pairs == {}
    assert list(standings.incomplete) == [5]
    standings.add(record(4, "a", "b", 1.0))
    assert standings.pair_counts("a", "b").num_pairs == 1


def test_faults_are_those_of_the_loser() -> None:
    standings = Standings()
    standings.add(record(0, "a", "b", 0.0, reason="timeout"))
    standings.add(record(1, "b", "a", 0.0, reason="illegal move"))
    standings.add(record(2, "a", "b", 0.0))
    assert standings.totals["a"].faults == {"timeout": 1}
    assert standings.totals["b"].faults == {"illegal move": 1}
    assert standings.reasons == {"timeout": 1, "illegal move": 1, "played out": 1}


def test_the_order_of_games_makes_no_difference_and_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    colors = [("a", "b"), ("b", "a")]
    records = [record(game, *colors[game % 2], float(rng.integers(3)) / 2, opening=str(game // 2)) for game in range(200)]
    one, other = Standings(), Standings()
    for standings, order in ((one, range(200)), (other, rng.permutation(200))):
        standings.add_players(("a", "b"))
        for game in order:
            standings.add(records[game])
    assert one.pair_counts("a", "b").counts.tolist() == other.pair_counts("a", "b").counts.tolist()
    assert [one.totals[name].points for name in one.players] == [other.totals[name].points for name in one.players]
    assert len(one.openings) == 100
    monkeypatch.setattr(module, "MAX_OPENINGS", 10)
    assert len(Standings.of(records).openings) == 10
