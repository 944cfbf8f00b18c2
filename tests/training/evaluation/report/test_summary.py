from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from tests.training.evaluation.report.journals import lost_by, played
from training.evaluation.report.summary import DistinctCount, GameSample, Summary


@pytest.mark.parametrize("limit", [4, 12, 60])
def test_a_sample_is_even_over_pairings_and_does_not_depend_on_the_order(limit: int) -> None:
    game = played(0, "a", "b")
    pairings = [("a", "b")] * 30 + [("a", "c")] * 10 + [("b", "c")] * 2
    games = []
    for pair, (first, second) in enumerate(pairings):
        games += [replace(game, game=2 * pair, black=first, white=second), replace(game, game=2 * pair + 1, black=second, white=first)]
    chosen = []
    for seed in (None, 1, 2):
        order = list(games)
        if seed is not None:
            random.Random(seed).shuffle(order)
        sample = GameSample(limit)
        for record in order:
            sample.add(record)
        chosen.append(sample.games(limit))
    counts = Counter("".join(sorted(record.black + record.white)) for record in chosen[0])
    assert len(chosen[0]) == limit
    assert counts == {4: {"ab": 2, "ac": 2}, 12: {"ab": 4, "ac": 4, "bc": 4}, 60: {"ab": 36, "ac": 20, "bc": 4}}[limit]
    assert all({record.game, record.game ^ 1} <= {other.game for other in chosen[0]} for record in chosen[0])
    if limit > 4:
        assert chosen[0] == chosen[1] == chosen[2]


def test_different_games_are_counted_exactly_while_they_are_few() -> None:
    count = DistinctCount(100)
    for number in range(500):
        count.add(str(number % 90))
    assert (count.estimate, count.is_exact) == (90, True)


def test_many_different_games_are_estimated() -> None:
    count = DistinctCount(1000)
    for number in range(40_000):
        count.add(str(number % 20_000))
    assert not count.is_exact
    assert count.estimate == pytest.approx(20_000, rel=0.1)


def test_sessions_are_bounded_and_players_without_games_are_named() -> None:
    summary = Summary(10)
    for number in range(100):
        summary.add_session({"started": str(number), "settings": {"players": ["one", "two"]}})
    assert (summary.num_sessions, len(summary.sessions)) == (100, 20)
    assert (summary.sessions[0]["started"], summary.sessions[-1]["started"]) == ("0", "99")
    assert summary.standings.players == ["one", "two"]


def test_differences_are_counted_in_both_scores_where_squares_stay_empty() -> None:
    summary = Summary(10)
    # 13 discs of Black and nothing else on the board.
    record = replace(played(0, "one", "two", plies=0), moves="f5f4c3c6c5d6f3c4c7", black_score=1.0, disc_difference=13)
    summary.add(record)
    assert summary.differences == {"one": {13: 1}, "two": {-13: 1}}
    assert summary.differences_with_empties == {"one": {64: 1}, "two": {-64: 1}}
    # A game that was lost by a fault is not over, so nobody gets its empty squares.
    summary = Summary(10)
    fault = lost_by(played(0, "one", "two"), "error", "no")
    summary.add(fault)
    assert (
        summary.differences_with_empties == summary.differences == {"one": {fault.disc_difference: 1}, "two": {-fault.disc_difference: 1}}
    )
