"""Metrics of a training run: one CSV file to plot from, and TensorBoard."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from torch.utils.tensorboard import SummaryWriter

FILE_NAME: Final = "metrics.csv"


class MetricsLog:
    """Appends rows of named numbers to `metrics.csv` in a folder, and the same numbers to TensorBoard event files there.

    step_name: the first column, the axis. names: the other columns. resume_step: where a run goes on; the rows after that step
    are dropped, as is a row that was cut off, so that a resumed run leaves the rows of an uninterrupted one. Raises `ValueError`
    with the line for a file with other columns or other things than numbers in it.
    """

    def __init__(self, folder: Path, step_name: str, names: Sequence[str], *, resume_step: int = 0) -> None:
        path = folder / FILE_NAME
        self._header = [step_name, *names]
        kept = _read_rows(path, self._header, resume_step) if resume_step and path.exists() else []
        rewritten = path.with_name(FILE_NAME + ".partial")
        with rewritten.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([self._header, *kept])
        rewritten.replace(path)
        self._file = path.open("a", newline="", encoding="utf-8")
        self._tensorboard = SummaryWriter(str(folder), purge_step=resume_step + 1 if resume_step else None)

    def __enter__(self) -> MetricsLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._file.close()
        self._tensorboard.close()

    def write(self, step: int, values: dict[str, float]) -> None:
        """Add one row, a value for each of the names."""
        row = [str(step), *(f"{values[name]:.6g}" for name in self._header[1:])]
        csv.writer(self._file, lineterminator="\n").writerow(row)
        self._file.flush()
        for name in self._header[1:]:
            self._tensorboard.add_scalar(name, values[name], step)
        self._tensorboard.flush()


def _read_rows(path: Path, header: list[str], last_step: int) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        rows = list(csv.reader(file))
    if rows and rows[0] != header:
        raise ValueError(f"{path}, line 1: {','.join(rows[0])!r}; expected the columns {','.join(header)}")
    kept = []
    for number, row in enumerate(rows[1:], 2):
        try:
            step = int(row[0])
            complete = [float(value) for value in row[1:]]
        except (IndexError, ValueError):
            complete = []
        if len(complete) != len(header) - 1:
            if number == len(rows):
                continue  # cut off
            raise ValueError(f"{path}, line {number}: {','.join(row)!r} is not a step and {len(header) - 1} numbers")
        if step <= last_step:
            kept.append(row)
    return kept
