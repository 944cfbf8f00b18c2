"""Generic Game Format (GGF), as the NBoard protocol sends it with `set game`.

A game contains its start position and its moves.
"""

from __future__ import annotations

import re
from typing import Final

from othello_env.errors import IllegalMoveError, RecordFormatError
from othello_env.position import BLACK, WHITE, Position
from othello_env.squares import parse_square, pass_square

_PROPERTY: Final = re.compile(r"([A-Z]{1,2})\[([^\]]*)\]")
_SIDES: Final = {"B": BLACK, "W": WHITE}
_SIGNS: Final = str.maketrans("XO", "*O")


def format_ggf(position: Position) -> str:
    """Return a position as a GGF game without moves, on one line.

    The game has the properties that engines expect.
    """
    board = str(position).translate(_SIGNS)
    n = position.board_size
    return f"(;GM[Othello]PC[othello-env]PB[black]PW[white]RE[?]TI[15:00]TY[{n}]BO[{n} {board}];)"


def parse_ggf(text: str) -> list[Position]:
    """Return the positions of a game: the start position and the position after each move.

    A forced pass is a move; missing passes are added. Raises `RecordFormatError` for a game without
    a board or with invalid text, and `IllegalMoveError` for an illegal move.
    """
    properties = _PROPERTY.findall(text)
    boards = [value for name, value in properties if name == "BO"]
    if len(boards) != 1:
        raise RecordFormatError(f"GGF {text[:60]!r}: {len(boards)} BO[], expected one")
    _, _, board = boards[0].strip().partition(" ")
    positions = [Position.parse(board)]
    for name, value in properties:
        if name in _SIDES:
            play_written(positions, value.partition("/")[0], _SIDES[name])
    return positions


def play_written(positions: list[Position], move: str, color: int | None = None) -> None:
    """Play a move and append the position after it to `positions`.

    If a forced pass before the move is missing, its position is appended first. color: the color
    that moves, by default the side to move.
    """
    position = positions[-1]
    n = position.board_size
    square = parse_square(move, n)
    if square != pass_square(n) and position.must_pass:
        position = position.resolve_pass()
        if color in (None, position.side_to_move):
            positions.append(position)
    if color not in (None, positions[-1].side_to_move):
        raise IllegalMoveError(f"{move!r}: {'BW'[1 - positions[-1].side_to_move]} is not to move in {positions[-1]}")
    positions.append(positions[-1].play(square, auto_pass=False))
