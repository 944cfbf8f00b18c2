"""The rules kernel: legal moves and flips on bitboards.

A bitboard is a set of squares, bit `s` for square `s` (a1 is the lowest bit). The kernel is written
once, with the operators `& | ^ << >>` only, so the same lines serve Python ints (one position),
`uint64` arrays (a batch, elementwise) and compiled code. It uses `own` (the side to move) and
`opp`, without colors. Boards of 4x4, 6x6 and 8x8 squares fit one 64-bit word.

Both functions extend chains over the discs of the other side along the four lines through a square.
A shift moves every square by one step along a line: 1 along the row, `n` along the column, `n - 1`
and `n + 1` along the diagonals. Steps with a sideways part must not leave the board at one edge and
come back at the other, so these chains use inner columns only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from othello_env.squares import BOARD_SIZES

BitboardArray = npt.NDArray[np.uint64]
Bits = TypeVar("Bits", int, BitboardArray)


def _columns(board_size: int, first: int, last: int) -> int:
    """The squares of columns `first` to `last`, inclusive."""
    return sum(1 << (row * board_size + column) for row in range(board_size) for column in range(first, last + 1))


FULL: Final = {n: (1 << n * n) - 1 for n in BOARD_SIZES}


Line = tuple[Any, Any, Any]


class Geometry(NamedTuple):
    """A board's lines and squares, as ints or as zero-dimensional arrays.

    lines: for each of the four lines through a square, one step along it, two steps, and the
    squares that a chain of outflanked discs may use. full: all squares. longest: the maximum length
    of such a chain, n - 2.
    """

    lines: tuple[Line, ...]
    full: Any
    longest: int


INT_GEOMETRY: Final = {
    n: Geometry(
        tuple((step, 2 * step, FULL[n] if step == n else _columns(n, 1, n - 2)) for step in (1, n - 1, n, n + 1)),
        FULL[n],
        n - 2,
    )
    for n in BOARD_SIZES
}


def _word(value: int) -> BitboardArray:
    """Return a zero-dimensional array, which NumPy handles in half the time of an int."""
    return np.array(value, dtype=np.uint64)


_WORD_GEOMETRY: Final = {
    n: Geometry(tuple((_word(step), _word(two_steps), _word(passable)) for step, two_steps, passable in lines), _word(full), longest)
    for n, (lines, full, longest) in INT_GEOMETRY.items()
}


def start_discs(board_size: int) -> tuple[int, int]:
    """The start position's discs (black, white): black d5 e4 and white d4 e5 on the 8x8 board."""
    middle = board_size // 2
    black = 1 << (middle * board_size + middle - 1) | 1 << ((middle - 1) * board_size + middle)
    white = 1 << ((middle - 1) * board_size + middle - 1) | 1 << (middle * board_size + middle)
    return black, white


def chains(source: Bits, over: Bits, step: Any, two_steps: Any, longest: int) -> tuple[Bits, Bits]:
    """Squares of `over` in unbroken chains from a square of `source`, in both directions of a line.

    Returns (up, down): the chains towards higher and towards lower squares.
    """
    up = over & (source << step)
    up |= over & (up << step)
    down = over & (source >> step)
    down |= over & (down >> step)
    if longest > 2:
        pairs_up = over & (over << step)  # squares that a chain enters together with the one before
        pairs_down = pairs_up >> step
        up |= pairs_up & (up << two_steps)
        down |= pairs_down & (down >> two_steps)
        if longest > 4:
            up |= pairs_up & (up << two_steps)
            down |= pairs_down & (down >> two_steps)
    return up, down


def line_moves(own: Bits, opp: Bits, line: Line, longest: int) -> Bits:
    """Squares next to the end of a chain of `opp` that begins at a disc of `own`, along one line.

    The squares may be occupied.
    """
    step, two_steps, passable = line
    up, down = chains(own, opp & passable, step, two_steps, longest)
    squares: Bits = up << step
    squares |= down >> step
    return squares


def line_flips(own: Bits, opp: Bits, move: Bits, line: Line, longest: int) -> Bits:
    """Discs of `opp` that a move flips along one line: a chain that ends at a disc of `own`."""
    step, two_steps, passable = line
    up, down = chains(move, opp & passable, step, two_steps, longest)
    flipped: Bits = up * ((own & (up << step)) != 0)
    flipped |= down * ((own & (down >> step)) != 0)
    return flipped


def legal_moves(own: Bits, opp: Bits, n: int) -> Bits:
    """The empty squares where a disc of `own` would outflank at least one disc of `opp`.

    own, opp: discs of the side to move and of the other side, on an n x n board; int, or uint64 of
    any shape. Returns the same type. The arguments are not checked.
    """
    lines, full, longest = INT_GEOMETRY[n] if isinstance(own, int) else _WORD_GEOMETRY[n]
    moves: Bits = own & opp  # the empty set, of the right type and shape
    for line in lines:
        moves |= line_moves(own, opp, line, longest)
    moves &= (own | opp) ^ full
    return moves


def flips(own: Bits, opp: Bits, move: Bits, n: int) -> Bits:
    """Discs of `opp` that are flipped if `own` plays on the square `move`; empty if illegal.

    own, opp: as in `legal_moves`. move: one empty square per element, or 0 for none. Returns the
    same type.
    """
    lines, _, longest = INT_GEOMETRY[n] if isinstance(own, int) else _WORD_GEOMETRY[n]
    flipped = own & opp  # the empty set, of the right type and shape
    for line in lines:
        flipped |= line_flips(own, opp, move, line, longest)
    return flipped


PlayMove = Callable[[int, int, int, int], tuple[int, int, int, int]]
"""The type of `play_move`."""


def play_move(own: int, opp: int, square: int, n: int) -> tuple[int, int, int, int]:
    """Play a legal move on one board, and the pass if it forces one.

    own, opp: discs of the side to move and of the other side. Returns the discs of the side to move
    next and of the other side, the legal moves, and 1 if the side to move has changed or 0 if the
    same side moves again. The legal moves are 0 only if the game is over. The arguments are not
    checked.
    """
    placed = 1 << square
    placed |= flips(own, opp, placed, n)
    after_own, after_opp = opp & ~placed, own | placed
    moves = legal_moves(after_own, after_opp, n)
    if not moves:
        again = legal_moves(after_opp, after_own, n)
        if again:
            return after_opp, after_own, again, 0
    return after_own, after_opp, moves, 1


# For each byte of a bitboard and each value of that byte: the squares, ascending.
_BYTE_SQUARES: Final = tuple(
    tuple(tuple(first + place for place in range(8) if value >> place & 1) for value in range(256)) for first in range(0, 64, 8)
)
_RANK_1, _RANK_2, _RANK_3, _RANK_4, _RANK_5, _RANK_6, _RANK_7, _RANK_8 = _BYTE_SQUARES


def squares_of(bits: int) -> tuple[int, ...]:
    """Return the squares of a set, ascending. bits: an int below 2**64."""
    return (
        _RANK_1[bits & 255]
        + _RANK_2[bits >> 8 & 255]
        + _RANK_3[bits >> 16 & 255]
        + _RANK_4[bits >> 24 & 255]
        + _RANK_5[bits >> 32 & 255]
        + _RANK_6[bits >> 40 & 255]
        + _RANK_7[bits >> 48 & 255]
        + _RANK_8[bits >> 56]
    )


def popcount(bits: BitboardArray) -> npt.NDArray[np.uint8]:
    """Number of squares in each element of `bits`.

    bits: uint64 of one or more axes. For an int use `int.bit_count`.
    """
    numpy_1 = not hasattr(np, "bitwise_count")
    counts: npt.NDArray[np.uint8] = (_byte_prefix_counts(bits) >> 56).astype(np.uint8) if numpy_1 else np.bitwise_count(bits)
    return counts


def _byte_prefix_counts(bits: BitboardArray) -> BitboardArray:
    """Byte `i` of the result is the number of squares in bytes 0 to `i`; the last is the total."""
    counts: Any = bits - ((bits >> 1) & 0x5555555555555555)
    counts = (counts & 0x3333333333333333) + ((counts >> 2) & 0x3333333333333333)
    counts = (counts + (counts >> 4)) & 0x0F0F0F0F0F0F0F0F
    prefix: BitboardArray = counts * 0x0101010101010101
    return prefix


# _NTH_IN_BYTE[rank << 8 | byte]: the position of the set bit with index `rank` in `byte`.
_NTH_IN_BYTE: Final = np.zeros(8 << 8, dtype=np.uint8)
for _byte in range(256):
    for _rank, _place in enumerate(place for place in range(8) if _byte >> place & 1):
        _NTH_IN_BYTE[_rank << 8 | _byte] = _place


def sample_squares(bits: BitboardArray, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Draw one square of each set, uniformly; 64 for the empty set.

    bits: [B] uint64. Returns [B] uint8. Uses 32 random bits per element, so the probabilities
    differ by less than 2**-26.
    """
    return pick_squares(bits, rng.integers(1 << 32, size=bits.shape, dtype=np.uint32))


def pick_squares(bits: BitboardArray, random_words: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    """Pick a square of each set by a random word; 64 for the empty set.

    The square has index `word * size >> 32` in ascending order. bits: [B] uint64. random_words: [B]
    uint32. Returns [B] uint8.
    """
    prefix = _byte_prefix_counts(bits)
    rank = random_words.astype(np.uint64)
    rank *= prefix >> 56
    rank >>= 32
    # The top bit of byte i is set if the first i + 1 bytes hold at most `rank` squares. The number
    # of such bytes is the index of the byte that holds the square.
    before = ((rank * 0x0101010101010101 | 0x8080808080808080) - prefix) & 0x8080808080808080
    before >>= 7
    before *= 0x0101010101010101
    before >>= 56
    before <<= 3
    rank -= ((prefix << 8) >> before) & 0xFF
    rank <<= 8
    rank |= (bits >> before) & 0xFF
    squares: npt.NDArray[np.uint8] = before.astype(np.uint8)
    squares += _NTH_IN_BYTE.take(rank.view(np.int64), mode="clip")
    return squares


def unpack(bits: BitboardArray, num_squares: int = 64) -> npt.NDArray[np.uint8]:
    """Convert sets to 0/1 vectors: bits [B] uint64 to [B, num_squares] uint8."""
    octets = np.ascontiguousarray(bits, dtype="<u8").view(np.uint8)
    # Flat, because unpackbits is then twice as fast as row by row, and twenty times as fast as with
    # its argument `count`.
    return np.unpackbits(octets, bitorder="little").reshape(-1, 64)[:, :num_squares]


def unpack_contents(own: BitboardArray, opp: BitboardArray, num_squares: int = 64) -> npt.NDArray[np.int8]:
    """Signed occupancy of each square: 1 own disc, -1 opponent's disc, 0 empty.

    own, opp: [B] uint64. Returns [B, num_squares] int8.
    """
    contents: npt.NDArray[np.int8] = unpack(own, num_squares).view(np.int8) - unpack(opp, num_squares).view(np.int8)
    return contents


def pack(mask: npt.NDArray[np.generic]) -> BitboardArray:
    """Convert each row to the set of its non-zero entries. The inverse of `unpack`.

    mask: [B, S], S at most 64. Returns [B] uint64.
    """
    octets = np.zeros((len(mask), 8), dtype=np.uint8)
    columns = mask.shape[1]
    if columns % 8:
        packed = np.packbits(mask != 0, axis=1, bitorder="little")
    else:  # faster
        packed = np.packbits((mask != 0).ravel(), bitorder="little").reshape(-1, columns // 8)
    octets[:, : packed.shape[1]] = packed
    return octets.view("<u8").reshape(-1).astype(np.uint64)
