"""Games of uniformly random legal moves, the same for the same seed on every machine.

The random numbers are counter-based: each depends only on the seed, the number of the game and the
number of the move, so neither the chunk size nor the number of threads changes a game. Move `t` of
game `g` uses output number `64 * g + t` of the SplitMix64 generator (Steele, Lea & Flood 2014)
whose state begins at `SeedSequence(seed).generate_state(1, uint64)[0]`. The upper 32 bits of the
output, `word`, select entry `word * k >> 32` of the `k` legal squares in ascending order; the
probabilities of two squares differ by less than 2**-26.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import Final

import numpy as np

from othello_env import backend
from othello_env.batch import CHUNK, PositionBatch
from othello_env.bitboard import BitboardArray, pick_squares, start_discs
from othello_env.sequences import splitmix64
from othello_env.sequences.move_array import PADDING, Moves, max_moves
from othello_env.squares import check_board_size, pass_square

_OUTPUTS_PER_GAME: Final = 64
_MAX_GAMES: Final = (1 << 64) // _OUTPUTS_PER_GAME

_CHUNK_SIZE: Final = 65_536
_ROWS_PER_THREAD: Final = 1024


def random_games(num_games: int, board_size: int, seed: int, *, first: int = 0) -> Moves:
    """Play games in which every legal move is equally likely.

    board_size: 4, 6 or 8. seed: an integer from 0. first: number of the first game;
    `random_games(20, n, seed)` gives the same games as `random_games(10, n, seed)` followed by
    `random_games(10, n, seed, first=10)`. Returns [N, T] uint8 with `T = n*n - 4`: the squares of
    the moves without passes, then `PADDING`. Raises `ValueError` for numbers out of range.

    20 million 8x8 games take 1.2 GB; `stream_random_games` yields them in chunks.
    """
    return next(stream_random_games(num_games, board_size, seed, first=first, chunk_size=max(1, num_games)), _no_games(board_size))


def stream_random_games(num_games: int, board_size: int, seed: int, *, first: int = 0, chunk_size: int = _CHUNK_SIZE) -> Iterator[Moves]:
    """Play the games of `random_games` and yield them in chunks: [C, T] uint8 each.

    C is `chunk_size`, less in the last chunk; it does not change the games. The arguments are
    checked at the call.
    """
    board_size = check_board_size(board_size)
    num_games, first, chunk_size, seed = index(num_games), index(first), index(chunk_size), index(seed)
    for name, value, least in (("num_games", num_games, 0), ("first", first, 0), ("chunk_size", chunk_size, 1), ("seed", seed, 0)):
        if value < least:
            raise ValueError(f"{name} {value}: expected an integer from {least}")
    if first + num_games > _MAX_GAMES:
        raise ValueError(f"games {first} to {first + num_games}: a seed has {_MAX_GAMES} games")
    return _stream(num_games, board_size, seed, first, chunk_size)


def _no_games(board_size: int) -> Moves:
    return np.empty((0, max_moves(board_size)), dtype=np.uint8)


def _stream(num_games: int, board_size: int, seed: int, first: int, chunk_size: int) -> Iterator[Moves]:
    state = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    for start in range(first, first + num_games, chunk_size):
        moves = np.empty((min(chunk_size, first + num_games - start), max_moves(board_size)), dtype=np.uint8)
        for row in range(0, len(moves), _CHUNK_SIZE):
            _fill(moves[row : row + _CHUNK_SIZE], start + row, board_size, state)
        yield moves


def _fill(moves: Moves, first: int, board_size: int, state: int) -> None:
    """Write games into `moves` [C, T]. first: number of the first game."""
    numbers = np.arange(len(moves), dtype=np.uint64) + np.uint64(first)
    states = (numbers * np.uint64(_OUTPUTS_PER_GAME) + np.uint64(1)) * splitmix64.INCREMENT + np.uint64(state)
    compiled = backend.compiled(len(moves))
    if compiled is None:
        for row in range(0, len(moves), CHUNK):
            _fill_with_numpy(moves[row : row + CHUNK], states[row : row + CHUNK], board_size)
        return
    from othello_env.sequences import kernel

    black, white = map(np.uint64, start_discs(board_size))
    settings = black, white, pass_square(board_size), compiled.GEOMETRY[board_size]
    backend.run_rows(kernel.play_random_games, (states, moves), *settings, rows_per_thread=_ROWS_PER_THREAD)


def _fill_with_numpy(moves: Moves, states: BitboardArray, board_size: int) -> None:
    batch = PositionBatch.start(len(moves), board_size)
    for column in range(moves.shape[1]):
        random_words = (splitmix64.output(states) >> np.uint64(32)).astype(np.uint32)
        squares = np.minimum(pick_squares(batch.legal_moves, random_words), batch.pass_square)
        moves[:, column] = np.where(batch.is_over, PADDING, squares)
        batch.step(squares)
        states += splitmix64.INCREMENT
