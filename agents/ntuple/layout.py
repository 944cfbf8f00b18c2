"""Layout of an n-tuple network: its tuples of squares, its tables, and the index of each weight.

A tuple of L squares has 3**L possible contents, each with a weight in the tuple's table. Tuples
that are images of each other under the board's symmetries share one table (Lucas 2008; Jaskowski
2014). Two optional count tables are indexed by counts: one of moves and own discs, one of frontier
discs. Each stage of the game may have its own tables (Buro 1997). This module uses NumPy only.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from operator import index
from typing import Final

import numpy as np
import numpy.typing as npt

from othello_env.squares import check_board_size
from othello_env.symmetry import NUM_SYMMETRIES, transform_square

Group = tuple[tuple[int, ...], ...]

# Counts of moves and of frontier discs are capped at COUNT_LIMIT - 1.
COUNT_LIMIT: Final = 32
# Class of each number of own discs. Classes are narrow for small numbers, which are signs of a
# wipe-out.
DISC_CLASS: Final = np.array([0, 0, 0, 0, 1, 2, 3, 4, 4, *[5] * 3, *[6] * 4, *[7] * 49], dtype=np.int32)
# Sizes of the count tables: by disc class, replies and moves; by frontier discs of both sides.
COUNT_TABLE_SIZES: Final = ((int(DISC_CLASS[-1]) + 1) * COUNT_LIMIT**2, COUNT_LIMIT**2)
# Minimum number of discs of an afterstate.
FEWEST_DISCS: Final = 5
# Number of partial sums of a value. It is the same in compiled code and in NumPy, so that both
# round identically.
PARTIAL_SUMS: Final = 4

# Indices within a stage are computed in float32, which is exact below this. Even with all stages,
# indices then fit into the 32 bits of compiled code.
_MAX_STAGE_SIZE: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class Layout:
    """The tuples and tables of an n-tuple network. Raises `ValueError` for an invalid layout.

    groups: for each table, the tuples of squares that share it, all of the same length. The
    contents d_1 ... d_L of a tuple have the index d_1 * 3**(L-1) + ... + d_L in its table, where a
    digit is 0 for an opponent's disc, 1 for an empty square, 2 for an own disc.

    num_stages: number of stages of equal length into which the numbers of discs of afterstates, 5
    to n*n, are divided. The weights of a stage are contiguous: first the tables of the groups, then
    the count tables.

    counts: True for a layout with count tables. The first one has a `COUNT_LIMIT` x `COUNT_LIMIT`
    part for each class of the number of own discs (see `DISC_CLASS`); the row is the number of the
    opponent's replies, the column the number of moves that the side itself would have after a pass
    of the opponent. Row and column of the second one are the numbers of own and opposing frontier
    discs (discs adjacent to an empty square).
    """

    groups: tuple[Group, ...]
    board_size: int = 8
    num_stages: int = field(default=1, kw_only=True)
    counts: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_board_size(self.board_size)
        if not self.groups:
            raise ValueError("a network needs tuples")
        for group in self.groups:
            if len({len(squares) for squares in group}) != 1 or not group[0]:
                raise ValueError(f"tuples {group}: those that share a table must have one length, above 0")
        for squares in itertools.chain.from_iterable(self.groups):
            if len(set(squares)) < len(squares) or not set(squares) <= set(range(self.board_size**2)):
                raise ValueError(f"tuple {squares}: expected different squares from 0 to {self.board_size**2 - 1}")
        if not 1 <= index(self.num_stages) <= self.board_size**2 - FEWEST_DISCS + 1:
            raise ValueError(f"num_stages {self.num_stages}: expected 1 to {self.board_size**2 - FEWEST_DISCS + 1}")
        if self.stage_size >= _MAX_STAGE_SIZE:
            raise ValueError(f"{self.stage_size} weights per stage: expected fewer than {_MAX_STAGE_SIZE}")

    @property
    def num_tuples(self) -> int:
        """Number of tuples, T."""
        return sum(map(len, self.groups))

    @property
    def num_lookups(self) -> int:
        """Number of weights whose sum is a value, K."""
        return sum(self.lookups_per_table)

    @property
    def table_sizes(self) -> tuple[int, ...]:
        """Number of weights of each table of a stage."""
        return (*(3 ** len(group[0]) for group in self.groups), *(COUNT_TABLE_SIZES if self.counts else ()))

    @property
    def lookups_per_table(self) -> tuple[int, ...]:
        """Number of look-ups in each table of a stage per value."""
        return (*map(len, self.groups), *([1] * len(COUNT_TABLE_SIZES) if self.counts else ()))

    @property
    def stage_size(self) -> int:
        """Number of weights per stage."""
        return sum(self.table_sizes)

    @property
    def num_weights(self) -> int:
        """Number of weights of all stages."""
        return self.num_stages * self.stage_size

    @property
    def place_values(self) -> npt.NDArray[np.int64]:
        """Contribution of an own disc on a square to the index of a tuple: [n*n, T] int64.

        An opponent's disc contributes the negative.
        """
        values = np.zeros((self.board_size**2, self.num_tuples), dtype=np.int64)
        for column, squares in enumerate(itertools.chain.from_iterable(self.groups)):
            values[list(squares), column] = _powers_of_three(len(squares))
        return values

    @property
    def empty_indices(self) -> npt.NDArray[np.int64]:
        """Indices that the empty board looks up in the first stage: [K] int64.

        The indices of the tuples come first, then those of the count tables.
        """
        sizes = np.array(self.table_sizes)
        starts = np.cumsum(sizes) - sizes
        starts[: len(self.groups)] += sizes[: len(self.groups)] // 2  # all digits are 1
        return np.repeat(starts, self.lookups_per_table)

    def stages(self, num_discs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the stages of afterstates with these numbers of discs: [N] int64 to [N] int64."""
        span = self.board_size**2 - FEWEST_DISCS + 1
        return np.maximum(num_discs - FEWEST_DISCS, 0) * self.num_stages // span

    def mirrored_indices(self) -> npt.NDArray[np.int64]:
        """Return the index of the mirror image of each weight of a stage: [stage_size] int64.

        The permutation is its own inverse. The mirror image is the weight of the pattern under a
        symmetry that maps the tuple onto itself. A weight is its own image if no such symmetry
        exists, and in the count tables. If several exist, the first one is used; the straight and
        corner patterns have at most one.
        """
        images = np.arange(self.stage_size)
        start = 0
        for (squares, *_), size in zip(self.groups, self.table_sizes, strict=False):  # without the count tables
            powers = _powers_of_three(len(squares))
            digits = np.arange(size)[:, None] // powers % 3
            mirrored = [
                [transform_square(square, symmetry, self.board_size) for square in squares] for symmetry in range(1, NUM_SYMMETRIES)
            ]
            image = next((image for image in mirrored if set(image) == set(squares) and tuple(image) != squares), list(squares))
            order = [image.index(square) for square in squares]
            images[start : start + size] = start + digits[:, order] @ powers
            start += size
        return images


def _powers_of_three(length: int) -> npt.NDArray[np.int64]:
    """Return the place values of a tuple's digits, most significant first: [length] int64."""
    powers: npt.NDArray[np.int64] = 3 ** np.arange(length)[::-1]
    return powers


def straight_and_corner_groups(board_size: int = 8) -> tuple[Group, ...]:
    """Return Logistello's patterns (Buro 1997).

    They are the edge with both X squares, two corner blocks (2x5 and 3x3), the inner lines and the
    diagonals. On 8x8: 46 tuples in 11 groups, 167,265 weights. Raises `ValueError` for boards
    smaller than 6x6.
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
    """Return the images of a tuple under the eight symmetries, one per set of squares."""
    images: dict[frozenset[int], tuple[int, ...]] = {}
    for symmetry in range(NUM_SYMMETRIES):
        image = tuple(transform_square(square, symmetry, n) for square in squares)
        images.setdefault(frozenset(image), image)
    return tuple(images.values())
