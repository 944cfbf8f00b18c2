"""Compiled look-ups of n-tuple networks, for values, searches and training.

The index of a tuple in its table is linear in the contents of its squares. So the indices after a
move are the indices before it plus the contributions of the new disc and the flipped discs. Boards
are embedded in the 8x8 board; see `agents.board`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.board import EMPTY, NUM_SQUARES, ONE, SIZE, embedded, embedded_geometry, embedded_square, moves_on
from agents.heuristics import Geometry, surroundings
from agents.ntuple.layout import COUNT_LIMIT, DISC_CLASS, FEWEST_DISCS, PARTIAL_SUMS, Layout
from othello_env import backend
from othello_env.bitboard import BitboardArray
from othello_env.compiled import Int, Real, Square, Word, inlined, kernel, lowest_square, popcount

_LOW_BYTE: Final = np.uint64(0xFF)

# The number of look-ups is padded to a multiple of this number, for vector instructions.
_VECTOR: Final = 16

_ROWS_PER_THREAD: Final = 1024

Indices = npt.NDArray[np.int32]
"""[K] int32, indices of the weights that a position looks up."""


class Patterns(NamedTuple):
    """A `Layout` for compiled code. K is the padded number of look-ups.

    row_indices: [8, 256, K] int32, contribution of the own discs of a row to each index, by row and
    by the row's discs as a byte; the opponent's discs contribute the negative. square_indices: [64,
    K] int32, contribution of a single own disc. empty_indices: [K] int32, indices of the empty
    board in the first stage. stage_stride: number of weights per stage, including a final weight of
    0 for the padding. num_stages, num_squares: number of stages, and of squares of the board.
    counts: position of the first of the two count table look-ups among the K, or -1 without count
    tables. geometry: geometry of the board.
    """

    row_indices: npt.NDArray[np.int32]
    square_indices: npt.NDArray[np.int32]
    empty_indices: npt.NDArray[np.int32]
    stage_stride: np.int64
    num_stages: np.int64
    num_squares: np.int64
    counts: np.int64
    geometry: Geometry


def patterns_of(layout: Layout) -> Patterns:
    """Return the patterns of a layout, for weights from `padded_weights`."""
    num_tuples, num_lookups = layout.num_tuples, layout.num_lookups
    padded = -(-num_lookups // _VECTOR) * _VECTOR
    empty_indices = np.full(padded, layout.stage_size, dtype=np.int32)
    empty_indices[:num_lookups] = layout.empty_indices
    square_indices = np.zeros((NUM_SQUARES, padded), dtype=np.int32)
    for square, place_values in enumerate(layout.place_values):
        square_indices[embedded_square(square, layout.board_size), :num_tuples] = place_values
    rows = np.arange(256)[:, None] >> np.arange(SIZE) & 1
    row_indices = np.stack([rows @ square_indices[SIZE * row : SIZE * (row + 1)] for row in range(SIZE)]).astype(np.int32)
    return Patterns(
        row_indices,
        square_indices,
        empty_indices,
        np.int64(layout.stage_size + 1),
        np.int64(layout.num_stages),
        np.int64(layout.board_size**2),
        np.int64(num_tuples if layout.counts else -1),
        embedded_geometry(layout.board_size),
    )


def padded_weights(layout: Layout, weights: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Return the weights with a 0 appended to each stage: [num_stages * stage_stride]."""
    by_stage = weights.reshape(layout.num_stages, layout.stage_size)
    return np.pad(by_stage, ((0, 0), (0, 1))).ravel()


def values_of(
    own: BitboardArray, opp: BitboardArray, patterns: Patterns, weights: npt.NDArray[np.floating], *, board_size: int
) -> npt.NDArray[np.floating]:
    """Return the values of [N] afterstates, bitwise equal to `NTupleNetwork.values`.

    weights: from `padded_weights`.
    """
    values = np.empty(len(own), dtype=weights.dtype)
    boards = (embedded(own, board_size), embedded(opp, board_size)) if board_size != SIZE else (own, opp)
    arrays = tuple(np.ascontiguousarray(array) for array in (*boards, values))
    backend.run_rows(_fill_values, arrays, patterns, weights, rows_per_thread=_ROWS_PER_THREAD)
    return values


@kernel
def _fill_values(
    own: BitboardArray,
    opp: BitboardArray,
    values: npt.NDArray[np.floating],
    patterns: Patterns,
    weights: npt.NDArray[np.floating],
) -> None:
    """Write the values of [N] afterstates into `values`."""
    indices = np.empty(len(patterns.empty_indices), dtype=np.int32)
    for row in range(len(own)):
        position_indices(own[row], opp[row], popcount(own[row] | opp[row]), patterns, indices)
        if patterns.counts >= 0:
            look_up_counts(own[row], opp[row], moves_on(opp[row], own[row], patterns.geometry.full), patterns, indices)
        values[row] = sum_of(weights, indices)


@inlined
def sum_of(weights: npt.NDArray[np.floating], indices: Indices) -> Real:
    """Return the sum of the weights at some indices.

    It has the type of the weights and the summation order of `NTupleNetwork.values`.
    """
    first, second, third, fourth = weights[indices[0]], weights[indices[1]], weights[indices[2]], weights[indices[3]]
    for k in range(PARTIAL_SUMS, len(indices), PARTIAL_SUMS):
        first += weights[indices[k]]
        second += weights[indices[k + 1]]
        third += weights[indices[k + 2]]
        fourth += weights[indices[k + 3]]
    return (first + second) + (third + fourth)


@inlined
def position_indices(own: Word, opp: Word, num_discs: Int, patterns: Patterns, here: Indices) -> None:
    """Write the indices of a position into `here`, without counts.

    num_discs: number of discs of the afterstate whose stage is used.
    """
    span = patterns.num_squares - FEWEST_DISCS + 1
    stage = max(num_discs - FEWEST_DISCS, 0) * patterns.num_stages // span
    start = np.int32(stage * patterns.stage_stride)
    for k in range(len(here)):
        here[k] = patterns.empty_indices[k] + start
    for row in range(SIZE):
        shift = np.uint64(SIZE * row)
        own_row = patterns.row_indices[row, np.int64((own >> shift) & _LOW_BYTE)]
        opp_row = patterns.row_indices[row, np.int64((opp >> shift) & _LOW_BYTE)]
        for k in range(len(here)):
            here[k] += own_row[k] - opp_row[k]


@inlined
def _pair_index(rows: Word, columns: Word) -> Int:
    """Return the index of the sizes of two sets in a `COUNT_LIMIT` x `COUNT_LIMIT` table."""
    return np.int32(COUNT_LIMIT * min(popcount(rows), COUNT_LIMIT - 1) + min(popcount(columns), COUNT_LIMIT - 1))


@inlined
def look_up_counts(own: Word, opp: Word, replies: Word, patterns: Patterns, indices: Indices) -> None:
    """Add the counts of an afterstate to the indices of the count tables; see `Layout`.

    replies: the legal moves of `opp`.
    """
    geometry = patterns.geometry
    moves = moves_on(own, opp, geometry.full)
    frontier = surroundings((own | opp) ^ geometry.full, geometry)
    indices[patterns.counts] += np.int32(COUNT_LIMIT**2) * DISC_CLASS[popcount(own)] + _pair_index(replies, moves)
    indices[patterns.counts + 1] += _pair_index(own & frontier, opp & frontier)


@inlined
def afterstate_indices(
    square: Square, flipped: Word, own: Word, opp: Word, replies: Word, patterns: Patterns, here: Indices, after: Indices
) -> None:
    """Write the indices of the afterstate of a move into `after`.

    own, opp: the discs after the move, of the side that made it and of the other side. replies: the
    legal moves of `opp`. here: the indices before the move, from `position_indices` with the number
    of discs after the move.
    """
    disc = patterns.square_indices[square]
    for k in range(len(after)):
        after[k] = here[k] + disc[k]
    rest = flipped
    while rest != EMPTY:
        disc = patterns.square_indices[lowest_square(rest)]
        rest &= rest - ONE
        for k in range(len(after)):
            after[k] += 2 * disc[k]
    if patterns.counts >= 0:
        look_up_counts(own, opp, replies, patterns, after)
