"""Games as arrays of moves: one row per game, one column per move.

Each entry is a square (0 to n*n - 1), a written pass (n*n), or `PADDING` from the end of the game
on. Passes may be left out, as in most data sets: they follow from the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from othello_env.squares import check_board_size, pass_square

PADDING: Final = 255

Moves = npt.NDArray[np.uint8]


def max_moves(board_size: int) -> int:
    """Return the maximum number of moves of a game without written passes: 60 on 8x8."""
    return board_size**2 - 4


def as_moves(moves: npt.ArrayLike) -> Moves:
    """Convert [N, T] integers to uint8 in C order, without a copy if they already are.

    Raises `ValueError` for other shapes and types, and for entries outside 0 to 255.
    """
    try:
        array = np.asarray(moves)
    except ValueError:  # rows of different lengths
        raise ValueError("moves: rows of different lengths; make an array of them with pad_games") from None
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"moves: {array.dtype} of shape {array.shape}; expected integers of shape [N, T]")
    if array.dtype != np.uint8 and array.size and not 0 <= array.min() <= array.max() <= PADDING:
        row, column = np.argwhere((array < 0) | (array > PADDING))[0]
        raise ValueError(f"game {row}, move {column + 1}: {array[row, column]}; expected a square, a pass, or {PADDING} for padding")
    return np.ascontiguousarray(array, dtype=np.uint8)


def pad_games(games: Iterable[Sequence[int]], board_size: int = 8) -> Moves:
    """Make an array of games of different lengths.

    games: the moves of each game as integers, such as `game.moves` of `Game` objects; passes may be
    written. Returns [N, T] uint8 with T at least `n*n - 4`. Raises `ValueError` with game and move
    for an entry that is neither a square nor the pass.
    """
    check_board_size(board_size)
    values, lengths = flatten(games)
    wrong = np.flatnonzero((values < 0) | (values > pass_square(board_size)))
    if len(wrong):
        ends = np.cumsum(lengths)
        row = int(np.searchsorted(ends, wrong[0], side="right"))
        column = int(wrong[0] - ends[row] + lengths[row])
        raise ValueError(f"game {row}, move {column + 1}: {values[wrong[0]]} is no square of a {board_size}x{board_size} board")
    return pad_values(values.astype(np.uint8), lengths, width=max_moves(board_size), padding=PADDING)


def flatten(games: Iterable[Sequence[int]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the entries of all games, concatenated, and the number of entries of each game."""
    rows = list(games)
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    values = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
    return values, lengths


def pad_values(values: npt.NDArray[Any], lengths: npt.NDArray[np.int64], *, width: int, padding: int) -> npt.NDArray[Any]:
    """Arrange the result of `flatten` as [N, T], with T the larger of width and longest game."""
    width = max(width, int(lengths.max(initial=0)))
    array = np.full((len(lengths), width), padding, dtype=values.dtype)
    array[np.arange(width) < lengths[:, None]] = values
    return array


def fit_columns(moves: Moves, num_columns: int) -> Moves:
    """Copy games into an array of another width.

    Raises `ValueError` for the first game that has more entries than that.
    """
    too_long = np.flatnonzero((moves[:, num_columns:] != PADDING).any(axis=1))
    if len(too_long):
        row = int(too_long[0])
        length = int(np.flatnonzero(moves[row] != PADDING)[-1]) + 1
        raise ValueError(f"game {row}: {length} entries; expected at most {num_columns}")
    fitted = np.full((len(moves), num_columns), PADDING, dtype=np.uint8)
    fitted[:, : moves.shape[1]] = moves[:, :num_columns]
    return fitted
