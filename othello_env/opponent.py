"""Opponents of a learner: the random opponent, agents, and functions of observations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from othello_env.agent import Agent, Moves, ask_agent, check_board_size, errors_of, read_moves
from othello_env.batch import PositionBatch
from othello_env.observation import ObservationFormat
from othello_env.position import Position

if TYPE_CHECKING:
    from typing_extensions import TypeIs

RANDOM: Final = "random"

ObservationFunction = Callable[[npt.NDArray[Any], npt.NDArray[np.int8], np.random.Generator], Any]
"""Function of observations: (planes, mask, rng) -> action.

In K games: (planes [K, ...], masks [K, A], rng) -> actions [K].
"""

Opponent = Literal["random"] | Agent | ObservationFunction


def check_opponent(opponent: Any, board_size: int) -> Opponent:
    """Return an opponent; None gives the random one.

    Raises `ValueError` for a value that is not an opponent, and for an agent that cannot play on
    this board size.
    """
    if opponent is None or (isinstance(opponent, str) and opponent == RANDOM):
        return RANDOM
    if isinstance(opponent, type) or not (_is_agent(opponent) or callable(opponent)):
        raise ValueError(
            f"opponent {opponent!r}: expected {RANDOM!r}, an agent (an object with select_moves(positions, rng)), "
            "or a function (observation, mask, rng) -> action"
        )
    if _is_agent(opponent):
        check_board_size(opponent, board_size)
    checked: Opponent = opponent
    return checked


def choose_moves(opponent: Opponent, positions: PositionBatch, rng: np.random.Generator, *, layout: ObservationFormat) -> Moves:
    """Return an opponent's moves in K positions: [K] int64, all of them legal.

    layout: format of the observations that a function gets. Raises `AgentError` if the opponent
    fails.
    """
    if isinstance(opponent, str):
        return positions.sample_moves(rng)
    agent = opponent if _is_agent(opponent) else _FunctionAgent(opponent, layout)
    return ask_agent(agent, positions, rng)


def choose_move(opponent: Opponent, position: Position, rng: np.random.Generator, *, layout: ObservationFormat, auto_pass: bool) -> int:
    """Return an opponent's legal move in one position that is not over.

    A function gets one observation, without a batch axis. Raises `AgentError` if the opponent
    fails.
    """
    if isinstance(opponent, str):
        legal = position.legal_squares()
        return legal[rng.integers(len(legal))]
    if _is_agent(opponent):
        return int(ask_agent(opponent, PositionBatch.from_positions([position], auto_pass=auto_pass), rng)[0])
    name = _function_name(opponent)
    with errors_of(name):
        seen = layout.observe(position, position.side_to_move, to_act=True)
        answer = opponent(seen["observation"], seen["action_mask"], rng)
    if isinstance(answer, (int, np.integer)) and type(answer) is not bool and answer in position.legal_squares():
        return int(answer)  # as nearly always
    with errors_of(name):
        row = np.asarray(answer).reshape(-1)
    return int(read_moves(row, PositionBatch.from_positions([position], auto_pass=auto_pass), name=name)[0])


def _is_agent(opponent: Any) -> TypeIs[Agent]:
    return callable(getattr(opponent, "select_moves", None))


@dataclass(frozen=True, slots=True)
class _FunctionAgent:
    """Agent that calls a function of observations."""

    function: ObservationFunction
    layout: ObservationFormat

    @property
    def name(self) -> str:
        """Name of the function or of its type."""
        return _function_name(self.function)

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
        """Return the function's answer."""
        seen = self.layout.observe_batch(positions.own, positions.opp, positions.legal_moves)
        return self.function(seen["observation"], seen["action_mask"], rng)


def _function_name(function: ObservationFunction) -> str:
    return f"opponent {getattr(function, '__name__', type(function).__name__)}"
