"""Writing of records: errors name the record, and a file appears as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from othello_env.atomic_file import open_atomically
from othello_env.records.record import GameRecord

WriteErrorHandler = Callable[[ValueError], object]


def write_text(
    path: Path,
    records: Iterable[GameRecord],
    format_record: Callable[[GameRecord], str],
    *,
    header: str = "",
    on_error: WriteErrorHandler | None = None,
) -> int:
    """Write records as UTF-8 text and return the number of records written.

    on_error: as in `report_unwritable`.
    """
    num_records = 0
    with open_atomically(path) as stream:
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
    """Pass the error of a record that a format cannot hold to its handler, or raise it.

    number: of the record; the error names it.
    """
    place = f" ({record.place})" if record.place.file else ""
    described = ValueError(f"record {number}{place}: {error}")
    if on_error is None:
        raise described from None
    on_error(described)
