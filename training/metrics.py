"""Metrics of a training run: a CSV file, and the same numbers as TensorBoard events.

Needs neither PyTorch nor TensorFlow.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from othello_env.atomic_file import write_atomically

FILE_NAME: Final = "metrics.csv"

# TensorBoard reads the event files of a folder in the order of their names: time, host, process ID,
# number within the process.
_EVENT_FILE: Final = "events.out.tfevents.{:010}.{}.{}.{:04}"
_EVENT_FILE_VERSION: Final = "brain.Event:2"
_event_file_numbers = itertools.count()


class MetricsLog:
    """Log of named numbers: `metrics.csv` in a folder, and a TensorBoard event file beside it.

    step_name: the first column, the x axis. names: the other columns. resume_step: the step of the
    checkpoint that a run resumes from; later rows and a truncated last row are dropped, so that a
    resumed run leaves the same rows as an uninterrupted one. Raises `ValueError` with the line for
    a file that has other columns or anything but numbers in its rows.
    """

    def __init__(self, folder: Path, step_name: str, names: Sequence[str], *, resume_step: int = 0) -> None:
        path = folder / FILE_NAME
        self._header = [step_name, *names]
        rows = self._rows_until(resume_step, path) if resume_step and path.exists() else []
        write_atomically(path, _format_rows([self._header, *rows]).encode())
        with ExitStack() as files:
            self._file = files.enter_context(path.open("a", newline="", encoding="utf-8"))
            name = _EVENT_FILE.format(int(time.time()), socket.gethostname(), os.getpid(), next(_event_file_numbers))
            self._events = files.enter_context((folder / name).open("wb"))
            self._write_event(file_version=_EVENT_FILE_VERSION)
            if resume_step:  # TensorBoard drops the events from this step on that an earlier file has
                self._write_event(step=resume_step + 1, session_log=SessionLog(status=SessionLog.START))
            self._files = files.pop_all()

    def __enter__(self) -> MetricsLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._files.close()

    def write(self, step: int, values: dict[str, float]) -> None:
        """Append one row. values: one number for each of the names."""
        self._file.write(_format_rows([[str(step), *(f"{values[name]:.6g}" for name in self._header[1:])]]))
        self._file.flush()
        scalars = [Summary.Value(tag=name, simple_value=values[name]) for name in self._header[1:]]
        self._write_event(step=step, summary=Summary(value=scalars))

    def _rows_until(self, step: int, path: Path) -> list[list[str]]:
        header, rows = read_metrics(path)
        if header and header != self._header:
            raise ValueError(f"{path}, line 1: {','.join(header)!r}; expected the columns {','.join(self._header)}")
        return [row for row in rows if int(row[0]) <= step]

    def _write_event(self, **fields: Any) -> None:
        RecordWriter(self._events).write(Event(wall_time=time.time(), **fields).SerializeToString())
        self._events.flush()


def _format_rows(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def read_metrics(path: Path) -> tuple[list[str], list[list[str]]]:
    """Read the column names and the rows of a `metrics.csv`; a truncated last row is dropped.

    Raises `ValueError` with the line if a row is not an integer step and one number per further
    column.
    """
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        lines = csv.reader(file)
        try:
            header, *rows = list(lines) or [[]]
        except csv.Error as error:
            raise ValueError(f"{path}, line {lines.line_num}: {error}") from None
    complete = []
    for number, row in enumerate(rows, 2):
        if _is_complete(row, len(header)):
            complete.append(row)
        elif number <= len(rows):
            raise ValueError(f"{path}, line {number}: {','.join(row)!r} is not a step and {len(header) - 1} numbers")
    return header, complete


def _is_complete(row: list[str], num_columns: int) -> bool:
    try:
        int(row[0])
        return len([float(value) for value in row]) == num_columns
    except (IndexError, ValueError):
        return False
