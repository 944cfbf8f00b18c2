"""Positions as text for a terminal."""

from __future__ import annotations

from othello_env.position import COLOR_NAMES, Position
from othello_env.squares import format_square, pass_square


def render_text(position: Position, *, last_move: int | None = None) -> str:
    """The board with coordinates: `X` black, `O` white, `·` where the side to move may play, and a line that says who does.

    last_move: the square (or the pass) that led here, named in that line.
    """
    n = position.board_size
    signs = []
    for square in range(n * n):
        bit = 1 << square
        signs.append("X" if position.black & bit else "O" if position.white & bit else "·" if position.legal_moves & bit else "-")
    columns = " ".join(chr(ord("a") + column) for column in range(n))
    rows = [f"{row + 1} {' '.join(signs[row * n : (row + 1) * n])} {row + 1}" for row in range(n)]
    return "\n".join([f"  {columns}", *rows, f"  {columns}", _status(position, last_move)])


def format_result(position: Position) -> str:
    """Return the result of a finished game: the winner, and the two scores where they differ.

    Such as "Black wins 39-3 by discs, 61-3 with the empties to the winner". Raises `ValueError` while the game is running.
    """
    winner = {1: "Black wins", 0: "draw", -1: "White wins"}[position.outcome]
    if position.score("discs") == position.score("empties_to_winner"):
        return winner
    low, high = sorted(position.discs)
    return f"{winner} {high}-{low} by discs, {high + position.empties}-{low} with the empties to the winner"


def _status(position: Position, last_move: int | None) -> str:
    n = position.board_size
    black, white = position.discs
    if position.is_over:
        turn = format_result(position)
    else:
        turn = f"{COLOR_NAMES[position.side_to_move].capitalize()} to {'pass' if position.must_pass else 'move'}"
    played = "" if last_move is None else f", after {'a pass' if last_move == pass_square(n) else format_square(last_move, n)}"
    return f"X {black}  O {white}  {turn}{played}"
