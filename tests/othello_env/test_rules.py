"""The rulebooks' sentences, one test each (FFO, WOF and USOA rules; Brian Rose, "Othello: A Minute to Learn")."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from othello_env import BLACK, PASS, WHITE, Game, IllegalMoveError, Position
from othello_env.squares import format_square, parse_square
from tests.strategies import played_positions, positions

# One game in which Black passes 23 times (W. D. Smith, math-fun list).
TWENTY_THREE_PASSES = Game.parse(
    "f5d6c4g5d7c7h5d8b8b7b6a7b5a6a5b4b3c6e8f8c8a8e7a4b2a2c2d2d1e2f2c5c3a1a3e6d3f6f7f1g2h2e3f4b1g1c1e1g8g7f3h1h3h4h6"
)


def drawn(board: str, side: str = "X") -> Position:
    return Position.parse(board + side)


def squares(*names: str) -> int:
    return sum(1 << parse_square(name) for name in names)


def turned(before: Position, after: Position) -> set[str]:
    """The discs of the other side that the mover now has."""
    mover_after = after.black if before.side_to_move == BLACK else after.white
    return {format_square(s) for s in range(64) if before.opp & mover_after & 1 << s}


def test_black_starts_on_d5_and_e4_and_white_on_d4_and_e5() -> None:
    start = Position.start()
    assert start.black == squares("d5", "e4")
    assert start.white == squares("d4", "e5")
    assert start.side_to_move == BLACK


def test_the_four_first_moves_are_d3_c4_f5_e6() -> None:
    assert {format_square(s) for s in Position.start().legal_squares()} == {"d3", "c4", "f5", "e6"}
    assert Position.start().legal_squares() == (19, 26, 37, 44)


def test_d3_turns_d4_and_leaves_four_to_one() -> None:
    after = Position.start().play("d3")
    assert turned(Position.start(), after) == {"d4"}
    assert after.discs == (4, 1)
    assert after.side_to_move == WHITE


@pytest.mark.parametrize(
    ("line", "move", "expected"),
    [
        ({"b4": "O", "c4": "O", "d4": "X"}, "a4", {"b4", "c4"}),  # along a row
        ({"d2": "O", "d3": "O", "d4": "O", "d5": "X"}, "d1", {"d2", "d3", "d4"}),  # along a column
        ({"b2": "O", "c3": "X"}, "a1", {"b2"}),  # along a diagonal
        ({"g2": "O", "f3": "O", "e4": "O", "d5": "O", "c6": "O", "b7": "O", "a8": "X"}, "h1", {"g2", "f3", "e4", "d5", "c6", "b7"}),
    ],
)
def test_a_move_outflanks_discs_in_a_straight_line(line: dict[str, str], move: str, expected: set[str]) -> None:
    signs = ["-"] * 64
    for name, sign in line.items():
        signs[parse_square(name)] = sign
    before = Position.parse("".join(signs) + " X")
    assert turned(before, before.play(move)) == expected


def test_a_move_must_outflank_at_least_one_disc() -> None:
    start = Position.start()
    for square in set(range(64)) - set(start.legal_squares()):
        with pytest.raises(IllegalMoveError):
            start.play(square)


def test_an_empty_square_breaks_the_line() -> None:
    position = drawn("-OO-OX--" + "--------" * 7)
    assert not position.legal_moves & squares("a1")
    assert position.legal_moves == squares("d1")


def test_an_own_disc_beside_the_new_one_turns_nothing_in_that_direction() -> None:
    position = drawn("-XOOX---" + "-O------" + "-X------" + "--------" * 5)
    assert not position.legal_moves & squares("a1")
    assert position.legal_moves == 0


def test_a_line_does_not_jump_over_own_discs_to_a_second_group() -> None:
    position = drawn("-OXOOX--" + "--------" * 7)
    assert turned(position, position.play("a1")) == {"b1"}


def test_all_lines_that_the_disc_closes_turn_and_none_may_be_left_out() -> None:
    position = drawn(
        """
        X - - X - - X -
        - O - O - O - -
        - - O O O - - -
        X O O - O O O X
        - - O O O - - -
        - O - O - O - -
        X - - O - - O -
        - - - X - - - X
        """
    )
    around = {"b2", "c3", "d2", "d3", "f2", "e3", "b4", "c4", "e4", "f4", "g4", "c5", "b6", "d5", "d6", "d7", "e5", "f6", "g7"}
    assert turned(position, position.play("d4")) == around


def test_turned_discs_close_no_further_lines() -> None:
    # a1 turns b1 and c1. The turned c1 now has c2 between itself and c3, but only the placed disc
    # closes lines.
    position = drawn("-OOX----" + "--O-----" + "--X-----" + "--------" * 5)
    assert turned(position, position.play("a1")) == {"b1", "c1"}


@given(played_positions())
def test_discs_stay_where_they_are_and_one_is_placed_a_move(position: Position) -> None:
    for square in position.legal_squares():
        after = position.play(square)
        assert after.black | after.white == position.black | position.white | 1 << square
        assert sum(after.discs) == sum(position.discs) + 1


def test_a_side_without_a_move_passes_by_itself() -> None:
    game = Game.parse("f5f6d3g5h5h4f7h6")  # the earliest pass: after 8 moves Black cannot move
    assert game.final.side_to_move == WHITE
    assert {format_square(s) for s in game.final.legal_squares()} == {"c5", "e7"}


def test_a_side_passes_several_times_in_a_row_if_need_be() -> None:
    movers = [position.side_to_move for position in TWENTY_THREE_PASSES.positions()[:-1]]
    after_white = [number for number in range(1, len(movers)) if movers[number - 1] == movers[number] == WHITE]
    assert after_white == [12, 15, 22, 23, 24, 29, *range(32, 38), 40, *range(45, 55)]
    assert len(after_white) == 23
    assert TWENTY_THREE_PASSES.final.discs == (0, 59)
    assert TWENTY_THREE_PASSES.final.is_over


def test_a_side_that_can_move_may_not_pass() -> None:
    with pytest.raises(IllegalMoveError, match="pass is illegal for black"):
        Position.start().play(PASS)


def test_a_player_who_has_used_up_32_discs_plays_on() -> None:
    placed_by_white = [position.side_to_move for position in TWENTY_THREE_PASSES.positions()[:-1]].count(WHITE)
    assert placed_by_white == 39


def test_the_game_ends_when_the_board_is_full() -> None:
    full = drawn("X" * 40 + "O" * 24)
    assert full.is_over
    assert full.legal_squares() == ()
    assert full.outcome == 1


@pytest.mark.parametrize("transcript", ["f5f4c3c6c5d6f3c4c7", "f5f4c3e6f7f6f3b2a1", "f5d6c5f4e3f6g5e6e7", "f5f6d3e3f3f4f7g7h8"])
def test_the_game_ends_when_one_colour_is_left(transcript: str) -> None:
    final = Game.parse(transcript).final  # the shortest games: 9 moves
    assert final.is_over
    assert final.discs == (13, 0)
    assert final.outcome == 1


def test_the_game_ends_when_nobody_can_use_the_empty_squares() -> None:
    final = Game.parse("f5f4c3e6f7g6g4e8g8g5h5").final  # 11 moves (W. D. Smith), both colours on the board
    assert final.is_over
    assert final.discs == (14, 1)
    assert final.empties == 49


def test_the_game_goes_on_while_one_side_can_move() -> None:
    blocked = drawn("XO------" + "--------" * 7, "O")
    assert not blocked.is_over
    assert blocked.must_pass
    assert blocked.resolve_pass().legal_squares() == (2,)


def test_more_discs_win() -> None:
    assert drawn("X" * 33 + "O" * 31).outcome == 1
    assert drawn("X" * 31 + "O" * 33).outcome == -1


def test_equal_discs_are_a_draw_and_a_draw_is_not_a_running_game() -> None:
    drawn_game = Game.parse("f5f4c3f6g7f7f3h7f8b2h6e7h8e3d7g3f2f1a1c5").final  # the shortest draw: 20 moves, 12-12
    assert drawn_game.discs == (12, 12)
    assert drawn_game.is_over
    assert drawn_game.outcome == 0
    assert drawn_game.score("empties_to_winner") == 0
    with pytest.raises(ValueError, match="not over"):
        _ = Position.start().outcome


def test_39_to_3_with_22_empty_squares_is_61_to_3_with_the_empties_to_the_winner() -> None:
    position = drawn("X" * 39 + "O" * 3 + "-" * 22)
    assert position.discs == (39, 3)
    assert position.empties == 22
    assert position.score("discs") == 39 - 3
    assert position.score("empties_to_winner") == 61 - 3
    mirrored = drawn("O" * 39 + "X" * 3 + "-" * 22)
    assert mirrored.score("empties_to_winner") == 3 - 61


@given(positions, st.data())
def test_corners_are_never_turned(position: Position, data: st.DataObject) -> None:
    moves = [square for square in position.legal_squares() if square < position.board_size**2]
    if moves:
        after = position.play(data.draw(st.sampled_from(moves)), auto_pass=False)
        n = position.board_size
        corners = sum(1 << square for square in (0, n - 1, n * n - n, n * n - 1))
        assert after.own & corners == position.opp & corners


def test_a_custom_start_may_give_white_the_first_move() -> None:
    start = Position.from_discs(Position.start().black, Position.start().white, WHITE)
    assert {format_square(s) for s in start.legal_squares()} == {"e3", "f4", "c5", "d6"}
    assert start.play("e3").side_to_move == BLACK


def test_a_custom_start_may_be_over() -> None:
    assert drawn("--------" * 8).is_over
    assert drawn("--------" * 8).outcome == 0
    assert drawn("X" + "-" * 63, "O").outcome == 1


def test_a_shift_does_not_wrap_around_the_edge() -> None:
    assert drawn("----------------------OOX---------------------------------------").legal_squares() == ()


@pytest.mark.parametrize(
    ("transcript", "moves", "side"),
    [  # the most moves that a game can reach: 33 (eukaryo/reversi33)
        ("f5f6e6f4g7c6g3e7d6f3e3d3b7d7c2g2g1c3b2b3b4f7g5c4c7c8e2", 27, WHITE),
        ("f5d6c4f3c5b4b3e6c6g5f6c7c3d2c2b2f4g4g3g7g6e7d3g2h3b6", 26, BLACK),
    ],
)
def test_a_position_may_have_33_moves(transcript: str, moves: int, side: int) -> None:
    final = Game.parse(transcript).final
    assert len(Game.parse(transcript).moves) == moves
    assert final.side_to_move == side
    assert len(final.legal_squares()) == 33
