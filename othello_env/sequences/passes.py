"""Written passes: most data sets omit passes; programs such as OpenSpiel and pgx write them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from othello_env.sequences.labeling import raise_for_illegal
from othello_env.sequences.move_array import PADDING, Moves, as_moves, fit_columns, max_moves
from othello_env.sequences.referee import find_illegal_moves
from othello_env.sequences.replay import replay_in_chunks
from othello_env.squares import check_board_size, pass_square


def omit_passes(moves: npt.ArrayLike, board_size: int = 8, *, length: int | None = None) -> Moves:
    """Remove the written passes, legal or not; `find_illegal_moves` finds the unforced ones.

    moves: [N, T] integers. length: number of columns, by default `n*n - 4`. Returns a new array
    [N, L] uint8. Raises `ValueError` for a game longer than `length`.
    """
    entries, board_size = as_moves(moves), check_board_size(board_size)
    written = entries == pass_square(board_size)
    rows = np.flatnonzero(written.any(axis=1))
    if len(rows):
        order = np.argsort(written[rows], axis=1, kind="stable")  # passes last
        entries = entries.copy()
        entries[rows] = np.take_along_axis(np.where(written[rows], np.uint8(PADDING), entries[rows]), order, axis=1)
    return fit_columns(entries, max_moves(board_size) if length is None else length)


def write_passes(moves: npt.ArrayLike, board_size: int = 8, *, length: int | None = None) -> Moves:
    """Write every forced pass between two moves as an entry of its own, the number `n*n`.

    moves: [N, T] integers, passes left out or written. length: number of columns; by default that
    of the longest game. Returns a new array [N, L] uint8. Raises `IllegalMoveError` with game, move
    and reason for the first illegal game, and `ValueError` for a game longer than `length`.
    """
    moves, board_size = as_moves(moves), check_board_size(board_size)
    raise_for_illegal(find_illegal_moves(moves, board_size))
    moves = omit_passes(moves, board_size)
    is_move = moves != PADDING
    moves_again = np.zeros(moves.shape, dtype=np.bool_)  # the side that made the move before, so that the other side has passed
    for rows, replay in replay_in_chunks(moves, board_size):
        moves_again[rows, 1:] = replay.side[:, 1:-1] == replay.side[:, :-2]
    moves_again &= is_move
    longest = int((is_move.sum(axis=1) + moves_again.sum(axis=1)).max(initial=0))
    written = fit_columns(moves, max(moves.shape[1], longest))
    games = np.flatnonzero(moves_again.any(axis=1))
    written[games] = PADDING
    columns = np.arange(moves.shape[1]) + np.cumsum(moves_again[games], axis=1)
    rows_of_moves, before = np.nonzero(is_move[games])
    written[games[rows_of_moves], columns[rows_of_moves, before]] = moves[games[rows_of_moves], before]
    rows_of_passes, before = np.nonzero(moves_again[games])
    written[games[rows_of_passes], columns[rows_of_passes, before] - 1] = pass_square(board_size)
    return fit_columns(written, longest if length is None else length)
