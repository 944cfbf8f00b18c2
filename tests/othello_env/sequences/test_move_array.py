from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from othello_env import Game
from othello_env.sequences import PADDING, pad_games
from othello_env.sequences.move_array import as_moves, fit_columns


def test_games_become_rows_with_padding_after_the_last_move() -> None:
    games = [Game.parse("f5d6c3"), Game.parse(""), Game.parse("e6")]
    moves = pad_games(game.moves for game in games)
    assert moves.shape == (3, 60)
    assert moves.dtype == np.uint8
    assert moves[0, :4].tolist() == [37, 43, 18, PADDING]
    assert (moves[1] == PADDING).all()
    assert moves[2, :2].tolist() == [44, PADDING]


def test_games_longer_than_the_squares_make_a_wider_array() -> None:
    assert pad_games([[64] * 70]).shape == (1, 70)
    assert pad_games([], board_size=4).shape == (0, 12)


@pytest.mark.parametrize(("games", "message"), [([[19], [18, 65]], "game 1, move 2: 65"), ([[], [-1]], "game 1, move 1: -1")])
def test_padding_names_the_first_entry_that_is_no_square(games: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pad_games(games)


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        ([19, 18], r"shape \(2,\); expected integers of shape \[N, T\]"),
        ([[1.5]], "float64"),
        ([[19], [19, 18]], "pad_games"),
        ([[19, 256]], "game 0, move 2: 256"),
        ([[19], [-1]], "game 1, move 1: -1"),
    ],
)
def test_what_is_no_array_of_moves_is_refused(moves: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_moves(moves)


def test_an_array_of_moves_is_not_copied() -> None:
    moves = pad_games([[19]])
    assert as_moves(moves) is moves
    assert as_moves(moves.astype(np.int64)).dtype == np.uint8


def test_columns_are_cut_only_where_no_game_has_moves() -> None:
    moves = pad_games([[19, 18], [37]])
    assert fit_columns(moves, 2).tolist() == [[19, 18], [37, PADDING]]
    assert fit_columns(moves, 61).shape == (2, 61)
    with pytest.raises(ValueError, match="game 0: 2 entries; expected at most 1"):
        fit_columns(moves, 1)
