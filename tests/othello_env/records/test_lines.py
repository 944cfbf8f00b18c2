from __future__ import annotations

import codecs
import io

import pytest

from othello_env import RecordFormatError
from othello_env.records import lines
from othello_env.records.lines import check_first_bytes, decode_text, read_lines


def texts(data: bytes, *, encoding: str | None = None) -> list[str]:
    return [text for _, text in read_lines(io.BytesIO(data), "games", encoding=encoding)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_all_line_ends_are_read(end: bytes) -> None:
    assert texts(end.join([b"one", b"", b"three"])) == ["one", "", "three"]
    assert texts(end.join([b"one", b"two", b""])) == ["one", "two"]


def test_lines_are_numbered_from_one() -> None:
    assert list(read_lines(io.BytesIO(b"a\nb"), "games")) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_line_ends_between_two_chunks_count_once(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_CHUNK_BYTES", size)
    assert texts(b"ab\r\ncd\r\r\n\nef\n\rgh") == ["ab", "cd", "", "", "ef", "", "gh"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Jérôme".encode(), "Jérôme"),
        ("Jérôme".encode("latin-1"), "Jérôme"),
        ("村上 健".encode("shift_jis"), "村上 健"),
        ("従兄 ソ".encode("shift_jis"), "従兄 ソ"),  # with ] and \ as second bytes
        (b"O\x92Brien", "O\x92Brien"),  # an apostrophe of Windows, no Shift-JIS
        (b"\xa9 1999", "© 1999"),
    ],
)
def test_names_are_utf8_or_shift_jis_or_latin1(data: bytes, text: str) -> None:
    assert decode_text(data) == text


def test_each_line_has_its_own_encoding() -> None:
    assert texts(b"J\xe9r\xf4me\n" + "Jérôme".encode() + b"\n" + "村上".encode("shift_jis")) == ["Jérôme", "Jérôme", "村上"]


@pytest.mark.parametrize(
    ("mark", "encoding"), [(codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")]
)
def test_byte_order_marks_decide(mark: bytes, encoding: str) -> None:
    assert texts(mark + "f5\né".encode(encoding)) == ["f5", "é"]


def test_the_encoding_may_be_given() -> None:
    assert texts("村上".encode("euc_jp"), encoding="euc_jp") == ["村上"]
    with pytest.raises(RecordFormatError, match=r"^games, after byte 0: not encoded as ascii"):
        texts("é".encode(), encoding="ascii")
    with pytest.raises(RecordFormatError, match="not encoded as utf-16"):
        texts(codecs.BOM_UTF16_LE + b"a")


def test_a_line_may_not_be_longer_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1 << 20)
    assert texts(b"x" * (1 << 20)) == ["x" * (1 << 20)]
    with pytest.raises(RecordFormatError, match=r"^games, line 2: longer than 1 MiB$"):
        texts(b"a\n" + b"x" * ((1 << 20) + 1))


def test_a_line_is_read_before_the_whole_file_is() -> None:
    stream = io.BytesIO(b"f5d6\n" * 1_000_000)
    assert next(read_lines(stream, "games")) == (1, "f5d6")
    assert stream.tell() <= 1 << 16


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            "a Git LFS pointer in place of the file; `git lfs pull` fetches it",
        ),
        (b"/annex/objects/MD5E-s1--0.wtb\n", "a git-annex pointer in place of the file"),
        (b"\x1f\x8b\x08", "compressed with gzip; decompress it first"),
        (b"BZh91AY", "compressed with bzip2"),
        (b"PK\x03\x04", "a ZIP archive; unpack it first"),
        (b"<!DOCTYPE html>", "a web page, not a file of games"),
    ],
)
def test_files_that_stand_for_others_are_named(head: bytes, problem: str) -> None:
    with pytest.raises(RecordFormatError) as caught:
        check_first_bytes(head, "games.wtb")
    assert str(caught.value).startswith(f"games.wtb, byte 0: {problem}")
    check_first_bytes(b"f5d6", "games.txt")
