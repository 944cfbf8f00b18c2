from __future__ import annotations

import numpy as np
import pytest

from othello_env import Game, Position
from othello_env.rendering.pixels import draw_board

BLACK_DISC, WHITE_DISC, FELT, RED = (22, 22, 24), (244, 243, 238), (24, 118, 72), (214, 58, 46)


def middle(frame: np.ndarray, square: int, n: int, *, aside: float = 0.0) -> tuple[int, ...]:
    """The colour at the middle of a square, or beside it by a share of its width."""
    size = len(frame)
    cell = int(size * 0.88) // n
    margin = (size - cell * n) // 2
    row, column = divmod(square, n)
    return tuple(int(x) for x in frame[margin + row * cell + cell // 2, margin + column * cell + cell // 2 + round(aside * cell)])


@pytest.mark.parametrize("board_size", [4, 6, 8])
@pytest.mark.parametrize("size", [64, 97, 128, 512, 1000])
def test_frames_are_square_even_and_show_every_disc(board_size: int, size: int) -> None:
    position = Game.random(6, np.random.default_rng(0), Position.start(board_size)).final
    frame = draw_board(position, size=size, show_legal=False)
    assert frame.shape == (size - size % 2, size - size % 2, 3)
    assert frame.dtype == np.uint8
    for square in range(board_size**2):
        expected = BLACK_DISC if position.black >> square & 1 else WHITE_DISC if position.white >> square & 1 else FELT
        assert middle(frame, square, board_size) == expected


def test_the_last_move_and_the_legal_moves_are_marked() -> None:
    position = Position.start().play("d3")
    frame = draw_board(position, last_move=19)
    assert middle(frame, 19, 8) == RED
    assert middle(frame, 19, 8, aside=0.3) == BLACK_DISC
    for square in range(64):
        dot = middle(frame, square, 8) not in (BLACK_DISC, WHITE_DISC, FELT, RED)
        assert dot == (position.legal_moves >> square & 1 == 1)
    np.testing.assert_array_equal(draw_board(position, last_move=64), draw_board(position))
    assert (draw_board(position, show_legal=False) != draw_board(position)).any()


def test_drawing_twice_gives_the_same_picture_and_shares_nothing() -> None:
    first = draw_board(Position.start())
    expected = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(draw_board(Position.start()), expected)


def test_coordinates_are_there_where_they_fit() -> None:
    frame = draw_board(Position.start())
    margin = (512 - int(512 * 0.88) // 8 * 8) // 2
    for strip in (frame[:margin], frame[-margin:], frame[:, :margin], frame[:, -margin:]):
        assert (strip == (222, 208, 184)).all(axis=-1).sum() > 100


def test_too_small_a_picture_is_refused() -> None:
    with pytest.raises(ValueError, match="size 63"):
        draw_board(Position.start(), size=63)


@pytest.mark.parametrize("last_move", [65, -1])
def test_a_last_move_that_is_no_square_is_refused(last_move: int) -> None:
    with pytest.raises(ValueError, match=f"square {last_move}"):
        draw_board(Position.start(), last_move=last_move)
