"""Positions as text for a terminal."""

from __future__ import annotations

from typing import Final

from othello_env.position import COLOR_NAMES, Position
from othello_env.squares import format_square, pass_square

# ANSI styles of a colored board: the cloth, discs, dots; underlined and reversed marks.
_RESET: Final = "\x1b[0m"
_CLOTH: Final = "\x1b[42"
_FOREGROUNDS: Final = {"X": ";1;30", "O": ";1;97", "·": ";93", "-": ";32"}
_FLIPPED: Final = ";4"
_LAST_MOVE: Final = ";7"


def render_text(position: Position, *, last_move: int | None = None) -> str:
    """Return the board with coordinates, and below it the line of `format_status`.

    `X` is black, `O` white, `·` a legal square of the side to move.
    """
    return "\n".join([*board_lines(position), format_status(position, last_move=last_move)])


def board_lines(position: Position, *, last_move: int | None = None, flipped: int = 0, dots: bool = True, color: bool = False) -> list[str]:
    """Return the lines of the board with coordinates.

    `X` is black, `O` white. last_move: square of the last move, shown in parentheses, or reversed
    in color. flipped: bitboard of the discs that it flipped, shown as small letters, or underlined.
    dots: True to show `·` on the legal squares of the side to move. color: True for ANSI colors.
    """
    n = position.board_size
    header = "  " + " ".join(chr(ord("a") + column) for column in range(n)) + "  "
    rows = []
    for row in range(n):
        cells = [_cell(position, row * n + column, last_move, flipped, dots, color) for column in range(n)]
        rows.append(f"{row + 1}{_joined(cells, color)}{row + 1}")
    lines = [header, *rows, header]
    return [line.rstrip() for line in lines]


def _cell(position: Position, square: int, last_move: int | None, flipped: int, dots: bool, color: bool) -> tuple[str, bool]:
    """Return the sign of a square, with its style if in color, and True for the last move."""
    bit = 1 << square
    sign = "X" if position.black & bit else "O" if position.white & bit else "·" if dots and position.legal_moves & bit else "-"
    is_last = square == last_move
    if color:
        marks = (_LAST_MOVE if is_last else "") + (_FLIPPED if flipped & bit else "")
        return f"{_CLOTH}{_FOREGROUNDS[sign]}{marks}m{sign}{_RESET}", is_last
    return sign.lower() if flipped & bit else sign, is_last


def _joined(cells: list[tuple[str, bool]], color: bool) -> str:
    """Return a row of the board: its cells with one character between them and around them."""
    if color:
        gap = f"{_CLOTH}m {_RESET}"
        return gap + gap.join(sign for sign, _ in cells) + gap
    text = "(" if cells[0][1] else " "
    for index, (sign, is_last) in enumerate(cells):
        follows = index + 1 < len(cells) and cells[index + 1][1]
        text += sign + (")" if is_last else "(" if follows else " ")
    return text


def format_status(position: Position, *, last_move: int | None = None) -> str:
    """Return one line: the disc counts, the side to move or the result, and the last move.

    last_move: the square (or the pass) that was played last; None to leave it out.
    """
    n = position.board_size
    black, white = position.discs
    if position.is_over:
        state = format_result(position)
    else:
        state = f"{COLOR_NAMES[position.side_to_move].capitalize()} to {'pass' if position.must_pass else 'move'}"
    played = "" if last_move is None else f", after {'a pass' if last_move == pass_square(n) else format_square(last_move, n)}"
    return f"X {black}  O {white}  {state}{played}"


def format_result(position: Position) -> str:
    """Return the result of a finished game: "Black wins", "White wins" or "draw".

    If the winner's score depends on the empty squares, both scores follow, Black's number first, as
    in "Black wins (39-3 by discs, 61-3 with the empties to the winner)".
    """
    winner = {1: "Black wins", 0: "draw", -1: "White wins"}[position.outcome]
    black, white = position.discs
    empties = position.empties
    if not empties or black == white:
        return winner
    full = (black + empties, white) if black > white else (black, white + empties)
    return f"{winner} ({black}-{white} by discs, {full[0]}-{full[1]} with the empties to the winner)"
