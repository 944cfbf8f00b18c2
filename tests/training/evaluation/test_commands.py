"""Commands of the evaluation as a user starts them: libraries that are missing, Ctrl-C."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.training.evaluation.commands import stopped_line
from tests.training.evaluation.report.journals import round_robin, write_journal
from training.evaluation import accuracy, balanced_openings
from training.evaluation.check_agent import __main__ as check_agent
from training.evaluation.ratings import __main__ as ratings
from training.evaluation.report import __main__ as report


def run_without(libraries: Sequence[str], folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a module of the evaluation in a Python in which libraries are not installed."""
    (folder / "sitecustomize.py").write_text(f"import sys\nfor name in {list(libraries)!r}: sys.modules[name] = None\n")
    module, *arguments = words
    command = [sys.executable, "-m", f"training.evaluation.{module}", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(REPOSITORY)])}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY, env=environment, timeout=120)


@pytest.mark.parametrize(
    ("library", "words", "message"),
    [
        ("scipy", ["ratings", "."], 'ratings: this needs scipy; in a clone: pip install -e ".[train]"'),
        ("scipy", ["report", "."], 'report: this needs scipy; in a clone: pip install -e ".[train]"'),
        ("filelock", ["report", "."], 'report: this needs filelock; in a clone: pip install -e ".[train]"'),
        ("numba", ["accuracy", "random"], 'accuracy: compiled code needs numba; in a clone: pip install -e ".[fast]"'),
        (
            "numba",
            ["balanced_openings", "--plies", "2", "--out", "never"],
            'balanced_openings: compiled code needs numba; in a clone: pip install -e ".[fast]"',
        ),
    ],
)
def test_a_missing_library_is_one_line_that_names_the_extra(library: str, words: list[str], message: str, tmp_path: Path) -> None:
    run = run_without([library], tmp_path, *words)
    assert (run.returncode, run.stderr) == (2, f"{message}\n")


OPTIONAL = ("matplotlib", "numba", "PIL", "pygame", "safetensors", "tensorboard", "torch", "tqdm")


def test_reports_ratings_and_checks_need_no_library_that_they_do_not_use(tmp_path: Path) -> None:
    write_journal(tmp_path / "games.jsonl", round_robin(["one", "two"], 2))
    run = run_without(OPTIONAL, tmp_path, "report", str(tmp_path))
    assert (run.returncode, run.stderr) == (0, "")
    assert "in a clone: pip install" in (tmp_path / "report.md").read_text()  # the endgames, which need numba
    run = run_without(OPTIONAL, tmp_path, "ratings", str(tmp_path))
    assert (run.returncode, run.stderr) == (0, "")
    run = run_without(OPTIONAL, tmp_path, "check_agent", "alpha_beta:depth=1")
    assert (run.returncode, run.stderr) == (1, "")
    assert 'numba; in a clone: pip install -e ".[fast]"' in run.stdout


@pytest.mark.parametrize(
    ("main", "module", "name", "arguments"),
    [
        (ratings.main, ratings, "fit_ratings", ["FOLDER"]),
        (report.main, report, "write_report", ["FOLDER"]),
        (check_agent.main, check_agent, "check_in_process", ["random"]),
        (accuracy.main, accuracy, "make_agent", ["random"]),
        (balanced_openings.main, balanced_openings, "distinct_openings", ["--out", "FOLDER/never"]),
    ],
    ids=["ratings", "report", "check_agent", "accuracy", "balanced_openings"],
)
def test_ctrl_c_ends_a_command_with_one_line(
    main: Callable[[Sequence[str]], None],
    module: object,
    name: str,
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("numba")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    write_journal(tmp_path / "games.jsonl", round_robin(["one", "two"], 1))
    monkeypatch.setattr(module, name, interrupted)
    line = stopped_line(main, [word.replace("FOLDER", str(tmp_path)) for word in arguments], capsys, code=130)
    assert line.endswith(": interrupted")
    assert not (tmp_path / "never").exists()
