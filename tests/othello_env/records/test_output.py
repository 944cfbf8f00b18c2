from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from othello_env.records import GameRecord, Place
from othello_env.records.output import replace_file, report_unwritable, write_text
from tests.othello_env.records.samples import RUNNING


def test_a_file_appears_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_text("old")

    def interrupt() -> None:
        with replace_file(path) as stream:
            stream.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert path.read_text() == "old"
    with replace_file(path) as stream:
        stream.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["games.txt"]


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_permissions_are_those_of_the_old_file_or_of_any_new_one(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        with replace_file(tmp_path / "new.txt"):
            pass
        assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640
        (tmp_path / "new.txt").chmod(0o600)
        with replace_file(tmp_path / "new.txt"):
            pass
        assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o600
    finally:
        os.umask(mask)


def test_a_missing_folder_is_an_error_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replace_file(tmp_path / "no" / "games.txt"):
        pass


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
