"""The eight symmetries of the board, on squares, bitboards, positions and policies.

A symmetry is a number from 0 to 7. Its bits are applied in this order: bit 2 transposes
(a2 <-> b1), bit 1 mirrors top to bottom (a1 <-> a8), bit 0 mirrors left to right (a1 <-> h1). 0 is
the identity. Symmetries 0, 3, 4 and 7 map the start position to itself; the other four exchange its
colors.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from othello_env.bitboard import Bits
from othello_env.position import Position
from othello_env.squares import BOARD_SIZES

NUM_SYMMETRIES: Final = 8


def _transform_square(square: int, symmetry: int, n: int) -> int:
    row, column = divmod(square, n)
    if symmetry & 4:
        row, column = column, row
    if symmetry & 2:
        row = n - 1 - row
    if symmetry & 1:
        column = n - 1 - column
    return row * n + column


# _TARGETS[n][symmetry, square]: the square to which it is mapped; the pass is mapped to itself.
_TARGETS: Final = {
    n: np.array([[*(_transform_square(s, symmetry, n) for s in range(n * n)), n * n] for symmetry in range(NUM_SYMMETRIES)])
    for n in BOARD_SIZES
}
_SOURCES: Final = {n: np.argsort(targets, axis=1) for n, targets in _TARGETS.items()}


def _check(symmetry: int) -> None:
    if not 0 <= symmetry < NUM_SYMMETRIES:
        raise ValueError(f"symmetry {symmetry}: expected 0 to {NUM_SYMMETRIES - 1}")


def inverse(symmetry: int) -> int:
    """Return the inverse: the symmetry itself, except for the quarter turns 5 and 6."""
    _check(symmetry)
    return {5: 6, 6: 5}.get(symmetry, symmetry)


def transform_square(square: int, symmetry: int, board_size: int = 8) -> int:
    """Return the square to which a square is mapped; the pass is mapped to itself.

    Raises `ValueError` for an unknown symmetry, as all functions here do.
    """
    _check(symmetry)
    return int(_TARGETS[board_size][symmetry, square])


def transform_policy(policy: npt.NDArray[Any], symmetry: int, board_size: int = 8) -> npt.NDArray[Any]:
    """Return the policy (or mask) of the transformed position, in a new array.

    policy: [..., A], the pass last.
    """
    _check(symmetry)
    return policy[..., _SOURCES[board_size][symmetry]]


def _displacements(symmetry: int, n: int) -> tuple[tuple[int, int], ...]:
    """The squares grouped by how far they move, as (distance, set of squares)."""
    sets: dict[int, int] = {}
    for square in range(n * n):
        distance = transform_square(square, symmetry, n) - square
        sets[distance] = sets.get(distance, 0) | 1 << square
    return tuple(sets.items())


_GENERATORS: Final = {n: tuple((bit, _displacements(bit, n)) for bit in (4, 2, 1)) for n in BOARD_SIZES}


def transform(bits: Bits, symmetry: int, board_size: int = 8) -> Bits:
    """Return the transformed set of squares. bits: int, or uint64 of one or more axes."""
    _check(symmetry)
    for bit, displacements in _GENERATORS[board_size]:
        if symmetry & bit:
            moved = bits ^ bits  # the empty set, of the right type and shape
            for distance, squares in displacements:
                moved |= (bits & squares) << distance if distance >= 0 else (bits & squares) >> -distance
            bits = moved
    return bits


def transform_position(position: Position, symmetry: int) -> Position:
    """Return the transformed position, with the same side to move."""
    n = position.board_size
    return Position(transform(position.own, symmetry, n), transform(position.opp, symmetry, n), position.side_to_move, n)
