"""Tables and games of a report as CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import fields
from typing import TextIO

from training.evaluation.journal import GameRecord
from training.evaluation.report.document import Table


def write_table(table: Table, file: TextIO) -> None:
    """Write a table after a line of field names. Values that do not exist are empty."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([name for column in table.columns for name in column.field_names])
    for row in table.rows:
        cells: list[object] = []
        for column, value in zip(table.columns, row, strict=True):
            cells += [""] * len(column.field_names) if value is None else column.kind.fields(value)
        writer.writerow(cells)


def game_writer(file: TextIO) -> Callable[[GameRecord], object]:
    """Write the field names of games, and return a function that writes a game."""
    names = [field.name for field in fields(GameRecord)]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([part for name in names for part in (("black_seconds", "white_seconds") if name == "seconds" else (name,))])

    def write(record: GameRecord) -> None:
        row: list[object] = []
        for name in names:
            value = getattr(record, name)
            row += value if name == "seconds" else [" ".join(map(str, value)) if name == "seed" else value]
        writer.writerow(row)

    return write
