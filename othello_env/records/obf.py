"""OBF, the format of endgame suites: one position per line, with the scores of its moves.

`--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X; G8:+18; H1:+12;`

A line has the squares from a1 row by row, the side to move, and the moves with their scores, best
first. Each part ends with a semicolon. A score is the final disc difference for the side to move
after best play, with the empty squares given to the winner, so it is even. A `%` begins a comment.
Existing files have fillers, `--:-127;`, which have no meaning.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn

from othello_env.errors import RecordFormatError
from othello_env.game import Game
from othello_env.position import BLACK, COLOR_NAMES, Position, Scoring
from othello_env.records.record import ErrorHandler, GameRecord, Place
from othello_env.squares import BOARD_SIZES, format_square, parse_square, pass_square

_SIDES: Final = "Xx*BbOoWw"
_CONTENTS: Final = _SIDES + "-."

_ENTRY: Final = r"[A-Za-z-][0-9-]\s*:\s*[-+]?[0-9]+"  # of a whole one
_PASS: Final = "--"
_FILLER: Final = -127


@dataclass(frozen=True, slots=True)
class ObfEntry:
    """One line of an OBF file.

    scores: by square, in the order of the line, from the view of the side to move; the pass may
    have one if it is forced. Legal moves may be missing, and a position may have no scores. line:
    its number, from 1; it does not count in comparisons.
    """

    position: Position
    scores: Mapping[int, int]
    line: int = field(default=1, compare=False)

    @property
    def best_score(self) -> int | None:
        """The highest score; None without scores."""
        return max(self.scores.values(), default=None)

    @property
    def best_squares(self) -> tuple[int, ...]:
        """The squares with the highest score, in the order of the line."""
        return tuple(square for square, score in self.scores.items() if score == self.best_score)


def read_obf(
    lines: Iterable[str],
    source: str,
    *,
    scoring: Scoring = "empties_to_winner",
    on_error: Callable[[RecordFormatError], object] | None = None,
) -> Iterator[ObfEntry]:
    """Yield the entries of a text, one by one. Empty lines and comments are skipped.

    lines: a list, or an open file. source: name of the text in errors. scoring: how the scores are
    counted; with "discs" they may be odd. on_error: called with the error of each line that
    violates the format, after which reading continues with the next line; without it the first such
    error, a `RecordFormatError`, is raised.
    """
    for number, line in enumerate(lines, 1):
        if not line.partition("%")[0].strip():
            continue
        try:
            entry = parse_obf_line(line, source, line=number, scoring=scoring)
        except RecordFormatError as error:
            if on_error is None:
                raise
            on_error(error)
        else:
            yield entry


def parse_obf(text: str, source: str = "text") -> list[ObfEntry]:
    """Return all entries of a text, see `read_obf`.

    Raises `RecordFormatError` at the first line that violates the format.
    """
    return list(read_obf(io.StringIO(text), source))


def parse_obf_line(text: str, source: str = "text", *, line: int = 1, scoring: Scoring = "empties_to_winner") -> ObfEntry:
    """Read one line.

    The board size follows from the number of squares: 16, 36 or 64. Fillers are left out. Raises
    `RecordFormatError` with line and column (from 1), and with what was expected there.
    """
    text = text.partition("%")[0].rstrip()
    place = _Place(source, line, scoring)
    *parts, rest = _parts(text)
    if not parts:
        place.read_header(*rest)
        place.fail(len(text), "the line ends where a semicolon belongs, after the side to move")
    position = place.read_header(*parts[0])
    scores: dict[int, int] = {}
    for column, part in parts[1:]:
        place.read_score(column, part, position=position, scores=scores)
    if re.fullmatch(_ENTRY, rest[1]):
        place.fail(len(text), f"the line ends where a semicolon belongs, after {_shown(rest[1])}")
    if rest[1]:
        place.fail(rest[0], f"{_shown(rest[1])} at the end: expected entries like G8:+18 with a semicolon after each")
    return ObfEntry(position, scores, line)


def format_obf(position: Position, scores: Mapping[int, int]) -> str:
    """Return the line, without its end, that `parse_obf_line` reads.

    scores: by square, from the view of the side to move. They are written best first, equal ones in
    the order given. Raises `ValueError` for an impossible move or score.
    """
    n = position.board_size
    parts = [str(position)]
    for square, score in sorted(scores.items(), key=lambda entry: -entry[1]):
        problem = _move_problem(square, position) or _score_problem(score, n, "empties_to_winner")
        if problem:
            raise ValueError(problem)
        name = _PASS if square == pass_square(n) else format_square(square, n).upper()
        parts.append(f"{name}:{score:+d}")
    return "; ".join(parts) + ";"


def read_obf_records(lines: Iterable[tuple[int, str]], file: str, *, on_error: ErrorHandler | None = None) -> Iterator[GameRecord]:
    """Yield the entries as records without moves.

    The best score, from Black's view, becomes the theoretical score, and all scores the tag
    "scores". lines: pairs (line number, text), numbered from 1 without gaps. on_error: as in
    `read_obf`.
    """
    for entry in read_obf((text for _, text in lines), file, on_error=on_error):
        best, scores = entry.best_score, format_obf(entry.position, entry.scores).partition("; ")[2]
        yield GameRecord(
            Game((), entry.position),
            theoretical_score=best if best is None or entry.position.side_to_move == BLACK else -best,
            tags={"scores": scores} if scores else {},
            place=Place(file, entry.line),
        )


def format_obf_record(record: GameRecord) -> str:
    """Return the line of a record without moves, with its line end.

    Raises `ValueError` for a game: OBF holds positions.
    """
    if record.game.moves:
        raise ValueError(f"OBF holds positions, not games (this one has {len(record.game.moves)} moves)")
    entry = parse_obf_line(f"{record.game.start}; {record.tags.get('scores', '')}", "tag scores")
    return format_obf(entry.position, entry.scores) + "\n"


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the stripped parts between semicolons, each with the number of characters before it."""
    start = 0
    for part in text.split(";"):
        stripped = part.lstrip()
        yield start + len(part) - len(stripped), stripped.rstrip()
        start += len(part) + 1


@dataclass(frozen=True, slots=True)
class _Place:
    """The line that is being read; its methods raise errors that name it."""

    source: str
    line: int
    scoring: Scoring

    def fail(self, before: int, problem: str) -> NoReturn:
        """Raise the error of a problem that begins after `before` characters of the line."""
        raise RecordFormatError(f"{self.source}, line {self.line}, column {before + 1}: {problem}")

    def read_header(self, column: int, part: str) -> Position:
        """Return the position, from the squares and the side to move."""
        squares = part.split(maxsplit=1)[0] if part else ""
        side = part[len(squares) :].lstrip()
        for number, sign in enumerate(squares):
            if sign not in _CONTENTS:
                self.fail(column + number, f"{sign!r} is no square: expected X, O or -")
        if len(squares) not in [n * n for n in BOARD_SIZES]:
            sizes = ", ".join(str(n * n) for n in BOARD_SIZES)
            self.fail(column, f"{len(squares)} squares; expected {sizes}, a space, and the side to move")
        if not side:
            self.fail(column + len(squares), "no side to move after the squares: expected X or O")
        if side[0] not in _SIDES:
            self.fail(column + len(part) - len(side), f"{side[0]!r} is no side to move: expected X or O")
        if len(side) > 1:
            self.fail(column + len(part) - len(side) + 1, f"{_shown(side[1:])} after the side to move: expected a semicolon")
        return Position.parse(squares + side)

    def read_score(self, column: int, part: str, *, position: Position, scores: dict[int, int]) -> None:
        """Add the score of one entry to `scores`."""
        name, colon, number = part.partition(":")
        score_column = column + len(name) + 1 + len(number) - len(number.lstrip())
        number = number.lstrip()
        if not part:
            self.fail(column, "nothing before the semicolon: expected an entry like G8:+18")
        try:
            square = parse_square(name, position.board_size)
        except RecordFormatError as error:
            self.fail(column, str(error) if colon else f"{_shown(part)} is no entry like G8:+18")
        if not colon or not number:
            self.fail(column + len(part), f"no score after {_shown(part)}: expected an entry like G8:+18")
        if ":" in number:
            self.fail(score_column + number.index(":"), f"a second colon in {_shown(part)}: expected one score for a move")
        if not re.fullmatch("[-+]?[0-9]{1,9}", number):
            self.fail(score_column, f"{_shown(number)} is no score: expected an integer")
        score = int(number)
        if square == pass_square(position.board_size) and score == _FILLER:
            return
        problem = _move_problem(square, position)
        if problem:
            self.fail(column, problem)
        if square in scores:
            self.fail(column, f"{name.strip()} has a score already, {scores[square]:+d}: expected each move once")
        problem = _score_problem(score, position.board_size, self.scoring)
        if problem:
            self.fail(score_column, problem)
        scores[square] = score


def _move_problem(square: int, position: Position) -> str:
    """Return why a square cannot be played; "" if it can."""
    legal = position.legal_squares()
    if square in legal:
        return ""
    n = position.board_size
    if not 0 <= square <= pass_square(n):
        return f"square {square}: a {n}x{n} board has squares 0 to {n * n - 1}"
    names = " ".join(format_square(s, n) for s in legal) or "none, the game is over"
    return f"{format_square(square, n)} is illegal for {COLOR_NAMES[position.side_to_move]} in {position}; legal: {names}"


def _score_problem(score: int, board_size: int, scoring: Scoring) -> str:
    """Return why a number cannot be a final score; "" if it can."""
    most = board_size**2
    if not -most <= score <= most or (score % 2 and scoring == "empties_to_winner"):
        kind = "an even integer" if scoring == "empties_to_winner" else "an integer"
        return f"score {score:+d}: expected {kind} from {-most:+d} to {most:+d}"
    return ""


def _shown(text: str) -> str:
    """Return a piece of the line for a message, shortened if it is long."""
    return repr(text) if len(text) <= 40 else f"{text[:40]!r}..."
