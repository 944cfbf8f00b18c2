from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.evaluation.commands import stopped_line
from tests.training.evaluation.report.journals import page_of, round_robin, write_journal
from training.evaluation.report.__main__ import main


@pytest.mark.parametrize("source", [".", "games.jsonl"])
def test_the_command_takes_a_folder_or_a_journal_and_writes_beside_it(
    tmp_path: Path, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_journal(tmp_path / "games.jsonl", round_robin(["one", "two"], 2))
    main([str(tmp_path / source), "--accuracy-games", "0", "--anchor", "one=500"])
    assert (tmp_path / "report.html").exists()
    assert "report.html" in capsys.readouterr().out
    assert "one is set to 500" in page_of(tmp_path).text


@pytest.mark.parametrize(
    ("lines", "arguments", "message"),
    [
        (None, [], "games.jsonl: No such file"),
        ("nonsense\n", [], "line 1"),
        ("", ["--anchor", "nobody=5"], "nobody"),
        ("", ["--anchor", "nonsense"], "nonsense"),
        ("", ["--accuracy-games", "-1"], "-1"),
    ],
)
def test_bad_input_ends_with_one_clear_line(
    tmp_path: Path, lines: str | None, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if lines is not None:
        (tmp_path / "games.jsonl").write_text(lines)
    line = stopped_line(main, [str(tmp_path), "--out", str(tmp_path / "out"), *arguments], capsys)
    assert line.startswith("report: ")
    assert message in line
