"""Replay of game arrays: the position after every prefix, up to the end or an illegal move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from othello_env import backend
from othello_env.batch import CHUNK, PositionBatch
from othello_env.bitboard import BitboardArray, legal_moves, start_discs
from othello_env.sequences.illegal_reason import IllegalReason
from othello_env.sequences.move_array import PADDING, Moves
from othello_env.squares import pass_square

# Handing rows to a thread takes as long as replaying a few hundred games.
_ROWS_PER_THREAD: Final = 512

# Games whose positions `replay_in_chunks` holds in memory: a few megabytes.
_GAMES_AT_A_TIME: Final = 4096


class Replay(NamedTuple):
    """Positions of N games of up to T moves. Column t is the position after t moves.

    Columns after the last position are 0. own, opp, legal: [N, T + 1] uint64; side: [N, T + 1]
    uint8, the side to move. flipped: [N, T] uint64, the discs that the move in each column flips.
    lengths: [N] int64, the number of columns before padding or an illegal move. first_illegal: [N]
    int64, a column, or -1. reasons: [N] uint8, values of `IllegalReason`.
    """

    own: BitboardArray
    opp: BitboardArray
    side: npt.NDArray[np.uint8]
    legal: BitboardArray
    flipped: BitboardArray
    lengths: npt.NDArray[np.int64]
    first_illegal: npt.NDArray[np.int64]
    reasons: npt.NDArray[np.uint8]

    @classmethod
    def empty(cls, num_games: int, num_columns: int) -> Replay:
        """Return arrays to write into."""
        positions = num_games, num_columns + 1
        return cls(
            np.empty(positions, dtype=np.uint64),
            np.empty(positions, dtype=np.uint64),
            np.empty(positions, dtype=np.uint8),
            np.empty(positions, dtype=np.uint64),
            np.empty((num_games, num_columns), dtype=np.uint64),
            np.empty(num_games, dtype=np.int64),
            np.empty(num_games, dtype=np.int64),
            np.empty(num_games, dtype=np.uint8),
        )

    def rows(self, rows: slice) -> Replay:
        """Return views of the arrays of some games."""
        return Replay._make(array[rows] for array in self)


def replay_games(moves: Moves, result: Replay, board_size: int, *, auto_pass: bool) -> None:
    """Play games through and write their positions into `result`.

    moves: [N, T] uint8 in C order. auto_pass: as in `PositionBatch`. If True, a forced pass is
    automatic right after the move that causes it, and may be written as well; a written pass then
    changes nothing. If False, passes must be written, as moves of their own.
    """
    compiled = backend.compiled(len(moves))
    if compiled is not None:
        from othello_env.sequences import kernel

        black, white = map(np.uint64, start_discs(board_size))
        settings = black, white, pass_square(board_size), compiled.GEOMETRY[board_size], auto_pass
        backend.run_rows(kernel.replay, (moves, *result), *settings, rows_per_thread=_ROWS_PER_THREAD)
        return
    for first in range(0, len(moves), CHUNK):
        rows = slice(first, first + CHUNK)
        _replay_with_numpy(moves[rows], result.rows(rows), board_size, auto_pass=auto_pass)


def replay_in_chunks(moves: Moves, board_size: int, *, auto_pass: bool = True) -> Iterator[tuple[slice, Replay]]:
    """Replay games in chunks, in constant memory; each result overwrites the one before."""
    scratch = Replay.empty(min(len(moves), _GAMES_AT_A_TIME), moves.shape[1])
    for first in range(0, len(moves), _GAMES_AT_A_TIME):
        rows = slice(first, min(first + _GAMES_AT_A_TIME, len(moves)))
        result = scratch.rows(slice(0, rows.stop - first))
        replay_games(moves[rows], result, board_size, auto_pass=auto_pass)
        yield rows, result


def _replay_with_numpy(moves: Moves, result: Replay, board_size: int, *, auto_pass: bool) -> None:
    """Play batched games through, one column at a time."""
    for array in result:
        array.fill(0)
    num_games, num_columns = moves.shape
    is_pass = pass_square(board_size)
    batch = PositionBatch.start(num_games, board_size, auto_pass=auto_pass)
    running = np.ones(num_games, dtype=np.bool_)  # neither at padding nor at an illegal move yet
    passed = np.zeros(num_games, dtype=np.bool_)  # the side to move has just moved, and no pass is written between
    result.lengths.fill(num_columns)
    result.first_illegal.fill(-1)
    for column in range(num_columns + 1):
        _store(batch, result, column, running)
        if column == num_columns:
            return
        squares = moves[:, column]
        padded = running & (squares == PADDING)
        placing = running & (squares < is_pass) & batch.is_legal(squares)
        passing = running & (squares == is_pass) & (passed | (batch.legal_moves == 0)) & ~batch.is_over
        wrong = running & ~(padded | placing | passing)
        if (padded | wrong).any():
            running &= placing | passing
            result.lengths[padded | wrong] = column
            result.first_illegal[wrong] = column
            result.reasons[wrong] = _reasons(batch, squares, np.flatnonzero(wrong))
            _find_moves_after_padding(moves, result, column, np.flatnonzero(padded))
        opp, side = batch.opp.copy(), batch.side_to_move.copy()
        moving = placing if auto_pass else placing | passing
        if moving.all():
            batch.step(squares)
        else:
            batch.step(squares[moving], np.flatnonzero(moving))
        passed = (placing & (batch.side_to_move == side) & ~batch.is_over) if auto_pass else np.zeros_like(passed)
        mover_discs = np.where(batch.side_to_move == side, batch.own, batch.opp)
        result.flipped[:, column] = np.where(placing, opp & mover_discs, 0)


def _store(batch: PositionBatch, result: Replay, column: int, running: npt.NDArray[np.bool_]) -> None:
    """Write the positions of the running games."""
    result.own[:, column] = np.where(running, batch.own, 0)
    result.opp[:, column] = np.where(running, batch.opp, 0)
    result.side[:, column] = np.where(running, batch.side_to_move, 0)
    result.legal[:, column] = np.where(running, batch.legal_moves, 0)


def _find_moves_after_padding(moves: Moves, result: Replay, column: int, rows: npt.NDArray[np.int64]) -> None:
    """Report moves after the first padding, which is in `column` of these rows."""
    later = moves[rows, column:] != PADDING
    found = later.any(axis=1)
    result.first_illegal[rows[found]] = column + later[found].argmax(axis=1)
    result.reasons[rows[found]] = IllegalReason.AFTER_PADDING


def _reasons(batch: PositionBatch, squares: Moves, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """Return the reasons why moves are illegal in some rows of a batch."""
    own, opp, tried = batch.own[rows], batch.opp[rows], squares[rows]
    move = np.left_shift(np.uint64(1), np.minimum(tried, 63).astype(np.uint64))
    cases: tuple[tuple[npt.NDArray[np.bool_], IllegalReason], ...] = (
        (tried > batch.pass_square, IllegalReason.NO_SQUARE),
        (batch.is_over[rows], IllegalReason.AFTER_END),
        (tried == batch.pass_square, IllegalReason.PASS),
        ((own | opp) & move != 0, IllegalReason.OCCUPIED),
        (legal_moves(opp, own, batch.board_size) & move != 0, IllegalReason.OTHER_SIDE),
    )
    reasons = [np.uint8(reason) for _, reason in cases]
    return np.select([condition for condition, _ in cases], reasons, np.uint8(IllegalReason.NO_FLIPS))
