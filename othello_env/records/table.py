"""Tables of games: comma or tab separated values with a column of transcripts.

The first row names the columns, or is already a game. Known names, in any case: moves (`moves`,
`game_moves`, `transcript`, `game`), `black`, `white`, `date`, `event`, `site`, `round`, `result`
(spelled as in PGN), `winner` (1, -1, 0 or a color), `theoretical_score`, `komi` and `start`
(a position). A column with another name becomes a tag, a column without a name the tag "column_1"
and so on. If no column is named as moves, the first column with a transcript has the moves. Lines
that begin with `#` are skipped.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from othello_env.errors import IllegalMoveError, RecordFormatError
from othello_env.game import Game
from othello_env.position import Position
from othello_env.records.record import ErrorHandler, GameRecord, Place, known, parse_date, parse_komi, parse_position, report
from othello_env.records.result import RecordedResult, parse_result, parse_winner

_COLUMNS: Final = {
    **dict.fromkeys(("moves", "game_moves", "transcript", "game"), "moves"),
    **{
        name: name
        for name in ("black", "white", "date", "event", "site", "round", "result", "winner", "theoretical_score", "komi", "start")
    },
}
# Columns that are written, in this order.
HEADER: Final = ("event", "site", "date", "round", "black", "white", "result", "theoretical_score", "komi", "start", "moves")
_TRANSCRIPT: Final = re.compile(r"(?ai:(?:[a-h][1-8]){4,}(?:[a-h][1-8]|pa|pass|ps|pp|--|@@)*)")
_SCORE: Final = re.compile(r"[+-]?[0-9]{1,3}")
_MAX_COLUMNS: Final = 200


def read_table(lines: Iterable[tuple[int, str]], file: str, *, on_error: ErrorHandler | None = None) -> Iterator[GameRecord]:
    """Yield the games of a table, one by one.

    lines: pairs (line number, text). on_error: called with the error of each row that cannot be
    read, after which reading continues with the next row; without it the first such error, a
    `RecordFormatError`, is raised.
    """
    columns: list[str] = []
    for number, row in _read_rows(lines, file, on_error):
        try:
            if not columns:
                columns, has_names = _read_header(row, Place(file, number))
                if has_names:
                    continue
            if len(row) != len(columns):
                raise RecordFormatError(f"{file}, line {number}: {len(row)} columns, expected {len(columns)}")
            if "moves" not in columns:
                columns[_find_moves(row, Place(file, number))] = "moves"
            record = _read_row(columns, row, Place(file, number))
        except RecordFormatError as error:
            report(error, on_error)
        else:
            yield record


def _read_rows(lines: Iterable[tuple[int, str]], file: str, on_error: ErrorHandler | None) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with their line numbers.

    The first row decides whether tabs, commas or semicolons separate the cells.
    """
    delimiter = ""
    for number, line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        delimiter = delimiter or next((sign for sign in "\t,;" if sign in line), ",")
        try:
            row = next(csv.reader([line], delimiter=delimiter, strict=True), [])
        except csv.Error as error:
            report(RecordFormatError(f"{file}, line {number}: {error}"), on_error)
            continue
        if len(row) > _MAX_COLUMNS:
            report(RecordFormatError(f"{file}, line {number}: more than {_MAX_COLUMNS} columns"), on_error)
            continue
        yield number, row


def _read_header(row: list[str], place: Place) -> tuple[list[str], bool]:
    """Return the names of the columns, and whether the row has names at all."""
    if any(_TRANSCRIPT.fullmatch(cell.strip()) for cell in row):
        return [f"column_{number}" for number in range(1, len(row) + 1)], False
    names = [_COLUMNS.get(cell.strip().lower(), cell.strip()) or f"column_{number}" for number, cell in enumerate(row, 1)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RecordFormatError(f"{place}: two columns are called {twice[0]!r}")
    return names, True


def _find_moves(row: list[str], place: Place) -> int:
    found = next((index for index, cell in enumerate(row) if _TRANSCRIPT.fullmatch(cell.strip())), None)
    if found is None:
        raise RecordFormatError(f"{place}: no column has a transcript such as f5d6c3d3")
    return found


def _read_row(columns: list[str], row: list[str], place: Place) -> GameRecord:
    cells = {name: cell.strip() for name, cell in zip(columns, row, strict=True)}
    start = parse_position(cells["start"], place) if cells.get("start") else Position.start()
    try:
        game = Game.parse(cells["moves"], start)
    except (RecordFormatError, IllegalMoveError) as error:
        raise RecordFormatError(f"{place}: {error}") from None
    n = start.board_size
    result: RecordedResult | None = None
    if cells.get("result"):
        result = parse_result(cells["result"], n)
    elif cells.get("winner"):
        result = parse_winner(cells["winner"])
    if cells.get("theoretical_score") and not _SCORE.fullmatch(cells["theoretical_score"]):
        raise RecordFormatError(f"{place}: theoretical_score {cells['theoretical_score'][:20]!r}: expected an integer")
    date = parse_date(cells.get("date", ""))
    tags = {name: cell for name, cell in cells.items() if cell and name not in _COLUMNS.values()}
    if cells.get("date", "") not in (date, date.replace("-", ".")):
        tags["Date"] = cells["date"]
    return GameRecord(
        game,
        event=known(cells.get("event", "")),
        site=known(cells.get("site", "")),
        round=known(cells.get("round", "")),
        black=known(cells.get("black", "")),
        white=known(cells.get("white", "")),
        date=date,
        result=result,
        theoretical_score=int(cells["theoretical_score"]) if cells.get("theoretical_score") else None,
        komi=parse_komi(cells.get("komi", ""), place),
        tags=tags,
        place=place,
    )


def format_header() -> str:
    """Return the header line of a table, with its line end."""
    return _format_row(HEADER)


def format_row(record: GameRecord) -> str:
    """Return the game as a line that `read_table` reads below `format_header`, with its end.

    Tags and notes are not written.
    """
    game = record.game
    values = {
        "result": "" if record.result is None else str(record.result),
        "theoretical_score": "" if record.theoretical_score is None else f"{record.theoretical_score:+d}",
        "komi": f"{record.komi:.10g}" if record.komi else "",
        "start": "" if game.start == Position.start() else str(game.start),
        "moves": str(game),
    }
    texts = {name: " ".join(getattr(record, name).split()) for name in ("event", "site", "date", "round", "black", "white")}
    return _format_row([(texts | values)[name] for name in HEADER])


def _format_row(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    line = text.getvalue()
    return f" {line}" if line.startswith("#") else line  # a comment otherwise
