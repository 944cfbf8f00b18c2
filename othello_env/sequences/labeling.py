"""Exact labels for every prefix of every game.

The labels are boards, side to move, legal moves, flipped discs and empty squares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from othello_env.batch import CHUNK, find_legal_moves
from othello_env.bitboard import FULL, BitboardArray, popcount, unpack, unpack_contents
from othello_env.errors import IllegalMoveError
from othello_env.position import BLACK, Position
from othello_env.sequences.move_array import as_moves
from othello_env.sequences.referee import Verdicts, find_illegal_moves
from othello_env.sequences.replay import Replay, replay_games
from othello_env.squares import check_board_size

Perspective = Literal["side_to_move", "color"]


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Positions of N games of up to T moves as bitboards: bit `s` for square `s`, a1 = 0.

    Column `t` of the arrays [N, T + 1] is the position after the first `t` moves, so column 0 is
    the start position. Columns after the last position are 0 in every array; `prefix_mask` is 0
    there.

    own, opp: [N, T + 1] uint64, discs of the side to move and of the other side. side_to_move:
    [N, T + 1] uint8, 0 black, 1 white: the side whose move comes next by the rules, passes
    included. legal_moves: [N, T + 1] uint64, for the side to move. flipped: [N, T] uint64, the
    discs that the move in each column flips, without the disc placed. lengths: [N] int64, the
    number of columns with moves.
    """

    own: BitboardArray
    opp: BitboardArray
    side_to_move: npt.NDArray[np.uint8]
    legal_moves: BitboardArray
    flipped: BitboardArray
    lengths: npt.NDArray[np.int64]
    board_size: int

    def __len__(self) -> int:
        return len(self.own)

    @property
    def black(self) -> BitboardArray:
        """Black's discs: [N, T + 1] uint64."""
        return np.where(self.side_to_move == BLACK, self.own, self.opp)

    @property
    def white(self) -> BitboardArray:
        """White's discs: [N, T + 1] uint64."""
        return np.where(self.side_to_move == BLACK, self.opp, self.own)

    @property
    def empty_squares(self) -> BitboardArray:
        """The empty squares: [N, T + 1] uint64."""
        occupied = self.own | self.opp
        empty: BitboardArray = (occupied ^ np.uint64(FULL[self.board_size])) * (occupied != 0)
        return empty

    @property
    def empties(self) -> npt.NDArray[np.uint8]:
        """Numbers of empty squares: [N, T + 1] uint8."""
        return popcount(self.empty_squares)

    @property
    def prefix_mask(self) -> npt.NDArray[np.bool_]:
        """The columns that hold a position: [N, T + 1] bool."""
        return np.arange(self.own.shape[1]) <= self.lengths[:, None]

    def boards(self, perspective: Perspective) -> npt.NDArray[np.int8]:
        """Return the contents of the squares: [N, T + 1, n*n] int8, 0 for an empty square.

        perspective: "side_to_move" gives 1 for own discs and -1 for those of the other side ("mine"
        and "theirs"), "color" gives 1 for black and -1 for white. The squares are in the standard
        order.
        """
        if perspective not in get_args(Perspective):
            raise ValueError(f"perspective {perspective!r}: expected one of {', '.join(get_args(Perspective))}")
        own, opp, side = self.own.ravel(), self.opp.ravel(), self.side_to_move.ravel()
        num_squares = self.board_size**2
        boards = np.empty((own.size, num_squares), dtype=np.int8)
        for rows in _chunks(own.size):
            boards[rows] = unpack_contents(own[rows], opp[rows], num_squares)
            if perspective == "color":
                boards[rows] *= np.where(side[rows] == BLACK, np.int8(1), np.int8(-1))[:, None]
        return boards.reshape(*self.own.shape, num_squares)

    def legal_mask(self) -> npt.NDArray[np.int8]:
        """Return the legal next moves: [N, T + 1, n*n + 1] int8, 1 for each legal square.

        The last entry is 1 if a pass is forced, which happens only without `auto_pass`. All entries
        are 0 if the game is over, and after the last position.
        """
        num_actions = self.board_size**2 + 1
        mask = np.zeros((self.own.size, num_actions), dtype=np.int8)
        _unpack_into(self.legal_moves.ravel(), mask[:, :-1])
        mask = mask.reshape(*self.own.shape, num_actions)
        stuck = (self.legal_moves == 0) & (self.own | self.opp != 0)
        mask[stuck, -1] = find_legal_moves(self.opp[stuck], self.own[stuck], board_size=self.board_size) != 0
        return mask

    def flipped_mask(self) -> npt.NDArray[np.int8]:
        """Return the discs that each move flips: [N, T, n*n] int8, 1 for a flipped disc."""
        num_squares = self.board_size**2
        mask = np.empty((self.flipped.size, num_squares), dtype=np.int8)
        _unpack_into(self.flipped.ravel(), mask)
        return mask.reshape(*self.flipped.shape, num_squares)

    def position(self, row: int, num_moves: int) -> Position:
        """Return the position of one game after its first `num_moves` columns.

        Raises `ValueError` if the game has fewer.
        """
        if not 0 <= num_moves <= self.lengths[row]:
            raise ValueError(f"game {row} after {num_moves} moves: expected 0 to {self.lengths[row]} moves")
        own, opp, side = self.own[row, num_moves], self.opp[row, num_moves], self.side_to_move[row, num_moves]
        return Position(int(own), int(opp), int(side), self.board_size)


def label_games(moves: npt.ArrayLike, board_size: int = 8, *, auto_pass: bool = True) -> Labels:
    """Play games through and label every prefix.

    moves: [N, T] integers: squares, written passes (`n*n`), `PADDING` after the last move. Games
    begin at the start position and may stop early. auto_pass: if True (the default), a side without
    a move is skipped right after the move that leaves it without one, so `legal_moves` is empty
    exactly if the game is over; a written pass changes nothing. If False, passes must be written,
    and a side that must pass remains to move until it has passed. Raises `IllegalMoveError` with
    game, move and reason for the first illegal game, and `ValueError` for anything but an array of
    moves.

    Each position takes 33 bytes, and its move 8 more; label large data sets in parts.
    """
    moves, board_size = as_moves(moves), check_board_size(board_size)
    replay = Replay.empty(*moves.shape)
    replay_games(moves, replay, board_size, auto_pass=auto_pass)
    if (replay.reasons != 0).any():
        raise_for_illegal(find_illegal_moves(moves, board_size, auto_pass=auto_pass))
    return Labels(replay.own, replay.opp, replay.side, replay.legal, replay.flipped, replay.lengths, board_size)


def _unpack_into(bits: BitboardArray, mask: npt.NDArray[np.int8]) -> None:
    """Write sets of squares [P] as 0/1 vectors [P, n*n], without large temporary arrays."""
    for rows in _chunks(len(bits)):
        mask[rows] = unpack(bits[rows], mask.shape[1])


def _chunks(length: int) -> Iterator[slice]:
    return (slice(first, first + CHUNK) for first in range(0, length, CHUNK))


def raise_for_illegal(verdicts: Verdicts) -> None:
    """Raise `IllegalMoveError` for the first illegal game, if there is one."""
    illegal = np.flatnonzero(~verdicts.is_legal)
    if len(illegal):
        raise IllegalMoveError(verdicts.describe(int(illegal[0])))
