"""Transposition table of a compiled search.

One flat array of words holds the table and the search's counters, move lists and principal
variations, because a compiled recursion is fastest with few arguments. The table has two slots per
bucket. A slot holds the full position, so that hash collisions are harmless, and bounds on its
value:

word 0: discs of the side to move. word 1: discs of the other side. word 2: lower bound in the low
half, upper bound in the high half, both plus 2**31. word 3, from the lowest bit: best square (8
bits), depth (8 bits), number of the search (32 bits).

A search never reads entries of an earlier search, so its result depends only on the position and
the settings. Each search has its own number, and a slot with another number counts as empty.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from othello_env.bitboard import BitboardArray
from othello_env.compiled import Int, Square, Word, inlined, kernel

Table = BitboardArray
"""[W] uint64, from `allocate`."""
Index = Any  # int64: an index of the array

# Indices of the words at the beginning of the array.
NODES: Final = 0  # number of positions visited
MAX_NODES: Final = 1  # the search stops itself at this number
STOP: Final = 2  # where not 0, the search returns as soon as it can, and its value is meaningless
SEARCH: Final = 3  # the number of the search, at least 1
MASK: Final = 4  # the number of buckets minus 1

MAX_MOVES: Final = 64  # arbitrary positions have more than the 33 that games reach
_LISTS: Final = 16
_LIST: Final = 2 * MAX_MOVES
_MAX_DEPTH: Final = 64
FINISHED: Final = _MAX_DEPTH + 1  # the "depth" of the principal variation of the last finished search
_PV: Final = _MAX_DEPTH + 1
_PVS: Final = _LISTS + (_MAX_DEPTH + 1) * _LIST
_BUCKETS: Final = _PVS + (FINISHED + 1) * _PV
_SLOT: Final = 4
_BUCKET: Final = 2 * _SLOT

NO_SQUARE: Final = 64

_FACTOR_OWN: Final = np.uint64(0x9E3779B97F4A7C15)
_FACTOR_OPP: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_LOW_HALF: Final = np.uint64(0xFFFFFFFF)
_LOW_BYTE: Final = np.uint64(0xFF)
_8: Final = np.uint64(8)
_16: Final = np.uint64(16)
_32: Final = np.uint64(32)
_OFFSET: Final = 1 << 31
_MOST_MEGABYTES: Final = 1 << 20
UNLIMITED: Final = np.uint64((1 << 64) - 1)
_LAST_SEARCH: Final = np.uint64((1 << 32) - 2)


def allocate(hash_mb: int) -> Table:
    """Return an empty transposition table.

    The number of buckets is the largest power of two that fits into `hash_mb` MiB. Raises
    `ValueError` unless `hash_mb` is 1 to 2**20.
    """
    if not 1 <= hash_mb <= _MOST_MEGABYTES:
        raise ValueError(f"hash_mb={hash_mb}: expected 1 to {_MOST_MEGABYTES}")
    num_buckets = 1 << ((hash_mb << 20) // (8 * _BUCKET)).bit_length() - 1
    table = np.zeros(_BUCKETS + num_buckets * _BUCKET, dtype=np.uint64)
    table[MASK] = num_buckets - 1
    return table


@kernel
def begin_search(table: Table, max_nodes: np.uint64) -> None:
    """Start a search: reset the counters and invalidate all entries.

    max_nodes: uint64, `UNLIMITED` for no limit.
    """
    table[NODES] = np.uint64(0)
    table[STOP] = np.uint64(0)
    table[MAX_NODES] = max_nodes
    table[SEARCH] += np.uint64(1)
    if table[SEARCH] >= _LAST_SEARCH:  # after 4 billion searches, the numbers begin again
        table[_BUCKETS:] = np.uint64(0)
        table[SEARCH] = np.uint64(1)


@inlined
def move_list(level: Int) -> Index:
    """Return the index of the move list of a node: keys, then flips.

    level: 0 to 64, distinct for each node on the current path.
    """
    return _LISTS + level * _LIST


@inlined
def put_move(table: Table, moves: Index, number: Int, key: Int, square: Square, flipped: Word) -> None:
    """Write move `number` of a list.

    moves: from `move_list`. key: 0 to 2**55 - 1; `take_move` returns moves in descending order of
    their keys.
    """
    table[moves + number] = np.uint64((key << 8) | square)
    table[moves + MAX_MOVES + number] = flipped


@inlined
def take_move(table: Table, moves: Index, number: Int, num_moves: Int) -> tuple[Square, Word]:
    """Return the square and the flips of the move with the highest key from `number` on.

    Move `number` is moved to its place in the list.
    """
    best = number
    for other in range(number + 1, num_moves):
        if table[moves + other] > table[moves + best]:
            best = other
    word = table[moves + best]
    flipped = table[moves + MAX_MOVES + best]
    table[moves + best] = table[moves + number]
    table[moves + MAX_MOVES + best] = table[moves + MAX_MOVES + number]
    return np.int64(word & _LOW_BYTE), flipped


@inlined
def pv_at(depth: Int) -> Index:
    """Return the index of the principal variation of the node at a depth of the current path.

    It consists of its length and its squares.
    """
    return _PVS + depth * _PV


@kernel
def finished_pv(table: Table) -> npt.NDArray[np.int64]:
    """Return the squares of the principal variation of the last finished search: int64."""
    pv = pv_at(FINISHED)
    return table[pv + 1 : pv + 1 + np.int64(table[pv])].astype(np.int64)


@inlined
def prepend(table: Table, depth: Int, square: Square) -> None:
    """Set the principal variation at `depth` to a move followed by the variation at `depth` - 1."""
    pv, rest = pv_at(depth), pv_at(depth - 1)
    length = np.int64(table[rest])
    table[pv] = np.uint64(length + 1)
    table[pv + 1] = np.uint64(square)
    for place in range(1, length + 1):
        table[pv + 1 + place] = table[rest + place]


@inlined
def _bucket(table: Table, own: Word, opp: Word) -> Index:
    """Return the index of the two slots of a position."""
    key = (own * _FACTOR_OWN) ^ ((opp + (own >> _32)) * _FACTOR_OPP)
    key ^= key >> _32
    return _BUCKETS + np.int64(key & table[MASK]) * _BUCKET


@inlined
def find(table: Table, own: Word, opp: Word) -> Index:
    """Return the index of the entry of a position, or 0 if the table has none."""
    place = _bucket(table, own, opp)
    if table[place] == own and table[place + 1] == opp and table[place + 3] >> _16 == table[SEARCH]:
        return place
    place += _SLOT
    if table[place] == own and table[place + 1] == opp and table[place + 3] >> _16 == table[SEARCH]:
        return place
    return 0


@inlined
def lower_bound(table: Table, entry: Index) -> Int:
    """Return the lower bound of the value."""
    return np.int64(table[entry + 2] & _LOW_HALF) - _OFFSET


@inlined
def upper_bound(table: Table, entry: Index) -> Int:
    """Return the upper bound of the value."""
    return np.int64(table[entry + 2] >> _32) - _OFFSET


@inlined
def best_square(table: Table, entry: Index) -> Square:
    """Return the best move, or `NO_SQUARE`."""
    return np.int64(table[entry + 3] & _LOW_BYTE)


@inlined
def depth_of(table: Table, entry: Index) -> Int:
    """Return the depth of the search that found the bounds."""
    return np.int64((table[entry + 3] >> _8) & _LOW_BYTE)


@inlined
def store(table: Table, own: Word, opp: Word, lower: Int, upper: Int, square: Square, depth: Int) -> None:
    """Store the bounds of a position.

    They replace those of the same position, else fill an empty slot, else replace those of the
    smaller depth.
    """
    place = _bucket(table, own, opp)
    other = place + _SLOT
    # Entries of earlier searches must not matter, not even those of the same position.
    first_is_empty = table[place + 3] >> _16 != table[SEARCH]
    second_is_empty = table[other + 3] >> _16 != table[SEARCH]
    in_first = not first_is_empty and table[place] == own and table[place + 1] == opp
    in_second = not second_is_empty and table[other] == own and table[other + 1] == opp
    if in_second or not (in_first or first_is_empty or (not second_is_empty and depth_of(table, place) <= depth_of(table, other))):
        place = other
    table[place] = own
    table[place + 1] = opp
    table[place + 2] = np.uint64(lower + _OFFSET) | (np.uint64(upper + _OFFSET) << _32)
    table[place + 3] = np.uint64(square) | (np.uint64(depth) << _8) | (table[SEARCH] << _16)
