from __future__ import annotations

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from training.metrics import MetricsLog


def test_rows_go_to_the_csv_file_and_to_tensorboard(tmp_path: Path) -> None:
    with MetricsLog(tmp_path, "games", ["score", "error"]) as log:
        log.write(100, {"score": 0.25, "error": 1 / 3})
        assert (tmp_path / "metrics.csv").read_text() == "games,score,error\n100,0.25,0.333333\n"  # at once
        log.write(200, {"score": 0.5, "error": 0.1})
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [(event.step, event.value) for event in events.Scalars("score")] == [(100, 0.25), (200, 0.5)]


def test_a_resumed_log_drops_the_rows_after_the_step_it_resumes_from(tmp_path: Path) -> None:
    with MetricsLog(tmp_path, "games", ["score"]) as log:
        for step in (100, 200, 300):
            log.write(step, {"score": step / 1000})
    with MetricsLog(tmp_path, "games", ["score"], resume_step=200) as log:
        log.write(300, {"score": 0.9})
    assert (tmp_path / "metrics.csv").read_text() == "games,score\n100,0.1\n200,0.2\n300,0.9\n"


def test_a_new_log_starts_empty(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("games,score\n100,0.1\n")
    with MetricsLog(tmp_path, "games", ["score"]):
        pass
    assert (tmp_path / "metrics.csv").read_text() == "games,score\n"


def test_a_row_that_was_cut_off_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("games,score\n100,0.1\n20")
    with MetricsLog(tmp_path, "games", ["score"], resume_step=150) as log:
        log.write(200, {"score": 0.5})
    assert (tmp_path / "metrics.csv").read_text() == "games,score\n100,0.1\n200,0.5\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("step,score\n100,0.1\n", "line 1: 'step,score'; expected the columns games,score"),
        ("games\n100\n", "line 1: 'games'"),
        ("games,score\n100.0,0.1\n200,0.2\n", "line 2: '100.0,0.1' is not a step and 1 numbers"),
        ("games,score\n,,\n200,0.2\n", "line 2: ',,'"),
        ("games,score\n100,0.1,comment\n200,0.2\n", "line 2"),
    ],
)
def test_a_file_that_somebody_has_changed_is_refused_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "metrics.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        MetricsLog(tmp_path, "games", ["score"], resume_step=300)
    assert (tmp_path / "metrics.csv").read_text() == text
