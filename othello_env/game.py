"""Game records: a start position and the moves played from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import index
from typing import ClassVar, Final

import numpy as np

from othello_env.errors import IllegalMoveError, RecordFormatError
from othello_env.position import COLOR_NAMES, Position
from othello_env.squares import PASS_TOKENS, format_square, parse_square, pass_square

# Number of draws after which `Game.random` gives up.
_RANDOM_TRIES: Final = 100

# One token of a transcript. A hyphen between two squares separates them; a hyphen alone is a pass.
_PIECE: Final = re.compile(
    r"(?P<space>[\s,]+)|(?P<square>[A-Za-z][0-9])"
    rf"|(?P<pass>(?ai:{'|'.join(PASS_TOKENS)})|(?<!\S)-(?!\S))"
    r"|(?P<number>[0-9]{1,3})\s*\.+"
    r"|(?P<separator>(?<=[A-Za-z0-9])-(?=[A-Za-z]))"
)


@dataclass(frozen=True, slots=True)
class Game:
    """A game, finished or not: the start position and the squares of the discs placed, in order.

    Forced passes are not listed as moves: they follow from the rules. Raises `IllegalMoveError`
    with the number of the first illegal move.
    """

    moves: tuple[int, ...] = ()
    start: Position = field(default_factory=Position.start)
    _positions: tuple[Position, ...] = field(init=False, compare=False, repr=False)

    _repr_svg_: ClassVar[Callable[[Game], str]]
    """SVG animation of the game for notebooks; `rendering.svg` sets it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "moves", tuple(map(index, self.moves)))
        positions = [self.start.resolve_pass()]
        for number, move in enumerate(self.moves, 1):
            if move == pass_square(self.start.board_size):
                raise IllegalMoveError(f"move {number} is a pass: forced passes happen by themselves and are not listed")
            try:
                positions.append(positions[-1].play(move))
            except IllegalMoveError as error:
                raise IllegalMoveError(f"move {number}: {error}") from None
        object.__setattr__(self, "_positions", tuple(positions))

    @classmethod
    def parse(cls, text: str, start: Position | None = None) -> Game:
        """Read a transcript such as "f5d6c3" or "1. f5 d6 2. c3".

        Case does not matter; white space and move numbers are optional. Written passes
        (see `PASS_TOKENS`) are accepted where a pass is forced or the game is over, and may be left
        out. Raises `RecordFormatError` with the character position for anything else, and
        `IllegalMoveError` with the number of the move.
        """
        start = start or Position.start()
        written = parse_transcript(text, start.board_size)
        squares = [square for _, square in written]
        is_pass = pass_square(start.board_size)
        game = cls(tuple(square for square in squares if square != is_pass), start)
        unforced = game.find_unforced_pass(squares)
        if unforced is not None:
            number = sum(square != is_pass for square in squares[:unforced])
            side = COLOR_NAMES[game.positions()[number].side_to_move]
            raise RecordFormatError(f"transcript, character {written[unforced][0]}: a pass, but {side} can move before move {number + 1}")
        return game

    @classmethod
    def random(cls, num_plies: int, rng: np.random.Generator, start: Position | None = None) -> Game:
        """Draw a random game of `num_plies` moves after which the game is not over.

        Each move is drawn uniformly from the legal ones, and games that end too early are drawn
        again. Raises `ValueError` for a negative `num_plies`, for more moves than the board has
        room for, and if 100 draws all end too early.
        """
        num_plies, start = index(num_plies), start or Position.start()
        if num_plies < 0:
            raise ValueError(f"num_plies {num_plies}: must not be negative")
        if num_plies >= max(1, start.empties):
            raise ValueError(f"{num_plies} random plies from {start}: the game is over after {start.empties} at the latest")
        for _ in range(_RANDOM_TRIES):
            position = start.resolve_pass()
            moves: list[int] = []
            while len(moves) < num_plies and not position.is_over:
                moves.append(int(rng.choice(position.legal_squares())))
                position = position.play(moves[-1])
            if not position.is_over:
                return cls(tuple(moves), start)
        raise ValueError(f"{num_plies} random plies from {start}: the game was over in each of {_RANDOM_TRIES} draws")

    def positions(self) -> tuple[Position, ...]:
        """The positions before each move and after the last one, with forced passes resolved.

        There is one more position than moves.
        """
        return self._positions

    def flips(self) -> tuple[int, ...]:
        """Return a bitboard per move: the discs that it flipped."""
        return tuple(before.opp & (after.black, after.white)[before.side_to_move] for before, after in pairwise(self._positions))

    def find_unforced_pass(self, squares: Sequence[int]) -> int | None:
        """Return the index of the first written pass that the rules do not force, or None.

        squares: the moves of this game with the written passes between them. A forced pass may be
        written once or not at all; after the end of the game any number of passes is accepted.
        """
        is_pass = pass_square(self.start.board_size)
        number, passed = 0, self.start.must_pass
        for place, square in enumerate(squares):
            if square != is_pass:
                number += 1
                passed = self._positions[number].side_to_move == self._positions[number - 1].side_to_move
            elif passed or self._positions[number].is_over:
                passed = False
            else:
                return place
        return None

    @property
    def final(self) -> Position:
        """The position after the last move."""
        return self._positions[-1]

    def __str__(self) -> str:
        """The transcript that `parse` reads, without passes, such as "f5d6c3"."""
        return "".join(format_square(move, self.start.board_size) for move in self.moves)


def parse_transcript(text: str, board_size: int) -> list[tuple[int, int]]:
    """Split a transcript into squares and passes, as pairs (character position from 1, square).

    The moves are not checked against the rules. Move numbers count pairs of moves
    ("1. f5 d6 2. c3") or single moves ("1. f5 d6 3. c3"), with or without passes. A comma, or a
    hyphen between two squares, separates moves; a hyphen alone is a pass. Raises
    `RecordFormatError` with the character position for a move number that does not fit the moves
    before it, and for text that is not a square of the board, a pass, or white space.
    """
    squares: list[tuple[int, int]] = []
    num_placed, place = 0, 0
    while place < len(text):
        piece = _PIECE.match(text, place)
        token = piece[0] if piece else text[place : place + 2]
        try:
            if piece is None or piece["square"]:
                squares.append((place + 1, parse_square(token, board_size)))
                num_placed += 1
            elif piece["pass"]:
                squares.append((place + 1, pass_square(board_size)))
            elif piece["number"]:
                check_move_number(int(piece["number"]), len(squares), num_placed)
        except RecordFormatError as error:
            raise RecordFormatError(f"transcript, character {place + 1}: {error}") from None
        place += len(token)
    return squares


def check_move_number(number: int, num_written: int, num_placed: int) -> None:
    """Raise `RecordFormatError` for a move number that does not fit the moves before it.

    num_written: number of moves before it, including written passes. num_placed: the same without
    passes. Files number pairs of moves or single moves, with or without passes.
    """
    due = sorted({num_written // 2 + 1, num_written + 1, num_placed // 2 + 1, num_placed + 1})
    if number not in due:
        raise RecordFormatError(f"move number {number} after {num_written} moves: expected {' or '.join(map(str, due))}")
