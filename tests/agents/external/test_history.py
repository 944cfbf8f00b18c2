from __future__ import annotations

import numpy as np

from agents.external.history import History, Move
from othello_env import Game, Position
from othello_env.position import BLACK


def final(moves: tuple[Move, ...]) -> Position:
    position = Position.start()
    for color, square in moves:
        assert position.side_to_move == color
        position = position.play(square)
    return position


def test_the_start_has_no_moves() -> None:
    assert History().find(Position.start()) == ()


def test_openings_are_found() -> None:
    rng = np.random.default_rng(1)
    for plies in (1, 5, 8, 10):
        for _ in range(5):
            position = Game.random(plies, rng).final
            moves = History().find(position)
            assert moves is not None
            assert final(moves) == position
            assert moves[0][0] == BLACK


def test_a_game_is_followed_move_by_move_among_others() -> None:
    rng = np.random.default_rng(2)
    history = History()
    games = [Game.random(50, rng) for _ in range(20)]
    for ply in range(8, 50, 2):
        for game in games:
            position = game.positions()[ply]
            moves = history.find(position)
            assert moves is not None
            assert final(moves) == position


def test_an_impossible_position_is_not_found() -> None:
    assert History().find(Position.parse("X-------" * 7 + "XO------ X")) is None


def test_a_late_position_without_its_game_is_given_up_in_bounded_time() -> None:
    position = Game.random(45, np.random.default_rng(3)).final
    moves = History().find(position)
    assert moves is None or final(moves) == position
