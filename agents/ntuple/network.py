"""N-tuple networks as value functions of afterstates, their files, and the agent.

See `agents.ntuple.layout` for the layout of a network.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import index
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.base import AfterstateAgent, set_results
from agents.heuristics import GEOMETRY, surroundings
from agents.ntuple.layout import COUNT_LIMIT, DISC_CLASS, PARTIAL_SUMS, Layout
from agents.weight_file import CheckpointError, read_weights, write_weights
from othello_env import backend
from othello_env.batch import CHUNK, Afterstates, find_legal_moves
from othello_env.bitboard import BitboardArray, popcount, unpack_contents

KIND: Final = "ntuple"


@dataclass(frozen=True, slots=True, eq=False)
class NTupleNetwork:
    """Value function of afterstates: the sum of the weights that a position looks up.

    weights: [layout.num_weights] floating point, in the order of the layout. Raises `ValueError`
    if they do not fit the layout or are not finite.
    """

    layout: Layout
    weights: npt.NDArray[np.floating]
    _place_values: npt.NDArray[np.float32] = field(init=False, repr=False)
    _empty_indices: npt.NDArray[np.int64] = field(init=False, repr=False)
    _compiled: list[Any] = field(init=False, repr=False, default_factory=list)  # `Patterns` and padded weights, once needed

    def __post_init__(self) -> None:
        expected = self.layout.num_weights
        if self.weights.shape != (expected,) or not np.issubdtype(self.weights.dtype, np.floating):
            raise ValueError(f"weights {self.weights.dtype} of shape {self.weights.shape}: these tuples need {expected} floating ones")
        if not np.isfinite(self.weights).all():
            raise ValueError(f"{int((~np.isfinite(self.weights)).sum())} of the weights are not finite numbers")
        object.__setattr__(self, "_place_values", self.layout.place_values.astype(np.float32))
        object.__setattr__(self, "_empty_indices", self.layout.empty_indices)

    @property
    def board_size(self) -> int:
        """Board size of the layout."""
        return self.layout.board_size

    def indices(self, own: BitboardArray, opp: BitboardArray) -> npt.NDArray[np.int64]:
        """Return the indices of the weights that each afterstate looks up: [N, K] int64.

        own, opp: [N] uint64, discs of the side that has just moved and of the other side.
        """
        layout = self.layout
        contents = unpack_contents(own, opp, self.board_size**2).astype(np.float32)
        found = np.tile(self._empty_indices, (len(own), 1))
        found[:, : layout.num_tuples] += (contents @ self._place_values).astype(np.int64)
        if layout.counts:
            replies, moves = (find_legal_moves(*sides, board_size=self.board_size) for sides in ((opp, own), (own, opp)))
            geometry = GEOMETRY[self.board_size]
            frontier = surroundings((own | opp) ^ geometry.full, geometry)
            found[:, -2] += COUNT_LIMIT**2 * DISC_CLASS[popcount(own)] + _pair_index(replies, moves)
            found[:, -1] += _pair_index(own & frontier, opp & frontier)
        if layout.num_stages > 1:
            found += (layout.stages(popcount(own | opp).astype(np.int64)) * layout.stage_size)[:, None]
        return found

    def values(self, own: BitboardArray, opp: BitboardArray) -> npt.NDArray[np.floating]:
        """Return the values of afterstates from the perspective of `own`: [N].

        The dtype is that of the weights. own, opp: as in `indices`. Runs compiled code if
        `othello_env.backend` selects it.
        """
        if backend.compiled(len(own)) is not None:
            from agents.ntuple import kernel  # late: it needs numba

            if not self._compiled:
                self._compiled[:] = kernel.patterns_of(self.layout), kernel.padded_weights(self.layout, self.weights)
            return kernel.values_of(own, opp, *self._compiled, board_size=self.board_size)
        values = np.empty(len(own), dtype=self.weights.dtype)
        for start in range(0, len(own), CHUNK):
            chunk = slice(start, start + CHUNK)
            terms = self.weights.take(self.indices(own[chunk], opp[chunk]))
            padded = np.pad(terms, ((0, 0), (0, -terms.shape[1] % PARTIAL_SUMS)))
            partial = np.zeros((len(terms), PARTIAL_SUMS), dtype=terms.dtype)
            for column in range(0, padded.shape[1], PARTIAL_SUMS):
                partial += padded[:, column : column + PARTIAL_SUMS]
            values[chunk] = (partial[:, 0] + partial[:, 1]) + (partial[:, 2] + partial[:, 3])
        return values

    def save(self, path: Path, metadata: dict[str, Any] | None = None) -> None:
        """Write the network atomically as a safetensors file. metadata: additional JSON values.

        If all patterns have the weights of their mirror images, only one weight of each pair is
        written.
        """
        layout = self.layout
        about = {**(metadata or {}), "board_size": layout.board_size, "groups": layout.groups}
        about |= {"num_stages": layout.num_stages, "counts": layout.counts}
        by_stage, written = self.weights.reshape(layout.num_stages, -1), self.weights
        mirrored = layout.mirrored_indices()
        about["mirrored"] = bool((by_stage[:, mirrored] == by_stage).all())
        if about["mirrored"]:
            written = by_stage[:, _is_first_mask(mirrored)].ravel()
        write_weights(path, KIND, tensors={"weights": written}, about=about)

    @classmethod
    def load(cls, path: Path) -> NTupleNetwork:
        """Load a network from a file written by `save`.

        Raises `CheckpointError` if the file is missing, damaged or of another kind.
        """
        tensors, about = read_weights(path, KIND)
        try:
            groups = tuple(tuple(tuple(map(index, squares)) for squares in group) for group in about["groups"])
            counts = about.get("counts", False)
            if not isinstance(counts, bool):
                raise TypeError(f"counts {counts!r}")
            layout = Layout(groups, about["board_size"], num_stages=about.get("num_stages", 1), counts=counts)
            weights = tensors["weights"]
            if weights.dtype == np.float16:  # for storage only
                weights = weights.astype(np.float32)
            if about.get("mirrored", False):
                weights = _with_mirror_images(weights, layout)
            return cls(layout, weights)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{str(path)!r}: not a network ({type(error).__name__}: {error})") from None


def _pair_index(rows: BitboardArray, columns: BitboardArray) -> npt.NDArray[np.int64]:
    """Return the indices of the sizes of two sets in a `COUNT_LIMIT` x `COUNT_LIMIT` table: [N].

    rows, columns: [N] uint64.
    """
    counts = [np.minimum(popcount(squares).astype(np.int64), COUNT_LIMIT - 1) for squares in (rows, columns)]
    return COUNT_LIMIT * counts[0] + counts[1]


def _is_first_mask(mirrored: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return a mask of the weights not preceded by their mirror image: [stage_size] bool."""
    mask: npt.NDArray[np.bool_] = mirrored >= np.arange(len(mirrored))
    return mask


def _with_mirror_images(written: npt.NDArray[np.floating], layout: Layout) -> npt.NDArray[np.floating]:
    """Return all weights, given the first of each mirrored pair.

    Raises `ValueError` if the number of weights does not fit the layout.
    """
    mirrored = layout.mirrored_indices()
    first_mask = _is_first_mask(mirrored)
    weights = np.empty((layout.num_stages, layout.stage_size), dtype=written.dtype)
    weights[:, first_mask] = written.reshape(layout.num_stages, np.count_nonzero(first_mask))
    weights = weights[:, np.minimum(mirrored, np.arange(len(mirrored)))]
    return weights.ravel()


@dataclass(frozen=True, slots=True)
class NTupleEvaluator:
    """Values of a network.

    Afterstates that end the game have the values of `agents.base.set_results` instead.
    """

    network: NTupleNetwork

    def __call__(self, afterstates: Afterstates) -> npt.NDArray[np.floating]:
        """See `AfterstateAgent`."""
        values = self.network.values(afterstates.own, afterstates.opp)
        set_results(values, afterstates)
        return values


def ntuple_agent(network: NTupleNetwork, name: str = "ntuple") -> AfterstateAgent:
    """Return the agent that plays the move whose afterstate has the highest value."""
    return AfterstateAgent(name, NTupleEvaluator(network), board_size=network.board_size)
