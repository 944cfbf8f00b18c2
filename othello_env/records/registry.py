"""Table of all record formats: detection, reading and writing."""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from othello_env.errors import RecordFormatError
from othello_env.records.ggf import format_ggf, read_ggf
from othello_env.records.lines import check_first_bytes, read_lines
from othello_env.records.obf import format_obf_record, read_obf_records
from othello_env.records.output import WriteErrorHandler, write_text
from othello_env.records.pgn import format_pgn, read_pgn
from othello_env.records.record import ErrorHandler, GameRecord
from othello_env.records.sgf import format_sgf, read_sgf
from othello_env.records.table import format_header, format_row, read_table
from othello_env.records.transcript import format_transcript, read_transcripts
from othello_env.records.wthor import NAME_SUFFIXES, read_wthor, write_wthor

_HEAD_BYTES: Final = 1 << 16

# Beginnings that only one format has.
_LIST_START: Final = re.compile(r"\s*(?:[0-9]{1,4}\s*)?\(\s*;")
_NAMED_GAME: Final = re.compile(r"GM\[\s*[A-Za-z]")
_PGN_START: Final = re.compile(r'\s*\[\s*\w+\s*"')
_OBF_START: Final = re.compile(
    r"\s*(?:[-.Xx*OoBbWw]{16}|[-.Xx*OoBbWw]{36}|[-.Xx*OoBbWw]{64})\s+[XxOoBbWw*]\s*;\s*(?:$|[A-Za-z-][0-9-]\s*:)"
)


class _Reader(Protocol):
    def __call__(self, lines: Iterator[tuple[int, str]], file: str, *, on_error: ErrorHandler | None) -> Iterator[GameRecord]: ...


@dataclass(frozen=True, slots=True)
class Format:
    """A record format.

    suffixes: of its files, with the dot. read: takes numbered lines; None for the binary format,
    WTHOR. format_record: returns the text of a record; None for WTHOR. header: text before all
    records.
    """

    name: str
    description: str
    suffixes: tuple[str, ...]
    read: _Reader | None
    format_record: Callable[[GameRecord], str] | None
    header: str = ""


FORMATS: Final = {
    form.name: form
    for form in (
        Format("transcript", "a game or position in each line", (".txt", ".gam", ".scr"), read_transcripts, format_transcript),
        Format("csv", "tables with a column of transcripts", (".csv", ".tsv"), read_table, format_row, format_header()),
        Format("obf", "positions with the scores of their moves", (".obf",), read_obf_records, format_obf_record),
        Format("ggf", "GGS and NBoard", (".ggf",), read_ggf, format_ggf),
        Format("sgf", "Smart Game Format, as Edax writes it", (".sgf", ".sof"), read_sgf, format_sgf),
        Format("sgf-quarry", "Smart Game Format, as Quarry writes it", (), read_sgf, partial(format_sgf, dialect="quarry")),
        Format("pgn", "chess's format, as Edax writes it", (".pgn",), read_pgn, format_pgn),
        Format("wthor", "database of the French Othello Federation", (".wtb", *NAME_SUFFIXES.values()), None, None),
    )
}
"""All formats by name."""

_BY_SUFFIX: Final = {suffix: form.name for form in FORMATS.values() for suffix in form.suffixes}
_SIGNED_FORMATS: Final = ("ggf", "sgf", "pgn", "obf")


def format_of(path: str | Path) -> str:
    """Return the name of a file's format, from its first bytes if they decide, else its suffix.

    The file need not exist. Raises `ValueError` if neither decides, and `RecordFormatError` for a
    placeholder file such as a Git LFS pointer.
    """
    path = Path(path)
    by_name = _BY_SUFFIX.get(path.suffix.lower())
    if by_name == "wthor":
        return by_name
    head: list[str] = []
    if path.exists():
        with path.open("rb") as stream:
            data = stream.read(_HEAD_BYTES)
        head = _first_lines(data, path.name)
    shown = _format_of_lines(head)
    if shown in _SIGNED_FORMATS or not by_name:
        by_name = shown
    if not by_name:
        raise ValueError(
            f"{path.name}: unknown format; the file names end with {' '.join(_BY_SUFFIX)}, the formats are {', '.join(FORMATS)}"
        )
    return by_name


def format_of_text(text: str, name: str = "text") -> str:
    """Return the name of the format that the first lines of a text show, else "transcript".

    name: stands for the text in errors. Raises `RecordFormatError` for a placeholder.
    """
    shown = _format_of_lines(_first_lines(text.encode()[:_HEAD_BYTES], name))
    return shown if shown in _SIGNED_FORMATS else "transcript"


def _first_lines(data: bytes, name: str) -> list[str]:
    check_first_bytes(data, name)
    return [text for _, text in read_lines(io.BytesIO(data), name) if text.strip() and text[0] not in "#%"]


def _format_of_lines(head: list[str]) -> str:
    """Return the format of a text that begins with these lines; "" if they do not decide."""
    if not head:
        return ""
    if _LIST_START.match(head[0]) or (head[0].strip().isdecimal() and len(head) > 1 and _LIST_START.match(head[1])):
        return "ggf" if _NAMED_GAME.search("".join(head[:20])) else "sgf"
    if _PGN_START.match(head[0]):
        return "pgn"
    if _OBF_START.match(head[0]):
        return "obf"
    for read, name in ((read_table, "csv"), (read_transcripts, "transcript")):
        try:
            found = list(read(enumerate(head[:2], 1), ""))
        except RecordFormatError:
            continue
        if found and (name != "csv" or "," in head[0] or "\t" in head[0]):
            return name
    return ""


def read_records(
    path: str | Path,
    format: str | None = None,  # noqa: A002
    *,
    encoding: str | None = None,
    on_error: ErrorHandler | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> Iterator[GameRecord]:
    """Yield the records of a file, one by one, in bounded memory.

    format: a name in `FORMATS`; default: see `format_of`. encoding: of a text; default: UTF-8,
    Shift-JIS or Latin-1, whichever fits. on_error: called with the `RecordFormatError` of each
    record that cannot be read, after which reading continues with the next one; without it the
    first error is raised. on_progress: called with the number of bytes read since its last call.
    Raises `ValueError` for an unknown format or encoding.
    """
    path = Path(path)
    form = _find_format(format or format_of(path))
    if encoding is not None:
        try:
            b"00".decode(encoding)
        except UnicodeError:
            pass  # an encoding of another width
        except LookupError:
            raise ValueError(f"encoding {encoding!r}: unknown") from None
    return _read(path, form, encoding, on_error, on_progress)


def parse_records(text: str, name: str = "text") -> Iterator[GameRecord]:
    """Yield the records of a text in the format of `format_of_text`, like those of a file.

    name: stands for the text in errors and places. Raises `RecordFormatError`.
    """
    form = FORMATS[format_of_text(text, name)]
    assert form.read is not None
    return form.read(read_lines(io.BytesIO(text.encode()), name), name, on_error=None)


def _read(
    path: Path,
    form: Format,
    encoding: str | None,
    on_error: ErrorHandler | None,
    on_progress: Callable[[int], object] | None,
) -> Iterator[GameRecord]:
    with path.open("rb") as file:
        check_first_bytes(file.peek(_HEAD_BYTES)[:_HEAD_BYTES], path.name)
        stream = _CountedStream(file, on_progress)
        if form.read is not None:
            yield from form.read(read_lines(stream, path.name, encoding=encoding), path.name, on_error=on_error)
        elif path.suffix.lower() in NAME_SUFFIXES.values():
            raise RecordFormatError(f"{path.name}, byte 0: holds names, no games; the games are in .wtb files beside it")
        else:
            yield from read_wthor(stream, path, on_error=on_error)


class _CountedStream:
    """A file that reports the number of bytes read."""

    def __init__(self, file: BinaryIO, on_progress: Callable[[int], object] | None) -> None:
        self.file, self.on_progress = file, on_progress

    def read(self, size: int) -> bytes:
        data = self.file.read(size)
        if self.on_progress is not None and data:
            self.on_progress(len(data))
        return data


def write_records(
    path: str | Path,
    records: Iterable[GameRecord],
    format: str | None = None,  # noqa: A002
    *,
    on_error: WriteErrorHandler | None = None,
) -> int:
    """Write records to a file and return their number.

    The file appears as a whole, or after an error not at all. format: a name in `FORMATS`; default:
    from the suffix of the file. A game without a recorded result gets that of the board if the
    format needs one. on_error: called with the `ValueError` of each record that the format cannot
    hold, after which writing continues with the next one; without it the first such error is
    raised.
    """
    path = Path(path)
    name = format or _BY_SUFFIX.get(path.suffix.lower())
    if name is None:
        raise ValueError(f"{path.name}: unknown format; expected a name that ends with one of {' '.join(_BY_SUFFIX)}")
    form = _find_format(name)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    if form.format_record is not None:
        return write_text(path, records, form.format_record, header=form.header, on_error=on_error)
    if path.suffix.lower() in NAME_SUFFIXES.values():
        raise ValueError(f"{path.name}: WTHOR games go to a .wtb file; the names are written beside it")
    return write_wthor(path, records, on_error=on_error)


def _find_format(name: str) -> Format:
    if name not in FORMATS:
        raise ValueError(f"format {name!r}: expected one of {', '.join(FORMATS)}")
    return FORMATS[name]
