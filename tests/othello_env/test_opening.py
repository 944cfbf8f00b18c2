from __future__ import annotations

import pytest

from othello_env import Game, IllegalMoveError, Position, RecordFormatError
from othello_env.opening import opening_position, parse_game, parse_opening

FORCES_A_PASS = "f5f6d3g5h5h4f7h6"


def test_a_transcript_and_a_position_are_told_apart() -> None:
    game = parse_opening("F5 d6c3")
    assert game == Game.parse("f5d6c3")
    bare = parse_opening(str(game.final))
    assert (bare.moves, bare.start, bare.final) == ((), game.final, game.final)


@pytest.mark.parametrize("board_size", [4, 6, 8])
def test_the_start_position_of_each_board_size_is_read(board_size: int) -> None:
    start = Position.start(board_size)
    assert parse_opening(str(start), board_size=board_size) == Game((), start)
    for opening in (start, str(start)):
        assert opening_position(opening, board_size=board_size) == start
    other = Position.start(6 if board_size == 8 else 8)
    with pytest.raises(RecordFormatError, match=f"a {other.board_size}x{other.board_size} board, but board_size is {board_size}"):
        parse_game(str(other), board_size=board_size)


@pytest.mark.parametrize("text", ["", "hello", "f9", "f5d", "X" * 60])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(RecordFormatError):
        parse_game(text)


def test_a_wrong_move_is_named() -> None:
    with pytest.raises(IllegalMoveError, match="move 2: a1 is illegal"):
        parse_game("f5a1")


def test_a_finished_game_is_a_game_but_no_opening() -> None:
    over = "X" * 64 + " O"
    assert parse_game(over).final.is_over
    for text in (over, Position.parse(over)):
        with pytest.raises(RecordFormatError, match="^the game is over in XXX"):
            opening_position(text)
    with pytest.raises(RecordFormatError, match="the game is over"):
        parse_opening(over)


def test_a_forced_pass_is_left_to_the_game_without_auto_pass_unless_it_is_written() -> None:
    final = Game.parse(FORCES_A_PASS).final
    for auto_pass in (True, False):
        assert opening_position(f"{FORCES_A_PASS} pa", auto_pass=auto_pass) == final
    assert opening_position(FORCES_A_PASS) == final
    unpassed = opening_position(FORCES_A_PASS, auto_pass=False)
    assert unpassed.must_pass
    assert unpassed.resolve_pass() == final
    blocked = Position.parse("XO" + "-" * 62 + " O")
    for opening in (blocked, str(blocked)):
        assert opening_position(opening, auto_pass=False) == blocked
        assert opening_position(opening) == blocked.resolve_pass()
