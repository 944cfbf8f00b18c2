"""The values of n-tuple networks by compiled code, some tens of nanoseconds each."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.ntuple.network import PARTIAL_SUMS, NTupleNetwork
from agents.search.board import embedded, moves_on
from agents.search.evaluation import look_up_counts, padded_weights, patterns_of, position_indices
from othello_env import backend
from othello_env.bitboard import BitboardArray
from othello_env.compiled import inlined, kernel, popcount

_ROWS_PER_THREAD: Final = 1024


def compiled_values(network: NTupleNetwork, own: BitboardArray, opp: BitboardArray) -> npt.NDArray[np.floating]:
    """What `NTupleNetwork.values` returns, to the last bit."""
    if not network._compiled:
        network._compiled[:] = [patterns_of(network), padded_weights(network)]
    patterns, weights = network._compiled
    values = np.empty(len(own), dtype=weights.dtype)
    boards = (embedded(own, network.board_size), embedded(opp, network.board_size)) if network.board_size != 8 else (own, opp)
    arrays = tuple(np.ascontiguousarray(array) for array in (*boards, values))
    backend.run_rows(_fill_values, arrays, patterns, weights, rows_per_thread=_ROWS_PER_THREAD)
    return values


@inlined
def sum_of(weights: Any, indices: Any) -> Any:
    """The sum of the looked-up weights, in their own type, in the order of `NTupleNetwork.values`."""
    first, second, third, fourth = weights[indices[0]], weights[indices[1]], weights[indices[2]], weights[indices[3]]
    for k in range(PARTIAL_SUMS, len(indices), PARTIAL_SUMS):
        first += weights[indices[k]]
        second += weights[indices[k + 1]]
        third += weights[indices[k + 2]]
        fourth += weights[indices[k + 3]]
    return (first + second) + (third + fourth)


@kernel
def _fill_values(own: BitboardArray, opp: BitboardArray, values: Any, patterns: Any, weights: Any) -> None:
    """Write the values of [N] afterstates, on the 8x8 board that holds all sizes, into `values`."""
    indices = np.empty(len(patterns.empty_indices), dtype=np.int32)
    for row in range(len(own)):
        position_indices(own[row], opp[row], popcount(own[row] | opp[row]), patterns, indices)
        if patterns.counts >= 0:
            look_up_counts(own[row], opp[row], moves_on(opp[row], own[row], patterns.geometry.full), patterns, indices)
        values[row] = sum_of(weights, indices)
