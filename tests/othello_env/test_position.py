from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from othello_env import BLACK, PASS, WHITE, IllegalMoveError, Position, RecordFormatError
from tests import oracle
from tests.othello_env.test_bitboard import board_of
from tests.strategies import positions


@given(positions)
def test_text_round_trips(position: Position) -> None:
    assert Position.parse(str(position)) == position


@given(positions)
def test_copies_and_pickles_are_equal(position: Position) -> None:
    for copied in (copy.deepcopy(position), pickle.loads(pickle.dumps(position))):
        assert copied == position
        assert hash(copied) == hash(position)
        assert copied.legal_moves == position.legal_moves


@given(positions)
def test_play_agrees_with_the_oracle(position: Position) -> None:
    board, sign = board_of(position), str(position)[-1]
    assert position.is_over == oracle.is_over(board)
    if position.must_pass or position.is_over:
        assert oracle.legal_squares(board, sign) == []
        return
    for square in position.legal_squares():
        after = oracle.play(board, sign, square)
        assert str(position.play(square)) == oracle.text(after, oracle.next_side(after, sign))
        assert str(position.play(square, auto_pass=False)) == oracle.text(after, oracle.other(sign))


@given(positions, st.booleans())
def test_what_play_returns_is_a_position_like_any_other(position: Position, auto_pass: bool) -> None:
    for square in position.legal_squares():
        after = position.play(square, auto_pass=auto_pass)
        checked = Position(after.own, after.opp, after.side_to_move, after.board_size)
        assert after == checked
        assert hash(after) == hash(checked)
        assert after.legal_moves == checked.legal_moves


@given(positions)
def test_colours_are_exchangeable(position: Position) -> None:
    swapped = Position(position.own, position.opp, 1 - position.side_to_move, position.board_size)
    assert swapped.legal_moves == position.legal_moves
    assert swapped.discs == position.discs[::-1]
    assert swapped.score("discs") == -position.score("discs")
    assert swapped.score("empties_to_winner") == -position.score("empties_to_winner")


def test_the_reading_of_signs_is_generous() -> None:
    expected = Position.start(4)
    for text in ("---- -OX- -XO- ---- X", "....\n.wb.\n.bw.\n....\nb", "_____O*__*O_____*", "-----ox--xo----- x", "-----○●--●○-----●"):
        assert Position.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "0 signs; expected 16, 36, 64 squares"),
        ("-" * 64, "64 signs"),
        ("-" * 66, "66 signs"),
        ("-" * 63 + "? X", r"'\?' at character 64"),
        ("-" * 65, "ends with '-' where the side to move belongs"),
    ],
)
def test_a_text_that_is_no_position_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(RecordFormatError, match=message) as caught:
        Position.parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 1, BLACK, 8), "square a1 holds discs of both sides"),
        ((1 << 16, 0, BLACK, 4), "no 4x4 position"),
        ((-1, 0, BLACK, 8), "no 8x8 position"),
        ((0, 0, 2, 8), "no 8x8 position"),
        ((0, 0, BLACK, 5), "board sizes are 4, 6, 8"),
    ],
)
def test_discs_that_are_no_position_are_refused(arguments: tuple[int, int, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Position(*arguments)


@pytest.mark.parametrize("move", [0, 18, PASS, 65, -1, -45, 10**30, "a1", "pass", np.int64(0)])
def test_an_illegal_move_is_refused_with_the_legal_ones_and_changes_nothing(move: Any) -> None:
    position = Position.start()
    with pytest.raises(IllegalMoveError, match="illegal for black.*legal: d3 c4 f5 e6"):
        position.play(move)
    assert position == Position.start()


def test_a_word_that_is_no_square_is_refused() -> None:
    with pytest.raises(RecordFormatError):
        Position.start().play("z9")


def test_nothing_is_legal_after_the_end() -> None:
    over = Position.parse("X" * 64 + " O")
    for move in (0, PASS):
        with pytest.raises(IllegalMoveError, match="the game is over"):
            over.play(move)


def test_a_position_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Position.start().own = 0  # type: ignore[misc]


def test_a_forced_pass_is_the_one_legal_move() -> None:
    blocked = Position.parse("XO" + "-" * 62 + " O")
    assert blocked.legal_squares() == (PASS,)
    assert blocked.play(PASS) == blocked.play("pass") == blocked.resolve_pass()
    assert blocked.resolve_pass().side_to_move == BLACK
    assert blocked.play(PASS).own == blocked.opp


@pytest.mark.parametrize("auto_pass", [True, False])
def test_no_square_stands_for_a_forced_pass(auto_pass: bool) -> None:
    blocked = Position.parse("XO" + "-" * 62 + " O")
    for move in (*range(PASS), PASS + 1, -1, "a1", "c1", np.int64(2)):
        with pytest.raises(IllegalMoveError, match="illegal for white.*legal: pass"):
            blocked.play(move, auto_pass=auto_pass)


@pytest.mark.parametrize("board_size", [4, 6, 8])
def test_the_start_is_symmetric_on_every_board(board_size: int) -> None:
    start = Position.start(board_size)
    assert start.discs == (2, 2)
    assert len(start.legal_squares()) == 4
    assert start.play(start.legal_squares()[0]).side_to_move == WHITE


def test_numpy_integers_are_moves_and_discs() -> None:
    assert Position.start().play(np.uint8(19)) == Position.start().play("d3") == Position.start().play("D3")
    start = Position.start()
    from_words = Position(np.uint64(start.own), np.uint64(start.opp))
    assert from_words == start
    assert type(from_words.own) is type(from_words.legal_moves) is int


@pytest.mark.parametrize("move", [19.0, float("nan"), None, (19,), np.array([19, 26])])
def test_what_is_no_integer_is_no_move(move: Any) -> None:
    with pytest.raises(TypeError):
        Position.start().play(move)


def test_an_unknown_scoring_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of discs, empties_to_winner"):
        Position.start().score("points")  # type: ignore[arg-type]


@pytest.mark.parametrize("arguments", [(1.0, 2, 0, 8), (1, 2, 0.5, 8), (1, 2, 0, 8.0), ("1", 2, 0, 8)])
def test_what_is_no_integer_makes_no_position(arguments: Any) -> None:
    with pytest.raises(TypeError):
        Position(*arguments)


@given(positions)
def test_the_representation_gives_the_position_back(position: Position) -> None:
    assert eval(repr(position)) == position
