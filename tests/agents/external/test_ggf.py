from __future__ import annotations

import pytest

from agents.external.ggf import format_ggf, parse_ggf, play_written
from othello_env import Game, Position
from tests.agents.external.test_gtp import PASSES


def test_every_position_of_a_game_is_read_back() -> None:
    for position in Game.parse(PASSES).positions():
        assert parse_ggf(format_ggf(position)) == [position]


NBOARD_GAME = (
    "(;GM[Othello]PC[NBoard]DT[2014-02-21 20:52:27 GMT]PB[me]PW[Edax]RE[?]TI[15:00]TY[8]"
    "BO[8 ---------------------------O*------*O--------------------------- *]B[F5]W[f6/-1.2/0.5]B[E6//0.1];)"
)


def test_a_game_of_nboard_is_read() -> None:
    assert parse_ggf(NBOARD_GAME)[-1] == Game.parse("f5f6e6").final
    assert len(parse_ggf(NBOARD_GAME)) == 4


def passing() -> Position:
    """White must pass."""
    game = Game.parse(PASSES)
    number = next(n for n in range(1, 55) if game.positions()[n].side_to_move == game.positions()[n - 1].side_to_move)
    return game.positions()[number - 1].play(game.moves[number - 1], auto_pass=False)


def test_a_written_pass_is_a_move_and_one_left_out_is_added() -> None:
    position = passing()
    assert position.must_pass
    side = "BW"[position.side_to_move]
    other = "WB"[position.side_to_move]
    move = next(iter(position.resolve_pass().legal_squares()))
    name = f"{'abcdefgh'[move % 8]}{move // 8 + 1}"
    text = format_ggf(position).removesuffix(";)")
    expected = [position, position.resolve_pass(), position.resolve_pass().play(move, auto_pass=False)]
    assert parse_ggf(f"{text}{side}[PA];)") == expected[:2]
    assert parse_ggf(f"{text}{side}[PA]{other}[{name}];)") == expected
    assert parse_ggf(f"{text}{other}[{name}];)") == expected
    positions = [position]
    play_written(positions, name)
    assert positions == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(;GM[Othello];)",
        NBOARD_GAME.replace("B[F5]", "B[A1]"),
        NBOARD_GAME.replace("B[F5]", "W[F5]"),
        NBOARD_GAME.replace("BO[8 ", "BO["),
    ],
)
def test_a_damaged_game_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"GGF|illegal|not to move|position"):
        parse_ggf(text)
