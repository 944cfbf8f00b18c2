"""One position of a game: the discs and the side to move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import index
from typing import ClassVar, Final, Literal, NoReturn, SupportsIndex, get_args

from othello_env import backend
from othello_env.bitboard import FULL, legal_moves, squares_of, start_discs
from othello_env.errors import IllegalMoveError, RecordFormatError
from othello_env.squares import BOARD_SIZES, check_board_size, format_square, parse_square, pass_square

BLACK: Final = 0
WHITE: Final = 1
COLOR_NAMES: Final = ("black", "white")

Scoring = Literal["discs", "empties_to_winner"]

# Characters in use for the contents of a square and for the side to move.
_BLACK_SIGNS: Final = "Xx*Bb●"
_WHITE_SIGNS: Final = "OoWw○"
_EMPTY_SIGNS: Final = "-._·"


def check_scoring(scoring: str) -> None:
    """Raise `ValueError` for anything but the two names of `Scoring`."""
    if scoring not in get_args(Scoring):
        raise ValueError(f"scoring {scoring!r}: expected one of {', '.join(get_args(Scoring))}")


@dataclass(frozen=True, slots=True)
class Position:
    """Immutable, hashable Othello position.

    Positions are equal if their discs, side to move and board size are equal.

    own, opp: bitboards of the side to move and of the other side (bit s = square s, a1 = 0).
    side_to_move: `BLACK` (0) or `WHITE` (1). board_size: 4, 6 or 8. Raises `ValueError` for discs
    that overlap or lie outside the board, and `TypeError` for values that are not integers.

    The side to move may have no legal move: then either the game is over (`is_over`) or a pass is
    forced (`must_pass`). `play` resolves forced passes, so positions with a forced pass come only
    from outside or from `auto_pass=False`.
    """

    own: int
    opp: int
    side_to_move: int = BLACK
    board_size: int = 8
    legal_moves: int = field(init=False, compare=False, repr=False)
    """Legal squares of the side to move, as a bitboard; 0 if it must pass or the game is over."""

    _repr_svg_: ClassVar[Callable[[Position], str]]
    """SVG picture of the board for notebooks; `rendering.svg` sets it."""

    def __post_init__(self) -> None:
        own, opp, side, n = self.own, self.opp, self.side_to_move, self.board_size
        if not type(own) is type(opp) is type(side) is type(n) is int:  # such as a word of an array
            own, opp, side, n = index(own), index(opp), index(side), index(n)
            for name, value in (("own", own), ("opp", opp), ("side_to_move", side), ("board_size", n)):
                object.__setattr__(self, name, value)
        if n not in FULL or own & opp or (own | opp) & ~FULL[n] or not 0 <= side <= 1:
            self._raise_invalid()
        object.__setattr__(self, "legal_moves", legal_moves(own, opp, n))

    def _raise_invalid(self) -> NoReturn:
        check_board_size(self.board_size)
        both = self.own & self.opp
        if both > 0:
            raise ValueError(f"square {format_square(squares_of(both)[0], self.board_size)} holds discs of both sides")
        raise ValueError(
            f"own {self.own:#x}, opp {self.opp:#x}, side_to_move {self.side_to_move}: no {self.board_size}x{self.board_size} position"
        )

    @classmethod
    def start(cls, board_size: int = 8) -> Position:
        """The start position: black d5 e4, white d4 e5 (on 8x8), black to move."""
        n = check_board_size(board_size)
        black, white = start_discs(n)
        return cls(black, white, BLACK, n)

    @classmethod
    def parse(cls, text: str) -> Position:
        """Read a position such as `"---...--- X"`: squares row by row from a1, side to move.

        Black is any of `X x * B b ●`, white `O o W w ○`, empty `- . _ ·`; white space is skipped.
        The board size follows from the number of squares: 16, 36 or 64. Raises `RecordFormatError`
        with the place of the first character that does not fit.
        """
        signs: list[str] = []
        for place, sign in enumerate(text):
            if sign.isspace():
                continue
            if sign not in _BLACK_SIGNS + _WHITE_SIGNS + _EMPTY_SIGNS:
                raise RecordFormatError(f"position {text!r}: {sign!r} at character {place + 1} is neither a disc nor an empty square")
            signs.append(sign)
        sizes = {n * n + 1: n for n in BOARD_SIZES}
        if len(signs) not in sizes:
            expected = ", ".join(str(n * n) for n in BOARD_SIZES)
            raise RecordFormatError(f"position {text!r}: {len(signs)} signs; expected {expected} squares and the side to move")
        *squares, side = signs
        if side in _EMPTY_SIGNS:
            raise RecordFormatError(f"position {text!r}: ends with {side!r} where the side to move belongs (X or O)")
        black = sum(1 << square for square, sign in enumerate(squares) if sign in _BLACK_SIGNS)
        white = sum(1 << square for square, sign in enumerate(squares) if sign in _WHITE_SIGNS)
        return cls.from_discs(black, white, BLACK if side in _BLACK_SIGNS else WHITE, board_size=sizes[len(signs)])

    @classmethod
    def from_discs(cls, black: int, white: int, side_to_move: int, *, board_size: int = 8) -> Position:
        """Return a position from its discs by color."""
        own, opp = (black, white) if side_to_move == BLACK else (white, black)
        return cls(own, opp, side_to_move, board_size)

    def __str__(self) -> str:
        """One line that `parse` reads: `X` black, `O` white, `-` empty, then the side to move."""
        black, white = self.black, self.white
        squares = ("X" if black >> s & 1 else "O" if white >> s & 1 else "-" for s in range(self.board_size**2))
        return f"{''.join(squares)} {'XO'[self.side_to_move]}"

    @property
    def black(self) -> int:
        """Black's discs, as a bitboard."""
        return self.own if self.side_to_move == BLACK else self.opp

    @property
    def white(self) -> int:
        """White's discs, as a bitboard."""
        return self.opp if self.side_to_move == BLACK else self.own

    @property
    def discs(self) -> tuple[int, int]:
        """The numbers of discs on the board, (black, white)."""
        return self.black.bit_count(), self.white.bit_count()

    @property
    def empties(self) -> int:
        """The number of empty squares."""
        return self.board_size**2 - (self.own | self.opp).bit_count()

    def legal_squares(self) -> tuple[int, ...]:
        """Return the moves that `play` accepts, in ascending order.

        These are the legal squares, or only the pass if it is forced; none if the game is over.
        """
        if self.legal_moves:
            return squares_of(self.legal_moves)
        return (pass_square(self.board_size),) if self.must_pass else ()

    @property
    def must_pass(self) -> bool:
        """True if only the other side can move, so that a pass is forced."""
        return not self.legal_moves and bool(legal_moves(self.opp, self.own, self.board_size))

    @property
    def is_over(self) -> bool:
        """True if neither side can move; the board need not be full."""
        return not self.legal_moves and not legal_moves(self.opp, self.own, self.board_size)

    def play(self, move: SupportsIndex | str, *, auto_pass: bool = True) -> Position:
        """Return the position after a disc is placed and all outflanked discs are flipped.

        move: a square number or name. If the other side then has no legal move but this side has
        one, the pass is played automatically and this side is to move again; with `auto_pass=False`
        the other side is to move and must play the pass. Raises `IllegalMoveError` for a move that
        is not in `legal_squares()`, `RecordFormatError` for a name that is not a square, and
        `TypeError` for a value that is neither a name nor an integer.
        """
        n = self.board_size
        square = move if type(move) is int else parse_square(move, n) if isinstance(move, str) else index(move)
        if 0 <= square < n * n and self.legal_moves >> square & 1:
            own, opp, moves, changed = backend.play_move(self.own, self.opp, square, n)
            if changed:
                return _trusted(own, opp, 1 - self.side_to_move, n, moves)
            if auto_pass:
                return _trusted(own, opp, self.side_to_move, n, moves)
            return _trusted(opp, own, 1 - self.side_to_move, n, 0)
        if square == n * n and self.must_pass:
            return self.resolve_pass()
        raise IllegalMoveError(self._explain_illegal(square))

    def resolve_pass(self) -> Position:
        """Return this position; if a pass is forced, with the other side to move."""
        return Position(self.opp, self.own, 1 - self.side_to_move, self.board_size) if self.must_pass else self

    def _explain_illegal(self, square: int) -> str:
        n = self.board_size
        name = format_square(square, n) if 0 <= square <= n * n else f"square {square}"
        legal = " ".join(format_square(s, n) for s in self.legal_squares()) or "none, the game is over"
        return f"{name} is illegal for {COLOR_NAMES[self.side_to_move]} in {self}; legal: {legal}"

    def score(self, scoring: Scoring) -> int:
        """Return Black's discs minus White's as if the game ended here.

        scoring: "discs" counts the discs on the board; "empties_to_winner" gives the empty squares
        to the side with more discs (to neither if equal), as the World Othello Federation, WTHOR
        and Edax do.
        """
        check_scoring(scoring)
        black, white = self.discs
        difference = black - white
        if scoring == "empties_to_winner" and difference:
            difference += self.empties if difference > 0 else -self.empties
        return difference

    @property
    def outcome(self) -> int:
        """Result of a finished game from Black's view: +1, 0 or -1.

        Raises `ValueError` if the game is not over.
        """
        if not self.is_over:
            raise ValueError(f"the game is not over in {self}")
        difference = self.score("discs")
        return (difference > 0) - (difference < 0)


_new = Position.__new__
# Setters of the slots, because the frozen dataclass rejects assignment.
_set_own, _set_opp, _set_side, _set_size, _set_moves = (
    getattr(Position, name).__set__ for name in ("own", "opp", "side_to_move", "board_size", "legal_moves")
)


def _trusted(own: int, opp: int, side_to_move: int, board_size: int, moves: int) -> Position:
    """Return a position of consistent values, without checks and without generating legal moves."""
    position = _new(Position)
    _set_own(position, own)
    _set_opp(position, opp)
    _set_side(position, side_to_move)
    _set_size(position, board_size)
    _set_moves(position, moves)
    return position
