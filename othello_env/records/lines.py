"""Files as streams of decoded lines, in bounded memory, for all line ends and encodings in use."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Final, Protocol

from othello_env.errors import RecordFormatError

# Maximum length of a line, and of a single game.
MAX_LINE_BYTES: Final = 16 << 20
_CHUNK_BYTES: Final = 1 << 16

_UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Bytes that begin a character in Shift-JIS and are control characters in Latin-1.
_SHIFT_JIS_LEAD: Final = re.compile(rb"[\x81-\x9f]")
_TWO_WIDE_CHARACTERS: Final = re.compile(r"[^\x00-\x7f]{2}")

_SIGNATURE_BYTES: Final = 16
# First bytes of files that are not records, and the message to the user.
_NOT_RECORDS: Final = (
    (b"version https://git-lfs.github.com/spec/", "a Git LFS pointer in place of the file; `git lfs pull` fetches it"),
    (b"/annex/objects/", "a git-annex pointer in place of the file; `git annex get` fetches it"),
    (b"\x1f\x8b", "compressed with gzip; decompress it first"),
    (b"BZh", "compressed with bzip2; decompress it first"),
    (b"\xfd7zXZ\x00", "compressed with xz; decompress it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; decompress it first"),
    (b"PK\x03\x04", "a ZIP archive; unpack it first"),
    (b"<!doctype html", "a web page, not a file of games"),
    (b"<html", "a web page, not a file of games"),
)


class ByteSource(Protocol):
    """Anything that bytes can be read from: a binary file, or a wrapper around one."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; empty at the end."""
        ...


def check_first_bytes(head: bytes, file: str) -> None:
    """Raise `RecordFormatError` for a placeholder, an archive or a web page instead of records.

    The message says what to do. head: the first 16 bytes of the file or more.
    """
    for start, problem in _NOT_RECORDS:
        known = start[: max(len(head), _SIGNATURE_BYTES)].lower()
        if head[: len(known)].lower() == known:
            raise RecordFormatError(f"{file}, byte 0: {problem}")


def read_lines(stream: ByteSource, file: str, *, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text without their ends (LF, CR LF or CR), numbered from 1.

    encoding: encoding of the file. By default a byte order mark decides; without one, each line is
    decoded as UTF-8 if it is valid, else as Shift-JIS if it looks like it, else as Latin-1. Raises
    `RecordFormatError` for a line of more than 16 MiB and for bytes that are invalid in the
    encoding.
    """
    head = stream.read(_CHUNK_BYTES)
    if encoding is None and head.startswith(_UTF16_MARKS):
        encoding = "utf-16"
    chunks = _chunks(head, stream)
    if encoding is not None:
        chunks = _to_utf8(chunks, encoding, file)
    for number, line in enumerate(_split(chunks, file), 1):
        yield number, decode_text(line.removeprefix(codecs.BOM_UTF8) if number == 1 else line)


def decode_text(text: bytes) -> str:
    """Decode UTF-8, Shift-JIS or Latin-1, whichever fits first."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if _SHIFT_JIS_LEAD.search(text):
        try:
            decoded = text.decode("cp932")
        except UnicodeDecodeError:
            pass
        else:
            if _TWO_WIDE_CHARACTERS.search(decoded):  # a single one is rather an apostrophe of Windows
                return decoded
    return text.decode("latin-1")


def _chunks(head: bytes, stream: ByteSource) -> Iterator[bytes]:
    while head:
        yield head
        head = stream.read(_CHUNK_BYTES)


def _to_utf8(chunks: Iterator[bytes], encoding: str, file: str) -> Iterator[bytes]:
    """Convert text in another encoding to UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)()
    position = 0
    try:
        for chunk in chunks:
            yield decoder.decode(chunk).encode("utf-8")
            position += len(chunk)
        yield decoder.decode(b"", final=True).encode("utf-8")
    except UnicodeError as error:
        raise RecordFormatError(f"{file}, after byte {position}: not encoded as {encoding} ({error})") from None


def _split(chunks: Iterator[bytes], file: str) -> Iterator[bytes]:
    """Yield the lines without their ends."""
    parts: list[bytes] = []  # of a line that has not ended yet
    size, number = 0, 1
    after_return = False  # the last chunk ended with CR, which may be half an end
    for chunk in chunks:
        if after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        after_return = chunk.endswith(b"\r")
        for line in chunk.splitlines(keepends=True):
            text = line.rstrip(b"\r\n")
            parts.append(text)
            size += len(text)
            if size > MAX_LINE_BYTES:
                raise RecordFormatError(f"{file}, line {number}: longer than {MAX_LINE_BYTES >> 20} MiB")
            if len(text) < len(line):
                yield b"".join(parts)
                parts, size, number = [], 0, number + 1
    if parts:
        yield b"".join(parts)
