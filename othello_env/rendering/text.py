"""Positions as text for a terminal."""

from __future__ import annotations

from othello_env.position import COLOR_NAMES, Position
from othello_env.squares import format_square, pass_square


def render_text(position: Position, *, last_move: int | None = None) -> str:
    """Return the board with coordinates, and below it the line of `format_status`.

    `X` is black, `O` white, `·` a legal square of the side to move.
    """
    n = position.board_size
    signs = []
    for square in range(n * n):
        bit = 1 << square
        signs.append("X" if position.black & bit else "O" if position.white & bit else "·" if position.legal_moves & bit else "-")
    columns = " ".join(chr(ord("a") + column) for column in range(n))
    rows = [f"{row + 1} {' '.join(signs[row * n : (row + 1) * n])} {row + 1}" for row in range(n)]
    return "\n".join([f"  {columns}", *rows, f"  {columns}", format_status(position, last_move=last_move)])


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
