from __future__ import annotations

from pathlib import Path

import pytest

from othello_env.records import GameRecord, Place
from othello_env.records.output import report_unwritable, write_text
from tests.othello_env.records.samples import RUNNING


def test_records_that_cannot_be_written_are_named_by_number_and_place(tmp_path: Path) -> None:
    def refuse(record: GameRecord) -> str:
        if record.black:
            raise ValueError("no")
        return "line\n"

    records = [GameRecord(RUNNING), GameRecord(RUNNING, black="x", place=Place("in.ggf", 7)), GameRecord(RUNNING)]
    with pytest.raises(ValueError, match=r"^record 2 \(in.ggf, line 7\): no$"):
        write_text(tmp_path / "out.txt", records, refuse)
    assert not (tmp_path / "out.txt").exists()
    errors: list[ValueError] = []
    assert write_text(tmp_path / "out.txt", records, refuse, header="head\n", on_error=errors.append) == 2
    assert (tmp_path / "out.txt").read_bytes() == b"head\nline\nline\n"
    assert [str(error) for error in errors] == ["record 2 (in.ggf, line 7): no"]
    with pytest.raises(ValueError, match="^record 3: no$"):
        report_unwritable(ValueError("no"), 3, GameRecord(RUNNING), None)


def test_texts_that_are_no_unicode_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="^record 1: .*surrogates not allowed"):
        write_text(tmp_path / "out.txt", [GameRecord(RUNNING)], lambda record: "\udc80")
