"""Integer evaluations for compiled searches: sums of table entries and weighted features.

Every sum over patterns of squares can be used: n-tuple networks (`agents.ntuple`), and tables of
square weights, as networks whose tuples are the rows of the board. Weighted features
(`agents.heuristics`) can be added to the sum.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.board import NUM_SQUARES, moves_on
from agents.heuristics import (
    FEATURE_COUNTS,
    Geometry,
    HeuristicEvaluator,
    c_squares,
    frontier_discs,
    odd_regions,
    potential_moves,
    stable_discs,
    x_squares,
)
from agents.ntuple.kernel import Patterns, afterstate_indices, padded_weights, patterns_of, position_indices
from agents.ntuple.layout import Layout
from agents.ntuple.network import NTupleNetwork
from othello_env.compiled import Int, Square, Word, compiled_function, inlined, popcount

# Absolute values do not exceed this, which distinguishes them from the results of finished games.
LARGEST: Final = 1 << 27
_LARGEST_SCALE: Final = 1e100  # for weights that are all but 0


class SearchEvaluation(NamedTuple):
    """Evaluation for compiled searches.

    patterns: the look-ups. weights: [num_stages * stage_stride] int32, the weights of the patterns.
    indices: [2, K] int32, scratch space of the search for the indices of a position and of an
    afterstate. feature_weights: [F] int32 in the order of `FEATURES`, or [0] without features.
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


def network_evaluation(network: NTupleNetwork) -> tuple[SearchEvaluation, float]:
    """Return the evaluation of a network, and its scale.

    The scale is the factor from the network's values to the integers of the evaluation.
    """
    layout = network.layout
    starts = np.cumsum(layout.table_sizes)[:-1]
    tables = np.split(np.abs(network.weights).reshape(layout.num_stages, -1).max(axis=0), starts)
    largest = sum(lookups * float(table.max()) for lookups, table in zip(layout.lookups_per_table, tables, strict=True))
    scale = _scale(largest, layout.num_lookups)
    patterns = patterns_of(layout)
    weights = np.rint(padded_weights(layout, network.weights).astype(np.float64) * scale).astype(np.int32)
    indices, no_features = np.zeros((2, len(patterns.empty_indices)), dtype=np.int32), np.zeros(0, dtype=np.int32)
    return SearchEvaluation(patterns, weights, indices, no_features), scale


def feature_evaluation(evaluator: HeuristicEvaluator, board_size: int) -> tuple[SearchEvaluation, float]:
    """Return the evaluation by weighted features, and its scale; see `network_evaluation`."""
    feature_weights = np.array([getattr(evaluator, name) for name in FEATURES])
    scale = _scale(NUM_SQUARES * float(np.abs(feature_weights).sum()), len(FEATURES))
    network = NTupleNetwork(Layout((((0,),),), board_size), np.zeros(3))
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
    """Return the factor that scales sums of at most `largest` to nearly `LARGEST`.

    Rounding each of the `num_terms` terms does not bring the sum above `LARGEST`.
    """
    return min((LARGEST - num_terms) / largest, _LARGEST_SCALE) if largest else 1.0


def network_of_square_weights(table: npt.NDArray[np.floating], board_size: int = 8) -> NTupleNetwork:
    """Return a network that evaluates by square weights; its tuples are the rows of the board.

    table: [n*n], the weight of an own disc on each square; an opponent's disc has the negative
    weight.
    """
    contents = np.arange(3**board_size)[:, None] // 3 ** np.arange(board_size)[::-1] % 3 - 1
    rows = table.reshape(board_size, board_size)
    groups = tuple((tuple(range(row * board_size, (row + 1) * board_size)),) for row in range(board_size))
    return NTupleNetwork(Layout(groups, board_size), np.concatenate([contents @ row for row in rows]))


@inlined
def look_at(own: Word, opp: Word, evaluation: SearchEvaluation) -> None:
    """Prepare `afterstate_value` for all moves of a position."""
    position_indices(own, opp, popcount(own | opp) + 1, evaluation.patterns, evaluation.indices[0])


@inlined
def afterstate_value(square: Square, flipped: Word, own: Word, opp: Word, replies: Word, evaluation: SearchEvaluation) -> Int:
    """Return the value of the afterstate of a move, from the perspective of the side that made it.

    Call `look_at` with the position first. own, opp: the discs after the move, of the side that
    made it and of the other side. replies: the legal moves of `opp`.
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
def _feature_value(own: Word, opp: Word, replies: Word, weights: npt.NDArray[np.int32], geometry: Geometry) -> Int:
    """Return the weighted sum of `FEATURES`, as in `HeuristicEvaluator`."""
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
