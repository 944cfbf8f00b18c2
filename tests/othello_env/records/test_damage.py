"""Damaged files: every reader raises `RecordFormatError` with the place and nothing else, in bounded time, and invents no games."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from othello_env import Game, Position, RecordFormatError
from othello_env.records import FORMATS, GameRecord, RecordedResult, read_records, write_records
from tests.othello_env.records.samples import DRAW, PASS_AT_THE_END, PASSES, RUNNING, SMALL, WHITE_FIRST, WIPEOUT

Rng = np.random.Generator

# Formats that sign the end of a game, its colors, or its length: a game that is not the one written
# must show.
REDUNDANT = ("ggf", "sgf", "sgf-quarry", "wthor")
SIGNS = (b"(;", b"[", b"]", b"(", b")", b'"', b"{", b"}", b";", b"\\", b"1.", b"--", b",", b"\t", b":", b"+", b"%", b"#", b"$1")
SLOWEST_SECONDS = 10.0  # of the processor; one of them imports numba


def write_samples(form: str, folder: Path) -> bytes:
    """A file of the format with games and positions of all kinds, and with names in all alphabets."""
    records = [
        GameRecord(game, result=RecordedResult.from_score(game.final.score("empties_to_winner"))) for game in (PASSES, WIPEOUT, DRAW)
    ]
    if form == "obf":
        position = Position.parse("--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X")
        records = [
            GameRecord(Game((), position), tags={"scores": "G8:+18; H1:+12;"}),
            GameRecord(Game((), SMALL.final)),
            GameRecord(Game()),
        ]
    elif form == "wthor":
        records.append(GameRecord(RUNNING, result=RecordedResult.from_discs(30, 34)))
    else:
        names = {"black": "Jérôme Ö", "white": "村上 従", "date": "2006-05-28", "event": 'Open "1"'}
        records += [GameRecord(game, **names) for game in (RUNNING, PASS_AT_THE_END, WHITE_FIRST, SMALL)]  # type: ignore[arg-type]
    path = folder / ("games.wtb" if form == "wthor" else f"games.{form}")
    write_records(path, records, form)
    return path.read_bytes()


def cut_end(data: bytes, rng: Rng) -> bytes:
    return data[: rng.integers(len(data))]


def cut_start(data: bytes, rng: Rng) -> bytes:
    return data[rng.integers(len(data)) :]


def cut_middle(data: bytes, rng: Rng) -> bytes:
    first, last = sorted(rng.integers(len(data), size=2))
    return data[:first] + data[last:]


def repeat(data: bytes, rng: Rng) -> bytes:
    first, last = sorted(rng.integers(len(data), size=2))
    return data[:last] + data[first:]


def flip_bit(data: bytes, rng: Rng) -> bytes:
    changed = bytearray(data)
    changed[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def flip_bytes(data: bytes, rng: Rng) -> bytes:
    changed = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 30)):
        changed[place] = int(rng.integers(256))
    return bytes(changed)


def swap_bytes(data: bytes, rng: Rng) -> bytes:
    changed, (one, two) = bytearray(data), rng.integers(len(data), size=2)
    changed[one], changed[two] = changed[two], changed[one]
    return bytes(changed)


def drop_byte(data: bytes, rng: Rng) -> bytes:
    place = int(rng.integers(len(data)))
    return data[:place] + data[place + 1 :]


def put(make: Callable[[Rng], bytes]) -> Callable[[bytes, Rng], bytes]:
    def damage(data: bytes, rng: Rng) -> bytes:
        place = int(rng.integers(len(data)))
        return data[:place] + make(rng) + data[place:]

    return damage


DAMAGES: tuple[Callable[[bytes, Rng], bytes], ...] = (
    cut_end,
    cut_start,
    cut_middle,
    repeat,
    flip_bit,
    flip_bytes,
    swap_bytes,
    drop_byte,
    put(lambda rng: rng.bytes(int(rng.integers(1, 50)))),
    put(lambda rng: b"9" * int(rng.integers(1, 6000))),
    put(lambda rng: bytes(int(rng.integers(1, 100)))),
    put(lambda rng: SIGNS[rng.integers(len(SIGNS))] * int(rng.integers(1, 500))),
    put(lambda rng: "従兄弟ソ表".encode("shift_jis")),
    put(lambda rng: b"\xef\xbb\xbf"),
    lambda data, rng: flip_bit(data.replace(b"\n", b"\r\n"), rng),
    lambda data, rng: flip_bit(data.replace(b"\n", b"\r"), rng),
    lambda data, rng: cut_end(data.decode("latin-1").encode("utf-16"), rng),
    lambda data, rng: b"\xef\xbb\xbf" + cut_middle(data, rng),
)


@pytest.mark.parametrize("num_inputs", [60, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", FORMATS)
def test_damaged_files_raise_their_own_error_only(form: str, num_inputs: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(17)
    data = write_samples(form, tmp_path)
    path = tmp_path / ("damaged.wtb" if form == "wthor" else "damaged")
    path.write_bytes(data)
    games = {record.game for record in read_records(path, form)}
    num_errors = num_unnoticed = 0
    for number in range(num_inputs):
        path.write_bytes(DAMAGES[number % len(DAMAGES)](data, rng))
        errors: list[RecordFormatError] = []
        found: list[GameRecord] = []
        start = time.process_time()
        try:
            found.extend(read_records(path, form, on_error=errors.append))
        except RecordFormatError as whole:  # not of a single game: the length of the file, its encoding
            errors.append(whole)
        assert time.process_time() - start < SLOWEST_SECONDS
        for error in errors:
            assert re.match(r"damaged(\.wtb)?, (line|byte|after byte) [0-9]+", str(error)), error
            assert "\n" not in str(error)
            assert len(str(error)) < 600
        if form in REDUNDANT and not errors:
            num_unnoticed += any(is_unnoticed(record, games) for record in found)
        num_errors += bool(errors)
    assert num_errors > num_inputs / 4
    # A cut may take whole moves out and leave a legal game with the same result: no format can
    # know.
    assert num_unnoticed <= num_inputs / 1000


def is_unnoticed(record: GameRecord, games: set[Game]) -> bool:
    """Whether a record has another game than was written, and nothing shows it: it is over, with the result that is recorded."""
    return record.game not in games and record.is_complete and record.result is not None and not record.contradictions()


# Much of one sign: what a reader has to look at again and again would take time that grows with the
# square of its number.
HEAVY = (
    b"(", b"[", b"{", b"\n", b"\r", b" ", b"\\", b")", b"\x00", b"\xff", b";", b'"', b"9", b"1. ", b'[A "', b"(;", b"(;GM[",
    b"(;GM[Othello]",
    b"(;GM[2];", b"(;GM[2]SZ[8];B[f5]", b'[Event "a"]\n', b"{\n", b"(\n", b"B[f5]", b"B[\\", b";B[f5]C[\\]", b"f5", b"f5 ", b"--", b"PA ",
    b"a,", b"x,1\n", b'[A "b" c "d"] ', b"A 1-2 B : f5", b"+f5-d6", b"X" * 64 + b" X;", b"2. ",
)  # fmt: skip
PREFIXES = {"ggf": b"(;GM[Othello]", "sgf": b"(;GM[2]SZ[8];", "pgn": b'[Event "x"]\n\n', "csv": b"moves,a\n"}


@pytest.mark.slow
@pytest.mark.parametrize("form", [name for name in FORMATS if name not in ("wthor", "sgf-quarry")])
def test_time_grows_with_the_length_of_the_file_only(form: str, tmp_path: Path) -> None:
    path = tmp_path / "heavy"

    def seconds(data: bytes) -> float:
        path.write_bytes(data)
        start = time.process_time()
        try:
            for _ in read_records(path, form, on_error=lambda error: None):
                pass
        except RecordFormatError:
            pass
        return time.process_time() - start

    for piece in HEAVY:
        for prefix in (b"", PREFIXES.get(form, b"")):
            short, long = (prefix + piece * (size // len(piece)) for size in (50_000, 400_000))
            if seconds(long) > 0.5:
                assert min(seconds(long) for _ in range(2)) < 20 * min(seconds(short) for _ in range(3)), (prefix, piece)
