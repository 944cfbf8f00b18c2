from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given

from othello_env import Game, OthelloEnv, OthelloSelfPlayVectorEnv, Position, othello_v0
from othello_env.rendering.text import format_result, format_status, render_text
from tests.strategies import played_positions


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


WIPE_OUT = "13-0 by discs, 64-0 with the empties to the winner"


@pytest.mark.parametrize(
    ("position", "last_move", "status"),
    [
        (Position.start(4).play("b1"), 1, "X 4  O 1  White to move, after b1"),
        (Position.parse("XO" + "-" * 14 + "O"), None, "X 1  O 1  White to pass"),
        (Position.parse("XO" + "-" * 14 + "X"), 16, "X 1  O 1  Black to move, after a pass"),
        (Game.parse("f5f4c3c6c5d6f3c4c7").final, 50, f"X 13  O 0  Black wins ({WIPE_OUT}), after c7"),
        (Position.parse("O" * 16 + "X"), None, "X 0  O 16  White wins"),
        (Position.parse("O" * 15 + "-X"), None, "X 0  O 15  White wins (0-15 by discs, 0-16 with the empties to the winner)"),
        (Position.parse("X" * 7 + "--" + "O" * 7 + "X"), 16, "X 7  O 7  draw, after a pass"),
        (Position.parse("-" * 16 + "X"), None, "X 0  O 0  draw"),
    ],
)
def test_the_last_line_says_how_things_stand(position: Position, last_move: int | None, status: str) -> None:
    assert render_text(position, last_move=last_move).splitlines()[-1] == format_status(position, last_move=last_move) == status


@given(played_positions())
def test_a_result_shows_both_scores_where_they_differ(position: Position) -> None:
    if not position.is_over:
        with pytest.raises(ValueError, match="the game is not over"):
            format_result(position)
        return
    text = format_result(position)
    scores = [int(black) - int(white) for black, white in re.findall(r"(\d+)-(\d+)", text)]
    expected = [position.score("discs"), position.score("empties_to_winner")]
    assert scores == (expected if expected[0] != expected[1] else [])
    assert text.startswith({1: "Black wins", 0: "draw", -1: "White wins"}[position.outcome])


@pytest.mark.parametrize("make", [othello_v0.env, OthelloEnv, OthelloSelfPlayVectorEnv])
def test_environments_show_both_scores_at_the_end(make: Any) -> None:
    vector = make is OthelloSelfPlayVectorEnv
    options = {"autoreset_mode": "Disabled", "openings": ["f5f4c3c6c5d6f3c4"]} if vector else {}
    env = make(render_mode="ansi", **options)
    env.reset(seed=0, options=None if vector else {"moves": "f5f4c3c6c5d6f3c4", **({"color": "black"} if make is OthelloEnv else {})})
    env.step([50] if vector else 50)
    text = env.render()[0] if vector else env.render()
    assert f"Black wins ({WIPE_OUT})" in text.splitlines()[-1]
