from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from agents import Agent, make_agent
from othello_env import Game, Position, PositionBatch
from othello_env.agent import AgentError
from tests.training.evaluation import faulty_agents
from training.evaluation.journal import GameRecord
from training.evaluation.match import play_match
from training.evaluation.referee import Asking, GameBatch, Pairs, play_alone, play_pairs


def pairs_of(count: int, players: tuple[str, str] = ("first", "second"), **changes: object) -> Pairs:
    openings = tuple(Game.random(8, np.random.default_rng([3, number])) for number in range(count))
    return Pairs(40, players, openings, (0, 0), **changes)  # type: ignore[arg-type]


def played(pairs: Pairs, *agents: Agent) -> dict[int, GameRecord]:
    records: list[GameRecord] = []
    play_pairs(pairs, agents, finished=records.append)
    by_number = {record.game: record for record in records}
    assert len(by_number) == len(records) == 2 * len(pairs.openings)
    return by_number


def test_games_are_played_to_their_ends_with_both_colors() -> None:
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


def test_the_first_player_has_black_in_even_games_and_each_opening_comes_twice() -> None:
    pairs = pairs_of(2)
    assert [pairs.colors(game) for game in pairs.games] == [("first", "second"), ("second", "first")] * 2
    assert [pairs.opening(game) for game in pairs.games] == [opening for opening in pairs.openings for _ in range(2)]
    assert pairs.games == range(40, 44)


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
        (faulty_agents.illegal, "illegal move", "d4 in "),
        (faulty_agents.raising, "error", "RuntimeError: cannot think any more"),
        (faulty_agents.speechless, "error", "_NoWordsError"),
        (faulty_agents.leaving, "error", "SystemExit: 3"),
        (faulty_agents.invalid_output, "invalid output", "object of shape (2,); expected 1 integers"),
        (faulty_agents.wrong_shape, "invalid output", "int64 of shape (2,); expected 1 integers"),
        (faulty_agents.floating, "invalid output", "float64 of shape (1,); expected 1 integers"),
        (faulty_agents.huge, "illegal move", ""),
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


def test_each_call_of_an_agent_is_told_before_with_the_game_if_it_is_one() -> None:
    asked: list[Asking] = []
    finished: list[GameRecord] = []
    play_pairs(pairs_of(3), (make_agent("random"), make_agent("greedy")), finished=finished.append, asking=asked.append)
    together = [asking for asking in asked if asking.num_positions > 1]
    assert {(asking.game, asking.moves) for asking in together} == {(-1, "")}
    assert {asking.player for asking in together} == {"first", "second"}
    assert together[0] == Asking("first", 3, -1, "")
    moves = {record.game: record.moves for record in finished}
    alone = [asking for asking in asked if asking.num_positions == 1]
    assert all(moves[asking.game].startswith(asking.moves) and asking.moves for asking in alone)
    assert sum(asking.num_positions for asking in asked) == sum(map(len, moves.values())) // 2


def test_seconds_are_kept_to_the_microsecond() -> None:
    for record in played(pairs_of(2), make_agent("random"), make_agent("random")).values():
        assert all(seconds == round(seconds, 6) > 0 for seconds in record.seconds)


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


@dataclass
class Counting:
    """Plays the lowest legal square and remembers its calls; fails where a function says so."""

    fails: Callable[[PositionBatch], Any] = lambda _: None
    name: str = "counting"
    calls: list[list[str]] = field(default_factory=list)

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
        self.calls.append([str(position) for position in positions])
        failure = self.fails(positions)
        if isinstance(failure, BaseException):
            raise failure
        lowest = positions.legal_action_mask().argmax(axis=1)
        return lowest if failure is None else failure


# Four positions with Black to move, each with its own legal moves.
POSITIONS = [Position.start(), Game.parse("f5d6").final, Game.parse("f5f6").final, Game.parse("f5f4").final]
BAD = str(POSITIONS[2])


def batch_of(agent: Agent, other: Agent, ended: list[int], **options: Any) -> GameBatch:
    """The four positions, in all of which the agent has Black."""
    black = np.zeros(4, dtype=np.int64)
    rng = np.random.default_rng(0)
    return GameBatch((agent, other), PositionBatch.from_positions(POSITIONS), black, rng=rng, ended=ended.append, **options)


def raises_on_one(positions: PositionBatch) -> Any:
    return RuntimeError("this one") if BAD in map(str, positions) else None


def invalid_on_one(positions: PositionBatch) -> Any:
    return "no moves" if BAD in map(str, positions) else None


@pytest.mark.parametrize("fails", [raises_on_one, invalid_on_one])
def test_after_a_failed_call_each_game_is_asked_about_once_and_keeps_its_own_move(fails: Callable[[PositionBatch], Any]) -> None:
    agent, ended = Counting(fails), list[int]()
    games = batch_of(agent, make_agent("random"), ended, forfeits=True)
    assert games.step()
    texts = [str(position) for position in POSITIONS]
    assert agent.calls == [texts, *([text] for text in texts)]
    assert ended == list(games.faults) == [2]
    assert games.running_mask.tolist() == [True, True, False, True]
    for row, position in enumerate(POSITIONS):
        lowest = position.legal_squares()[0]
        assert games.positions[row] == (position if row == 2 else position.play(lowest))
        assert games.transcript(row) == ("" if row == 2 else str(Game((lowest,), position)))


@pytest.mark.parametrize("fails", [raises_on_one, invalid_on_one])
def test_a_failed_call_for_one_game_is_not_repeated(fails: Callable[[PositionBatch], Any]) -> None:
    agent, ended = Counting(fails), list[int]()
    positions = PositionBatch.from_positions([POSITIONS[2]])
    rng = np.random.default_rng(0)
    games = GameBatch((agent, agent), positions, np.zeros(1, dtype=np.int64), rng=rng, forfeits=True, ended=ended.append)
    assert games.step()
    assert agent.calls == [[BAD]]
    assert ended == [0]
    assert not games.step()
    assert agent.calls == [[BAD]]


def test_after_illegal_moves_the_others_are_played_without_another_call() -> None:
    def two_illegal(positions: PositionBatch) -> Any:
        moves = positions.legal_action_mask().argmax(axis=1)
        moves[1], moves[3] = 0, 99
        return moves

    agent, ended = Counting(two_illegal), list[int]()
    games = batch_of(agent, make_agent("random"), ended, forfeits=True)
    games.step()
    assert len(agent.calls) == 1
    assert ended == [1, 3]
    assert [games.faults[row].reason for row in ended] == ["illegal move"] * 2
    assert games.faults[1].detail == f"a1 in {POSITIONS[1]}"
    assert games.faults[3].detail.endswith(f" in {POSITIONS[3]}")
    assert [games.positions[row] == position.play(position.legal_squares()[0]) for row, position in enumerate(POSITIONS)] == [
        True,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("fails", "reason"), [(raises_on_one, "error"), (invalid_on_one, "invalid output"), (lambda positions: [0] * len(positions), "illegal")]
)
def test_without_forfeits_the_first_fault_raises_with_the_agents_name(fails: Callable[[PositionBatch], Any], reason: str) -> None:
    agent, ended = Counting(fails), list[int]()
    with pytest.raises(AgentError, match=f"^counting: {reason}"):
        batch_of(agent, make_agent("random"), ended).play()
    assert len(agent.calls) == 1
    assert ended == []


@pytest.mark.parametrize(("epsilon", "low", "high"), [(0.0, 0.0, 0.0), (0.1, 0.03, 0.12), (0.9, 0.6, 0.9), (1.0, 0.65, 0.95)])
def test_epsilon_is_the_share_of_random_moves(epsilon: float, low: float, high: float) -> None:
    """A random move of the four of the start position is the agent's own in one of four cases."""
    agent = Counting()
    count = 400
    positions = PositionBatch.start(count)
    black = np.repeat([0, 1], count // 2)
    games = GameBatch((agent, agent), positions, black, rng=np.random.default_rng(0), epsilon=epsilon)
    games.step()
    others = [games.transcript(row) != "d3" for row in range(count)]
    for half in (others[: count // 2], others[count // 2 :]):
        assert low <= np.mean(half) <= high


def test_seconds_are_those_of_the_side_that_thinks() -> None:
    ended: list[int] = []
    games = batch_of(Counting(), Counting(), ended)
    games.step()
    assert (games.seconds[:, 0] > 0).all()
    assert (games.seconds[:, 1] == 0).all()
    games.step()
    assert (games.seconds[:, 1] > 0).all()


def test_a_call_for_several_games_may_take_longer_than_a_move() -> None:
    agent, ended = Counting(), list[int]()
    games = batch_of(agent, make_agent("random"), ended, forfeits=True, move_seconds=0.0)
    games.step()
    assert ended == []
