"""Metrics of a training run: one CSV file to plot from, and TensorBoard."""

from __future__ import annotations

import csv
from pathlib import Path
from types import TracebackType
from typing import Final

from torch.utils.tensorboard import SummaryWriter

FILE_NAME: Final = "metrics.csv"


class MetricsLog:
    """Appends rows of named numbers to `metrics.csv` in a folder, and the same numbers to TensorBoard event files there.

    The first column, `step_name`, is the axis. A log that is opened again for `resume_step` drops the rows after that step, so
    that a resumed run leaves the rows of an uninterrupted one.
    """

    def __init__(self, folder: Path, step_name: str, *, resume_step: int = 0) -> None:
        path = folder / FILE_NAME
        self._step_name = step_name
        kept = []
        if resume_step and path.exists():
            with path.open(newline="") as file:
                kept = [row for row in csv.DictReader(file) if int(row[step_name]) <= resume_step]
        self._file = path.open("w", newline="")
        self._writer: csv.DictWriter[str] | None = None
        for row in kept:
            self._write_row(row)
        self._tensorboard = SummaryWriter(str(folder), purge_step=resume_step + 1 if resume_step else None)

    def __enter__(self) -> MetricsLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._file.close()
        self._tensorboard.close()

    def write(self, step: int, values: dict[str, float]) -> None:
        """Add one row; all rows have the same names."""
        self._write_row({self._step_name: str(step), **{name: f"{value:.6g}" for name, value in values.items()}})
        for name, value in values.items():
            self._tensorboard.add_scalar(name, value, step)

    def _write_row(self, row: dict[str, str]) -> None:
        if self._writer is None:
            self._writer = csv.DictWriter(self._file, list(row))
            self._writer.writeheader()
        self._writer.writerow(row)
        self._file.flush()
