"""Writing records: files that appear as a whole or not at all, and errors that name the record."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from othello_env.records.record import GameRecord

WriteErrorHandler = Callable[[ValueError], object]


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `path` when the block ends; after an error the old file stays as it was."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        with suppress(OSError):
            Path(name).chmod(path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _umask() -> int:
    """The permissions that new files do not get. It can be read only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(
    path: Path,
    records: Iterable[GameRecord],
    format_record: Callable[[GameRecord], str],
    *,
    header: str = "",
    on_error: WriteErrorHandler | None = None,
) -> int:
    """Write a UTF-8 text, one piece a record. Returns the number of records written. on_error: as in `report_unwritable`."""
    num_records = 0
    with replace_file(path) as stream:
        stream.write(header.encode())
        for number, record in enumerate(records, 1):
            try:
                data = format_record(record).encode()
            except ValueError as error:
                report_unwritable(error, number, record, on_error)
                continue
            stream.write(data)
            num_records += 1
    return num_records


def report_unwritable(error: ValueError, number: int, record: GameRecord, on_error: WriteErrorHandler | None) -> None:
    """Pass the error of a record that a format cannot hold to its handler, with the record's number; without one, raise it."""
    place = f" ({record.place})" if record.place.file else ""
    described = ValueError(f"record {number}{place}: {error}")
    if on_error is None:
        raise described from None
    on_error(described)
