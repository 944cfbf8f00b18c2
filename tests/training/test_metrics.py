from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from training.metrics import MetricsLog, read_metrics


def test_rows_go_to_the_csv_file_and_to_tensorboard(tmp_path: Path) -> None:
    with MetricsLog(tmp_path, "games", ["score", "error"]) as log:
        log.write(100, {"score": 0.25, "error": 1 / 3})
        assert (tmp_path / "metrics.csv").read_text() == "games,score,error\n100,0.25,0.333333\n"  # at once
        log.write(200, {"score": 0.5, "error": 0.1})
    assert scalars(tmp_path, "score") == [(100, 0.25), (200, 0.5)]


def scalars(folder: Path, name: str) -> list[tuple[int, float]]:
    """A metric as TensorBoard shows it: step and value."""
    events = EventAccumulator(str(folder)).Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


def test_a_resumed_log_drops_the_rows_after_the_step_it_resumes_from(tmp_path: Path) -> None:
    """In TensorBoard too, however often a run is resumed."""
    with MetricsLog(tmp_path, "games", ["score"]) as log:
        for step in (100, 200, 300):
            log.write(step, {"score": step / 1000})
    for value in (0.5, 0.75):
        with MetricsLog(tmp_path, "games", ["score"], resume_step=200) as log:
            log.write(300, {"score": value})
            log.write(400, {"score": value})
    assert (tmp_path / "metrics.csv").read_text() == "games,score\n100,0.1\n200,0.2\n300,0.75\n400,0.75\n"
    assert scalars(tmp_path, "score") == [(100, pytest.approx(0.1)), (200, pytest.approx(0.2)), (300, 0.75), (400, 0.75)]
    assert len(list(tmp_path.glob("events.out.tfevents.*"))) == 3


def test_a_log_needs_neither_torch_nor_tensorflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "tensorflow"):
        monkeypatch.setitem(sys.modules, name, None)
    with MetricsLog(tmp_path, "games", ["score"]) as log:
        log.write(100, {"score": 0.5})
    assert scalars(tmp_path, "score") == [(100, 0.5)]


def test_a_full_disk_closes_both_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        """A file that takes no more data."""

        def __init__(self, file: Any) -> None:
            self.file = file

        def write(self, _data: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    log = MetricsLog(tmp_path, "games", ["score"])
    files = log._file, log._events
    monkeypatch.setattr(log, "_events", Full(log._events))
    with pytest.raises(OSError, match="No space left"), log:
        log.write(100, {"score": 0.5})
    assert all(file.closed for file in files)


def test_a_new_log_starts_empty(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("games,score\n100,0.1\n")
    with MetricsLog(tmp_path, "games", ["score"]):
        pass
    assert (tmp_path / "metrics.csv").read_text() == "games,score\n"


def test_a_truncated_last_row_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("games,score\n100,0.1\n20")
    assert read_metrics(tmp_path / "metrics.csv") == (["games", "score"], [["100", "0.1"]])
    with MetricsLog(tmp_path, "games", ["score"], resume_step=150) as log:
        log.write(200, {"score": 0.5})
    assert (tmp_path / "metrics.csv").read_text() == "games,score\n100,0.1\n200,0.5\n"


@pytest.mark.parametrize("text", ["", "games,score\n", "games,score"])
def test_a_file_without_rows_is_begun_anew(tmp_path: Path, text: str) -> None:
    (tmp_path / "metrics.csv").write_text(text)
    with MetricsLog(tmp_path, "games", ["score"], resume_step=150) as log:
        log.write(200, {"score": 0.5})
    assert (tmp_path / "metrics.csv").read_text() == "games,score\n200,0.5\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("step,score\n100,0.1\n", "line 1: 'step,score'; expected the columns games,score"),
        ("games\n100\n", "line 1: 'games'"),
        ("games,score\n100.0,0.1\n200,0.2\n", "line 2: '100.0,0.1' is not a step and 1 numbers"),
        ("games,score\n,,\n200,0.2\n", "line 2: ',,'"),
        ("games,score\n\n200,0.2\n", "line 2: ''"),
        ("games,score\n100,0.1,comment\n200,0.2\n", "line 2"),
        (f"games,score\n100,{'1' * 200_000}\n", "line 2: field larger than field limit"),
    ],
)
def test_a_file_that_somebody_has_changed_is_refused_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "metrics.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        MetricsLog(tmp_path, "games", ["score"], resume_step=300)
    assert (tmp_path / "metrics.csv").read_text() == text
