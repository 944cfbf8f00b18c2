"""Parts of a report: sections with paragraphs, tables, figures and games.

Renderers leave out the parts that they cannot show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from training.evaluation.journal import GameRecord
from training.evaluation.report.text import (
    DASH,
    format_count,
    format_elo,
    format_elo_interval,
    format_milliseconds,
    format_share,
    format_share_interval,
    format_signed,
)

Look = Literal["name", "label", "text", "long text", "number", "board", "game", "shaded"]
"""Appearance of a cell. Names and texts are aligned to the left, labels of players are shortened if
there is little room, long texts are wrapped, numbers are aligned to the right, boards are
pictures, games are links, and shaded cells have a color for their share."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Type of the values of a column.

    text: returns a value as text, for documents. fields: returns a value as the fields that the
    column has in files.
    """

    look: Look
    text: Callable[[Any], str] = str
    fields: Callable[[Any], tuple[object, ...]] = lambda value: (value,)


@dataclass(frozen=True, slots=True)
class GameLink:
    """Reference to a position of a game that can be replayed."""

    game: int
    ply: int


@dataclass(frozen=True, slots=True)
class Shaded:
    """Cell of a matrix. share: from 0 to 1, selects the color. details: further lines."""

    share: float
    text: str
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the text with the details in parentheses."""
        return f"{self.text} ({'; '.join(self.details)})" if self.details else self.text


NAME: Final = Kind("name")
PLAYER: Final = Kind("label")  # a player whose full name is in the table of ratings
TEXT: Final = Kind("text")
LONG_TEXT: Final = Kind("long text")
INTEGER: Final = Kind("number")  # a number that names something, such as a rank
COUNT: Final = Kind("number", format_count)
ELO: Final = Kind("number", format_elo, lambda value: (f"{value:.3f}",))
ELO_INTERVAL: Final = Kind("number", format_elo_interval, lambda ends: tuple(f"{end:.3f}" for end in ends))
SHARE: Final = Kind("number", format_share, lambda value: (f"{value:.6f}",))
SHARE_INTERVAL: Final = Kind("number", format_share_interval, lambda ends: tuple(f"{end:.6f}" for end in ends))
SHARE_ESTIMATE: Final = Kind("number", lambda value: f"{format_share(value[0])} ({format_share_interval(value[1])})")
DISCS_ESTIMATE: Final = Kind("number", lambda value: f"{value[0]:.2f} ({value[1][0]:.2f}{DASH}{value[1][1]:.2f})")
DIFFERENCE: Final = Kind("number", format_signed)
MEAN_DIFFERENCE: Final = Kind("number", lambda value: format_signed(value, 1))
MILLISECONDS: Final = Kind("number", format_milliseconds)
SECONDS: Final = Kind("number", lambda value: f"{value:,.3f}" if value < 10 else f"{value:,.1f}")
GAME: Final = Kind("game", lambda link: str(link.game))
BOARD: Final = Kind("board", lambda position: str(position))
SHADED: Final = Kind("shaded")


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a table. names: of its fields in files; by default the title in lower case."""

    title: str
    kind: Kind
    names: tuple[str, ...] = ()

    @property
    def field_names(self) -> tuple[str, ...]:
        """Names of the fields in files."""
        return self.names or (self.title.lower(),)

    def text(self, value: Any) -> str:
        """Return a value as text. None stands for a number that does not exist."""
        return DASH if value is None else self.kind.text(value)


@dataclass(frozen=True, slots=True)
class Table:
    """Table whose first column names its rows.

    rows: a value for each column, None if it does not exist.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]

    @property
    def is_matrix(self) -> bool:
        """True if the cells are shaded."""
        return any(column.kind.look == "shaded" for column in self.columns)

    def without(self, *titles: str) -> Table:
        """Return the table without the columns of some titles."""
        kept = [place for place, column in enumerate(self.columns) if column.title not in titles]
        rows = tuple(tuple(row[place] for place in kept) for row in self.rows)
        return Table(self.caption, tuple(self.columns[place] for place in kept), rows)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Paragraph of text.

    style: "note" for facts that must be known before the numbers, "remark" for less important ones.
    """

    text: str
    style: Literal["plain", "note", "remark"] = "plain"


@dataclass(frozen=True, slots=True)
class Code:
    """Line of code, such as a command."""

    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and numbers, for the head of the document."""

    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """Plot. svg: uses the CSS classes of the page. legend: CSS classes with their meanings."""

    svg: str
    caption: str
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures side by side. is_wide: True if their texts need more room than in small plots."""

    figures: tuple[Figure, ...]
    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class Replay:
    """Games to step through. text: describes the selection of games."""

    text: str
    games: tuple[ReplayedGame, ...]


@dataclass(frozen=True, slots=True)
class ReplayedGame:
    """Game to step through.

    opening: the position before the first move. plies: see `replay.encode_plies`. result: in words.
    """

    record: GameRecord
    opening: str
    plies: str
    result: str


Part = Paragraph | Code | Facts | Table | Figure | Figures | Replay


@dataclass(frozen=True, slots=True)
class Section:
    """Section of a document. key: its anchor in a page."""

    key: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """Document: title, head, sections, and a sentence about its origin. players: their names."""

    title: str
    players: tuple[str, ...]
    head: tuple[Part, ...]
    sections: tuple[Section, ...]
    origin: str

    def replay(self) -> Replay | None:
        """Return the games of the document; None if it has none."""
        return next((part for section in self.sections for part in section.parts if isinstance(part, Replay)), None)
