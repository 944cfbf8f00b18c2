"""Where a game starts, as the options of the environments' `reset` say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import Any

import numpy as np

from othello_env.errors import IllegalMoveError
from othello_env.game import Game, parse_transcript
from othello_env.options import check_options
from othello_env.position import Position
from othello_env.squares import parse_square, pass_square


def start_position(options: Mapping[str, Any] | None, rng: np.random.Generator, *, board_size: int, auto_pass: bool) -> Position:
    """The position that options lead to: "position", then "moves", then "random_plies"; other keys do not count.

    position: a `Position` or its text. moves: a transcript, or squares as numbers or names. Forced passes may be written or left
    out. random_plies: a number of random moves, drawn from `rng` until the game goes on after them. auto_pass: whether a pass that
    is forced at the end is made, too. Raises `ValueError` for a bad value.
    """
    options = check_options(options)
    position = options.get("position")
    if position is None:
        position = Position.start(board_size)
    elif not isinstance(position, Position):
        position = Position.parse(str(position))
    if position.board_size != board_size:
        raise ValueError(f"option position: a {position.board_size}x{position.board_size} board, but board_size is {board_size}")
    for number, move in enumerate(_read_moves(options.get("moves"), board_size), 1):
        if move != pass_square(board_size):
            position = position.resolve_pass()  # a pass that was left out
        elif position.is_over:
            continue  # some transcripts write the passes at the end
        try:
            position = position.play(move, auto_pass=False)
        except IllegalMoveError as error:
            raise IllegalMoveError(f"option moves, number {number}: {error}") from None
    num_plies = options.get("random_plies", 0)
    if isinstance(num_plies, bool) or not isinstance(num_plies, (int, np.integer)) or num_plies < 0:
        raise ValueError(f"option random_plies: {num_plies!r}; expected an integer from 0")
    if num_plies:
        game = Game.random(int(num_plies), rng, position)
        # The last move once more, since a game makes the pass that it may force.
        position = game.positions()[-2].play(game.moves[-1], auto_pass=False)
    return position.resolve_pass() if auto_pass else position


def _read_moves(moves: Any, board_size: int) -> list[int]:
    """The squares and passes of the option "moves"."""
    if moves is None:
        return []
    if isinstance(moves, str):
        return [square for _, square in parse_transcript(moves, board_size)]
    if not isinstance(moves, Iterable):
        raise ValueError(f"option moves: {moves!r}; expected a transcript, or a sequence of squares")
    squares = []
    for number, move in enumerate(moves, 1):
        try:
            squares.append(parse_square(move, board_size) if isinstance(move, str) else index(move))
        except TypeError:
            raise ValueError(f"option moves, number {number}: {move!r} is neither the number of a square nor its name") from None
    return squares
