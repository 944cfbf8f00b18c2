"""Square numbers and their names.

Squares are numbered row by row from the top left, a1 = 0, b1 = 1, ..., h8 = 63: the letter is the
column, the digit is the row counted from the top. The number after the last square is the pass:
`PASS` = 64 on the 8x8 board, 36 on 6x6, 16 on 4x4. OpenSpiel and pgx number their actions the same
way.
"""

from __future__ import annotations

from operator import index
from typing import Any, Final, SupportsIndex

from othello_env.errors import RecordFormatError

BOARD_SIZES: Final = (4, 6, 8)
PASS: Final = 64
PASS_TOKENS: Final = ("pass", "pa", "ps", "pp", "--", "@@@@", "@@")


def check_board_size(board_size: SupportsIndex) -> int:
    """Return `board_size` as an int; raise `ValueError` if it is not 4, 6 or 8."""
    try:
        size = index(board_size)
    except TypeError:
        size = 0
    if size not in BOARD_SIZES:
        raise ValueError(f"board_size {board_size!r}: the board sizes are {', '.join(map(str, BOARD_SIZES))}")
    return size


def pass_square(board_size: int) -> int:
    """The number of the pass: one past the last square."""
    return board_size * board_size


def format_square(square: int, board_size: int = 8) -> str:
    """Return the name of a square, such as "d3", or "pass" for the pass.

    Raises `ValueError` for any other number.
    """
    if square == pass_square(board_size):
        return "pass"
    if not 0 <= square < pass_square(board_size):
        raise ValueError(f"square {square}: a {board_size}x{board_size} board has squares 0 to {board_size**2 - 1}")
    row, column = divmod(square, board_size)
    return f"{chr(ord('a') + column)}{row + 1}"


def parse_square(name: str, board_size: int = 8) -> int:
    """Return the number of a square from its name, in either case.

    All of `PASS_TOKENS` give the pass. Raises `RecordFormatError` for a name that is not a square
    of the board.
    """
    text = name.strip().lower()
    if text in PASS_TOKENS:
        return pass_square(board_size)
    if len(text) == 2:
        column, row = ord(text[0]) - ord("a"), ord(text[1]) - ord("1")
        if 0 <= column < board_size and 0 <= row < board_size:
            return row * board_size + column
    last = format_square(board_size**2 - 1, board_size)
    shown = name if len(name) <= 40 else f"{name[:40]}..."
    raise RecordFormatError(f"{shown!r} names no square: expected a1 to {last}, or a pass as one of {', '.join(PASS_TOKENS)}")


def read_action(action: Any) -> int:
    """Return an action as an int.

    Accepts an integer of any type, or an array or tensor with one integer element. Raises
    `TypeError` for anything else, including bools and floats. The range is not checked.
    """
    if type(action) is int:
        return action
    try:
        value = action.item() if hasattr(action, "item") else action  # NumPy, PyTorch and JAX
        if not isinstance(value, bool):
            return index(value)
    except (TypeError, ValueError, RuntimeError):  # arrays and tensors with other than one element raise any of these
        pass
    raise TypeError(f"action {' '.join(repr(action).split())}: expected one integer")
