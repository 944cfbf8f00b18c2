"""The memory of a compiled search: counters, move lists, lines and a transposition table, in one array of words.

One flat array, because a compiled recursion is fastest with few arguments. The table has two slots a bucket. A slot keeps the
whole position, so that two positions are never taken for one another, and bounds on its value:

word 0: discs of the side to move. word 1: the other's. word 2: lower bound in the low half, upper bound in the high half, both
plus 2**31. word 3: the best square (8 bits), the depth (8 bits), the number of the search (32 bits).

A search never reads what an earlier one has left, so that its result depends on the position and the settings alone: each has a
number of its own, and a slot with another number is empty.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from othello_env.bitboard import BitboardArray
from othello_env.compiled import inlined, kernel

# The words at the beginning of the array.
NODES: Final = 0  # positions visited
MAX_NODES: Final = 1  # at which the search stops itself
STOP: Final = 2  # not 0: the search returns as soon as it can, and its value means nothing
SEARCH: Final = 3  # the number of the search, at least 1
MASK: Final = 4  # the number of buckets minus 1

MAX_MOVES: Final = 64  # arbitrary positions have more than the 33 that games reach
_LISTS: Final = 16
_LIST: Final = 2 * MAX_MOVES
_MAX_DEPTH: Final = 64
FINISHED: Final = _MAX_DEPTH + 1  # where the line of the last finished search is
_LINE: Final = _MAX_DEPTH + 1
_LINES: Final = _LISTS + (_MAX_DEPTH + 1) * _LIST
_TABLE: Final = _LINES + (FINISHED + 1) * _LINE
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


def allocate(hash_mb: int) -> BitboardArray:
    """Memory for searches, with a table of the largest power of two of buckets that fits; at least 1 megabyte."""
    if not 1 <= hash_mb <= _MOST_MEGABYTES:
        raise ValueError(f"a table of {hash_mb} hash_mb; expected at least 1, and at most {_MOST_MEGABYTES}")
    num_buckets = 1 << ((hash_mb << 20) // (8 * _BUCKET)).bit_length() - 1
    memory = np.zeros(_TABLE + num_buckets * _BUCKET, dtype=np.uint64)
    memory[MASK] = num_buckets - 1
    return memory


@kernel
def begin_search(memory: BitboardArray, max_nodes: Any) -> None:
    """Set the counters of a new search, which finds the table empty. max_nodes: uint64, `UNLIMITED` for no limit."""
    memory[NODES] = np.uint64(0)
    memory[STOP] = np.uint64(0)
    memory[MAX_NODES] = max_nodes
    memory[SEARCH] += np.uint64(1)
    if memory[SEARCH] >= _LAST_SEARCH:  # after 4 billion searches, the numbers begin again
        memory[_TABLE:] = np.uint64(0)
        memory[SEARCH] = np.uint64(1)


@inlined
def move_list(level: Any) -> Any:
    """Where in memory the moves of a node are, by a number up to 64 that differs along the path to it: keys, then flips."""
    return _LISTS + level * _LIST


@inlined
def put_move(memory: Any, moves: Any, number: Any, key: Any, square: Any, flipped: Any) -> None:
    """Put a move into a list. moves: of `move_list`. key: below 2**55, not negative; the highest is tried first."""
    memory[moves + number] = np.uint64((key << 8) | square)
    memory[moves + MAX_MOVES + number] = flipped


@inlined
def take_move(memory: Any, moves: Any, number: Any, num_moves: Any) -> Any:
    """The square and the flips of the best move from `number` on, which changes its place with the one there."""
    best = number
    for other in range(number + 1, num_moves):
        if memory[moves + other] > memory[moves + best]:
            best = other
    word = memory[moves + best]
    flipped = memory[moves + MAX_MOVES + best]
    memory[moves + best] = memory[moves + number]
    memory[moves + MAX_MOVES + best] = memory[moves + MAX_MOVES + number]
    return np.int64(word & _LOW_BYTE), flipped


@inlined
def line_at(depth: Any) -> Any:
    """Where in memory the best line of the node with this depth is, the latest on the path: its length, then its squares."""
    return _LINES + depth * _LINE


@kernel
def finished_line(memory: BitboardArray) -> npt.NDArray[np.int64]:
    """The squares of the line of the last finished search."""
    line = line_at(FINISHED)
    return memory[line + 1 : line + 1 + np.int64(memory[line])].astype(np.int64)


@inlined
def prepend(memory: Any, depth: Any, square: Any) -> None:
    """Make a move and the line of the next lesser depth the line of this depth."""
    line, rest = line_at(depth), line_at(depth - 1)
    length = np.int64(memory[rest])
    memory[line] = np.uint64(length + 1)
    memory[line + 1] = np.uint64(square)
    for place in range(1, length + 1):
        memory[line + 1 + place] = memory[rest + place]


@inlined
def _bucket(memory: Any, own: Any, opp: Any) -> Any:
    """Where the two slots for a position are."""
    key = (own * _FACTOR_OWN) ^ ((opp + (own >> _32)) * _FACTOR_OPP)
    key ^= key >> _32
    return _TABLE + np.int64(key & memory[MASK]) * _BUCKET


@inlined
def find(memory: Any, own: Any, opp: Any) -> Any:
    """Where the table has the position, or 0."""
    place = _bucket(memory, own, opp)
    if memory[place] == own and memory[place + 1] == opp and memory[place + 3] >> _16 == memory[SEARCH]:
        return place
    place += _SLOT
    if memory[place] == own and memory[place + 1] == opp and memory[place + 3] >> _16 == memory[SEARCH]:
        return place
    return 0


@inlined
def lower_bound(memory: Any, place: Any) -> Any:
    """The least value that the position can have."""
    return np.int64(memory[place + 2] & _LOW_HALF) - _OFFSET


@inlined
def upper_bound(memory: Any, place: Any) -> Any:
    """The greatest value that the position can have."""
    return np.int64(memory[place + 2] >> _32) - _OFFSET


@inlined
def best_square(memory: Any, place: Any) -> Any:
    """The move that was best, or `NO_SQUARE`."""
    return np.int64(memory[place + 3] & _LOW_BYTE)


@inlined
def depth_of(memory: Any, place: Any) -> Any:
    """The depth to which the bounds hold."""
    return np.int64((memory[place + 3] >> _8) & _LOW_BYTE)


@inlined
def store(memory: Any, own: Any, opp: Any, lower: Any, upper: Any, square: Any, depth: Any) -> None:
    """Put bounds into the table: over the position's own, else over an empty slot's, else over those of the lesser depth."""
    place = _bucket(memory, own, opp)
    other = place + _SLOT
    # What earlier searches left must make no difference, not even where it is about the same position.
    first_is_empty = memory[place + 3] >> _16 != memory[SEARCH]
    second_is_empty = memory[other + 3] >> _16 != memory[SEARCH]
    in_first = not first_is_empty and memory[place] == own and memory[place + 1] == opp
    in_second = not second_is_empty and memory[other] == own and memory[other + 1] == opp
    if in_second or not (in_first or first_is_empty or (not second_is_empty and depth_of(memory, place) <= depth_of(memory, other))):
        place = other
    memory[place] = own
    memory[place + 1] = opp
    memory[place + 2] = np.uint64(lower + _OFFSET) | (np.uint64(upper + _OFFSET) << _32)
    memory[place + 3] = np.uint64(square) | (np.uint64(depth) << _8) | (memory[SEARCH] << _16)
