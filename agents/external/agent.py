"""Agent that plays the moves of an engine, for all protocols."""

from __future__ import annotations

import threading
from typing import Any, Final, Protocol

import numpy as np

from agents.base import Moves
from agents.external.process import EngineError, shortened
from othello_env.batch import PositionBatch
from othello_env.errors import RecordFormatError
from othello_env.position import COLOR_NAMES, Position
from othello_env.squares import parse_square, pass_square

# Time limit for the start of an engine, in seconds: it may load a large opening book or network.
START_SECONDS: Final = 60.0
# Default time limit for an answer, in seconds.
ANSWER_SECONDS: Final = 60.0


def check_seconds(**limits: float | None) -> None:
    """Raise `ValueError` unless all limits are positive numbers of seconds or None."""
    for name, value in limits.items():
        if value is not None and not 0 < value <= threading.TIMEOUT_MAX:
            raise ValueError(f"{name}={value}: expected a positive number of seconds, at most {threading.TIMEOUT_MAX:g}")


class Engine(Protocol):
    """A running engine."""

    def choose(self, position: Position) -> str:
        """Return the engine's move. The side to move must have a legal square.

        Raises `EngineError`.
        """
        ...

    def close(self) -> None:
        """Stop the engine."""
        ...


class EngineOptions(Protocol):
    """Picklable options that start an engine."""

    def start(self) -> Engine:
        """Start the engine. Raises `EngineError`."""
        ...


class EngineAgent:
    """Plays the moves of an engine.

    The engine starts at the first move and restarts after a failure. It is not asked in positions
    with a forced pass. `select_moves` raises `EngineError` if the engine hangs, crashes, or answers
    with anything but a legal move. Copies and unpickled agents start their own engine.
    """

    def __init__(self, name: str, options: EngineOptions) -> None:
        self.name = name
        self._options = options
        self._engine: Engine | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_engine": None}

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:  # noqa: ARG002 (engines take no seed)
        """See `Agent`."""
        moves = np.full(len(positions), positions.pass_square, dtype=np.int64)
        for row in np.flatnonzero(positions.legal_moves).tolist():
            moves[row] = self._ask(positions[row])
        return moves

    def close(self) -> None:
        """Stop the engine; the next move starts it again."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _ask(self, position: Position) -> int:
        if self._engine is None:
            self._engine = self._options.start()
        try:
            return _legal_square(self._engine.choose(position), position)
        except BaseException:  # also Ctrl-C: the rest of the answer must not be read as the next one
            self.close()
            raise


def _legal_square(answer: str, position: Position) -> int:
    try:
        square = parse_square(answer, position.board_size)
    except RecordFormatError:
        raise EngineError(f"the engine answered {shortened(answer)!r}, which is not a move, in {position}") from None
    if square not in position.legal_squares():
        mover = COLOR_NAMES[position.side_to_move]
        reason = f"{mover} has legal moves" if square == pass_square(position.board_size) else f"illegal for {mover}"
        raise EngineError(f"the engine answered {shortened(answer)!r}, {reason} in {position}")
    return square
