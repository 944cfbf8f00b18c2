"""SGF for Othello (GM[2]): `(;FF[4]GM[2]SZ[8]AB[e4][d5]AW[d4][e5]PL[B]RE[B+10];B[f5];W[d6]...)`.

Two ways to name squares are in use: Edax, Cassio and OthelloTk write a letter and a digit, Quarry
writes two letters, column and row from the top left. The first move may be in the first node, a
semicolon may follow the last node, and passes may be written (`PA`, `pass`, `@@@@`, `tt` or an
empty value) or left out. Format: red-bean.com/sgf.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final, Literal

from othello_env.errors import RecordFormatError
from othello_env.position import BLACK, WHITE, Position
from othello_env.records.property_list import GameText, Property, parse_nodes, split_games
from othello_env.records.record import ErrorHandler, GameRecord, Place, known, parse_date, parse_komi, read_each
from othello_env.records.replay import WrittenMove, parse_move, replay, with_passes
from othello_env.records.result import format_sgf_result, parse_sgf_result
from othello_env.squares import BOARD_SIZES, format_square, pass_square

Dialect = Literal["edax", "quarry"]

_SIDES: Final = {"B": BLACK, "W": WHITE}
_PROGRAM: Final = "othello-env"
_SETUP: Final = ("AB", "AW", "AE", "PL")
_SINGLE_LETTERS: Final = (*_SIDES, "C", "N", "V", "L", "M")  # private properties have at least two
_LETTER_PAIR: Final = re.compile("[a-z]{2}")
_RECTANGLE: Final = re.compile("([A-Za-z][A-Za-z0-9]):([A-Za-z][A-Za-z0-9])")
_SIDE_LETTERS: Final = {"B": BLACK, "BLACK": BLACK, "1": BLACK, "W": WHITE, "WHITE": WHITE, "2": WHITE}
# Properties of the game without a field of their own: the standard's game information, and the
# clocks of Cassio and GGS.
_TAGS: Final = (
    "AN", "BR", "BT", "CP", "GC", "GN", "ON", "OT", "RU", "SO", "TM", "US", "WR", "WT", "BL", "WL", "RB", "RW", "TI", "TB", "TW", "TY"
)  # fmt: skip


def read_sgf(lines: Iterable[tuple[int, str]], file: str, *, on_error: ErrorHandler | None = None) -> Iterator[GameRecord]:
    """Yield the games of a file, one by one: the first variation of each.

    lines: pairs (line number, text). on_error: called with the error of each game that cannot be
    read, after which reading continues with the next game; without it the first such error, a
    `RecordFormatError`, is raised.
    """
    games = split_games(lines, file, escapes=True, on_error=on_error)
    return read_each(games, partial(_read_game, file=file), on_error)


def _read_game(text: GameText, file: str) -> GameRecord:
    nodes = parse_nodes(text, file, escapes=True)
    if not nodes:
        raise RecordFormatError(f"{file}, line {text.line}: expected a semicolon after the parenthesis")
    if not all(item.name.isupper() for node in nodes for item in node):  # older files have small letters between the capitals
        nodes = [[item._replace(name=re.sub("[a-z]", "", item.name)) for item in node] for node in nodes]
    for item in (item for node in nodes for item in node):
        if len(item.name) < 2 and item.name not in _SINGLE_LETTERS:
            raise RecordFormatError(f"{file}, line {item.line}: {item.name!r} is no property of SGF")
    root: dict[str, Property] = {}
    for item in nodes[0]:
        if item.name in root and item.name not in _SIDES:
            raise RecordFormatError(f"{file}, line {item.line}: {item.name} appears twice")
        root[item.name] = item
    value = {name: _simple_text(item.values[0]) for name, item in root.items()}
    if value.get("GM", "2") != "2":
        raise RecordFormatError(f"{file}, line {text.line}: GM is {value['GM'][:20]!r}, expected 2, Othello")
    size = value.get("SZ", "8")
    if size not in map(str, BOARD_SIZES):
        raise RecordFormatError(f"{file}, line {text.line}: SZ is {size[:20]!r}: the board sizes are {', '.join(map(str, BOARD_SIZES))}")
    moves, notes = _read_moves(nodes, int(size), file)
    start = _read_start(root, int(size), moves, file)
    tags = {name: value[name] for name in ("AP", *_TAGS) if value.get(name) and value[name] != _PROGRAM}
    if value.get("C"):
        tags["Comment"] = value["C"]
    date = parse_date(value.get("DT", ""))
    if value.get("DT", "") not in ("", date):
        tags["DT"] = value["DT"]
    return GameRecord(
        replay(moves, start, file),
        black=known(value.get("PB", "")),
        white=known(value.get("PW", "")),
        date=date,
        event=known(value.get("EV", "")),
        site=known(value.get("PC", "")),
        round=known(value.get("RO", "")),
        result=parse_sgf_result(value["RE"], int(size)) if "RE" in value else None,
        komi=parse_komi(value.get("KM", ""), Place(file, text.line)),
        tags=tags,
        notes=notes,
        place=Place(file, text.line),
    )


def _read_start(root: dict[str, Property], size: int, moves: list[WrittenMove], file: str) -> Position:
    """Return the start position. Without PL the side of the first move is to move."""
    discs = {}
    for name in ("AB", "AW"):
        discs[name] = 0
        if name in root:
            for text in root[name].values:
                for square in _read_squares(text, size, file, root[name].line):
                    discs[name] |= 1 << square
    side = moves[0].side if moves and moves[0].side is not None else BLACK
    if "PL" in root:
        letter = root["PL"].values[0].strip().upper()
        if letter not in _SIDE_LETTERS:
            raise RecordFormatError(f"{file}, line {root['PL'].line}: PL is {letter[:20]!r}, expected B or W")
        side = _SIDE_LETTERS[letter]
    if not discs["AB"] and not discs["AW"]:
        standard = Position.start(size)
        return Position.from_discs(standard.black, standard.white, side, board_size=size)
    if discs["AB"] & discs["AW"]:
        raise RecordFormatError(f"{file}, line {root['AB'].line}: AB and AW have a square in common")
    return Position.from_discs(discs["AB"], discs["AW"], side, board_size=size)


def _read_squares(text: str, size: int, file: str, line: int) -> list[int]:
    """Return the squares of one value: a square, or two opposite corners of a rectangle."""
    corners = _RECTANGLE.fullmatch(text.strip())
    squares = [_read_square(name, size, file, line) for name in (corners.groups() if corners else (text,))]
    if max(squares) == pass_square(size):
        raise RecordFormatError(f"{file}, line {line}: {text[:20]!r} names no square")
    (top, left), (bottom, right) = divmod(squares[0], size), divmod(squares[-1], size)
    found = [row * size + column for row in range(top, bottom + 1) for column in range(left, right + 1)]
    if not found:
        raise RecordFormatError(f"{file}, line {line}: {text[:20]!r}: expected the top left and the bottom right square")
    return found


def _read_square(text: str, size: int, file: str, line: int) -> int:
    """Return the square of a name in either dialect, or the pass."""
    name = text.strip()
    if _LETTER_PAIR.fullmatch(name) and name not in ("pa", "ps", "pp"):
        column, row = ord(name[0]) - ord("a"), ord(name[1]) - ord("a")
        if name == "tt":
            return pass_square(size)
        if column < size and row < size:
            return row * size + column
    try:
        return parse_move(name, size)
    except RecordFormatError as error:
        raise RecordFormatError(f"{file}, line {line}: {error}") from None


def _read_moves(nodes: list[list[Property]], size: int, file: str) -> tuple[list[WrittenMove], dict[int, str]]:
    """Return the moves, and the comments on them by the number of the move."""
    moves: list[WrittenMove] = []
    notes: dict[int, str] = {}
    num_placed = 0
    for number, node in enumerate(nodes):
        for item in node:
            if item.name in _SIDES:
                if len(item.values) != 1:
                    raise RecordFormatError(f"{file}, line {item.line}: {len(item.values)} moves of one side at once")
                square = _read_square(item.values[0], size, file, item.line)
                moves.append(WrittenMove(square, item.line, _SIDES[item.name]))
                num_placed += square != pass_square(size)
            elif item.name in _SETUP and number:
                raise RecordFormatError(
                    f"{file}, line {item.line}: {item.name} after the first node: discs are set up only before the game"
                )
            elif item.name == "C" and number and num_placed:
                notes[num_placed] = _unescape(item.values[0]).strip()
    return moves, notes


def _unescape(text: str) -> str:
    """Return the text of a value: a backslash keeps the next character, and removes a line end."""
    return re.sub(r"\\(.)", lambda match: "" if match[1] == "\n" else match[1], text, flags=re.DOTALL)


def _simple_text(text: str) -> str:
    return " ".join(_unescape(text).split())


def format_sgf(record: GameRecord, *, dialect: Dialect = "edax") -> str:
    """Return the game as text that `read_sgf` reads, with a line end.

    dialect: "edax" is one line with letters and digits, the start position and all passes; "quarry"
    has lines of moves in pairs of letters, without passes and without the standard start position.
    """
    start, n = record.game.start, record.game.start.board_size
    is_quarry = dialect == "quarry"
    properties = [
        ("CA", ["UTF-8"]),
        ("AP", [_PROGRAM]),
        ("EV", [record.event]),
        ("PC", [record.site]),
        ("RO", [record.round]),
        ("DT", [record.tags.get("DT") or record.date]),
        ("PB", [record.black]),
        ("PW", [record.white]),
        *((name, [record.tags.get(name, "")]) for name in _TAGS),
        ("C", [record.tags.get("Comment", "")]),
        ("KM", [f"{record.komi:.10g}" if record.komi else ""]),
        ("SZ", [str(n)]),
    ]
    if not is_quarry or start != Position.start(n):
        for name, discs in (("AB", start.black), ("AW", start.white)):
            properties.append((name, [_format_square(square, n, dialect) for square in range(n * n) if discs >> square & 1]))
        properties.append(("PL", ["BW"[start.side_to_move]]))
    result = record.result_or_computed
    if result is not None:
        properties.append(("RE", [format_sgf_result(result)]))
    header = "".join(name + "".join(f"[{_escape(value)}]" for value in values) for name, values in properties if any(values))
    moves = []
    for number, square, side in with_passes(record.game):
        if square == pass_square(n) and is_quarry:
            continue
        note = record.notes.get(number, "") if square != pass_square(n) else ""
        moves.append(f";{'BW'[side]}[{_format_square(square, n, dialect)}]" + (f"C[{_escape(note)}]" if note else ""))
    if not is_quarry:
        return f"(;FF[4]GM[2]{header}{''.join(moves)})\n"
    rows = ["".join(moves[place : place + 12]) for place in range(0, len(moves), 12)]
    return "\n".join(["(;GM[2]FF[4]" + header, *rows, ")\n"])


def _format_square(square: int, n: int, dialect: Dialect) -> str:
    if square == pass_square(n):
        return "PA"
    row, column = divmod(square, n)
    return f"{chr(ord('a') + column)}{chr(ord('a') + row)}" if dialect == "quarry" else format_square(square, n)


def _escape(text: str) -> str:
    return re.sub(r"([\]\\])", r"\\\1", text)
