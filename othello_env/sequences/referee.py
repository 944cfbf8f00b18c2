"""Strict referee for sequences: the first illegal move of each game, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from othello_env.sequences.illegal_reason import IllegalReason
from othello_env.sequences.move_array import PADDING, as_moves
from othello_env.sequences.replay import replay_in_chunks
from othello_env.squares import check_board_size, format_square, pass_square

_EXPLANATIONS: Final = {
    IllegalReason.OCCUPIED: "a disc lies on the square",
    IllegalReason.NO_FLIPS: "no disc is flipped there",
    IllegalReason.OTHER_SIDE: "only the other side can play there",
    IllegalReason.AFTER_END: "the game is over",
    IllegalReason.PASS: "a pass that is not forced",
    IllegalReason.NO_SQUARE: "not a square of the board",
    IllegalReason.AFTER_PADDING: "a move after padding",
}


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """First illegal moves of N games.

    first_illegal: [N] int64, the column of the move, or -1 if the whole game is legal. reasons: [N]
    uint8, values of `IllegalReason`. entries: [N] uint8, the entry in that column, `PADDING` if the
    whole game is legal.
    """

    first_illegal: npt.NDArray[np.int64]
    reasons: npt.NDArray[np.uint8]
    entries: npt.NDArray[np.uint8]
    board_size: int

    def __len__(self) -> int:
        return len(self.first_illegal)

    @property
    def is_legal(self) -> npt.NDArray[np.bool_]:
        """The games without an illegal move: [N] bool."""
        return self.first_illegal < 0

    def reason(self, row: int) -> IllegalReason:
        """Return the reason in one row; `IllegalReason.NONE` for a legal game."""
        return IllegalReason(self.reasons[row])

    def describe(self, row: int) -> str:
        """Describe one row, as in "game 3, move 12 (d3): a disc lies on the square".

        Games count from 0, moves from 1.
        """
        if self.first_illegal[row] < 0:
            return f"game {row}: legal"
        entry = int(self.entries[row])
        name = format_square(entry, self.board_size) if entry <= pass_square(self.board_size) else str(entry)
        return f"game {row}, move {self.first_illegal[row] + 1} ({name}): {_EXPLANATIONS[self.reason(row)]}"


def find_illegal_moves(moves: npt.ArrayLike, board_size: int = 8, *, auto_pass: bool = True) -> Verdicts:
    """Find the first illegal move of each game.

    moves: [N, T] integers: squares, written passes (`n*n`), `PADDING` after the last move. A game
    may stop early. auto_pass: if True (the default), forced passes are automatic and may be written
    or left out; if False, they must be written. In both cases a move that only the other side could
    play is illegal: the turn follows from the rules alone. Raises `ValueError` for anything but an
    array of moves.
    """
    moves, board_size = as_moves(moves), check_board_size(board_size)
    first_illegal, reasons = np.empty(len(moves), dtype=np.int64), np.empty(len(moves), dtype=np.uint8)
    for rows, replay in replay_in_chunks(moves, board_size, auto_pass=auto_pass):
        first_illegal[rows], reasons[rows] = replay.first_illegal, replay.reasons
    entries = np.full(len(moves), PADDING, dtype=np.uint8)
    illegal = np.flatnonzero(first_illegal >= 0)
    entries[illegal] = moves[illegal, first_illegal[illegal]]
    return Verdicts(first_illegal, reasons, entries, board_size)
