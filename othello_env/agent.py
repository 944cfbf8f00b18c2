"""The protocol of agents, and the one way to ask them for moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from othello_env.batch import PositionBatch
from othello_env.position import Position
from othello_env.squares import format_square, pass_square

Moves = npt.NDArray[np.int64]
AgentFault = Literal["error", "invalid output", "illegal move"]
"""Ways in which an agent can fail.

An agent raises, returns something other than B integers, or chooses illegal moves.
"""


class Agent(Protocol):
    """Chooses moves for a batch of positions; a single game is a batch of one.

    An agent limited to one board size also has the attribute `board_size`, see `check_board_size`.
    """

    @property
    def name(self) -> str:
        """The agent's name in tables and records."""
        ...

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        """Return a legal move for each position: [B] int64; the pass if no square is legal.

        Must leave `positions` unchanged and take all randomness from `rng`.
        """
        ...


class AgentError(ValueError):
    """An agent did not return legal moves.

    reason: see `AgentFault`. detail: the message without the agent's name. rows: indices of the
    positions with an illegal move, empty for other reasons. moves: the answer, [B] int64, if it
    could be read.
    """

    def __init__(
        self, name: str, reason: AgentFault, detail: str, *, rows: tuple[int, ...] = (), moves: npt.NDArray[np.int64] | None = None
    ) -> None:
        super().__init__(f"{name}: {reason}: {detail}")
        self.reason: AgentFault = reason
        self.detail = detail
        self.rows = rows
        self.moves = moves


def ask_agent(agent: Agent, positions: PositionBatch, rng: np.random.Generator) -> Moves:
    """Return an agent's moves, [B] int64, all of them legal.

    The agent gets a copy of the positions. Raises `AgentError` if it fails; does not catch
    `KeyboardInterrupt`.
    """
    name = agent_name(agent)
    with errors_of(name):
        answer: Any = agent.select_moves(positions.copy(), rng)
    return read_moves(answer, positions, name=name)


@contextmanager
def errors_of(name: str) -> Iterator[None]:
    """Convert exceptions raised in the `with` block into `AgentError`. name: the agent's name."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise AgentError(name, "error", describe_error(error)) from error


def read_moves(answer: Any, positions: PositionBatch, *, name: str) -> Moves:
    """Return an agent's answer to `positions` as [B] int64 legal moves.

    name: the agent's name. Raises `AgentError` for anything else.
    """
    count = len(positions)
    try:
        moves = np.asarray(answer)
    except Exception as error:  # objects can fail in any way when they are made an array
        raise AgentError(name, "invalid output", f"not an array: {describe_error(error)}") from error
    if moves.shape != (count,) or not np.issubdtype(moves.dtype, np.integer):
        raise AgentError(name, "invalid output", f"{moves.dtype} of shape {moves.shape}; expected {count} integers, shape ({count},)")
    # Integers beyond int64 are not squares, and must not wrap around to one.
    read: Moves = np.where((moves >= 0) & (moves <= positions.pass_square), moves, -1).astype(np.int64)
    illegal = np.flatnonzero(~positions.is_legal(read))
    if len(illegal):
        row = int(illegal[0])
        raise AgentError(name, "illegal move", describe_move(int(moves[row]), positions[row]), rows=tuple(illegal.tolist()), moves=read)
    return read


def describe_move(move: int, position: Position) -> str:
    """Describe a move, legal or not, and the position in which it was chosen."""
    n = position.board_size
    return f"{format_square(move, n) if 0 <= move <= pass_square(n) else move} in {position}"


def check_board_size(agent: Agent, board_size: int) -> None:
    """Raise `ValueError` if an agent cannot play on boards of this size.

    An agent limited to one size has an integer attribute `board_size`; agents without it, or with
    None, play on all sizes. Callers check this before the first game.
    """
    only = getattr(agent, "board_size", None)
    if only is not None and only != board_size:
        raise ValueError(f"{agent_name(agent)} plays on board_size {only}, not {board_size}")


def agent_name(agent: Agent) -> str:
    """Return the agent's name, or the name of its type if it has none or the attribute raises."""
    try:
        name = agent.name
    except Exception:
        name = None
    return name if isinstance(name, str) and name else type(agent).__name__


def describe_error(error: BaseException) -> str:
    """Return type and message of an exception in one line, even if its `str()` raises."""
    try:
        return " ".join(f"{type(error).__name__}: {error}".split())
    except Exception:
        return type(error).__name__
