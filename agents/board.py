"""Single boards in compiled code: small boards embedded in the 8x8 board, flips, final scores.

4x4 and 6x6 boards lie in the middle of the 8x8 board. The squares around them stay empty and are
never played on, so one compiled function serves all board sizes. `flips_at` duplicates the rules
for speed: a search knows the square of a move, and eight rays from that square take half as long as
the general kernel. The tests compare the two.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.heuristics import FEATURE_FUNCTIONS, Geometry, Line, any_square
from agents.heuristics import GEOMETRY as GEOMETRIES
from othello_env import compiled
from othello_env.bitboard import FULL, Bits
from othello_env.compiled import (
    GEOMETRY,
    Int,
    Real,
    Square,
    Word,
    inlined,
    leading_zeros,
    legal_moves,
    overload,
    popcount,
    register_jitable,
    unpacked,
)

Number = Any  # a number, or an array of numbers

# Registered so that compiled functions can call the features.
for _function in FEATURE_FUNCTIONS:
    register_jitable(_function)


def _any_square(squares: Any) -> Any:  # noqa: ARG001 (numba wants the same arguments)
    def implementation(squares: Any) -> Any:
        return squares != EMPTY

    return implementation


overload(any_square)(_any_square)

SIZE: Final = 8
NUM_SQUARES: Final = 64

ONE: Final = np.uint64(1)
EMPTY: Final = np.uint64(0)
_HIGHEST: Final = np.uint64(1 << 63)
_LAST: Final = np.uint64(63)
_GEOMETRY: Final = GEOMETRY[SIZE]

# (row, column) steps: first the four directions in which square numbers rise, then their opposites.
_DIRECTIONS: Final = ((0, 1), (1, -1), (1, 0), (1, 1), (0, -1), (-1, 1), (-1, 0), (-1, -1))


def _ray(square: int, direction: tuple[int, int]) -> int:
    """Return the squares in one direction from a square, up to the edge, as a bitboard."""
    row, column = square // SIZE + direction[0], square % SIZE + direction[1]
    squares = 0
    while 0 <= row < SIZE and 0 <= column < SIZE:
        squares |= 1 << (row * SIZE + column)
        row, column = row + direction[0], column + direction[1]
    return squares


RAYS: Final = np.array([[_ray(square, direction) for direction in _DIRECTIONS] for square in range(NUM_SQUARES)], dtype=np.uint64)
# The squares adjacent to each square, diagonals included.
NEIGHBORS: Final = np.array(
    [
        sum(1 << other for other in range(NUM_SQUARES) if max(abs(other // SIZE - s // SIZE), abs(other % SIZE - s % SIZE)) == 1)
        for s in range(NUM_SQUARES)
    ],
    dtype=np.uint64,
)
# The four quadrants of the board, whose parity is cheap to compute.
_QUADRANT: Final = 0x0F0F0F0F
QUADRANTS: Final = np.array([_QUADRANT, _QUADRANT << 4, _QUADRANT << 32, _QUADRANT << 36], dtype=np.uint64)
_NOT_FIRST_COLUMN: Final = np.uint64(0xFEFEFEFEFEFEFEFE)
_NOT_LAST_COLUMN: Final = np.uint64(0x7F7F7F7F7F7F7F7F)
_ROW: Final = np.uint64(SIZE)
CORNERS: Final = np.uint64(1 << 0 | 1 << 7 | 1 << 56 | 1 << 63)


def embedded_square(square: int, board_size: int) -> int:
    """Return the square of the 8x8 board that corresponds to a square of a smaller board."""
    margin = (SIZE - board_size) // 2
    return (square // board_size + margin) * SIZE + square % board_size + margin


def embedded(discs: Bits, board_size: int) -> Bits:
    """Return bitboards of a smaller board, moved to the 8x8 board.

    discs: int, or uint64 of any shape. Returns the same type.
    """
    row = (1 << board_size) - 1
    moved = discs ^ discs
    for first in range(0, board_size**2, board_size):
        moved |= (discs >> first & row) << embedded_square(first, board_size)
    return moved


BOARD: Final = {n: np.uint64(embedded(FULL[n], n)) for n in FULL}
"""Bitboard on the 8x8 board of the squares of each board size; `board` in compiled functions."""


@inlined
def geometry_of(board: Word) -> compiled.Geometry:
    """Return the geometry that restricts `othello_env.compiled` to the squares of `board`."""
    row, falling, column, rising, _ = unpacked(_GEOMETRY)
    return row, falling, column, rising, board


@inlined
def moves_on(own: Word, opp: Word, board: Word) -> Word:
    """Return the legal moves on the squares of `board`."""
    return legal_moves(own, opp, geometry_of(board))


@inlined
def settle_on(own: Word, opp: Word, board: Word) -> tuple[Word, Word, Word, bool]:
    """Apply `othello_env.compiled.settle` on `board`: return (own, opp, legal moves, passed)."""
    return compiled.settle(own, opp, geometry_of(board))


@inlined
def touching(squares: Word) -> Word:
    """Return a set of squares together with all adjacent squares."""
    wide = squares | ((squares << ONE) & _NOT_FIRST_COLUMN) | ((squares >> ONE) & _NOT_LAST_COLUMN)
    return wide | (wide << _ROW) | (wide >> _ROW)


@inlined
def _flips_rising(own: Word, opp: Word, ray: Word) -> Word:
    # Adding 1 carries through the opponent's discs and all squares off the ray, to the first square
    # of the ray without an opponent's disc.
    closing = ((opp | ~ray) + ONE) & ray & own
    return (closing - np.uint64(closing != EMPTY)) & ray


@inlined
def _flips_falling(own: Word, opp: Word, ray: Word) -> Word:
    first_other = _HIGHEST >> (np.uint64(leading_zeros(ray & ~opp)) & _LAST)
    closing = first_other & ray & own
    return ray & (EMPTY - (closing + closing))  # the squares above it; empty where it is empty


@inlined
def flips_at(own: Word, opp: Word, square: Square) -> Word:
    """Return the discs of `opp` that flip when `own` plays on an empty square.

    The set is empty if the move is illegal.
    """
    return (
        _flips_rising(own, opp, RAYS[square, 0])
        | _flips_rising(own, opp, RAYS[square, 1])
        | _flips_rising(own, opp, RAYS[square, 2])
        | _flips_rising(own, opp, RAYS[square, 3])
        | _flips_falling(own, opp, RAYS[square, 4])
        | _flips_falling(own, opp, RAYS[square, 5])
        | _flips_falling(own, opp, RAYS[square, 6])
        | _flips_falling(own, opp, RAYS[square, 7])
    )


@inlined
def final_score(own: Word, opp: Word, board: Word, to_winner: int) -> Int:
    """Return the score of a finished game from the perspective of `own`.

    to_winner: 1 if empty squares count for the winner, else 0.
    """
    num_own = popcount(own)
    num_opp = popcount(opp)
    difference = num_own - num_opp
    empties = (popcount(board) - num_own - num_opp) * to_winner
    return difference + (empties if difference > 0 else (-empties if difference < 0 else 0))


@register_jitable
def mixed_result(outcome: Number, margin: Number, num_squares: int, margin_share: float) -> Number:
    """Return the value of a finished game in [-1, 1]: a weighted mean of outcome and margin.

    For NumPy and for compiled code. outcome: +1, 0 or -1. margin: disc difference, with empty
    squares counted for the winner; it is divided by `num_squares`. margin_share: weight of the
    margin in [0, 1]; the outcome has the remaining weight.
    """
    return (1 - margin_share) * outcome + margin_share * margin / num_squares


@inlined
def result_value(own: Word, opp: Word, board: Word, margin_share: float) -> Real:
    """Return the `mixed_result` of a finished game from the perspective of `own`."""
    margin = final_score(own, opp, board, 1)
    outcome = np.int64(margin > 0) - np.int64(margin < 0)
    return mixed_result(outcome, margin, popcount(board), margin_share)


def board_arguments(own: int, opp: int, board_size: int) -> tuple[Word, Word, Word]:
    """Return the arguments own, opp and board of a compiled function."""
    return np.uint64(embedded(own, board_size)), np.uint64(embedded(opp, board_size)), BOARD[board_size]


def embedded_geometry(board_size: int) -> Geometry:
    """Return a board's geometry on the 8x8 board, for the features of `agents.heuristics`."""

    def embedded_line(line: Line, rows: int, columns: int) -> Line:
        step = rows * SIZE + columns
        sets = (np.uint64(embedded(int(squares), board_size)) for squares in line[3:])
        return Line(np.uint64(step), np.uint64(2 * step), np.uint64(4 * step), *sets)

    (row, column), (rising, falling), full, corners = GEOMETRIES[board_size]
    return Geometry(
        (embedded_line(row, 0, 1), embedded_line(column, 1, 0)),
        (embedded_line(rising, 1, -1), embedded_line(falling, 1, 1)),
        np.uint64(embedded(int(full), board_size)),
        np.uint64(embedded(int(corners), board_size)),
    )


def squares_on_board(board_size: int) -> npt.NDArray[np.int64]:
    """Return the smaller board's square at each square of the 8x8 board, or -1: [64] int64."""
    squares = np.full(NUM_SQUARES, -1, dtype=np.int64)
    for square in range(board_size**2):
        squares[embedded_square(square, board_size)] = square
    return squares
