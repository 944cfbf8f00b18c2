"""The record type that all formats are read into and written from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timezone
from typing import Final, TypeVar

from othello_env.errors import RecordFormatError
from othello_env.game import Game
from othello_env.position import COLOR_NAMES, Position
from othello_env.records.result import RecordedResult

ErrorHandler = Callable[[RecordFormatError], object]

_T = TypeVar("_T")

# Maximum length of a position, with white space between the squares.
_MAX_POSITION_CHARACTERS: Final = 200

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,6}(?:\.[0-9]{0,9})?")
_DATE: Final = re.compile(r"([0-9]{4})(?:[.\-/]([0-9]{1,2})(?:[.\-/]([0-9]{1,2}))?)?(?![0-9])")
_COMPACT_DATE: Final = re.compile(r"((?:19|20)[0-9]{2})([01][0-9])([0-3][0-9])")
_UNIX_TIME: Final = re.compile(r"[0-9]{8,10}")


@dataclass(frozen=True, slots=True)
class Place:
    """Place of a record: the file, and the line (from 1) in a text or the byte offset otherwise."""

    file: str = ""
    line: int | None = None
    offset: int | None = None

    def __str__(self) -> str:
        if self.line is not None:
            return f"{self.file}, line {self.line}"
        return self.file if self.offset is None else f"{self.file}, byte {self.offset}"


@dataclass(frozen=True, slots=True)
class GameRecord:
    """A game, or a position without moves, with the data of its file. Unknown texts are empty.

    black, white: the players. date: ISO 8601 as far as it is known, "2006-05-28", "2006-05" or
    "2006". result: as recorded, which may contradict the board; None if the file has none.
    theoretical_score: Black's discs minus White's after best play from a position that the format
    defines (WTHOR: 24 empties). komi: the number subtracted from Black's score. tags: all other
    properties, under the names of the format ("TimeControl" in PGN, "RB" in GGF). notes: comments
    on single moves, by move number from 1. place: where the record was found; it does not count in
    comparisons.
    """

    game: Game
    _: KW_ONLY
    black: str = ""
    white: str = ""
    date: str = ""
    event: str = ""
    site: str = ""
    round: str = ""
    result: RecordedResult | None = None
    theoretical_score: int | None = None
    komi: float = 0.0
    tags: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)
    place: Place = field(default=Place(), compare=False)

    @property
    def is_complete(self) -> bool:
        """True if the game was played to its end; False if it stops early or is only a position."""
        return self.game.final.is_over

    @property
    def result_or_computed(self) -> RecordedResult | None:
        """The recorded result; for a complete game without one, the result on the board.

        The empty squares then go to the winner. None if neither exists.
        """
        if self.result is not None or not self.is_complete:
            return self.result
        return RecordedResult.from_score(self.game.final.score("empties_to_winner"))

    def contradictions(self) -> tuple[str, ...]:
        """Describe each contradiction between the recorded results and the board, or among them.

        The descriptions are one line each. A game that stops early has no result on the board: its
        recorded result was agreed, adjudicated, or decided by the clock. Games under other rules
        (GGF types with an "a": fewer discs win) are not compared.
        """
        found = []
        if self.result is not None and self.result.is_unclear:
            found.append(f"the recorded result {self.result.text!r} is not understood")
        elif self.result is not None and self.is_complete and "a" not in self.tags.get("TY", ""):
            found += _compare(self.result, self.game.final, len(self.game.moves))
        token = self.tags.get("ResultToken")
        if token is not None and self.result is not None:
            found.append(f"the tag says {self.result.text!r}, the end of the moves {token!r}")
        return tuple(found)


def _compare(result: RecordedResult, final: Position, num_moves: int) -> list[str]:
    """Return the contradiction between a result and the end of a complete game, if any."""
    scores = {final.score("discs"), final.score("empties_to_winner")}
    black, white = final.discs
    on_board = f"{black}-{white}"
    if result.is_unfinished:
        return [f"recorded as unfinished ({result.text!r}), but the game is over: {on_board}"]
    if result.reason:
        return []  # resigned, or lost on time: the board does not count
    if result.discs is not None:
        squares, to_winner = final.board_size**2, final.score("empties_to_winner")
        if result.discs in (final.discs, ((squares + to_winner) // 2, (squares - to_winner) // 2)):
            return []
    elif result.score is not None:
        if result.score in scores:
            return []
    elif result.outcome == final.outcome:
        return []
    recorded = result.text or str(result)
    hint = ""
    if result.score and -result.score in scores:
        hint = "; the sign is the opposite"
        if num_moves % 2:
            hint += ", as Edax 4.6 writes it after an odd number of moves"
    winner = "a draw" if final.outcome == 0 else f"a win for {COLOR_NAMES[final.outcome < 0]}"
    return [f"recorded {recorded!r}, but the board says {on_board}, {winner}{hint}"]


def report(error: RecordFormatError, on_error: ErrorHandler | None) -> None:
    """Pass an error to its handler, or raise it if there is no handler."""
    if on_error is None:
        raise error
    on_error(error)


def read_each(items: Iterable[_T], read: Callable[[_T], GameRecord], on_error: ErrorHandler | None) -> Iterator[GameRecord]:
    """Yield the result of `read` for each item; the errors go to `on_error`."""
    for item in items:
        try:
            record = read(item)
        except RecordFormatError as error:
            report(error, on_error)
        else:
            yield record


def parse_position(text: str, place: Place) -> Position:
    """Read a position, see `Position.parse`. Raises `RecordFormatError` with the place."""
    if len(text) > _MAX_POSITION_CHARACTERS:
        raise RecordFormatError(f"{place}: a position of {len(text)} characters, {text[:20]!r}...")
    try:
        return Position.parse(text)
    except RecordFormatError as error:
        raise RecordFormatError(f"{place}: {error}") from None


def parse_komi(text: str, place: Place) -> float:
    """Return the number in a text, 0 for an empty one; raise `RecordFormatError` for others."""
    if text and not _NUMBER.fullmatch(text.strip()):
        raise RecordFormatError(f"{place}: komi {text[:20]!r}: expected a number")
    return float(text or 0)


def parse_date(text: str) -> str:
    """Return the date in a text as ISO 8601, as far as it is known, or "" without a date.

    The result is like "2006-05-28", "2006-05" or "2006". The separators may be dots, hyphens or
    slashes; `??` stands for an unknown part; a time may follow. Eight to ten digits are the seconds
    since 1970, unless they form a date.
    """
    text = text.strip()
    compact = _COMPACT_DATE.fullmatch(text)
    if not compact and _UNIX_TIME.fullmatch(text):
        return datetime.fromtimestamp(int(text), timezone.utc).date().isoformat()
    match = compact or _DATE.match(text)
    if not match or match[1] == "0000":
        return ""
    year, month, day = match[1], int(match[2] or 0), int(match[3] or 0)
    if not 1 <= month <= 12:
        return year
    try:
        return datetime(int(year), month, day).date().isoformat()
    except ValueError:
        return f"{year}-{month:02d}"


def known(text: str) -> str:
    """Strip white space, and return "" for the placeholders of unknown values."""
    text = text.strip()
    return "" if text in ("?", "-", "????") else text
