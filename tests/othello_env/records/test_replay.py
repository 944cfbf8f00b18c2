from __future__ import annotations

import pytest

from othello_env import BLACK, WHITE, Game, Position, RecordFormatError
from othello_env.records.replay import WrittenMove, parse_move, replay, with_passes
from othello_env.squares import PASS, parse_square
from tests.othello_env.records.samples import GAMES, PASS_AT_THE_END, RUNNING, WHITE_FIRST, WIPEOUT

START = Position.start()


def written(text: str) -> list[WrittenMove]:
    """Moves like "Bf5 Wd6 Bpa c3", each in a line of its own."""
    sides = {"B": BLACK, "W": WHITE}
    return [WrittenMove(parse_square(word.lstrip("BW")), line, sides.get(word[0])) for line, word in enumerate(text.split(), 1)]


@pytest.mark.parametrize("token", ["", "-", "--", "pa", "PA", "pass", "PASS", "PP", "@@@@", "@@", "ps"])
def test_all_spellings_of_a_pass_are_read(token: str) -> None:
    assert parse_move(token, 8) == PASS
    assert parse_move(token, 4) == 16


def test_squares_are_read_in_either_case() -> None:
    assert parse_move(" H8 ", 8) == parse_move("h8", 8) == 63
    with pytest.raises(RecordFormatError, match="'e5' names no square"):
        parse_move("e5", 4)


def test_colors_and_passes_are_checked() -> None:
    moves = written("Bf5 Wf6 Bd3 Wg5 Bh5 Wh4 Bf7 Wh6")
    assert replay(moves, START, "games") == PASS_AT_THE_END
    assert replay([*moves, *written("Bpa Wc5")], START, "games") == replay([*moves, *written("Wc5")], START, "games")
    assert len(replay(written("f5 d6 c5 f4 e3 f6 g5 e6 e7 Bpa Wpa Bpa"), START, "games").moves) == 9


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        ("Bf5 Wf5", "games, line 2: move 2: f5 is illegal for white in"),
        ("Bf5 Bd6", "games, line 2: move 2 of black, but white is to move"),
        ("Wf5", "games, line 1: move 1 of white, but black is to move"),
        ("Bf5 Wpa", "games, line 2: a pass, but white can move before move 2"),
        ("f5 f6 d3 g5 h5 h4 f7 h6 Wpa", "games, line 9: a pass of white, but black is to move"),
        ("f5 f6 d3 g5 h5 h4 f7 h6 pa pa", "games, line 10: a pass, but white can move before move 9"),
        ("f5 d6 c5 f4 e3 f6 g5 e6 e7 h8", "games, line 10: move 10: h8 is illegal for white in"),
    ],
)
def test_moves_that_the_rules_do_not_allow_are_refused_with_their_line(moves: str, message: str) -> None:
    with pytest.raises(RecordFormatError) as caught:
        replay(written(moves), START, "games")
    assert str(caught.value).startswith(message)


def test_forced_passes_are_put_between_the_moves() -> None:
    assert list(with_passes(PASS_AT_THE_END))[-2:] == [(8, parse_square("h6"), WHITE), (8, PASS, BLACK)]
    assert [side for _, _, side in with_passes(WHITE_FIRST)] == [WHITE, BLACK]
    assert PASS not in [square for _, square, _ in with_passes(WIPEOUT)]


@pytest.mark.parametrize("game", [*GAMES, WHITE_FIRST, Game(), RUNNING])
def test_moves_with_their_passes_give_the_game_again(game: Game) -> None:
    moves = [WrittenMove(square, 1, side) for _, square, side in with_passes(game)]
    assert replay(moves, game.start, "games") == game
