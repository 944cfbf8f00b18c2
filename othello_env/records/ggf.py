"""GGF, the format of the game server GGS and of NBoard.

Example: `(;GM[Othello]...TY[8]RE[+2.000]BO[8 ...]B[d3//0.01]W[c5]...;)`. Passes are written. The
result is Black's discs minus White's minus the komi. Format: skatgame.net/mburo/ggsa/ggf.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from othello_env.errors import RecordFormatError
from othello_env.position import BLACK, WHITE, Position
from othello_env.records.property_list import GameText, Property, parse_nodes, split_games
from othello_env.records.record import ErrorHandler, GameRecord, Place, known, parse_date, parse_komi, parse_position, read_each
from othello_env.records.replay import WrittenMove, parse_move, replay, with_passes
from othello_env.records.result import format_ggf_result, parse_ggf_result
from othello_env.squares import BOARD_SIZES, format_square, pass_square

_GAMES: Final = ("othello", "reversi")
_SIDES: Final = {"B": BLACK, "W": WHITE}
# Properties that are written as they were read. The others have fields of their own, or follow from
# the game.
_TAGS: Final = ("RB", "RW", "TI", "TB", "TW", "KB", "KW", "CO")
_NAMES: Final = ("GM", "PC", "DT", "PB", "PW", "TY", "RE", "BO", "KM", *_TAGS)
_TYPE: Final = re.compile(r"s?([0-9]{1,2})[a-z0-9]*")


def read_ggf(lines: Iterable[tuple[int, str]], file: str, *, on_error: ErrorHandler | None = None) -> Iterator[GameRecord]:
    """Yield the games of a file, one by one.

    lines: pairs (line number, text). on_error: called with the error of each game that cannot be
    read, after which reading continues with the next game; without it the first such error, a
    `RecordFormatError`, is raised.
    """
    games = split_games(lines, file, escapes=False, on_error=on_error)
    return read_each(games, partial(_read_game, file=file), on_error)


def _read_game(text: GameText, file: str) -> GameRecord:
    nodes = parse_nodes(text, file, escapes=False)
    if len(nodes) != 2 or nodes[1]:
        raise RecordFormatError(f"{file}, line {text.line}: expected one list of properties with ;) at its end")
    header: dict[str, Property] = {}
    written: list[Property] = []
    for item in nodes[0]:
        if len(item.values) != 1:
            raise RecordFormatError(f"{file}, line {item.line}: {item.name} has {len(item.values)} values, expected one")
        if item.name in _SIDES:
            written.append(item)
        elif item.name not in _NAMES:
            raise RecordFormatError(f"{file}, line {item.line}: {item.name[:20]} is no property of GGF")
        elif item.name in header:
            raise RecordFormatError(f"{file}, line {item.line}: {item.name} appears twice")
        else:
            header[item.name] = item
    value = {name: item.values[0].strip() for name, item in header.items()}
    if value.get("GM", "").lower() not in _GAMES:
        raise RecordFormatError(f"{file}, line {text.line}: GM is {value.get('GM', '')[:20]!r}, expected Othello")
    start = _read_start(header, file, text.line)
    komi = parse_komi(value.get("KM", ""), Place(file, text.line))
    moves, notes = _read_moves(written, start, file)
    tags = {name: value[name] for name in ("TY", *_TAGS) if value.get(name)}
    if tags.get("TY") == str(start.board_size):
        del tags["TY"]
    date = parse_date(value.get("DT", ""))
    if value.get("DT", "") not in ("", _format_date(date)):
        tags["DT"] = value["DT"]
    return GameRecord(
        replay(moves, start, file),
        black=known(value.get("PB", "")),
        white=known(value.get("PW", "")),
        date=date,
        site=known(value.get("PC", "")),
        result=parse_ggf_result(value["RE"], start.board_size, komi) if "RE" in value else None,
        komi=komi,
        tags=tags,
        notes=notes,
        place=Place(file, text.line),
    )


def _read_start(header: dict[str, Property], file: str, line: int) -> Position:
    """Return the start position, from BO, or from the board size in TY."""
    size = 8
    if "TY" in header:
        text, line = header["TY"].values[0], header["TY"].line
        match = _TYPE.fullmatch(text.strip())
        if not match:
            raise RecordFormatError(f"{file}, line {line}: TY is {text[:20]!r}, expected a board size such as 8, or 8r20")
        size = int(match[1])
    if size not in BOARD_SIZES:
        raise RecordFormatError(f"{file}, line {line}: a {size}x{size} board: the board sizes are {', '.join(map(str, BOARD_SIZES))}")
    if "BO" not in header:
        return Position.start(size)
    text, line = header["BO"].values[0], header["BO"].line
    digits, _, board = text.strip().partition(" ")
    if not re.fullmatch("[0-9]{1,2}", digits) or ("TY" in header and int(digits) != size):
        raise RecordFormatError(f"{file}, line {line}: BO begins with {digits[:20]!r}, expected the board size {size}")
    position = parse_position(board, Place(file, line))
    if position.board_size != int(digits):
        raise RecordFormatError(f"{file}, line {line}: BO: {position.board_size**2} squares, expected {int(digits) ** 2}")
    return position


def _read_moves(written: list[Property], start: Position, file: str) -> tuple[list[WrittenMove], dict[int, str]]:
    """Return the moves, and by number the note after each: slash, evaluation, slash, seconds."""
    moves: list[WrittenMove] = []
    notes: dict[int, str] = {}
    num_placed = 0
    for item in written:
        name, slash, rest = item.values[0].partition("/")
        try:
            square = parse_move(name, start.board_size)
        except RecordFormatError as error:
            raise RecordFormatError(f"{file}, line {item.line}: {error}") from None
        moves.append(WrittenMove(square, item.line, _SIDES[item.name]))
        if square != pass_square(start.board_size):
            num_placed += 1
            if rest:
                notes[num_placed] = slash + rest
    return moves, notes


def format_ggf(record: GameRecord) -> str:
    """Return the game as one line that `read_ggf` reads, with a line end.

    Raises `ValueError` for a text that cannot be written in GGF. A result without a score is
    written as "?". A note is written if it begins with a slash, as GGF's own notes do.
    """
    game, n = record.game, record.game.start.board_size
    start = str(game.start).translate({ord("X"): "*"})
    rows = " ".join(start[row * n : row * n + n] for row in range(n))
    properties = [
        ("GM", "Othello"),
        ("PC", record.site or record.event),
        ("DT", record.tags.get("DT") or _format_date(record.date)),
        ("PB", record.black),
        ("PW", record.white),
        *((name, record.tags.get(name, "")) for name in _TAGS if name not in ("KB", "KW")),
        ("TY", record.tags.get("TY") or str(n)),
        ("RE", format_ggf_result(record.result_or_computed, record.komi)),
        ("BO", f"{n} {rows} {start[-1]}"),
        *((name, record.tags.get(name, "")) for name in ("KB", "KW")),
        ("KM", f"{record.komi:.10g}" if record.komi else ""),
    ]
    parts = [f"{name}[{_format_text(text)}]" for name, text in properties if text or name in ("PC", "PB", "PW")]
    for number, square, side in with_passes(game):
        is_pass = square == pass_square(n)
        note = "" if is_pass else record.notes.get(number, "")
        parts.append(f"{'BW'[side]}[{'PA' if is_pass else format_square(square, n)}{_format_text(note) if note.startswith('/') else ''}]")
    return f"(;{''.join(parts)};)\n"


def _format_date(date: str) -> str:
    return date.replace("-", ".")


def _format_text(text: str) -> str:
    if "[" in text or "]" in text:
        raise ValueError(f"{text!r}: GGF has no way to write square brackets")
    return " ".join(text.split())
