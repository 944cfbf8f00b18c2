from __future__ import annotations

import numpy as np
import pytest

from othello_env import PASS, RecordFormatError
from othello_env.squares import BOARD_SIZES, check_board_size, format_square, parse_square, pass_square, read_action


def test_squares_are_numbered_row_by_row_from_a1() -> None:
    assert [parse_square(name) for name in ("a1", "b1", "h1", "a2", "d3", "h8")] == [0, 1, 7, 8, 19, 63]
    assert [parse_square(name, 6) for name in ("a1", "f1", "a2", "f6")] == [0, 5, 6, 35]


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_every_square_and_the_pass_round_trip(board_size: int) -> None:
    for square in range(board_size**2 + 1):
        assert parse_square(format_square(square, board_size), board_size) == square


@pytest.mark.parametrize("token", ["pass", "PASS", "pa", "PA", "ps", "--", "@@"])
def test_every_sign_for_a_pass_is_read(token: str) -> None:
    assert parse_square(token) == PASS == pass_square(8) == 64
    assert parse_square(token, 4) == 16


@pytest.mark.parametrize("name", ["", "d", "i1", "a9", "a0", "33", "d33", "é1", "١1", "a١"])
def test_other_names_are_refused_with_what_is_allowed(name: str) -> None:
    with pytest.raises(RecordFormatError, match="expected a1 to h8"):
        parse_square(name)


def test_a_square_of_a_larger_board_is_refused() -> None:
    with pytest.raises(RecordFormatError, match="a1 to f6"):
        parse_square("g7", 6)
    with pytest.raises(ValueError, match="squares 0 to 35"):
        format_square(37, 6)


@pytest.mark.parametrize("board_size", [0, 5, 7, 10, -8, "8", None])
def test_other_board_sizes_are_refused(board_size: int) -> None:
    with pytest.raises(ValueError, match="4, 6, 8"):
        check_board_size(board_size)


@pytest.mark.parametrize(
    "action", [19, np.int8(19), np.uint64(19), np.array(19), np.array([19]), np.array([[19]], dtype=np.uint8)], ids=repr
)
def test_an_action_is_read_as_a_plain_int(action: object) -> None:
    read = read_action(action)
    assert (read, type(read)) == (19, int)


@pytest.mark.parametrize("action", [-1, 10**20, np.uint64(2**64 - 1)], ids=repr)
def test_the_range_of_an_action_is_not_checked(action: object) -> None:
    assert read_action(action) == action


@pytest.mark.parametrize(
    "action",
    [None, True, np.False_, 19.0, np.float64(19), "19", b"\x13", [19], (19,), {19}, np.array([]), np.array([1, 2]), np.array([1.0])],
    ids=repr,
)
def test_what_is_not_one_integer_is_no_action(action: object) -> None:
    with pytest.raises(TypeError, match=r"^action [^\n]*: expected one integer$"):
        read_action(action)
