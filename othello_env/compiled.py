"""Rules kernel compiled with numba (extra `[fast]`): `bitboard` at a few nanoseconds per position.

Compiled loops that handle one board at a time (perft, search) call `legal_moves` and `flips`.
`PositionBatch` calls the loops over arrays if `backend` selects them; a large batch is split into
parts that run in parallel.

Compiled code is cached on disk, next to this file or in the user's cache directory, so only the
very first use waits for the compiler. The logger "othello_env" reports this in one warning, which
Python prints to standard error by default.
"""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from othello_env.command import missing_extra

try:
    import numba
except ModuleNotFoundError:
    raise missing_extra("numba", "compiled code") from None
import numpy as np
import numpy.typing as npt
from numba import types
from numba.core import cgutils, event
from numba.extending import intrinsic
from numba.extending import overload as overload
from numba.extending import register_jitable as register_jitable

from othello_env import bitboard
from othello_env.bitboard import INT_GEOMETRY, BitboardArray, PlayMove
from othello_env.squares import BOARD_SIZES

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
    raise ImportError("NUMBA_DISABLE_JIT is set: there is no compiled code")

Function = TypeVar("Function", bound=Callable[..., Any])

# Argument and return types of compiled functions for one board. numba infers the types; the names
# say what a value is.
Word = Any  # uint64: a set of squares
Square = Any  # int64: the number of a square
Int = Any  # int64
Real = Any  # floating point
Geometry = Any  # what `unpacked` returns

# Rows per block of the loops over arrays: few enough to stay in a core's first-level cache.
_BLOCK: Final = 1024

_ONE: Final = np.uint64(1)
_LAST: Final = np.uint64(63)
_LONGEST: Final = max(INT_GEOMETRY[n].longest for n in BOARD_SIZES)  # long enough for all sizes


class _CompilationNotice(event.Listener):
    """Logs one line when the first kernel of this process is compiled.

    kernels: maps the dispatcher of each kernel to whether its code can be cached on disk.
    """

    def __init__(self) -> None:
        self.kernels: dict[Any, bool] = {}
        self._is_silent = not _speaks_for_its_workers()

    def on_start(self, event: event.Event) -> None:
        """Log the line, unless it has been logged before or the function is not a kernel."""
        keeps_code = self.kernels.get(event.data["dispatcher"])
        if keeps_code is None or self._is_silent:
            return
        self._is_silent = True
        often = "once on this computer" if keeps_code else "in every run, since no cache folder is writable: set NUMBA_CACHE_DIR to one"
        logging.getLogger("othello_env").warning("othello_env: compiling, which takes up to a minute, %s", often)

    def on_end(self, event: event.Event) -> None:
        """Do nothing."""


def _speaks_for_its_workers() -> bool:
    """Return whether this process logs: the main process and the first `multiprocessing` worker do.

    The other workers would only repeat the line.
    """
    return multiprocessing.parent_process() is None or multiprocessing.current_process().name.endswith("-1")


_notice: Final = _CompilationNotice()
event.register("numba:compile", _notice)  # type: ignore[no-untyped-call, unused-ignore]


def kernel(function: Function, *packages: Path) -> Function:
    """Compile a function at its first call, without the GIL, and cache the code on disk if it can.

    A change in any source file of `othello_env`, of the package that defines the function, or of
    the given folders invalidates the cache.
    """
    return _cached(function, *packages, nogil=True)


def _cached(function: Function, *packages: Path, nogil: bool) -> Function:
    try:
        dispatcher: Any = numba.njit(function, nogil=nogil, cache=True)
    except RuntimeError:  # numba found no directory to write to
        dispatcher = numba.njit(function, nogil=nogil)
        _notice.kernels[dispatcher] = False
        return cast("Function", dispatcher)
    _notice.kernels[dispatcher] = True
    # numba itself compiles again only if the function's own file has changed, not if a file has
    # changed whose functions were inlined.
    folders = Path(__file__).parent, _package_folder(function), *packages
    with suppress(AttributeError):  # the attributes are numba's own and may be named otherwise one day
        index = dispatcher._cache._cache_file
        index._source_stamp = (index._source_stamp, *(_source_stamps(folder) for folder in folders))
    return cast("Function", dispatcher)


def _package_folder(function: Callable[..., Any]) -> Path:
    """The folder of a function's top-level package; without a package, the folder of its file."""
    file = Path(function.__code__.co_filename)
    return file.parents[max(0, function.__module__.count(".") - 1)]


@lru_cache
def _source_stamps(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """The paths, modification times and sizes of all source files in a package."""
    files = ((path.relative_to(folder).as_posix(), path.stat()) for path in folder.rglob("*.py"))
    return tuple(sorted((name, status.st_mtime_ns, status.st_size) for name, status in files))


def inlined(function: Function) -> Function:
    """Compile a function to be inlined into the compiled functions that call it."""
    return cast("Function", numba.njit(function, forceinline=True))


def compiled_function(function: Function) -> Function:
    """Compile a function called by compiled functions that is recursive or too large to be inlined.

    A recursive call must pass the same types, so no literals: code for several types crashes when
    it is loaded from the cache (numba 0.68).
    """
    return cast("Function", numba.njit(function))


def _popcount(_context: Any, _bits: Any) -> Any:
    return types.int64(types.uint64), lambda _context, builder, _signature, arguments: builder.ctpop(arguments[0])


def _lowest_square(_context: Any, _bits: Any) -> Any:
    return types.int64(types.uint64), lambda _context, builder, _signature, arguments: builder.cttz(arguments[0], cgutils.false_bit)


def _leading_zeros(_context: Any, _bits: Any) -> Any:
    return types.int64(types.uint64), lambda _context, builder, _signature, arguments: builder.ctlz(arguments[0], cgutils.false_bit)


# For compiled functions only, of one uint64. popcount: number of squares. leading_zeros: 63 minus
# the highest square, 64 for the empty set. lowest_square: 64 for the empty set.
popcount: Final[Any] = intrinsic(_popcount)
leading_zeros: Final[Any] = intrinsic(_leading_zeros)
lowest_square: Final[Any] = intrinsic(_lowest_square)

for _function in (bitboard.chains, bitboard.line_moves, bitboard.line_flips):
    register_jitable(_function)
_line_moves, _line_flips = bitboard.line_moves, bitboard.line_flips

# Per board size: step, double step and passable squares of each of the four lines, then all
# squares.
GEOMETRY: Final = {
    n: np.array([word for line in INT_GEOMETRY[n].lines for word in line] + [INT_GEOMETRY[n].full], dtype=np.uint64) for n in BOARD_SIZES
}


@inlined
def unpacked(words: BitboardArray) -> Geometry:
    """Unpack an array of `GEOMETRY` into the tuple that `legal_moves` and `flips` take."""
    return (
        (words[0], words[1], words[2]),
        (words[3], words[4], words[5]),
        (words[6], words[7], words[8]),
        (words[9], words[10], words[11]),
        words[12],
    )


@inlined
def legal_moves(own: Word, opp: Word, geometry: Geometry) -> Word:
    """`bitboard.legal_moves` for one board in a compiled function."""
    row, falling, column, rising, full = geometry
    moves = _line_moves(own, opp, row, _LONGEST) | _line_moves(own, opp, falling, _LONGEST)
    moves |= _line_moves(own, opp, column, _LONGEST) | _line_moves(own, opp, rising, _LONGEST)
    return moves & ((own | opp) ^ full)


@inlined
def flips(own: Word, opp: Word, move: Word, geometry: Geometry) -> Word:
    """`bitboard.flips` for one board in a compiled function."""
    row, falling, column, rising, _ = geometry
    flipped = _line_flips(own, opp, move, row, _LONGEST) | _line_flips(own, opp, move, falling, _LONGEST)
    flipped |= _line_flips(own, opp, move, column, _LONGEST) | _line_flips(own, opp, move, rising, _LONGEST)
    return np.uint64(flipped)


@inlined
def place(own: Word, opp: Word, move: Word, flipped: Word) -> tuple[Word, Word]:
    """Place a disc and return (own, opp) from the view of the side that moves next.

    flipped: the result of `flips` for the move.
    """
    return opp ^ flipped, own | move | flipped


@inlined
def settle(own: Word, opp: Word, geometry: Geometry) -> tuple[Word, Word, Word, bool]:
    """Resolve a forced pass on one board and return (own, opp, legal moves, passed).

    If the side to move has no legal move and the other side has one, it passes: own and opp are
    exchanged. The legal moves are empty exactly if the game is over; passed is then False.
    """
    moves = legal_moves(own, opp, geometry)
    if moves == 0:
        replies = legal_moves(opp, own, geometry)
        if replies != 0:
            return opp, own, replies, True
    return own, opp, moves, False


def _play_move(own: Word, opp: Word, square: Word, board_size: Word) -> tuple[Word, Word, Word, Word]:
    """See `bitboard.play_move`."""
    geometry = _GEOMETRIES[0] if board_size == _SIZES[0] else _GEOMETRIES[1] if board_size == _SIZES[1] else _GEOMETRIES[2]
    move = _ONE << square
    after_own, after_opp = place(own, opp, move, flips(own, opp, move, geometry))
    next_own, next_opp, moves, passed = settle(after_own, after_opp, geometry)
    return next_own, next_opp, moves, np.uint64(not passed)


_SIZES: Final = tuple(map(np.uint64, BOARD_SIZES))
_GEOMETRIES: Final = tuple(
    (*(tuple(map(np.uint64, line)) for line in INT_GEOMETRY[n].lines), np.uint64(INT_GEOMETRY[n].full)) for n in BOARD_SIZES
)


def compile_play_move() -> PlayMove:
    """Compile `_play_move` for Python integers.

    Returns the compiled entry point, which is called without numba's dispatch on argument types.
    """
    dispatcher: Any = _cached(_play_move, nogil=False)  # a call is shorter than giving up the interpreter's lock
    word: Any = types.uint64
    uniform_tuple: Any = types.UniTuple
    signature = uniform_tuple(word, 4)(word, word, word, word)
    dispatcher.compile(signature)
    entry: PlayMove = dispatcher.get_overload(signature)
    return entry


# Loops over arrays. LLVM vectorizes them only if everything is inlined, indices begin at zero, and
# a loop writes to few arrays: hence the small loops over blocks.


@kernel
def fill_legal_moves(own: BitboardArray, opp: BitboardArray, moves: BitboardArray, words: BitboardArray) -> None:
    """Write the legal moves of [B] boards into `moves`.

    words: an array of `GEOMETRY`, here and below.
    """
    geometry = unpacked(words)
    for row in range(len(own)):
        moves[row] = legal_moves(own[row], opp[row], geometry)


@kernel
def fill_flips(own: BitboardArray, opp: BitboardArray, move: BitboardArray, flipped: BitboardArray, words: BitboardArray) -> None:
    """Write the flips of one move on each of [B] boards into `flipped`."""
    geometry = unpacked(words)
    for row in range(len(own)):
        flipped[row] = flips(own[row], opp[row], move[row], geometry)


@kernel
def count_illegal(legal: BitboardArray, squares: npt.NDArray[np.int64], pass_square: int) -> int:
    """Number of rows with an illegal move; a pass is legal only in rows without a legal square."""
    allowed = 0
    for row in range(len(legal)):
        square = np.uint64(squares[row])
        placing = (legal[row] >> (square & _LAST)) & np.uint64(square <= _LAST)
        allowed += np.int64(placing | np.uint64((legal[row] == 0) & (squares[row] == pass_square)))
    return len(legal) - allowed


@kernel
def advance(
    own: BitboardArray,
    opp: BitboardArray,
    side: npt.NDArray[np.uint8],
    legal: BitboardArray,
    over: npt.NDArray[np.bool_],
    squares: npt.NDArray[np.int64],
    words: BitboardArray,
    auto_pass: bool,
) -> None:
    """Play one move per row, in place, as `PositionBatch.step` does if `count_illegal` is 0."""
    geometry = unpacked(words)
    block_placed = np.empty(_BLOCK, dtype=np.uint64)
    for first in range(0, len(own), _BLOCK):
        block = slice(first, first + _BLOCK)
        block_own, block_opp, block_side, block_legal, block_over = own[block], opp[block], side[block], legal[block], over[block]
        block_squares = squares[block]
        for row in range(len(block_own)):
            square = np.uint64(block_squares[row]) & _LAST  # 0 instead of the pass on 8x8: nothing is legal there
            move = ((block_legal[row] >> square) & _ONE) << square
            block_placed[row] = move | flips(block_own[row], block_opp[row], move, geometry)
        for row in range(len(block_own)):
            before = block_own[row]
            block_own[row] = block_opp[row] & ~block_placed[row]
            block_opp[row] = before | block_placed[row]
        for row in range(len(block_own)):
            block_side[row] ^= np.uint8(1)
        for row in range(len(block_own)):
            block_legal[row] = legal_moves(block_own[row], block_opp[row], geometry)
        for row in range(len(block_own)):
            if block_legal[row] == 0:
                replies = legal_moves(block_opp[row], block_own[row], geometry)
                if block_over[row] or (replies != 0 and auto_pass):
                    block_own[row], block_opp[row] = block_opp[row], block_own[row]
                    block_side[row] ^= np.uint8(1)
                    block_legal[row] = replies
                elif replies == 0:
                    block_over[row] = True


@kernel
def sample(bits: BitboardArray, random_words: npt.NDArray[np.uint32], squares: npt.NDArray[np.int64], none: int) -> None:
    """Write one square of each set into `squares`, picked by a random word; `none` for empty sets.

    Picks the same squares as `bitboard.pick_squares`.
    """
    for row in range(len(bits)):
        rest = bits[row]
        rank = (np.uint64(random_words[row]) * np.uint64(popcount(rest))) >> np.uint64(32)
        square: Any = np.uint64(0)
        for half in (np.uint64(32), np.uint64(16), np.uint64(8), np.uint64(4), np.uint64(2), np.uint64(1)):
            low = rest & ((_ONE << half) - _ONE)
            count = np.uint64(popcount(low))
            in_upper_half = rank >= count
            rank = rank - count if in_upper_half else rank
            rest = rest >> half if in_upper_half else low
            square = square + half if in_upper_half else square
        squares[row] = np.int64(square) if bits[row] != 0 else none


@kernel
def fill_afterstates(
    own: BitboardArray,
    opp: BitboardArray,
    legal: BitboardArray,
    rows: npt.NDArray[np.int64],
    squares: npt.NDArray[np.int64],
    after_own: BitboardArray,
    after_opp: BitboardArray,
    words: BitboardArray,
) -> None:
    """Write the afterstates of all legal moves, sorted by row and square.

    The output arrays have one entry per legal move.
    """
    geometry = unpacked(words)
    entry = 0
    for row in range(len(own)):
        moves = legal[row]
        while moves:
            square = lowest_square(moves)
            move = _ONE << np.uint64(square)
            rows[entry], squares[entry] = row, square
            after_opp[entry], after_own[entry] = place(own[row], opp[row], move, flips(own[row], opp[row], move, geometry))
            entry += 1
            moves &= moves - _ONE


@kernel
def perft(own: int, opp: int, depth: int, pass_is_ply: bool, words: BitboardArray) -> int:
    """Number of move sequences of `depth` plies, see `othello_env.perft`.

    own, opp: uint64. depth: at least 1.
    """
    return _count(np.uint64(own), np.uint64(opp), depth, pass_is_ply, unpacked(words))


@compiled_function
def _count(own: Word, opp: Word, depth: int, pass_is_ply: bool, geometry: Geometry) -> int:
    own, opp, moves, passed = settle(own, opp, geometry)
    depth -= passed and pass_is_ply
    if moves == 0 or depth == 0:
        return 1
    if depth == 1:
        return int(popcount(moves))
    total = 0
    while moves:
        move = moves & (~moves + _ONE)
        moves ^= move
        next_own, next_opp = place(own, opp, move, flips(own, opp, move, geometry))
        total += _count(next_own, next_opp, depth - 1, pass_is_ply, geometry)
    return total
