"""docs/sequences.md is true: its code runs with NumPy alone and prints what the page shows; its tables are those of the modules."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

from othello_env import backend
from othello_env.sequences import random_play, tokenizer
from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "sequences.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```\n(?:```text\n(.*?)```)?", PAGE, flags=re.DOTALL)


def test_the_code_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = backend._State.module, backend._State.wanted, backend.play_move
    backend.use_numpy()
    namespace: dict[str, Any] = {}
    try:
        for code, expected in BLOCKS:
            exec(compile(code, "docs/sequences.md", "exec"), namespace)
            assert capsys.readouterr().out == expected
    finally:
        backend._State.module, backend._State.wanted, backend.play_move = before
    assert len(BLOCKS) > 10


@pytest.mark.parametrize("name", ["othello_gpt", "inductive_bias", "squares", "othello_gpt_6x6", "wthor"])
def test_the_table_of_tokenizers_is_true(name: tokenizer.TokenizerName) -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
    assert row in (tokenizer.__doc__ or "").splitlines()
    _, _, vocabulary, squares, padding, passes, context, *_ = (cell.strip() for cell in row.split("|"))
    made = tokenizer.make_tokenizer(name)
    assert int(vocabulary) == made.vocab_size
    assert int(padding) == made.pad_id
    assert (passes == "left out") == (made.pass_id is None)
    assert (str(made.pass_id) in passes) == (made.pass_id is not None)
    assert context == ("any" if made.context_length is None else str(made.context_length))
    tokens = [token for token, square in enumerate(made.squares.tolist()) if square < made.board_size**2]
    assert squares.startswith(f"{tokens[0]}-{tokens[-1]}") or name == "wthor"


def test_the_algorithm_of_the_random_numbers_is_documented() -> None:
    assert "SplitMix64" in (random_play.__doc__ or "")
