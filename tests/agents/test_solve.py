from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.solve import main
from othello_env import Position
from othello_env.records.obf import format_obf
from tests.agents.search.test_endgame import FFO_1, FFO_20, played_position
from tests.conftest import REPOSITORY


def run_main(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and messages of the command."""
    status: Any = 0
    try:
        main(list(arguments))
    except SystemExit as end:
        status = end.code
    output, messages = capsys.readouterr()
    return status, output, messages


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "suite.obf"
    path.write_text(f"% two\n{FFO_1}\n\n{FFO_20}\n", encoding="utf-8")
    return path


def test_the_command_solves_a_file_and_shows_each_position(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, output, messages = run_main(capsys, str(suite), "--hash-mb", "4")
    assert (status, messages) == (0, "")
    header, first, second, totals = output.splitlines()
    assert header.split() == ["number", "empties", "file", "found", "best", "nodes", "seconds"]
    assert re.fullmatch(r" +1 +14 +\+18 +\+18 +g8 +[\d,]+ +\d+\.\d\d  OK", first)
    assert re.fullmatch(r" +2 +6 +\+6 +\+6 +h5 +[\d,]+ +\d+\.\d\d  OK", second)
    assert re.fullmatch(r"positions: 2, wrong: 0; [\d,]+ nodes in \d+\.\d\d s, \d+\.\d million nodes/s", totals)


def test_the_command_fails_where_a_best_score_is_wrong(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite.write_text(FFO_1.replace("G8:+18", "G8:+20") + "\n" + FFO_20, encoding="utf-8")
    status, output, _ = run_main(capsys, str(suite), "--hash-mb", "4")
    assert status == 1
    assert re.search(r" 1 .* \+20 +\+18 +g8 .*  WRONG\n", output)
    assert "positions: 2, wrong: 1;" in output


def test_the_command_compares_all_listed_moves_only_where_it_is_asked_to(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite.write_text(FFO_1.replace("H1:+12", "H1:+10").replace("G2:-24", "G2:-26"), encoding="utf-8")
    assert run_main(capsys, str(suite), "--hash-mb", "4")[0] == 0
    status, output, _ = run_main(capsys, str(suite), "--hash-mb", "4", "--moves")
    assert status == 1
    assert [line.strip() for line in output.splitlines()[2:-1]] == [
        "h1 has +10 in the file, +12 found",
        "g2 has -26 in the file, -24 found",
    ]


def test_the_command_only_solves_positions_without_scores(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Small boards; a forced pass, with a score and without; games that are over.
    lines = ["-----OX--XO----- X;", "XO-------------- O;", "XO-------------- O; --:-16;", "X" * 62 + "-- O;", "-" * 36 + " X;"]
    suite.write_text("\n".join(lines), encoding="utf-8")
    status, output, messages = run_main(capsys, str(suite), "--hash-mb", "4", "--moves")
    assert (status, messages) == (0, "")
    rows = [line.split() for line in output.splitlines()[1:-1]]
    assert [(row[2], row[3], row[4] in ("-", "pass"), row[-1]) for row in rows] == [
        ("-", "-10", False, "solved"),
        ("-", "-16", True, "solved"),
        ("-16", "-16", True, "OK"),
        ("-", "-64", True, "solved"),
        ("-", "+0", True, "solved"),
    ]


def test_the_command_counts_empties_as_it_is_told(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite.write_text("-----OX--XO----- X; A2:-8;", encoding="utf-8")
    assert run_main(capsys, str(suite), "--scoring", "discs", "--hash-mb", "4")[0] == 0
    assert run_main(capsys, str(suite), "--scoring", "empties_to_winner", "--hash-mb", "4")[0] == 1


def test_the_command_stops_at_the_first_bad_line(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite.write_text(f"{FFO_20}\n{FFO_1[:80]}\n{FFO_20}\n", encoding="utf-8")
    status, output, messages = run_main(capsys, str(suite))
    assert (status, output) == (2, "")
    assert re.fullmatch(rf"solve: {re.escape(str(suite))}, line 2, column \d+: .*expected .*\n", messages)


def test_the_command_reports_bad_lines_and_keeps_going_where_it_is_asked_to(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite.write_text(f"{FFO_20}\n{FFO_1[:80]}\n{FFO_20}\nnonsense\n", encoding="utf-8")
    status, output, messages = run_main(capsys, str(suite), "--keep-going", "--hash-mb", "4")
    assert status == 1
    assert output.count("  OK\n") == 2
    assert "positions: 2, wrong: 0, bad lines: 2;" in output
    assert [re.search(r"line \d, column", message) is not None for message in messages.splitlines()] == [True, True]


def test_the_command_gives_a_position_up_when_its_time_is_over(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite.write_text(f"{Position.start()};\n{FFO_20}", encoding="utf-8")
    status, output, _ = run_main(capsys, str(suite), "--max-seconds", "0.1", "--hash-mb", "4")
    assert status == 1
    assert re.search(r" 1 +60 +- +- +- .*  stopped\n", output)
    assert re.search(r" 2 +6 +\+6 +\+6 .*  OK\n", output)
    assert "positions: 2, wrong: 0, stopped: 1;" in output


def test_the_command_draws_a_sample_that_its_seed_repeats(
    suite: Path, capsys: pytest.CaptureFixture[str], rng: np.random.Generator
) -> None:
    suite.write_text("\n".join(format_obf(played_position(8, 3, rng), {}) for _ in range(50)), encoding="utf-8")

    def numbers(*arguments: str) -> list[int]:
        status, output, _ = run_main(capsys, str(suite), "--hash-mb", "4", *arguments)
        assert status == 0
        return [int(line.split()[0]) for line in output.splitlines()[1:-1]]

    sample = numbers("--sample", "7", "--seed", "5")
    assert sample == sorted(set(sample)) == numbers("--sample", "7", "--seed", "5") != numbers("--sample", "7", "--seed", "6")
    assert len(sample) == 7
    assert numbers("--sample", "80") == list(range(1, 51))


def test_the_command_names_the_file_where_there_are_several(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = suite.with_name("other.obf")
    other.write_text("\ufeff" + FFO_20, encoding="utf-8")  # with the mark that some editors put before a text
    status, output, _ = run_main(capsys, str(suite), str(other), "--hash-mb", "4")
    assert status == 0
    lines = output.splitlines()
    assert (lines[1], lines[4]) == (str(suite), str(other))
    assert [line.split()[0] for line in lines[2:4] + lines[5:6]] == ["1", "2", "1"]


def test_the_command_refuses_what_is_no_file_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "latin").write_bytes(f"{FFO_20[:20]}\xe9{FFO_20[21:]}\n".encode("latin-1"))
    (tmp_path / "empty").write_text("% nothing\n", encoding="utf-8")
    for name, problem in (
        ("absent", "No such file"),
        ("", "Is a directory"),
        ("latin", "line 1, column 21: .* is no square"),
        ("empty", "no positions"),
    ):
        status, output, messages = run_main(capsys, str(tmp_path / name))
        assert (status, output) == (2, "")
        assert re.fullmatch(rf"solve: {re.escape(str(tmp_path / name))}.*{problem}.*\n", messages)
    assert run_main(capsys, str(tmp_path / "empty"), "--hash-mb", "100000000")[0] == 2


def test_comments_may_be_of_any_encoding_and_have_any_signs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "latin").write_bytes(f"{FFO_20} % caf\xe9 \x0c more \x85\r\n% a\u2028b\n".encode("latin-1", errors="replace"))
    status, output, _ = run_main(capsys, str(tmp_path / "latin"), "--hash-mb", "4")
    assert (status, output.count("  OK\n")) == (0, 1)


def test_scores_by_discs_alone_may_be_odd(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd.obf").write_text("--OXOX---O-OOO-- X; b1:+11;\n", encoding="utf-8")
    status, output, messages = run_main(capsys, str(tmp_path / "odd.obf"), "--scoring", "discs", "--hash-mb", "4")
    assert (status, output.count("  OK\n"), messages) == (0, 1, "")
    status, _, messages = run_main(capsys, str(tmp_path / "odd.obf"), "--hash-mb", "4")
    assert (status, messages.endswith("score +11: expected an even integer from -16 to +16\n")) == (2, True)


@pytest.mark.parametrize(
    "option",
    [
        "--sample=0",
        "--sample=x",
        "--seed=-1",
        "--hash-mb=0",
        "--hash-mb=x",
        "--max-seconds=0",
        "--max-seconds=nan",
        "--scoring=points",
        "--no",
    ],
)
def test_the_command_refuses_impossible_options_in_one_line(option: str, suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, output, messages = run_main(capsys, str(suite), option)
    assert (status, output) == (2, "")
    assert messages.startswith("solve: ")
    assert option.partition("=")[0] in messages
    assert messages.count("\n") == 1


@pytest.mark.parametrize("encoding", ["ascii", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cp932", "cp874"))])
def test_names_of_files_that_the_terminal_cannot_show_are_replaced(encoding: str, suite: Path) -> None:
    (suite.parent / "é·\U0001f600.obf").write_text(f"{FFO_20}\n", encoding="utf-8")
    files = [str(suite), str(suite.parent / "é·\U0001f600.obf"), str(suite.parent / "·absent")]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"}
    for chosen, status in ((files[:2], 0), (files[2:], 2)):
        command = [sys.executable, "-W", "error", "-m", "agents.solve", *chosen]
        run = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, check=False)
        assert run.returncode == status
        assert run.stderr.count(b"\n") == (status != 0)
        assert b"Traceback" not in run.stderr
        assert run.stdout.count(b"  OK") == (3 if status == 0 else 0)


def test_without_numba_the_command_says_what_to_install(suite: Path, tmp_path: Path) -> None:
    (tmp_path / "numba.py").write_text("raise ModuleNotFoundError('No module named numba', name='numba')", encoding="utf-8")
    command = [sys.executable, "-m", "agents.solve", str(suite)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert run.stderr == 'solve: compiled code needs numba; in a clone: pip install -e ".[fast]"\n'
    assert run.returncode == 2


def test_a_reader_that_leaves_ends_the_command_without_a_message(suite: Path) -> None:
    command = [sys.executable, "-m", "agents.solve", str(suite)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_a_progress_bar_on_stderr(suite: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    status, output, _ = run_main(capsys, str(suite), "--hash-mb", "4")
    assert status == 0
    assert "/2 " in terminal.getvalue()
    assert output.splitlines()[-1].startswith("positions: 2,")


def test_the_command_works_without_tqdm(suite: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    status, output, _ = run_main(capsys, str(suite), "--hash-mb", "4")
    assert status == 0
    assert output.count("  OK\n") == 2


def test_ctrl_c_shows_the_totals_so_far(suite: Path) -> None:
    suite.write_text(f"{FFO_20}\n{Position.start()};\n", encoding="utf-8")
    command = [sys.executable, "-W", "error", "-m", "agents.solve", str(suite)]
    environment = {**os.environ, "PYTHONWARNINGS": ""}
    process = subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        begun = [process.stdout.readline() for _ in range(2)]
        time.sleep(0.3)  # in the second position, which takes forever
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, messages = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert time.monotonic() - start < 5
    assert (process.returncode, messages) == (130, "solve: interrupted\n")
    assert begun[1].endswith("  OK\n")
    assert re.fullmatch(r"interrupted; positions: 1 of 2, wrong: 0; .* million nodes/s\n", output)
