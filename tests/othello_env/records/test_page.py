"""The documentation page is true: its blocks run one after the other and print what it says, its table names all formats."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from othello_env.records import FORMATS
from othello_env.records.__main__ import main
from tests.conftest import REPOSITORY

TEXT = (REPOSITORY / "docs" / "records.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(python|bash)\n(.*?)```\n(?:```text\n(.*?)```)?", TEXT, flags=re.DOTALL)


def test_the_blocks_run_and_print_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS) == TEXT.count("```python") + TEXT.count("```bash") == 7
    names: dict[str, object] = {"__name__": "__main__"}
    for language, code, output in BLOCKS:
        if language == "python":
            exec(compile(code, "records.md", "exec"), names)
        else:
            for line in code.splitlines():
                python, option, module, *words = line.split()
                assert (python, option, module) == ("python", "-m", "othello_env.records")
                main(words)
        assert capsys.readouterr().out == output


def test_the_table_has_all_formats() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]*) \|", TEXT, flags=re.MULTILINE)
    assert [name for name, _ in rows if name in FORMATS] == list(FORMATS)
    for name, files in rows:
        if name in FORMATS and FORMATS[name].suffixes:
            assert files.replace("`", "").split() == list(FORMATS[name].suffixes)
