"""Evaluations as compiled searches see them: a sum of table entries, in integers, that follows a move instead of starting anew.

Whatever is a sum over patterns of squares fits: n-tuple networks, and tables of square weights as networks of whole rows. The
index of a pattern in its table is linear in the contents of the squares, so the indices after a move are those before it plus
what the new and the turned discs add; they are counted from the view of the side that moves, as `NTupleNetwork` has them. All moves
of a position lead to the same stage, and numbers of moves and of discs are looked up in more tables. Weighted features
(`agents.heuristics`) can be added to the sum.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.heuristics import (
    FEATURE_COUNTS,
    Geometry,
    HeuristicEvaluator,
    c_squares,
    frontier_discs,
    odd_regions,
    potential_moves,
    stable_discs,
    surroundings,
    x_squares,
)
from agents.ntuple.network import COUNT_LIMIT, COUNT_TABLE_SIZES, DISC_CLASS, FEWEST_DISCS, NTupleNetwork, table_sizes
from agents.search.board import EMPTY, NUM_SQUARES, ONE, SIZE, embedded_geometry, embedded_square, moves_on
from othello_env.compiled import compiled_function, inlined, lowest_square, popcount

# Sums stay below this, so that a search can tell them from the results of finished games.
LARGEST: Final = 1 << 27
_LARGEST_SCALE: Final = 1e100  # for weights that are all but 0

_LOW_BYTE: Final = np.uint64(0xFF)

# Patterns come in whole vectors of so many, the last ones with weights of 0.
_VECTOR: Final = 16


class Patterns(NamedTuple):
    """Where a network looks up weights, in the form that compiled code reads. K is the number of look-ups, padded to whole vectors.

    row_indices: [8, 256, K] int32, what an own row of the board adds to each pattern's index, by the row's discs as a byte; the
    other side's discs subtract the same. square_indices: [64, K] int32, the same for one disc. empty_indices: [K] int32, the indices
    on the empty board, in the first stage. stage_stride: the weights of a stage and, behind them, the one of value 0 that padding
    looks up. num_stages, num_squares: of the network. counts: the place among the K of the first table that is looked up by numbers,
    or -1. geometry: of the board.
    """

    row_indices: npt.NDArray[np.int32]
    square_indices: npt.NDArray[np.int32]
    empty_indices: npt.NDArray[np.int32]
    stage_stride: np.int64
    num_stages: np.int64
    num_squares: np.int64
    counts: np.int64
    geometry: Geometry


class SearchEvaluation(NamedTuple):
    """An evaluation in the form that compiled searches read.

    patterns: where it looks. weights: [num_stages * stage_stride] int32. indices: [2, K] int32, room for the search: the indices of
    a position, and of an afterstate. feature_weights: [F] int32, in the order of `FEATURES`, or [0].
    """

    patterns: Patterns
    weights: npt.NDArray[np.int32]
    indices: npt.NDArray[np.int32]
    feature_weights: npt.NDArray[np.int32]


FEATURES: Final = tuple(FEATURE_COUNTS)
_CORNERS: Final = FEATURES.index("corners")
_CORNER_REPLIES: Final = FEATURES.index("corner_replies")
_X_SQUARES: Final = FEATURES.index("x_squares")
_C_SQUARES: Final = FEATURES.index("c_squares")
_STABILITY: Final = FEATURES.index("stability")
_FRONTIER: Final = FEATURES.index("frontier")
_POTENTIAL_MOBILITY: Final = FEATURES.index("potential_mobility")
_MOBILITY: Final = FEATURES.index("mobility")
_REPLIES: Final = FEATURES.index("replies")
_DISCS: Final = FEATURES.index("discs")
_ODD_REGIONS: Final = FEATURES.index("odd_regions")


def patterns_of(network: NTupleNetwork) -> Patterns:
    """Where a network looks up its weights, which `padded_weights` lays out to fit."""
    board_size, num_tuples = network.board_size, network.num_tuples
    alone = NTupleNetwork(network.groups, np.zeros(sum(table_sizes(network.groups)), dtype=np.float32), board_size)  # without stages
    padded = -(-network.num_lookups // _VECTOR) * _VECTOR
    empty = np.zeros(1, dtype=np.uint64)
    square_indices = np.zeros((NUM_SQUARES, padded), dtype=np.int32)
    empty_indices = np.full(padded, network.stage_size, dtype=np.int32)
    empty_indices[:num_tuples] = alone.indices(empty, empty)[0]
    empty_indices[num_tuples : network.num_lookups] = network.count_table_starts
    discs = np.left_shift(ONE, np.arange(board_size**2, dtype=np.uint64))
    with_disc = alone.indices(discs, np.zeros_like(discs))
    for square in range(board_size**2):
        square_indices[embedded_square(square, board_size), :num_tuples] = with_disc[square] - empty_indices[:num_tuples]
    rows = np.arange(256)[:, None] >> np.arange(SIZE) & 1
    row_indices = np.stack([rows @ square_indices[SIZE * row : SIZE * (row + 1)] for row in range(SIZE)]).astype(np.int32)
    return Patterns(
        row_indices,
        square_indices,
        empty_indices,
        np.int64(network.stage_size + 1),
        np.int64(network.num_stages),
        np.int64(board_size**2),
        np.int64(num_tuples if network.counts else -1),
        embedded_geometry(board_size),
    )


def padded_weights(network: NTupleNetwork) -> npt.NDArray[np.floating]:
    """The weights with one of value 0 behind each stage: [num_stages * stage_stride]."""
    by_stage = network.weights.reshape(network.num_stages, network.stage_size)
    return np.pad(by_stage, ((0, 0), (0, 1))).ravel()


def network_evaluation(network: NTupleNetwork) -> tuple[SearchEvaluation, float]:
    """A network for compiled search, and the number by which the integers are too large."""
    sizes = [*table_sizes(network.groups), *(COUNT_TABLE_SIZES if network.counts else ())]
    lookups = [*map(len, network.groups), *([1] * len(network.count_table_starts))]
    tables = np.split(np.abs(network.weights).reshape(network.num_stages, -1).max(axis=0), np.cumsum(sizes)[:-1])
    largest = sum(number * float(table.max()) for number, table in zip(lookups, tables, strict=True))
    scale = _scale(largest, network.num_lookups)
    patterns = patterns_of(network)
    weights = np.rint(padded_weights(network).astype(np.float64) * scale).astype(np.int32)
    indices, no_features = np.zeros((2, len(patterns.empty_indices)), dtype=np.int32), np.zeros(0, dtype=np.int32)
    return SearchEvaluation(patterns, weights, indices, no_features), scale


def feature_evaluation(evaluator: HeuristicEvaluator, board_size: int) -> tuple[SearchEvaluation, float]:
    """Weighted features for compiled search, and the number by which the integers are too large."""
    feature_weights = np.array([getattr(evaluator, name) for name in FEATURES])
    scale = _scale(NUM_SQUARES * float(np.abs(feature_weights).sum()), len(FEATURES))
    network = NTupleNetwork((((0,),),), np.zeros(3), board_size)
    evaluation, _ = network_evaluation(network)
    none = slice(0, 0)
    patterns = evaluation.patterns._replace(
        row_indices=np.ascontiguousarray(evaluation.patterns.row_indices[:, :, none]),
        square_indices=np.ascontiguousarray(evaluation.patterns.square_indices[:, none]),
        empty_indices=evaluation.patterns.empty_indices[none],
    )
    return (
        evaluation._replace(
            patterns=patterns,
            indices=np.ascontiguousarray(evaluation.indices[:, none]),
            feature_weights=np.rint(feature_weights * scale).astype(np.int32),
        ),
        scale,
    )


def _scale(largest: float, num_terms: int) -> float:
    """The number that brings sums of at most `largest` near `LARGEST` and, rounding of each term included, not above it."""
    return min((LARGEST - num_terms) / largest, _LARGEST_SCALE) if largest else 1.0


def network_of_square_weights(table: npt.NDArray[np.floating], board_size: int = 8) -> NTupleNetwork:
    """A table of one weight for each square as a network of whole rows. table: [n*n], of an own disc; the other's count minus that."""
    contents = np.arange(3**board_size)[:, None] // 3 ** np.arange(board_size)[::-1] % 3 - 1
    rows = table.reshape(board_size, board_size)
    groups = tuple((tuple(range(row * board_size, (row + 1) * board_size)),) for row in range(board_size))
    return NTupleNetwork(groups, np.concatenate([contents @ row for row in rows]), board_size)


@inlined
def position_indices(own: Any, opp: Any, num_discs: Any, patterns: Any, here: Any) -> None:
    """Write what is looked up for a position into `here`, in the stage of afterstates of so many discs; not by numbers."""
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
def _pair_entry(rows: Any, columns: Any) -> Any:
    """The entry of a table by how many squares two sets have."""
    return np.int32(COUNT_LIMIT * min(popcount(rows), COUNT_LIMIT - 1) + min(popcount(columns), COUNT_LIMIT - 1))


@inlined
def look_up_counts(own: Any, opp: Any, replies: Any, patterns: Any, indices: Any) -> None:
    """Add what is looked up by numbers to `indices`, as `NTupleNetwork` has it. replies: the moves of `opp`."""
    geometry = patterns.geometry
    moves = moves_on(own, opp, geometry.full)
    frontier = surroundings((own | opp) ^ geometry.full, geometry)
    indices[patterns.counts] += np.int32(COUNT_LIMIT**2) * DISC_CLASS[popcount(own)] + _pair_entry(replies, moves)
    indices[patterns.counts + 1] += _pair_entry(own & frontier, opp & frontier)


@inlined
def afterstate_indices(square: Any, flipped: Any, own: Any, opp: Any, replies: Any, patterns: Any, here: Any, after: Any) -> None:
    """Write what is looked up after a move into `after`, `here` being what is looked up before it, in the stage after it.

    own, opp: the discs after the move, of the side that made it and of the other. replies: the other side's moves.
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


@inlined
def look_at(own: Any, opp: Any, evaluation: Any) -> None:
    """Make `afterstate_value` know the position whose moves it is asked about."""
    position_indices(own, opp, popcount(own | opp) + 1, evaluation.patterns, evaluation.indices[0])


@inlined
def afterstate_value(square: Any, flipped: Any, own: Any, opp: Any, replies: Any, evaluation: Any) -> Any:
    """The value of the position after a move, from the view of the side that made it; `look_at` has seen the one before.

    own, opp: the discs after the move, of the side that made it and of the other. replies: the other side's moves.
    """
    here, after = evaluation.indices[0], evaluation.indices[1]
    afterstate_indices(square, flipped, own, opp, replies, evaluation.patterns, here, after)
    value = np.int32(0)
    for k in range(len(after)):
        value += evaluation.weights[after[k]]
    if len(evaluation.feature_weights):
        return np.int64(value) + _feature_value(own, opp, replies, evaluation.feature_weights, evaluation.patterns.geometry)
    return np.int64(value)


@compiled_function
def _feature_value(own: Any, opp: Any, replies: Any, weights: Any, geometry: Any) -> Any:
    """The weighted sum of `FEATURES`, as `HeuristicEvaluator` has it."""
    value = np.int64(0)
    if weights[_CORNERS]:
        value += weights[_CORNERS] * (popcount(own & geometry.corners) - popcount(opp & geometry.corners))
    if weights[_CORNER_REPLIES]:
        value += weights[_CORNER_REPLIES] * popcount(replies & geometry.corners)
    if weights[_X_SQUARES]:
        value += weights[_X_SQUARES] * (popcount(x_squares(own, opp, geometry)) - popcount(x_squares(opp, own, geometry)))
    if weights[_C_SQUARES]:
        value += weights[_C_SQUARES] * (popcount(c_squares(own, opp, geometry)) - popcount(c_squares(opp, own, geometry)))
    if weights[_STABILITY]:
        value += weights[_STABILITY] * (popcount(stable_discs(own, opp, geometry)) - popcount(stable_discs(opp, own, geometry)))
    if weights[_FRONTIER]:
        value += weights[_FRONTIER] * (popcount(frontier_discs(own, opp, geometry)) - popcount(frontier_discs(opp, own, geometry)))
    if weights[_POTENTIAL_MOBILITY]:
        value += weights[_POTENTIAL_MOBILITY] * (
            popcount(potential_moves(own, opp, geometry)) - popcount(potential_moves(opp, own, geometry))
        )
    if weights[_MOBILITY]:
        value += weights[_MOBILITY] * popcount(moves_on(own, opp, geometry.full))
    if weights[_REPLIES]:
        value += weights[_REPLIES] * popcount(replies)
    if weights[_DISCS]:
        value += weights[_DISCS] * (popcount(own) - popcount(opp))
    if weights[_ODD_REGIONS]:
        value += weights[_ODD_REGIONS] * popcount(odd_regions(own, opp, geometry)[1])
    return value
