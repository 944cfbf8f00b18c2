from __future__ import annotations

import pytest

from othello_env import Game, Position
from othello_env.rendering.text import format_result, render_text

EMPTIES = "with the empties to the winner"

EMPTIES = "with the empties to the winner"


def test_the_board_is_drawn_with_coordinates_and_legal_moves() -> None:
    assert render_text(Position.start()).splitlines() == [
        "  a b c d e f g h",
        "1 - - - - - - - - 1",
        "2 - - - - - - - - 2",
        "3 - - - · - - - - 3",
        "4 - - · O X - - - 4",
        "5 - - - X O · - - 5",
        "6 - - - - · - - - 6",
        "7 - - - - - - - - 7",
        "8 - - - - - - - - 8",
        "  a b c d e f g h",
        "X 2  O 2  Black to move",
    ]


@pytest.mark.parametrize(
    ("position", "last_move", "status"),
    [
        (Position.start(4).play("b1"), 1, "X 4  O 1  White to move, after b1"),
        (Position.parse("XO" + "-" * 14 + "O"), None, "X 1  O 1  White to pass"),
        (Position.parse("XO" + "-" * 14 + "X"), 16, "X 1  O 1  Black to move, after a pass"),
        (Game.parse("f5f4c3c6c5d6f3c4c7").final, 50, f"X 13  O 0  Black wins (13-0 by discs, 64-0 {EMPTIES}), after c7"),
        (Position.parse("OO" + "-" * 13 + "X" + "X"), None, f"X 1  O 2  White wins (2-1 by discs, 15-1 {EMPTIES})"),
        (Position.parse("X" + "-" * 14 + "O" + "X"), None, "X 1  O 1  draw"),
        (Position.parse("O" * 16 + "X"), None, "X 0  O 16  White wins"),
        (Position.parse("-" * 16 + "X"), None, "X 0  O 0  draw"),
    ],
)
def test_the_last_line_says_how_things_stand(position: Position, last_move: int | None, status: str) -> None:
    assert render_text(position, last_move=last_move).splitlines()[-1] == status


def test_a_running_game_has_no_result() -> None:
    with pytest.raises(ValueError, match="the game is not over"):
        format_result(Position.start())
