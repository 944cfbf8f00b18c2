"""Human player at the terminal as an agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from agents.base import Moves
from othello_env.batch import PositionBatch
from othello_env.position import COLOR_NAMES
from othello_env.rendering.text import render_text
from othello_env.squares import format_square, parse_square


class QuitGame(Exception):  # noqa: N818 - not an error
    """Raised when the human player quits."""


@dataclass(frozen=True, slots=True)
class HumanAgent:
    """Shows each position and asks for a move until the answer is legal.

    "quit" and the end of the input raise `QuitGame`. read: shows a prompt and returns the answer,
    like `input`. write: shows a line, like `print`.
    """

    read: Callable[[str], str]
    write: Callable[[str], None]
    name: str = "human"

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        """Ask for the moves one position at a time; see `Agent`."""
        del rng
        return np.array([self._ask(positions, row) for row in range(len(positions))], dtype=np.int64)

    def _ask(self, positions: PositionBatch, row: int) -> int:
        position = positions[row]
        n = position.board_size
        legal = position.legal_squares()
        if position.must_pass or position.is_over:
            return positions.pass_square
        self.write(render_text(position))
        while True:
            try:
                answer = self.read(f"{COLOR_NAMES[position.side_to_move]}'s move (or quit): ").strip()
            except (EOFError, KeyboardInterrupt) as end:
                self.write("")  # ends the line of the question
                if isinstance(end, KeyboardInterrupt):
                    raise
                raise QuitGame from None
            if answer.lower() in ("quit", "q", "exit"):
                raise QuitGame
            try:
                square = parse_square(answer, n)
            except ValueError as error:
                self.write(str(error))
                continue
            if square in legal:
                return square
            self.write(f"{format_square(square, n)} is not legal; legal are {' '.join(format_square(move, n) for move in legal)}")
