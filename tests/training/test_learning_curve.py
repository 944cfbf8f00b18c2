from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from training.learning_curve import draw_comparison, draw_learning_curve, main, read_scores

PRESETS = REPOSITORY / "training" / "presets"


def metrics_of(folder: Path, *rows: str, columns: str = "games,positions,score,score random,loss") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.csv").write_text("\n".join([columns, *rows]) + "\n")
    return folder / "metrics.csv"


def drawn_texts(path: Path) -> str:
    """The text of an SVG picture: matplotlib writes each text as a comment beside its outline."""
    return path.read_text(encoding="utf-8")


def test_the_scores_of_a_run_are_read_by_column(tmp_path: Path) -> None:
    file = metrics_of(tmp_path, "100,3000,0.5,0.6,1.5", "200,6000,0.7,0.8,1.25")
    assert read_scores(file) == ([100, 200], {"score": [0.5, 0.7], "score random": [0.6, 0.8]})


def test_the_curve_of_a_run_has_a_line_per_opponent(tmp_path: Path) -> None:
    draw_learning_curve(metrics_of(tmp_path, "100,3000,0.5,0.6,1.5", "200,6000,0.7,0.8,1"), tmp_path / "curve.svg", title="my run")
    text = drawn_texts(tmp_path / "curve.svg")
    assert all(f"<!-- {label} -->" in text for label in ("random", "mean", "my run", "self-play games", "score"))
    draw_learning_curve(metrics_of(tmp_path / "empty"), tmp_path / "curve.png", title="a run without an evaluation")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_several_runs_share_a_picture_with_their_last_scores(tmp_path: Path) -> None:
    runs = {
        "first": metrics_of(tmp_path / "a", "100,1,0.5,0.625,1"),
        "second": metrics_of(tmp_path / "b", "100,1,0.25,0.5,1", "900,2,0.75,0.875,1"),
    }
    for opponent, log, labels in (
        (None, False, ("first (0.500)", "second (0.750)", "mean score over 1 baselines")),
        ("random", True, ("first (0.625)", "second (0.875)", "score against random")),
    ):
        draw_comparison(runs, tmp_path / "curve.svg", opponent=opponent, log=log)
        text = drawn_texts(tmp_path / "curve.svg")
        assert all(f"<!-- {label} -->" in text for label in labels)


def test_runs_without_an_evaluation_are_drawn_too(tmp_path: Path) -> None:
    runs = {"new": metrics_of(tmp_path / "a"), "old": metrics_of(tmp_path / "b", "100,1,0.25,0.5,1")}
    draw_comparison(runs, tmp_path / "curve.svg", log=True)
    assert "<!-- new (no evaluation yet) -->" in drawn_texts(tmp_path / "curve.svg")
    draw_comparison({"new": runs["new"]}, tmp_path / "curve.svg", log=True)


def test_the_command_draws_folders_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        metrics_of(tmp_path / name, "100,1,0.5,0.6,1")
    runs = [str(tmp_path / "one"), str(tmp_path / "two" / "metrics.csv"), str(tmp_path / "one" / "metrics.csv")]
    for arguments, labels in (
        (runs[:1], ("one", "random")),
        (runs[:2], ("one (0.500)", "two (0.500)")),
        ([*runs[:2], "--labels", "A", "B", "--opponent", "random", "--log"], ("A (0.600)", "B (0.600)")),
        (runs[1:], ("two (0.500)", "one (0.500)")),
        ([runs[0], runs[2]], (f"{runs[0]} (0.500)", f"{runs[2]} (0.500)")),
    ):
        main([*arguments, "--out", str(tmp_path / "out.svg")])
        assert capsys.readouterr().out == f"{tmp_path / 'out.svg'}\n"
        text = drawn_texts(tmp_path / "out.svg")
        assert all(f"<!-- {label} -->" in text for label in labels), arguments


def test_the_pictures_of_the_presets_can_be_drawn_again(tmp_path: Path) -> None:
    files = sorted(PRESETS.glob("*.csv"))
    assert len(files) >= 5
    for file in files:
        assert file.with_suffix(".png").exists()
        main([str(file), "--out", str(tmp_path / "out.png")])
    main([*(str(file) for file in files), "--opponent", "greedy", "--log", "--out", str(tmp_path / "out.png")])


def test_what_cannot_be_drawn_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = metrics_of(tmp_path / "run", "100,1,0.5,0.6,1")
    other = metrics_of(tmp_path / "other", "100,1,0.5,0.6,1,1", columns="games,positions,score,score random,score greedy,loss")
    out = ["--out", str(tmp_path / "out.png")]
    for arguments, message in (
        ([str(tmp_path / "nothing"), *out], "nothing: No such file or directory"),
        ([str(tmp_path), *out], "metrics.csv: No such file or directory"),
        ([str(run), "--out", str(tmp_path / "x.exe")], "Format 'exe' is not supported"),
        ([str(run), "--out", str(tmp_path / "no" / "x.png")], "x.png: No such file or directory"),
        ([str(run), str(other), *out], "choose --opponent from random"),
        (
            [str(run), str(other), "--opponent", "greedy", *out],
            "opponent 'greedy': expected one that all runs were evaluated against: random",
        ),
        ([str(run), str(other), "--labels", "a", *out], "1 different labels for 2 runs"),
        ([str(run), str(other), "--labels", "a", "a", *out], "1 different labels for 2 runs"),
        ([str(metrics_of(tmp_path / "1", "x,1,1,1,1", "2,2,2,2,2")), *out], "line 2: 'x,1,1,1,1' is not a step and 4 numbers"),
        (
            [str(metrics_of(tmp_path / "2", columns="step,score")), *out],
            "no metrics of a training run; expected the columns games and score",
        ),
        ([str(metrics_of(tmp_path / "3", columns="games,loss")), *out], "no metrics of a training run"),
        ([str(metrics_of(tmp_path / "4", columns="")), *out], "no metrics of a training run"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        printed = capsys.readouterr().err
        assert stopped.value.code == 2, arguments
        assert printed.startswith("learning_curve: ")
        assert message in printed
        assert printed.count("\n") == 1
    assert not (tmp_path / "out.png").exists()


def test_the_command_explains_itself() -> None:
    command = [sys.executable, "-m", "training.learning_curve", "--help"]
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert all(option in run.stdout for option in ("RUN", "--out", "--labels", "--opponent", "--log"))
