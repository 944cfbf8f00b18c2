from __future__ import annotations

import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from othello_env import backend
from othello_env.bitboard import popcount
from othello_env.sequences import PADDING, find_illegal_moves, label_games, random_games, splitmix64, stream_random_games
from othello_env.sequences.move_array import Moves
from othello_env.squares import BOARD_SIZES, format_square


def text(moves: Moves, board_size: int) -> str:
    return "".join(format_square(int(move), board_size) for move in moves if move != PADDING)


# Pins the algorithm of the module's docstring: these games must never change.
FIRST_GAMES_OF_SEED_2023 = {
    4: "b1a3c4d3a4c1a2b4d2d4d1a1",
    6: "c2b4c5d6a5d2e4d5e6f5d1c1c6e5b2a4e3e2b5b1f2a3a2f3f4b3f6a6a1e1b6f1",
    8: "d3c5d6e7b6e3f5a7d7d8e2d2c7g6d1b7b5b4h7f2c4c2f3c3b8g5a6f4a5e1a8c1f8g7b3a3g1f6e6f1a4c6f7e8b1h8h6h5h4b2g2h2g3h1c8g8a2a1g4h3",
}


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_the_games_of_a_seed_stay_the_same(board_size: int, either_backend: None) -> None:
    assert text(random_games(1, board_size, 2023)[0], board_size) == FIRST_GAMES_OF_SEED_2023[board_size]


def test_the_random_numbers_are_those_of_splitmix64() -> None:
    # The first outputs for the seed 1234567, as published on Rosetta Code ("Pseudo-random
    # numbers/Splitmix64").
    outputs = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    states = np.uint64(1234567) + np.arange(1, 6, dtype=np.uint64) * splitmix64.INCREMENT
    assert splitmix64.output(states).tolist() == outputs


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_numpy_and_compiled_code_play_the_same_games(board_size: int) -> None:
    pytest.importorskip("numba")
    before = backend._State.module, backend._State.wanted, backend.play_move
    backend.use_numpy()
    by_numpy = random_games(2_500, board_size, 5, first=10)
    assert backend.use_compiled()
    by_compiled = random_games(2_500, board_size, 5, first=10)
    backend._State.module, backend._State.wanted, backend.play_move = before
    assert np.array_equal(by_numpy, by_compiled)


@pytest.mark.parametrize("chunk_size", [1, 7, 1_000, 1_024, 5_000])
def test_the_chunk_size_changes_no_game(chunk_size: int, either_backend: None) -> None:
    chunks = list(stream_random_games(3_000 if chunk_size > 100 else 30, 8, 1, chunk_size=chunk_size))
    moves = np.concatenate(chunks)
    assert np.array_equal(moves, random_games(len(moves), 8, 1))
    assert [len(chunk) for chunk in chunks[:-1]] == [chunk_size] * (len(chunks) - 1)


def test_the_number_of_threads_changes_no_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHELLO_ENV_THREADS", "1")
    alone = random_games(5_000, 8, 1)
    monkeypatch.setenv("OTHELLO_ENV_THREADS", "3")
    assert np.array_equal(alone, random_games(5_000, 8, 1))


def test_a_game_depends_on_its_number_only(either_backend: None) -> None:
    games = random_games(300, 6, 4)
    assert np.array_equal(games[100:], random_games(200, 6, 4, first=100))
    assert len(np.unique(games, axis=0)) == 300


def test_seeds_give_different_games() -> None:
    games = [random_games(100, 8, seed) for seed in (0, 1, 2, 1 << 70)]
    assert all((one != other).any(axis=1).all() for one, other in pairwise(games))


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_games_are_legal_and_finished(board_size: int, either_backend: None) -> None:
    moves = random_games(1_000, board_size, 8)
    assert moves.shape == (1_000, board_size**2 - 4)
    assert moves.dtype == np.uint8
    assert find_illegal_moves(moves, board_size).is_legal.all()
    labels = label_games(moves, board_size)
    assert (labels.legal_moves[np.arange(1_000), labels.lengths] == 0).all()


# Shares of wins of Black, of White, and of draws, mean and standard deviation of the disc
# difference, moves and passes per game: exact on 4x4 (all 60,060 games with their probabilities),
# from 300,000 games of an independent program on 6x6 and 8x8.
RANDOM_PLAY = {
    4: (0.35205, 0.55132, 0.09663, -1.526, 7.441, 11.780, 0.7348),
    6: (0.4345, 0.5086, 0.0569, -0.92, 13.19, 31.95, 0.552),
    8: (0.4533, 0.5046, 0.0421, -0.88, 18.23, 59.97, 0.447),
}


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_the_results_have_the_distribution_of_random_play(board_size: int) -> None:
    num_games = 40_000
    moves = random_games(num_games, board_size, 6)
    labels = label_games(moves, board_size)
    last = np.arange(num_games), labels.lengths
    difference = popcount(labels.black[last]).astype(np.int64) - popcount(labels.white[last])
    black, white, draws, mean, deviation, num_moves, num_passes = RANDOM_PLAY[board_size]
    for share, found in ((black, difference > 0), (white, difference < 0), (draws, difference == 0)):
        assert abs(found.mean() - share) < 4.5 * np.sqrt(share * (1 - share) * (1 / num_games + 1 / 300_000))
    assert abs(difference.mean() - mean) < 4.5 * deviation / np.sqrt(num_games) + 0.005
    assert abs(difference.std() / deviation - 1) < 0.02
    assert abs(labels.lengths.mean() - num_moves) < 0.02
    moved_twice = (labels.side_to_move[:, 1:-1] == labels.side_to_move[:, :-2]) & (moves[:, 1:] != PADDING)
    assert abs(moved_twice.sum() / num_games - num_passes) < 0.03


def test_all_legal_moves_are_equally_likely(either_backend: None) -> None:
    moves = random_games(20_000, 8, 12)
    squares, counts = np.unique(moves[:, 0], return_counts=True)
    assert squares.tolist() == [19, 26, 37, 44]
    assert ((counts - 5_000) ** 2 / 5_000).sum() < 16.3  # chi-square, 3 degrees of freedom, p = 0.001
    replies = moves[moves[:, 0] == 19, 1]
    squares, counts = np.unique(replies, return_counts=True)
    assert squares.tolist() == [18, 20, 34]
    assert ((counts - len(replies) / 3) ** 2 / (len(replies) / 3)).sum() < 13.8  # 2 degrees of freedom


def test_streaming_needs_memory_for_a_chunk_only() -> None:
    list(stream_random_games(2_000, 4, 1, chunk_size=1_000))
    tracemalloc.start()
    total = sum(len(chunk) for chunk in stream_random_games(60_000, 4, 1, chunk_size=1_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 60_000
    assert peak < 400_000, "60,000 games of 12 bytes are 720,000"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_games": -1}, "num_games -1: expected an integer from 0"),
        ({"board_size": 7}, "board_size 7"),
        ({"seed": -1}, "seed -1"),
        ({"first": -1}, "first -1"),
        ({"first": 1 << 58}, "a seed has 288230376151711744 games"),
        ({"chunk_size": 0}, "chunk_size 0: expected an integer from 1"),
    ],
)
def test_numbers_out_of_range_are_refused_at_the_call(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stream_random_games(**{"num_games": 1, "board_size": 8, "seed": 0, **arguments})


def test_no_games_are_an_empty_array() -> None:
    assert random_games(0, 6, 1).shape == (0, 32)
    assert list(stream_random_games(0, 6, 1)) == []
