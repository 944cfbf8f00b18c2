from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from agents import Agent, make_agent
from othello_env import Game, Position
from tests.training.evaluation import faulty_agents
from training.evaluation.journal import GameRecord
from training.evaluation.match import play_match
from training.evaluation.referee import Asking, Pairs, play_alone, play_pairs


def pairs_of(count: int, players: tuple[str, str] = ("first", "second"), **changes: object) -> Pairs:
    openings = tuple(Game.random(8, np.random.default_rng([3, number])) for number in range(count))
    return Pairs(40, players, openings, (0, 0), **changes)  # type: ignore[arg-type]


def played(pairs: Pairs, *agents: Agent) -> dict[int, GameRecord]:
    records: list[GameRecord] = []
    play_pairs(pairs, agents, finished=records.append)
    by_number = {record.game: record for record in records}
    assert len(by_number) == len(records) == 2 * len(pairs.openings)
    return by_number


def test_games_are_played_to_their_ends_with_both_colours() -> None:
    pairs = pairs_of(10)
    records = played(pairs, make_agent("greedy"), make_agent("random"))
    assert sorted(records) == list(range(40, 60))
    for number, record in records.items():
        assert (record.black, record.white) == (("first", "second") if number % 2 == 0 else ("second", "first"))
        final = record.replayed().final
        assert final.is_over
        assert (record.black_score, record.disc_difference) == ((final.outcome + 1) / 2, final.score("discs"))
        opening = pairs.openings[(number - 40) // 2]
        assert (record.opening, record.prefix) == (str(opening.final), str(opening))
        assert Game.parse(record.prefix + record.moves).final == final
        assert record.reason == "played out"
        assert min(record.seconds) > 0


def test_the_score_is_that_of_a_match() -> None:
    pairs, agents = pairs_of(40), (make_agent("positional"), make_agent("heuristics"))
    records = played(pairs, *agents)
    points = sum(record.black_score if record.black == "first" else 1 - record.black_score for record in records.values())
    match = play_match(*agents, [opening.final for opening in pairs.openings], seed=1)
    assert points / len(records) == pytest.approx(match.score, abs=0.15)


def test_the_same_seed_plays_the_same_games() -> None:
    agents = make_agent("random"), make_agent("greedy")
    one, other = (played(pairs_of(5, epsilon=0.1), *agents) for _ in range(2))
    assert {number: record.moves for number, record in one.items()} == {number: record.moves for number, record in other.items()}


@pytest.mark.parametrize(
    ("faulty", "reason", "detail"),
    [
        (faulty_agents.illegal, "illegal move", "square 27 in "),
        (faulty_agents.raising, "error", "RuntimeError: cannot think any more"),
        (faulty_agents.speechless, "error", "_NoWordsError"),
        (faulty_agents.leaving, "error", "SystemExit: 3"),
        (faulty_agents.rubbish, "rubbish", "object of shape (2,) for 1 positions"),
        (faulty_agents.wrong_shape, "rubbish", "int64 of shape (2,) for 1 positions"),
        (faulty_agents.floating, "rubbish", "float64 of shape (1,) for 1 positions"),
        (faulty_agents.huge, "illegal move", "square -1 in "),
    ],
)
def test_a_faulty_agent_loses_those_games_in_which_it_fails(faulty: Callable[[], Agent], reason: str, detail: str) -> None:
    records = played(pairs_of(6, ("faulty", "sound")), faulty(), make_agent("random"))
    assert len(records) == 12
    failed = [record for record in records.values() if record.reason != "played out"]
    assert len(failed) > 8  # in others the faulty one wins or loses before it would fail
    for record in failed:
        assert record.reason == reason
        assert record.detail.startswith(detail)
        assert record.black_score == (0.0 if record.black == "faulty" else 1.0)
        assert record.replayed().final.empties <= faulty_agents.EMPTIES


def test_agents_cannot_change_the_games() -> None:
    for record in played(pairs_of(4), faulty_agents.vandal(), faulty_agents.vandal()).values():
        assert record.replayed().final.is_over
        assert record.reason == "played out"


def test_an_opening_that_is_over_or_must_pass_is_played_correctly() -> None:
    over = Game((), Position.parse("X" * 40 + "O" * 24 + " O"))
    must_pass = Game((), Position.parse("XO" + "-" * 62 + " O"))
    pairs = Pairs(0, ("first", "second"), (over, must_pass), (0,))
    records = played(pairs, make_agent("random"), make_agent("random"))
    assert [records[number].black_score for number in range(4)] == [1.0] * 4
    assert [records[number].moves for number in range(4)] == ["", "", "c1", "c1"]


def test_alone_each_game_has_randomness_of_its_own() -> None:
    pairs, agents = pairs_of(5), (make_agent("random"), make_agent("random"))
    all_records: list[GameRecord] = []
    play_alone(pairs, agents, range(40, 50), finished=all_records.append)
    some: list[GameRecord] = []
    asked: list[Asking] = []
    play_alone(pairs, agents, [47, 42], finished=some.append, asking=asked.append)
    assert [record.moves for record in some] == [all_records[7].moves, all_records[2].moves]
    assert {asking.game for asking in asked} == {47, 42}
    assert all(asking.num_positions == 1 for asking in asked)
    assert asked[3].moves == some[0].moves[:6]


def test_a_move_that_took_too_long_loses_the_game() -> None:
    records: list[GameRecord] = []
    play_alone(pairs_of(1), (make_agent("random"), make_agent("random")), [40], finished=records.append, move_seconds=0.0)
    assert [(record.reason, record.black_score) for record in records] == [("timeout", 0.0)]
