"""Replay of written moves: checks legality, passes and colors against the rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from othello_env.errors import IllegalMoveError, RecordFormatError
from othello_env.game import Game
from othello_env.position import COLOR_NAMES, Position
from othello_env.squares import BOARD_SIZES, format_square, parse_square, pass_square

# Fast look-up of the most common names; `parse_square` knows the others.
_SQUARES: Final = {
    n: {name: square for square in range(n * n) for name in (format_square(square, n), format_square(square, n).upper())}
    | dict.fromkeys(("", "-"), pass_square(n))
    for n in BOARD_SIZES
}


class WrittenMove(NamedTuple):
    """A move or pass as a file writes it.

    side: `BLACK` or `WHITE`, None if the format does not say. line: its line number.
    """

    square: int
    line: int
    side: int | None = None


def parse_move(text: str, board_size: int) -> int:
    """Return the square of a move in a file; the pass for "", "-" and all of `PASS_TOKENS`.

    Raises `RecordFormatError` for anything else.
    """
    square = _SQUARES[board_size].get(text.strip())
    return parse_square(text, board_size) if square is None else square


def replay(moves: Sequence[WrittenMove], start: Position, file: str) -> Game:
    """Return the game that written moves describe.

    A forced pass may be written or left out, and any number of passes may follow the end of the
    game. Raises `RecordFormatError`, with the line of the move, for an illegal move, a pass that is
    not forced, and a move of the wrong color.
    """
    is_pass = pass_square(start.board_size)
    placed = [move for move in moves if move.square != is_pass]
    try:
        game = Game(tuple(move.square for move in placed), start)
    except IllegalMoveError:
        number, error = _first_illegal([move.square for move in placed], start)
        raise RecordFormatError(f"{file}, line {placed[number].line}: move {number + 1}: {error}") from None
    unforced = game.find_unforced_pass([move.square for move in moves])
    if unforced is not None:
        number = sum(move.square != is_pass for move in moves[:unforced])
        side = COLOR_NAMES[game.positions()[number].side_to_move]
        raise RecordFormatError(f"{file}, line {moves[unforced].line}: a pass, but {side} can move before move {number + 1}")
    _check_colors(moves, game, file)
    return game


def _first_illegal(squares: list[int], start: Position) -> tuple[int, IllegalMoveError]:
    """Return the index of the first illegal move, which must exist, and the error."""
    position = start.resolve_pass()
    for index, square in enumerate(squares):
        try:
            position = position.play(square)
        except IllegalMoveError as error:
            return index, error
    raise AssertionError("all moves are legal")


def _check_colors(moves: Sequence[WrittenMove], game: Game, file: str) -> None:
    is_pass, number = pass_square(game.start.board_size), 0
    for move in moves:
        position = game.positions()[number]
        if move.square != is_pass:
            side, number = position.side_to_move, number + 1
        elif position.is_over:
            continue
        else:
            side = 1 - position.side_to_move  # positions have forced passes made
        if move.side not in (None, side):
            what = "a pass" if move.square == is_pass else f"move {number}"
            raise RecordFormatError(f"{file}, line {move.line}: {what} of {COLOR_NAMES[1 - side]}, but {COLOR_NAMES[side]} is to move")


def with_passes(game: Game) -> Iterator[tuple[int, int, int]]:
    """Yield each move and forced pass as (number, square, side).

    A pass that is forced after the last move is included. The number counts the moves that place a
    disc, from 1; a pass has the number of the move before it.
    """
    positions, side = game.positions(), game.start.side_to_move
    is_pass = pass_square(game.start.board_size)
    for number, (square, position) in enumerate(zip(game.moves, positions, strict=False), 1):
        if position.side_to_move != side:
            yield number - 1, is_pass, side
        side = position.side_to_move
        yield number, square, side
        side = 1 - side
    if not game.final.is_over and game.final.side_to_move != side:
        yield len(game.moves), is_pass, side
