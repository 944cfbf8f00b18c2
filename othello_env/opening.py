"""Games and openings as text: a transcript such as "f5d6c3", or a position, "---...--- X"."""

from __future__ import annotations

import re

from othello_env.errors import RecordFormatError
from othello_env.game import Game
from othello_env.position import Position
from othello_env.squares import PASS_TOKENS


def parse_game(text: str, *, board_size: int = 8) -> Game:
    """Read a transcript from the start position, or a position, which gives a game without moves.

    Raises `RecordFormatError` for text that is neither and for a position of another board size,
    `IllegalMoveError` with the number of the move.
    """
    # A transcript has digits, a position has none.
    game = Game.parse(text, Position.start(board_size)) if re.search("[0-9]", text) else Game((), Position.parse(text))
    return _check_board(game, board_size)


def parse_opening(text: str, *, board_size: int = 8) -> Game:
    """Read a game as `parse_game` does, but raise `RecordFormatError` if the game is over."""
    return _check_running(parse_game(text, board_size=board_size))


def opening_position(opening: Position | str, *, board_size: int = 8, auto_pass: bool = True) -> Position:
    """Return the position in which games start.

    opening: a position, or text for `parse_opening`. auto_pass: True to play a pass that is forced
    at the end; a pass written at the end of a transcript is always played. Raises
    `RecordFormatError` and `IllegalMoveError` as `parse_opening` does.
    """
    if isinstance(opening, Position):
        game, ends_with_pass = _check_running(_check_board(Game((), opening), board_size)), False
    else:
        game, ends_with_pass = parse_opening(opening, board_size=board_size), opening.rstrip().lower().endswith(PASS_TOKENS)
    return final_position(game, auto_pass=auto_pass or ends_with_pass)


def final_position(game: Game, *, auto_pass: bool) -> Position:
    """Return the position after a game.

    auto_pass: True to play a pass that is forced at the end, as `Game.final` does.
    """
    if auto_pass:
        return game.final
    # A game resolves forced passes: replay the last move without the pass that it may force.
    return game.positions()[-2].play(game.moves[-1], auto_pass=False) if game.moves else game.start


def _check_board(game: Game, board_size: int) -> Game:
    if (size := game.start.board_size) != board_size:
        raise RecordFormatError(f"position {game.start}: a {size}x{size} board, but board_size is {board_size}")
    return game


def _check_running(game: Game) -> Game:
    if game.final.is_over:
        raise RecordFormatError(f"the game is over in {game.final}")
    return game
