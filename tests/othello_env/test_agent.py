from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from othello_env import Position, PositionBatch
from othello_env.agent import AgentError, agent_name, ask_agent, check_board_size
from othello_env.squares import parse_square


class Answers:
    """Gives one answer, whatever it is asked."""

    name = "answers"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


D3, A1 = parse_square("d3"), parse_square("a1")
POSITIONS = PositionBatch.start(3)


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("kind", ["int8", "int64", "uint64"])
def test_legal_integers_of_any_type_are_moves(kind: str, rng: np.random.Generator) -> None:
    moves = ask_agent(Answers(np.full(3, D3, dtype=kind)), POSITIONS, rng)
    assert moves.dtype == np.int64
    assert moves.tolist() == [D3] * 3
    assert ask_agent(Answers([D3] * 3), POSITIONS, rng).tolist() == [D3] * 3


@pytest.mark.parametrize(
    ("answer", "reason", "detail"),
    [
        ([D3, A1, D3], "illegal move", "a1 in "),
        ([D3, D3, 64], "illegal move", "pass in "),
        ([D3, -1, D3], "illegal move", "-1 in "),
        (np.array([D3, D3, 2**64 - 1], dtype=np.uint64), "illegal move", str(2**64 - 1)),
        ([D3, D3], "invalid output", "int64 of shape (2,); expected 3 integers"),
        ([[D3] * 3], "invalid output", "of shape (1, 3)"),
        ([float(D3)] * 3, "invalid output", "float64"),
        ([True] * 3, "invalid output", "bool"),
        (None, "invalid output", "object"),
        ([[1], [2, 3], 4], "invalid output", "not an array: ValueError"),
        (RuntimeError("two\nlines"), "error", "RuntimeError: two lines"),
        (SystemExit(3), "error", "SystemExit: 3"),
        (UnreadableError(), "error", "UnreadableError"),
    ],
)
def test_other_answers_are_errors_with_the_reason(answer: Any, reason: str, detail: str, rng: np.random.Generator) -> None:
    with pytest.raises(AgentError) as raised:
        ask_agent(Answers(answer), POSITIONS, rng)
    error = raised.value
    assert error.reason == reason
    assert detail in error.detail
    assert str(error) == f"answers: {reason}: {error.detail}"
    assert bool(error.rows) == (error.moves is not None) == (reason == "illegal move")


def test_the_rows_with_illegal_moves_and_the_whole_answer_are_named(rng: np.random.Generator) -> None:
    with pytest.raises(AgentError) as raised:
        ask_agent(Answers([A1, D3, 65]), POSITIONS, rng)
    assert raised.value.rows == (0, 2)
    assert raised.value.moves is not None
    assert raised.value.moves.tolist() == [A1, D3, -1]


def test_the_pass_is_a_move_where_it_is_forced(rng: np.random.Generator) -> None:
    must_pass = PositionBatch.from_positions([Position.parse("OX--\n----\n----\n---- X")], auto_pass=False)
    assert must_pass.legal_action_mask()[0, 16] == 1
    assert ask_agent(Answers([16]), must_pass, rng).tolist() == [16]


def test_an_agent_cannot_change_the_games(rng: np.random.Generator) -> None:
    class Vandal:
        name = "vandal"

        def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
            moves = positions.sample_moves(rng)
            positions.step(moves)
            positions.own[:] = 0
            return moves

    games = PositionBatch.start(2)
    ask_agent(Vandal(), games, rng)
    assert games[0] == games[1] == Position.start()


def test_ctrl_c_passes(rng: np.random.Generator) -> None:
    with pytest.raises(KeyboardInterrupt):
        ask_agent(Answers(KeyboardInterrupt()), POSITIONS, rng)


@pytest.mark.parametrize("name", [None, 7, ""])
def test_an_agent_without_a_name_is_named_by_its_type(name: Any) -> None:
    agent = Answers(None)
    agent.name = name
    assert agent_name(agent) == "Answers"


def test_an_agent_is_refused_on_every_board_size_but_the_one_that_it_names() -> None:
    agent: Any = Answers(None)
    for board_size in (4, 6, 8):
        check_board_size(agent, board_size)  # an agent that names none plays on all
    for only in (None, 6, np.int64(6)):
        agent.board_size = only
        check_board_size(agent, 6)
    with pytest.raises(ValueError, match="^answers plays on board_size 6, not 8$"):
        check_board_size(agent, 8)
