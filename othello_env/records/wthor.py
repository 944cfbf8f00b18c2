"""WTHOR, the database format of the French Othello Federation.

A .wtb file holds games, a .jou file players, a .trn file tournaments. All numbers are
little-endian. A file begins with 16 bytes: the date of its creation (century, year, month, day),
the number of games (u32) in a .wtb file, the number of names (u16) in the others, the year of the
games (u16), the board size (0 means 8), 1 for solitaires, the empties of the theoretical score
(0 means 22), and 0. A game has 68 bytes: the numbers of the tournament and of both players (u16),
Black's discs, Black's discs after best play from the position with that many empties, and 60 moves,
each the column plus ten times the row, both from 1, and 0 after the last one. Passes are not
written. The empty squares go to the winner. Names are Latin-1, padded with zeros: 20 bytes per
player, 26 per tournament. The number of a name is its index in its file, from 0; files of games and
names are in one folder. Format: FFO, "Format WTHOR" (S. Quin and S. Nicolet).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from othello_env.atomic_file import open_atomically, write_atomically
from othello_env.errors import IllegalMoveError, RecordFormatError
from othello_env.game import Game
from othello_env.position import Position
from othello_env.records.lines import ByteSource, check_first_bytes, decode_text
from othello_env.records.output import WriteErrorHandler, report_unwritable
from othello_env.records.record import ErrorHandler, GameRecord, Place, report
from othello_env.records.result import RecordedResult, discs_of

MAX_MOVES: Final = 60
NO_SQUARE: Final = 255  # as `sequences.PADDING`

_HEADER: Final = struct.Struct("<4BIHHBBBB")
_GAME: Final = np.dtype(
    [
        ("tournament", "<u2"),
        ("black_player", "<u2"),
        ("white_player", "<u2"),
        ("black_score", "u1"),
        ("theoretical_score", "u1"),
        ("moves", "u1", (MAX_MOVES,)),
    ]
)
_NAME_BYTES: Final = {"player": 20, "tournament": 26}
# Name number 0 in the official files.
_NO_NAME: Final = {"player": "???", "tournament": "Diverses parties"}
NAME_SUFFIXES: Final = {"player": ".jou", "tournament": ".trn"}
_DEPTH: Final = 24
_MAX_NAMES: Final = 1 << 16
_BLOCK_GAMES: Final = 1024
_CREATED: Final = re.compile("([0-9]{1,5})-([0-9]{1,3})-([0-9]{1,3})")
_NUMBER: Final = re.compile("[0-9]{1,5}")

SQUARE_OF_CODE: Final = np.full(256, NO_SQUARE, np.uint8)
"""The square for each byte of a move; `NO_SQUARE` (255) for bytes that are not a move.

The 0 after the last move is such a byte.
"""
SQUARE_OF_CODE[[10 * row + column for row in range(1, 9) for column in range(1, 9)]] = np.arange(64)
_CODE_OF_SQUARE: Final = np.flatnonzero(SQUARE_OF_CODE != NO_SQUARE).astype(np.uint8)


@dataclass(frozen=True, slots=True)
class WthorHeader:
    """The first 16 bytes of a file.

    created: (year, month, day), as recorded. num_games: in a .wtb file, else 0. num_names: in a
    .jou or .trn file. year: of the games, 0 if it is not given. board_size: 0 or 8. depth: empties
    of the theoretical score, 0 means 22. reserved: 0.
    """

    created: tuple[int, int, int]
    num_games: int = 0
    num_names: int = 0
    year: int = 0
    board_size: int = 8
    kind: int = 0
    depth: int = 0
    reserved: int = 0

    @classmethod
    def parse(cls, data: bytes) -> WthorHeader:
        """Read the first 16 bytes."""
        century, year_of_century, month, day, num_games, num_names, *rest = _HEADER.unpack(data)
        return cls((100 * century + year_of_century, month, day), num_games, num_names, *rest)

    def to_bytes(self) -> bytes:
        """Return the 16 bytes."""
        year, month, day = self.created
        rest = (self.num_games, self.num_names, self.year, self.board_size, self.kind, self.depth, self.reserved)
        return _HEADER.pack(year // 100, year % 100, month, day, *rest)


@dataclass(frozen=True, slots=True)
class WthorArrays:
    """All games of a .wtb file as arrays of the recorded values; no moves are played.

    tournaments, black_players, white_players: [N] uint16. black_scores, theoretical_scores: [N]
    uint8, Black's discs. moves: [N, 60] uint8, see `SQUARE_OF_CODE`.
    """

    header: WthorHeader
    tournaments: npt.NDArray[np.uint16]
    black_players: npt.NDArray[np.uint16]
    white_players: npt.NDArray[np.uint16]
    black_scores: npt.NDArray[np.uint8]
    theoretical_scores: npt.NDArray[np.uint8]
    moves: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.moves)

    def squares(self) -> npt.NDArray[np.uint8]:
        """Return the squares of the moves, [N, 60] uint8, in the form of `othello_env.sequences`.

        Entries after the last move are `NO_SQUARE` (255).
        """
        return SQUARE_OF_CODE[self.moves]


def read_arrays(path: str | Path) -> WthorArrays:
    """Read a whole .wtb file.

    Raises `RecordFormatError` for a file whose length, header, scores or moves do not fit the
    format. The legality of the moves is not checked; `read_wthor` does that.
    """
    path = Path(path)
    with path.open("rb") as stream:
        header = _read_games_header(stream, path)
        table = _read_table(stream, header.num_games, path.name, 0)
    for index, problem in enumerate(_find_problems(table)):
        if problem:
            raise _game_error(path.name, index, problem)
    return WthorArrays(header, *(table[name].copy() for name in _GAME.names or ()))


def write_arrays(path: str | Path, arrays: WthorArrays) -> None:
    """Write a .wtb file; arrays from `read_arrays` give the same file, byte for byte."""
    table = np.zeros(len(arrays), _GAME)
    fields = (arrays.tournaments, arrays.black_players, arrays.white_players, arrays.black_scores, arrays.theoretical_scores, arrays.moves)
    for name, values in zip(_GAME.names or (), fields, strict=True):
        table[name] = values
    write_atomically(Path(path), replace(arrays.header, num_games=len(arrays)).to_bytes() + table.tobytes())


def read_wthor(stream: ByteSource, path: str | Path, *, on_error: ErrorHandler | None = None) -> Iterator[GameRecord]:
    """Yield the games of a .wtb file, one by one.

    stream: the open file; it is read in blocks of about 70 kB. path: its path. The names come from
    the .jou and .trn files of the same name in its folder, or else from WTHOR.JOU and WTHOR.TRN
    there; without them players and events are empty. The numbers, the creation date of the file and
    the depth of the theoretical scores become tags ("WthorBlack", "WthorDepth" and so on).
    on_error: called with the error of each game that cannot be read, after which reading continues
    with the next game; without it the first such error, a `RecordFormatError`, is raised. A length
    that does not fit the header is always raised.
    """
    path = Path(path)
    header = _read_games_header(stream, path)
    names = {kind: _read_names_for(path, kind) for kind in NAME_SUFFIXES}
    created = "-".join(f"{part:02d}" for part in header.created)
    file_tags = {"WthorCreated": created, "WthorDepth": str(header.depth)}
    for first in range(0, header.num_games, _BLOCK_GAMES):
        num_games = min(_BLOCK_GAMES, header.num_games - first)
        table = _read_table(stream, num_games, path.name, first)
        squares = SQUARE_OF_CODE[table["moves"]].tolist()
        numbers = zip(*(table[name].tolist() for name in (_GAME.names or ())[:-1]), strict=True)
        problems = _find_problems(table)
        for index, numbers_of_game in enumerate(numbers):
            problem = problems[index]
            moves = squares[index]
            if NO_SQUARE in moves:
                moves = moves[: moves.index(NO_SQUARE)]
            try:
                game = Game(() if problem else tuple(moves))
            except IllegalMoveError as error:
                problem = str(error)
            if problem:
                report(_game_error(path.name, first + index, problem), on_error)
                continue
            tournament, black, white, score, theoretical = numbers_of_game
            yield GameRecord(
                game,
                black=_name_at(names["player"], black),
                white=_name_at(names["player"], white),
                date=f"{header.year:04d}" if header.year else "",
                event=_name_at(names["tournament"], tournament),
                result=RecordedResult.from_discs(score, 64 - score, str(score)),
                theoretical_score=2 * theoretical - 64,
                tags={"WthorTournament": str(tournament), "WthorBlack": str(black), "WthorWhite": str(white), **file_tags},
                place=Place(path.name, offset=_HEADER.size + _GAME.itemsize * (first + index)),
            )


def _read_header(stream: ByteSource, path: Path) -> tuple[WthorHeader, int]:
    """Return the header and the length of the file."""
    data = stream.read(_HEADER.size)
    check_first_bytes(data, path.name)
    if len(data) < _HEADER.size:
        raise RecordFormatError(f"{path.name}, byte {len(data)}: the file ends inside the header of {_HEADER.size} bytes")
    header = WthorHeader.parse(data)
    if header.created[0] % 100 != data[1]:
        raise RecordFormatError(f"{path.name}, byte 1: the year of the creation date is {data[1]}, expected 0 to 99")
    return header, path.stat().st_size


def _read_games_header(stream: ByteSource, path: Path) -> WthorHeader:
    header, size = _read_header(stream, path)
    expected = _HEADER.size + _GAME.itemsize * header.num_games
    if header.board_size not in (0, 8):
        raise RecordFormatError(f"{path.name}, byte 12: a board of size {header.board_size}, expected 8 (or 0, which stands for it)")
    if header.kind:
        raise RecordFormatError(f"{path.name}, byte 13: {header.kind}, a file of solitaires; expected 0, games")
    if header.num_names:
        raise RecordFormatError(f"{path.name}, byte 8: {header.num_names} names; expected 0 in a file of games")
    if size != expected:
        raise RecordFormatError(
            f"{path.name}, byte {min(size, expected)}: {header.num_games} games need {expected} bytes, but the file has {size}"
        )
    return header


def _read_table(stream: ByteSource, num_games: int, file: str, first: int) -> npt.NDArray[Any]:
    """Read the next games. first: the index of the first one."""
    data = stream.read(_GAME.itemsize * num_games)
    if len(data) != _GAME.itemsize * num_games:
        raise RecordFormatError(f"{file}, byte {_HEADER.size + _GAME.itemsize * first + len(data)}: the file has become shorter")
    return np.frombuffer(data, _GAME)


def _find_problems(table: npt.NDArray[Any]) -> list[str]:
    """Return for each game what does not fit the format, or ""."""
    codes = table["moves"]
    is_end = codes == 0
    is_wrong = (SQUARE_OF_CODE[codes] == NO_SQUARE) & ~is_end
    is_wrong[:, 1:] |= is_end[:, :-1] & ~is_end[:, 1:]
    problems = [""] * len(table)
    for index in np.flatnonzero(is_wrong.any(axis=1) | (table["black_score"] > 64) | (table["theoretical_score"] > 64)).tolist():
        if is_wrong[index].any():
            number = int(is_wrong[index].argmax())
            problems[index] = f"move {number + 1} has the code {codes[index, number]}, expected column + 10 * row, and 0 only at the end"
        else:
            scores = f"{table['black_score'][index]} and {table['theoretical_score'][index]}"
            problems[index] = f"the scores are {scores}, expected 0 to 64 discs"
    return problems


def _game_error(file: str, index: int, problem: str) -> RecordFormatError:
    return RecordFormatError(f"{file}, byte {_HEADER.size + _GAME.itemsize * index}: game {index + 1}: {problem}")


def read_names(path: str | Path) -> tuple[str, ...]:
    """Read the names of a .jou or .trn file. Raises `RecordFormatError` for a wrong length."""
    path = Path(path)
    size = _NAME_BYTES[_kind_of(path)]
    with path.open("rb") as stream:
        header, length = _read_header(stream, path)
        expected = _HEADER.size + size * header.num_names
        if length != expected:
            raise RecordFormatError(
                f"{path.name}, byte {min(length, expected)}: {header.num_names} names need {expected} bytes, but the file has {length}"
            )
        data = stream.read(size * header.num_names)
    return tuple(decode_text(data[place : place + size].partition(b"\0")[0]).strip() for place in range(0, len(data), size))


def write_names(path: str | Path, names: Iterable[str], *, created: tuple[int, int, int] | None = None) -> None:
    """Write a .jou or .trn file.

    created: (year, month, day) in its header; default: today. Raises `ValueError` for a name that
    is not Latin-1 or too long (19 bytes per player, 25 per tournament), and for too many names.
    """
    path = Path(path)
    kind = _kind_of(path)
    encoded = [_encode_name(name, kind) for name in names]
    if len(encoded) >= _MAX_NAMES:
        raise ValueError(f"{len(encoded)} names: a {path.suffix} file holds {_MAX_NAMES - 1}")
    header = WthorHeader(created or _today(), num_names=len(encoded))
    write_atomically(path, replace(header, board_size=0).to_bytes() + b"".join(encoded))


def write_wthor(
    path: str | Path,
    records: Iterable[GameRecord],
    *,
    created: tuple[int, int, int] | None = None,
    on_error: WriteErrorHandler | None = None,
) -> int:
    """Write a .wtb file, and return the number of games.

    If records have names, also writes a .jou and a .trn file of the same name. A player or
    tournament keeps the number in the record's tags if possible. The year is that of all games, 0
    if they differ; the creation date and the depth of the theoretical scores are those of the first
    record's tags, else `created` (default: today) and 24. A game without a theoretical score gets
    its result instead, as in Edax. Raises `ValueError` for a record that the format cannot hold:
    another board or start position, no moves, no result in discs, a name that is too long or not
    Latin-1. on_error: called with such an error, after which writing continues with the next
    record.
    """
    path = Path(path)
    numbers = {kind: _Numbers(kind) for kind in NAME_SUFFIXES}
    years: set[str] = set()
    header = WthorHeader(created or _today(), depth=_DEPTH)
    num_games = 0
    with open_atomically(path) as stream:
        stream.write(header.to_bytes())
        for number, record in enumerate(records, 1):
            try:
                data = _encode_game(record, numbers)
            except ValueError as error:
                report_unwritable(error, number, record, on_error)
                continue
            if num_games == 0:
                header = _header_from_tags(header, record.tags, created is None)
            stream.write(data)
            years.add(record.date[:4])
            num_games += 1
        year = int(years.pop() or 0) if len(years) == 1 else 0
        stream.seek(0)
        stream.write(replace(header, num_games=num_games, year=year).to_bytes())
    for kind, names in numbers.items():
        if names.have_names:
            write_names(path.with_suffix(NAME_SUFFIXES[kind].upper()), names.table(), created=header.created)
    return num_games


class _Numbers:
    """Numbers of the names of one kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.names: dict[int, str] = {0: _NO_NAME[kind]}
        self.number_of: dict[str, int] = {"": 0, _NO_NAME[kind]: 0}
        self.last = 0
        self.have_names = False

    def number(self, name: str, tag: str) -> int:
        """Return the number of a name: that of the tag if it is free, else the next one.

        Without a name, the number is that of the tag, or 0.
        """
        wanted = int(tag) if _NUMBER.fullmatch(tag) and int(tag) < _MAX_NAMES - 1 else 0
        if not name:
            if self.names.setdefault(wanted, "") and wanted:
                return 0  # it belongs to a name
            self.last = max(self.last, wanted)
            return wanted
        _encode_name(name, self.kind)
        is_free = bool(tag) and self.names.get(wanted, name) == name
        number = wanted if is_free else self.number_of.get(name, self.last + 1)
        if number >= _MAX_NAMES - 1:
            raise ValueError(f"{name!r}: WTHOR has numbers for {_MAX_NAMES - 1} names")
        self.names[number] = name
        self.number_of.setdefault(name, number)
        self.last = max(self.last, number)
        self.have_names = True
        return number

    def table(self) -> list[str]:
        """Return the names in the order of their numbers; unused numbers have empty names."""
        return [self.names.get(number, "") for number in range(self.last + 1)]


def _encode_game(record: GameRecord, numbers: dict[str, _Numbers]) -> bytes:
    game = record.game
    if game.start != Position.start():
        raise ValueError("WTHOR holds games from the standard start position on 8x8 only")
    if not game.moves:
        raise ValueError("WTHOR holds no game without moves")
    result = record.result_or_computed
    discs = None if result is None else discs_of(result, 8)
    if result is not None and discs is None and record.is_complete and result.outcome == game.final.outcome:
        discs = discs_of(RecordedResult.from_score(game.final.score("empties_to_winner")), 8)
    if discs is None:
        raise ValueError("WTHOR needs a result in discs")
    black = discs[0] if sum(discs) == 64 else (64 + _with_empties(discs)) // 2
    theoretical = black if record.theoretical_score is None else (64 + record.theoretical_score) / 2
    if theoretical not in range(65):
        raise ValueError(f"theoretical score {record.theoretical_score:+d}: WTHOR holds an even one from -64 to +64")
    row = np.zeros(1, _GAME)
    row["tournament"] = numbers["tournament"].number(record.event, record.tags.get("WthorTournament", ""))
    row["black_player"] = numbers["player"].number(record.black, record.tags.get("WthorBlack", ""))
    row["white_player"] = numbers["player"].number(record.white, record.tags.get("WthorWhite", ""))
    row["black_score"], row["theoretical_score"] = black, theoretical
    row["moves"][0, : len(game.moves)] = _CODE_OF_SQUARE[list(game.moves)]
    return row.tobytes()


def _with_empties(discs: tuple[int, int]) -> int:
    """Return the score with the empty squares given to the winner."""
    difference, empties = discs[0] - discs[1], 64 - sum(discs)
    return difference + empties * ((difference > 0) - (difference < 0))


def _header_from_tags(header: WthorHeader, tags: Mapping[str, str], use_date: bool) -> WthorHeader:
    created = _CREATED.fullmatch(tags.get("WthorCreated", ""))
    if created and use_date:
        header = replace(header, created=(int(created[1]), int(created[2]), int(created[3])))
    depth = tags.get("WthorDepth", "")
    return replace(header, depth=int(depth)) if _NUMBER.fullmatch(depth) and int(depth) < 256 else header


def _today() -> tuple[int, int, int]:
    today = date.today()
    return today.year, today.month, today.day


def _encode_name(name: str, kind: str) -> bytes:
    size = _NAME_BYTES[kind]
    try:
        data = name.encode("latin-1")
    except UnicodeEncodeError:
        raise ValueError(f"{name!r}: WTHOR writes names in Latin-1") from None
    if len(data) >= size or 0 in data:
        raise ValueError(f"{name!r}: WTHOR has room for {size - 1} bytes in the name of a {kind}")
    return data.ljust(size, b"\0")


def _kind_of(path: Path) -> str:
    for kind, suffix in NAME_SUFFIXES.items():
        if path.suffix.lower() == suffix:
            return kind
    raise ValueError(f"{path.name}: expected a name that ends with .jou or .trn")


def _read_names_for(path: Path, kind: str) -> tuple[str, ...]:
    """Return the names that belong to a file of games; empty if their file does not exist."""
    for stem in (path.stem, "WTHOR", "wthor", "Wthor"):
        for suffix in (NAME_SUFFIXES[kind], NAME_SUFFIXES[kind].upper()):
            names = path.parent / f"{stem}{suffix}"
            if names.is_file():
                return read_names(names)
    return ()


def _name_at(names: tuple[str, ...], number: int) -> str:
    """Return the name with a number; "" for one that means "unknown" or is out of range."""
    name = names[number] if number < len(names) else ""
    return "" if number == 0 and name in _NO_NAME.values() else name
