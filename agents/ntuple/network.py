"""N-tuple networks: sums of table entries that are looked up by the contents of chosen tuples of squares.

A tuple of L squares has 3**L contents, each with a weight in the tuple's table. Tuples that are images of each other under the
board's symmetries share one table (Lucas 2008; Jaskowski 2014). Two more tables may be looked up by numbers: of moves and own discs,
and of frontier discs. Each stage of the game may have its own tables (Buro 1997).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import index
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.base import AfterstateAgent, set_results
from agents.heuristics import GEOMETRY, surroundings
from agents.weight_file import CheckpointError, read_weights, write_weights
from othello_env import backend
from othello_env.batch import CHUNK, Afterstates, find_legal_moves
from othello_env.bitboard import BitboardArray, popcount, unpack_contents
from othello_env.squares import check_board_size
from othello_env.symmetry import NUM_SYMMETRIES, transform_square

KIND: Final = "ntuple"

Group = tuple[tuple[int, ...], ...]

# In the tables that are looked up by numbers, more moves or frontier discs than one less than this count as so many.
COUNT_LIMIT: Final = 32
# The class of each number of own discs. Few of them count one by one: they are what a side is wiped out with.
DISC_CLASS: Final = np.array([0, 0, 0, 0, 1, 2, 3, 4, 4, *[5] * 3, *[6] * 4, *[7] * 49], dtype=np.int32)
# The sizes of these tables: by class, replies and moves; by frontier discs of both sides.
COUNT_TABLE_SIZES: Final = ((int(DISC_CLASS[-1]) + 1) * COUNT_LIMIT**2, COUNT_LIMIT**2)
# Afterstates have at least so many discs.
FEWEST_DISCS: Final = 5
# So many partial sums make one value, in compiled code and in NumPy alike.
PARTIAL_SUMS: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class NTupleNetwork:
    """A value function on afterstates: the sum of one weight for each tuple, and of two for numbers where it has those.

    groups: for each table the tuples of squares that share it, all of one length. weights: [num_stages * stage_size] floating
    point: for each stage the tables one after the other. A table's entry for the contents d_1 ... d_L is number
    d_1 * 3**(L-1) + ... + d_L, where a digit is 0 for a disc of the opponent, 1 for an empty square, 2 for an own disc. num_stages:
    the numbers of discs of afterstates, from 5 to n*n, are divided into so many stages of equal length. counts: whether each stage
    has two more tables behind the others, of rows and columns that are `COUNT_LIMIT` each. The first one has such a table for each
    class of the number of own discs, its row is the number of the opponent's replies, its column that of the moves that the side
    itself would have if the opponent passed. In the second one they are the numbers of own and of the opponent's discs that touch
    an empty square.
    """

    groups: tuple[Group, ...]
    weights: npt.NDArray[np.floating]
    board_size: int = 8
    num_stages: int = field(default=1, kw_only=True)
    counts: bool = field(default=False, kw_only=True)
    _place_values: npt.NDArray[np.float32] = field(init=False, repr=False)
    _offsets: npt.NDArray[np.float32] = field(init=False, repr=False)
    _compiled: list[Any] = field(init=False, repr=False, default_factory=list)  # what compiled code reads, once it was needed

    def __post_init__(self) -> None:
        check_board_size(self.board_size)
        tables = table_sizes(self.groups)
        for squares in itertools.chain.from_iterable(self.groups):
            if len(set(squares)) < len(squares) or not set(squares) <= set(range(self.board_size**2)):
                raise ValueError(f"tuple {squares}: expected different squares from 0 to {self.board_size**2 - 1}")
        if not 1 <= index(self.num_stages) <= self.board_size**2 - FEWEST_DISCS + 1:
            raise ValueError(f"num_stages {self.num_stages}: expected 1 to {self.board_size**2 - FEWEST_DISCS + 1}")
        expected = self.num_stages * self.stage_size
        if self.weights.shape != (expected,) or not np.issubdtype(self.weights.dtype, np.floating):
            raise ValueError(f"weights {self.weights.dtype} of shape {self.weights.shape}: these tuples need {expected} floating ones")
        if not np.isfinite(self.weights).all():
            raise ValueError(f"{int((~np.isfinite(self.weights)).sum())} of the weights are not finite numbers")
        if self.stage_size >= 1 << 24:
            raise ValueError(f"{self.stage_size} weights a stage: indices are computed in float32, which is exact below {1 << 24}")
        if expected >= 1 << 31:
            raise ValueError(f"{expected} weights: compiled code counts them in 32 bits")
        place_values = np.zeros((self.board_size**2, sum(map(len, self.groups))), dtype=np.float32)
        offsets, column, table_start = [], 0, 0
        for tuples, size in zip(self.groups, tables, strict=True):
            for squares in tuples:
                place_values[list(squares), column] = 3 ** np.arange(len(squares))[::-1]
                offsets.append(table_start + size // 2)  # of the tuple whose squares are all empty
                column += 1
            table_start += size
        object.__setattr__(self, "_place_values", place_values)
        object.__setattr__(self, "_offsets", np.array(offsets, dtype=np.float32))

    @property
    def num_tuples(self) -> int:
        """T: how many tuples there are."""
        return len(self._offsets)

    @property
    def num_lookups(self) -> int:
        """K: how many weights one value is the sum of."""
        return self.num_tuples + len(COUNT_TABLE_SIZES) * self.counts

    @property
    def stage_size(self) -> int:
        """How many weights a stage has."""
        return weights_per_stage(self.groups, counts=self.counts)

    @property
    def count_table_starts(self) -> tuple[int, ...]:
        """Where among the weights of a stage the tables begin that are looked up by numbers; of a network without them nothing."""
        return tuple(self.stage_size - sum(COUNT_TABLE_SIZES[number:]) for number in range(self.num_lookups - self.num_tuples))

    def stages(self, num_discs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The stages of afterstates with so many discs: [N] to [N]."""
        span = self.board_size**2 - FEWEST_DISCS + 1
        return np.maximum(num_discs - FEWEST_DISCS, 0) * self.num_stages // span

    def indices(self, own: BitboardArray, opp: BitboardArray) -> npt.NDArray[np.int64]:
        """The entries of `weights` that the value of each position is the sum of.

        own, opp: [N] uint64, discs of the side whose view is taken, and of the other. Returns [N, K] int64.
        """
        contents = unpack_contents(own, opp, self.board_size**2).astype(np.float32)
        found = np.empty((len(own), self.num_lookups), dtype=np.int64)
        found[:, : self.num_tuples] = contents @ self._place_values + self._offsets
        if self.counts:
            found[:, self.num_tuples :] = self.count_table_starts
            replies, moves = (find_legal_moves(*sides, board_size=self.board_size) for sides in ((opp, own), (own, opp)))
            geometry = GEOMETRY[self.board_size]
            frontier = surroundings((own | opp) ^ geometry.full, geometry)
            found[:, -2] += COUNT_LIMIT**2 * DISC_CLASS[popcount(own)] + _pair_entry(replies, moves)
            found[:, -1] += _pair_entry(own & frontier, opp & frontier)
        if self.num_stages > 1:
            found += (self.stages(popcount(own | opp).astype(np.int64)) * self.stage_size)[:, None]
        return found

    def values(self, own: BitboardArray, opp: BitboardArray) -> npt.NDArray[np.floating]:
        """The sums: [N] in the type of the weights, from the view of `own`. Compiled where `backend` says so."""
        if backend.compiled(len(own)) is not None:
            from agents.ntuple.kernel import compiled_values

            return compiled_values(self, own, opp)
        values = np.empty(len(own), dtype=self.weights.dtype)
        for start in range(0, len(own), CHUNK):
            chunk = slice(start, start + CHUNK)
            terms = self.weights.take(self.indices(own[chunk], opp[chunk]))
            padded = np.pad(terms, ((0, 0), (0, -self.num_lookups % PARTIAL_SUMS)))
            partial = np.zeros((len(terms), PARTIAL_SUMS), dtype=terms.dtype)
            for column in range(0, padded.shape[1], PARTIAL_SUMS):
                partial += padded[:, column : column + PARTIAL_SUMS]
            values[chunk] = (partial[:, 0] + partial[:, 1]) + (partial[:, 2] + partial[:, 3])
        return values

    def save(self, path: Path, metadata: dict[str, Any] | None = None) -> None:
        """Write the network, with anything else worth knowing about it, as a safetensors file, by an atomic rename.

        Where all patterns have the weight of their mirror images, only one of both is written.
        """
        about = {**(metadata or {}), "board_size": self.board_size, "groups": self.groups}
        about |= {"num_stages": self.num_stages, "counts": self.counts}
        by_stage, written = self.weights.reshape(self.num_stages, -1), self.weights
        mirrored = mirrored_indices(self.groups, self.board_size)
        about["mirrored"] = bool((by_stage[:, mirrored] == by_stage[:, : len(mirrored)]).all())
        if about["mirrored"]:
            written = by_stage[:, _first_of_both(mirrored, self.stage_size)].ravel()
        write_weights(path, KIND, tensors={"weights": written}, about=about)

    @classmethod
    def load(cls, path: Path) -> NTupleNetwork:
        """Read a file that `save` wrote. Raises `CheckpointError` where it is missing, damaged or of another kind."""
        tensors, about = read_weights(path, KIND)
        try:
            groups = tuple(tuple(tuple(map(index, squares)) for squares in group) for group in about["groups"])
            weights, board_size = tensors["weights"], check_board_size(about["board_size"])
            if weights.dtype == np.float16:  # for storage only
                weights = weights.astype(np.float32)
            stages, counts = about.get("num_stages", 1), about.get("counts", False)
            if not isinstance(counts, bool):
                raise TypeError(f"counts {counts!r}")
            if about.get("mirrored", False):
                weights = _with_mirror_images(weights, groups, board_size, num_stages=index(stages), counts=counts)
            return cls(groups, weights, board_size, num_stages=stages, counts=counts)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{str(path)!r}: not a network ({type(error).__name__}: {error})") from None


def table_sizes(groups: Sequence[Group]) -> list[int]:
    """The number of weights of each group's table. Raises `ValueError` for a group of none, or of tuples that differ in length."""
    if not groups:
        raise ValueError("a network needs tuples")
    for group in groups:
        if len({len(squares) for squares in group}) != 1 or not group[0]:
            raise ValueError(f"tuples {group}: those that share a table must have one length, above 0")
    return [3 ** len(group[0]) for group in groups]


def weights_per_stage(groups: Sequence[Group], *, counts: bool) -> int:
    """How many weights a stage of such a network has, see `NTupleNetwork`. Raises `ValueError` like `table_sizes`."""
    return sum(table_sizes(groups)) + (sum(COUNT_TABLE_SIZES) if counts else 0)


def _pair_entry(rows: BitboardArray, columns: BitboardArray) -> npt.NDArray[np.int64]:
    """The entry of a table by how many squares two sets have: [N] each, to [N]."""
    counts = [np.minimum(popcount(squares).astype(np.int64), COUNT_LIMIT - 1) for squares in (rows, columns)]
    return COUNT_LIMIT * counts[0] + counts[1]


def straight_and_corner_groups(board_size: int = 8) -> tuple[Group, ...]:
    """Logistello's patterns (Buro 1997): the edge with both X squares, two corner blocks, the inner lines, the diagonals.

    On 8x8: 46 tuples in 11 groups, 167,265 weights. Raises `ValueError` for boards smaller than 6x6.
    """
    n = board_size
    if n < 6:
        raise ValueError(f"board_size {n}: the straight and corner patterns need at least 6")
    edge_and_x_squares = (*range(n), n + 1, 2 * n - 2)
    corner_2x5 = tuple(row * n + column for row in range(2) for column in range(5))
    corner_3x3 = tuple(row * n + column for row in range(3) for column in range(3))
    lines = [tuple(row * n + column for column in range(n)) for row in range(1, n // 2)]
    diagonals = [tuple(step * n + n - length + step for step in range(length)) for length in range(n, 3, -1)]
    return tuple(_images(squares, n) for squares in [edge_and_x_squares, corner_2x5, corner_3x3, *lines, *diagonals])


def _images(squares: tuple[int, ...], n: int) -> Group:
    """The images under the eight symmetries, one for each set of squares."""
    images: dict[frozenset[int], tuple[int, ...]] = {}
    for symmetry in range(NUM_SYMMETRIES):
        image = tuple(transform_square(square, symmetry, n) for square in squares)
        images.setdefault(frozenset(image), image)
    return tuple(images.values())


def mirrored_indices(groups: Sequence[Group], board_size: int = 8) -> npt.NDArray[np.int64]:
    """For each weight the one that means the same pattern seen in a mirror: [W] int64, its own inverse.

    A weight of a tuple that no symmetry maps onto itself is its own mirror image. Of several symmetries that do the first one
    counts; the standard patterns have one at most.
    """
    mirrored, start = [], 0
    for (squares, *_), size in zip(groups, table_sizes(groups), strict=True):
        length = len(squares)
        digits = np.arange(size)[:, None] // 3 ** np.arange(length)[::-1] % 3
        images = ([transform_square(square, symmetry, board_size) for square in squares] for symmetry in range(1, NUM_SYMMETRIES))
        image = next((image for image in images if set(image) == set(squares) and tuple(image) != squares), list(squares))
        order = [image.index(square) for square in squares]
        mirrored.append(start + digits[:, order] @ 3 ** np.arange(length)[::-1])
        start += size
    return np.concatenate(mirrored)


def _first_of_both(mirrored: npt.NDArray[np.int64], stage_size: int) -> npt.NDArray[np.bool_]:
    """Of each pattern and its mirror image the first one, and all weights that are of no pattern: [stage_size] bool."""
    first = np.ones(stage_size, dtype=np.bool_)
    first[: len(mirrored)] = mirrored >= np.arange(len(mirrored))
    return first


def _with_mirror_images(
    written: npt.NDArray[np.floating], groups: tuple[Group, ...], board_size: int, *, num_stages: int, counts: bool
) -> npt.NDArray[np.floating]:
    """All weights, from those that `NTupleNetwork.save` wrote. Raises `ValueError` where they are not as many."""
    mirrored = mirrored_indices(groups, board_size)
    size = weights_per_stage(groups, counts=counts)
    first = _first_of_both(mirrored, size)
    weights = np.empty((num_stages, size), dtype=written.dtype)
    weights[:, first] = written.reshape(num_stages, np.count_nonzero(first))
    weights[:, : len(mirrored)] = weights[:, np.minimum(mirrored, np.arange(len(mirrored)))]
    return weights.ravel()


@dataclass(frozen=True, slots=True)
class NTupleEvaluator:
    """A network's values; an afterstate that ends the game counts by its result, and for more than any sum of weights."""

    network: NTupleNetwork

    def __call__(self, afterstates: Afterstates) -> npt.NDArray[np.floating]:
        """See `AfterstateAgent`."""
        values = self.network.values(afterstates.own, afterstates.opp)
        set_results(values, afterstates)
        return values


def ntuple_agent(network: NTupleNetwork, name: str = "ntuple") -> AfterstateAgent:
    """Plays the move whose afterstate the network values highest."""
    return AfterstateAgent(name, NTupleEvaluator(network), board_size=network.board_size)
