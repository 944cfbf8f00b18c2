"""Batches of positions, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from othello_env import backend
from othello_env.bitboard import FULL, BitboardArray, flips, legal_moves, popcount, sample_squares, unpack
from othello_env.errors import IllegalMoveError
from othello_env.observation import Observation, ObservationFormat, ObservationOptions, action_mask
from othello_env.options import check_arguments
from othello_env.position import BLACK, Position, Scoring, check_scoring
from othello_env.squares import check_board_size, pass_square

if TYPE_CHECKING:
    from typing_extensions import Unpack

IntArray = npt.NDArray[np.integer]
BoolArray = npt.NDArray[np.bool_]

# Rows per chunk: temporary arrays of this many words stay in a core's second-level cache.
CHUNK: Final = 8192


@cache
def _keep_freed_memory() -> None:
    """Make glibc keep the memory of temporary arrays that the kernel frees.

    glibc returns such memory to the system and faults it in again each time, which halves the
    speed, until the program has once freed a block of the largest size to which glibc adapts. This
    frees such a block; it is never touched, so it takes microseconds and no memory.
    """
    np.empty(31 << 20, dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class Afterstates:
    """Positions after each legal move, before the reply, for a batch of positions.

    N entries, sorted by row and then by square. rows: [N], the row in the batch. squares: [N], the
    move. own, opp: [N] uint64, discs of the side that moved and of the other side, after the move.
    side: [N] uint8, the side that moved.
    """

    rows: npt.NDArray[np.int64]
    squares: npt.NDArray[np.int64]
    own: BitboardArray
    opp: BitboardArray
    side: npt.NDArray[np.uint8]
    board_size: int

    def __len__(self) -> int:
        return len(self.rows)

    def results(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the indices of the afterstates that end the game, and the disc differences there.

        Both are [E] int64. A difference is the mover's discs minus the other's.
        """
        ends = self._ends()
        return ends, popcount(self.own[ends]).astype(np.int64) - popcount(self.opp[ends])

    def _ends(self) -> npt.NDArray[np.int64]:
        """Return the indices of the afterstates in which neither side can move."""
        stuck = np.flatnonzero(find_legal_moves(self.opp, self.own, board_size=self.board_size) == 0)
        over: npt.NDArray[np.int64] = stuck[legal_moves(self.own[stuck], self.opp[stuck], self.board_size) == 0]
        return over


_ARRAYS: Final = ("own", "opp", "side_to_move", "legal_moves", "is_over")
_DTYPES: Final = tuple(np.dtype(name) for name in ("uint64", "uint64", "uint8", "uint64", "bool"))


class PositionBatch:
    """B positions of one board size; `step` plays one move in each, with automatic passes.

    own, opp: [B] uint64, discs of the side to move and of the other side. side_to_move: [B] uint8,
    0 black, 1 white. legal_moves: [B] uint64, the legal squares of the side to move. is_over: [B]
    bool, True if neither side can move.

    With `auto_pass` (the default) a side without a move is skipped, so `legal_moves` is empty
    exactly if the game is over. With `auto_pass=False` such a row stays with the side that must
    pass, and the pass is its only legal move.

    The arrays are the batch itself, not copies: only `step` and `reset` should change them. Copy an
    array to keep its values.
    """

    __slots__ = (*_ARRAYS, "auto_pass", "board_size")

    own: BitboardArray
    opp: BitboardArray
    side_to_move: npt.NDArray[np.uint8]
    legal_moves: BitboardArray
    is_over: BoolArray

    def __init__(
        self,
        own: npt.ArrayLike,
        opp: npt.ArrayLike,
        side_to_move: npt.ArrayLike,
        *,
        board_size: int = 8,
        auto_pass: bool = True,
    ) -> None:
        """Create a batch from integers of shape [B], which are copied.

        Raises `ValueError` for rows that are not valid positions.
        """
        self.board_size = check_board_size(board_size)
        self.auto_pass = auto_pass
        self.own = _words("own", own, 64)
        self.opp = _words("opp", opp, 64)
        self.side_to_move = _words("side_to_move", side_to_move, 1).astype(np.uint8)
        shapes = (self.own.shape, self.opp.shape, self.side_to_move.shape)
        if self.own.ndim != 1 or len(set(shapes)) > 1:
            raise ValueError(f"own, opp and side_to_move have shapes {shapes}: expected three times [B]")
        bad_mask = ((self.own & self.opp) | ((self.own | self.opp) & ~np.uint64(FULL[self.board_size]))) != 0
        if bad_mask.any():
            row = int(np.flatnonzero(bad_mask)[0])
            raise ValueError(f"row {row} is no position: own {int(self.own[row]):#x}, opp {int(self.opp[row]):#x}")
        if len(self.own) >= backend.WORTHWHILE:
            _keep_freed_memory()
        self.legal_moves = np.empty_like(self.own)
        self.is_over = np.zeros(len(self.own), dtype=np.bool_)
        for rows in _chunks(len(self.own)):
            self._store(rows, self.own[rows], self.opp[rows], self.side_to_move[rows])

    @classmethod
    def start(cls, batch_size: int, board_size: int = 8, *, auto_pass: bool = True) -> PositionBatch:
        """Return a batch of `batch_size` start positions."""
        return _start_batch(board_size, auto_pass).take(np.zeros(batch_size, dtype=np.int64))

    @classmethod
    def from_positions(cls, positions: Sequence[Position], *, auto_pass: bool = True) -> PositionBatch:
        """Return a batch of the given positions, which must have the same board size."""
        sizes = {position.board_size for position in positions}
        if len(sizes) != 1:
            raise ValueError(f"board sizes {sorted(sizes)}: a batch needs positions of exactly one")
        batch = cls.trusted(
            np.array([position.own for position in positions], dtype=np.uint64),
            np.array([position.opp for position in positions], dtype=np.uint64),
            np.array([position.side_to_move for position in positions], dtype=np.uint8),
            np.array([position.legal_moves for position in positions], dtype=np.uint64),
            np.zeros(len(positions), dtype=np.bool_),
            board_size=sizes.pop(),
            auto_pass=auto_pass,
        )
        stuck = np.flatnonzero(batch.legal_moves == 0)
        if len(stuck):
            batch._store(stuck, batch.own[stuck], batch.opp[stuck], batch.side_to_move[stuck])
        return batch

    @classmethod
    def trusted(
        cls,
        own: BitboardArray,
        opp: BitboardArray,
        side_to_move: npt.NDArray[np.uint8],
        legal_moves: BitboardArray,
        is_over: BoolArray,
        *,
        board_size: int,
        auto_pass: bool = True,
    ) -> PositionBatch:
        """Return a batch of these arrays themselves, [B] each, without checks or copies.

        The caller guarantees that they are consistent.
        """
        if len(own) >= backend.WORTHWHILE:
            _keep_freed_memory()
        batch = object.__new__(cls)
        batch.board_size, batch.auto_pass = board_size, auto_pass
        batch.own, batch.opp, batch.side_to_move, batch.legal_moves, batch.is_over = own, opp, side_to_move, legal_moves, is_over
        return batch

    def __len__(self) -> int:
        return len(self.own)

    def __getitem__(self, row: int) -> Position:
        """Return the position in one row."""
        return Position(int(self.own[row]), int(self.opp[row]), int(self.side_to_move[row]), self.board_size)

    def __iter__(self) -> Iterator[Position]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return f"PositionBatch({len(self)} positions of {self.board_size}x{self.board_size}, {int(self.is_over.sum())} over)"

    def take(self, rows: IntArray | BoolArray) -> PositionBatch:
        """Return a new batch of the given rows.

        rows: indices in any order, also repeated, or a mask [B].
        """
        indices = self._row_indices(rows)
        arrays = (getattr(self, name)[indices] for name in _ARRAYS)
        return PositionBatch.trusted(*arrays, board_size=self.board_size, auto_pass=self.auto_pass)

    def _row_indices(self, rows: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the indices of rows that are given as indices or as a mask.

        Raises `ValueError` for anything else, and for rows outside the batch.
        """
        given = np.asarray(rows)
        if given.dtype == np.bool_ and given.shape == self.own.shape:
            return np.flatnonzero(given)
        if given.ndim != 1 or not (np.issubdtype(given.dtype, np.integer) or given.size == 0):
            raise ValueError(f"rows: {given.dtype} of shape {given.shape}; expected indices [R] or a mask of shape {self.own.shape}")
        indices: npt.NDArray[np.int64] = given.astype(np.int64)
        if len(indices) and not -len(self) <= indices.min() <= indices.max() < len(self):
            raise ValueError(f"rows {int(indices.min())} to {int(indices.max())}: the batch has {len(self)}")
        return indices

    def copy(self) -> PositionBatch:
        """Return an independent copy."""
        arrays = (getattr(self, name).copy() for name in _ARRAYS)
        return PositionBatch.trusted(*arrays, board_size=self.board_size, auto_pass=self.auto_pass)

    @property
    def pass_square(self) -> int:
        """The number of the pass on this board size: 64 on 8x8."""
        return pass_square(self.board_size)

    def legal_action_mask(self) -> npt.NDArray[np.int8]:
        """Return the moves that `step` accepts: [B, n*n + 1] int8.

        1 for each legal square, or for the pass if no square is legal. The pass is also the only 1
        in rows whose game is over, so no row is all zero.
        """
        return action_mask(self.legal_moves, self.board_size)

    def observe(self, **layout: Unpack[ObservationOptions]) -> Observation:
        """Return the observations of the sides to move, in new arrays.

        {"observation": [B, n, n, 2] int8, own discs and the other side's, "action_mask":
        `legal_action_mask()`}. layout: see `ObservationFormat`.
        """
        check_arguments("PositionBatch.observe", PositionBatch.observe, layout, ObservationOptions)
        return ObservationFormat(self.board_size, **layout).observe_batch(self.own, self.opp, self.legal_moves)

    def sample_moves(self, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Draw a legal move for each row, uniformly: [B] int64; the pass if no square is legal."""
        return sample_moves(self.legal_moves, self.pass_square, rng)

    def step(self, squares: npt.ArrayLike, rows: IntArray | None = None) -> None:
        """Play one move in each row, or in each of the given rows, with automatic passes.

        squares: [B] integers, a legal square in each row, or the pass if no square is legal; the
        pass is a move only with `auto_pass=False`, and leaves rows that are over unchanged. rows:
        [R] distinct indices; `squares` is then [R]. Raises `IllegalMoveError` for the first illegal
        row, before anything has changed.
        """
        compiled = backend.compiled(len(self) if rows is None else len(rows))
        if compiled is not None and self._step_compiled(compiled, squares, rows):
            return
        moves, placing_mask = self._read_moves(squares, rows)
        if placing_mask.all():
            for chunk in _chunks(len(moves)):
                self._place(chunk if rows is None else rows[chunk], moves[chunk])
            return
        indices = np.arange(len(self)) if rows is None else rows
        passing = indices[~placing_mask]
        wrong = np.flatnonzero((moves[~placing_mask] != self.pass_square) | (self.legal_moves[passing] != 0))
        if len(wrong):
            self._raise_illegal(int(passing[wrong[0]]), int(np.asarray(squares)[~placing_mask][wrong[0]]))
        forced = passing[~self.is_over[passing]]
        if len(forced):
            self._store(forced, self.opp[forced], self.own[forced], self.side_to_move[forced] ^ np.uint8(1))
        indices, moves = indices[placing_mask], moves[placing_mask]
        for chunk in _chunks(len(moves)):
            self._place(indices[chunk], moves[chunk])

    def _step_compiled(self, compiled: Any, squares: npt.ArrayLike, rows: IntArray | None) -> bool:
        """Do `step` in compiled code if all moves are legal and of the right shape.

        Returns True if it is done; otherwise nothing has changed.
        """
        moves = np.asarray(squares)
        if not np.issubdtype(moves.dtype, np.integer):
            return False
        moves = np.ascontiguousarray(moves, dtype=np.int64)
        arrays = [getattr(self, name) if rows is None else getattr(self, name)[rows] for name in _ARRAYS]
        own, opp, side, legal, over = arrays
        if moves.shape != legal.shape or not _fit_compiled(arrays) or compiled.count_illegal(legal, moves, self.pass_square):
            return False
        words = compiled.GEOMETRY[self.board_size]
        backend.run_rows(compiled.advance, (own, opp, side, legal, over, moves), words, self.auto_pass)
        if rows is not None:
            for name, array in zip(_ARRAYS, arrays, strict=True):
                getattr(self, name)[rows] = array
        return True

    def is_legal(self, squares: npt.ArrayLike, rows: IntArray | None = None) -> BoolArray:
        """Return for each row whether `step` accepts a move: [B] or [R] bool.

        squares, rows: as in `step`.
        """
        moves, placing_mask = self._read_moves(squares, rows)
        nowhere = (self.legal_moves if rows is None else self.legal_moves[rows]) == 0
        legal: BoolArray = placing_mask | ((moves == self.pass_square) & nowhere)
        return legal

    def _read_moves(self, squares: npt.ArrayLike, rows: IntArray | None) -> tuple[BitboardArray, BoolArray]:
        """Return the moves as words, and for each whether it is a legal square."""
        moves = np.asarray(squares)
        legal_moves = self.legal_moves if rows is None else self.legal_moves[rows]
        if moves.shape != legal_moves.shape or not np.issubdtype(moves.dtype, np.integer):
            raise ValueError(f"squares: {moves.dtype} of shape {moves.shape}; expected integers of shape {legal_moves.shape}")
        words = moves.astype(np.uint64)  # a negative number becomes one that shifts everything out
        return words, ((legal_moves >> words) & 1).astype(np.bool_)

    def _place(self, rows: slice | IntArray, squares: BitboardArray) -> None:
        """Place a disc in each of `rows`, on a legal square."""
        own, opp = self.own[rows], self.opp[rows]
        placed = np.left_shift(np.uint64(1), squares)
        flipped = flips(own, opp, placed, self.board_size)
        placed |= own
        placed |= flipped
        self._store(rows, opp ^ flipped, placed, self.side_to_move[rows] ^ np.uint8(1))

    def _store(self, rows: slice | IntArray, own: BitboardArray, opp: BitboardArray, side: npt.NDArray[np.uint8]) -> None:
        """Store positions in `rows`, with forced passes resolved if `auto_pass` is set.

        May modify `own`, `opp` and `side`.
        """
        legal = legal_moves(own, opp, self.board_size)
        over = np.zeros(len(legal), dtype=np.bool_)
        stuck = np.flatnonzero(legal == 0)
        if len(stuck):
            replies = legal_moves(opp[stuck], own[stuck], self.board_size)
            over[stuck] = replies == 0
            if self.auto_pass:
                passing = stuck[replies != 0]
                own[passing], opp[passing] = opp[passing], own[passing]
                side[passing] ^= 1
                legal[stuck] = replies
        self.own[rows], self.opp[rows], self.side_to_move[rows] = own, opp, side
        self.legal_moves[rows], self.is_over[rows] = legal, over

    def _raise_illegal(self, row: int, move: int) -> None:
        try:
            self[row].play(move)
        except IllegalMoveError as error:
            raise IllegalMoveError(f"row {row}: {error}") from None
        raise AssertionError(f"row {row}: {move} is illegal in the batch and legal in {self[row]}")

    def reset(self, rows: IntArray | BoolArray, positions: PositionBatch | None = None) -> None:
        """Put the start position, or `positions` in their order, into the given rows.

        rows: indices or a boolean mask. Raises `ValueError` for invalid rows, and for `positions`
        of another number or board size.
        """
        indices = self._row_indices(rows)
        if positions is None:
            start = _start_batch(self.board_size, self.auto_pass)
            for name in _ARRAYS:
                getattr(self, name)[indices] = getattr(start, name)
            return
        if len(positions) != len(indices) or positions.board_size != self.board_size:
            raise ValueError(
                f"{len(indices)} rows of {self.board_size}x{self.board_size} cannot take {len(positions)} positions "
                f"of {positions.board_size}x{positions.board_size}"
            )
        if positions.auto_pass == self.auto_pass:
            for name in _ARRAYS:
                getattr(self, name)[indices] = getattr(positions, name)
            return
        for chunk in _chunks(len(indices)):
            own, opp, side = (getattr(positions, name)[chunk].copy() for name in ("own", "opp", "side_to_move"))
            self._store(indices[chunk], own, opp, side)

    def afterstates(self) -> Afterstates:
        """Return the afterstates of all legal moves of all rows.

        Rows without a legal square have none.
        """
        compiled = backend.compiled(len(self))
        if compiled is not None and _fit_compiled([getattr(self, name) for name in _ARRAYS]):
            num_moves = int(popcount(self.legal_moves).sum(dtype=np.int64))
            rows, squares = np.empty((2, num_moves), dtype=np.int64)
            own, opp = np.empty((2, num_moves), dtype=np.uint64)
            words = compiled.GEOMETRY[self.board_size]
            compiled.fill_afterstates(self.own, self.opp, self.legal_moves, rows, squares, own, opp, words)
            return Afterstates(rows, squares, own, opp, self.side_to_move[rows], self.board_size)
        index = np.flatnonzero(unpack(self.legal_moves))
        rows, squares = index >> 6, index & 63
        own, opp, placed = self.own[rows], self.opp[rows], np.left_shift(np.uint64(1), squares.astype(np.uint64))
        for chunk in _chunks(len(rows)):
            flipped = flips(own[chunk], opp[chunk], placed[chunk], self.board_size)
            own[chunk] |= flipped | placed[chunk]
            opp[chunk] ^= flipped
        return Afterstates(rows, squares, own, opp, self.side_to_move[rows], self.board_size)

    def children(self) -> PositionBatch:
        """Return the positions after every legal move of every row.

        With `auto_pass=False` a forced pass is such a move.
        """
        after = self.afterstates()
        forced = np.flatnonzero((self.legal_moves == 0) & ~self.is_over)
        return PositionBatch(
            np.concatenate([after.opp, self.opp[forced]]),
            np.concatenate([after.own, self.own[forced]]),
            np.concatenate([after.side, self.side_to_move[forced]]) ^ 1,
            board_size=self.board_size,
            auto_pass=self.auto_pass,
        )

    @property
    def discs(self) -> npt.NDArray[np.int64]:
        """Numbers of discs on the boards: [B, 2] int64, black then white."""
        counts = np.stack([popcount(self.own), popcount(self.opp)], axis=1).astype(np.int64)
        white = self.side_to_move != BLACK
        counts[white] = counts[white, ::-1]
        return counts

    @property
    def empties(self) -> npt.NDArray[np.int64]:
        """Numbers of empty squares: [B] int64."""
        return self.pass_square - popcount(self.own | self.opp).astype(np.int64)

    def score(self, scoring: Scoring) -> npt.NDArray[np.int64]:
        """Return Black's discs minus White's as if the games ended here: [B] int64.

        scoring: as in `Position.score`.
        """
        check_scoring(scoring)
        discs = self.discs
        difference = discs[:, 0] - discs[:, 1]
        if scoring == "empties_to_winner":
            difference += np.sign(difference) * self.empties
        return difference

    @property
    def outcome(self) -> npt.NDArray[np.float32]:
        """Results from Black's view: [B] float32, +1, 0 or -1; NaN for unfinished games.

        NaN distinguishes an unfinished game from a draw.
        """
        return np.where(self.is_over, np.sign(self.score("discs")), np.nan).astype(np.float32)


def sample_moves(legal: BitboardArray, pass_square: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw one square of each set, uniformly; the pass for empty sets.

    legal: [B] uint64. Returns [B] int64.
    """
    moves = np.empty(len(legal), dtype=np.int64)
    compiled = backend.compiled(len(legal))
    if compiled is not None:
        compiled.sample(legal, rng.integers(1 << 32, size=len(legal), dtype=np.uint32), moves, pass_square)
        return moves
    for rows in _chunks(len(legal)):
        moves[rows] = sample_squares(legal[rows], rng)
    return np.minimum(moves, pass_square, out=moves)


def find_legal_moves(own: BitboardArray, opp: BitboardArray, *, board_size: int) -> BitboardArray:
    """Return the legal moves of any number of rows, compiled or in chunks.

    own, opp: [B] uint64. Returns [B] uint64.
    """
    moves = np.empty_like(own)
    compiled = backend.compiled(len(own))
    if compiled is not None and own.shape == opp.shape and own.dtype == opp.dtype == np.uint64:
        backend.run_rows(compiled.fill_legal_moves, (own, opp, moves), compiled.GEOMETRY[board_size])
    else:
        for chunk in _chunks(len(own)):
            moves[chunk] = legal_moves(own[chunk], opp[chunk], board_size)
    return moves


def _fit_compiled(arrays: Sequence[npt.NDArray[Any]]) -> bool:
    """Return whether compiled code can take the arrays of a batch.

    A user may have replaced them, and compiled code does not check where it writes.
    """
    return all(
        array.shape == arrays[0].shape and array.dtype == dtype and array.flags.writeable and array.ndim == 1
        for array, dtype in zip(arrays, _DTYPES, strict=True)
    )


def _words(name: str, values: npt.ArrayLike, max_bits: int) -> BitboardArray:
    """Copy non-negative integers of at most `max_bits` bits to uint64.

    Raises `ValueError` for anything else.
    """
    if isinstance(values, list) and all(type(value) is int for value in values):
        extremes: list[int] = [min(values), max(values)] if values else []
        kind = "int"
    else:
        values = np.asarray(values)
        kind = str(values.dtype)
        if values.size and not np.issubdtype(values.dtype, np.integer):
            raise ValueError(f"{name}: {kind}; expected integers from 0 to {(1 << max_bits) - 1}")
        extremes = [int(values.min()), int(values.max())] if values.size else []
    if extremes and not 0 <= extremes[0] <= extremes[1] < 1 << max_bits:
        raise ValueError(f"{name}: {kind} from {extremes[0]} to {extremes[1]}; expected integers from 0 to {(1 << max_bits) - 1}")
    return np.array(values, dtype=np.uint64)


@lru_cache
def _start_batch(board_size: int, auto_pass: bool) -> PositionBatch:
    """A batch of one start position, to copy from."""
    return PositionBatch.from_positions([Position.start(board_size)], auto_pass=auto_pass)


def _chunks(length: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, length)) for start in range(0, length, CHUNK))
