from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from othello_env import Game, RecordFormatError
from othello_env.records import GameRecord, RecordedResult, read_records, write_records
from othello_env.records.wthor import (
    NO_SQUARE,
    SQUARE_OF_CODE,
    WthorHeader,
    read_arrays,
    read_names,
    read_wthor,
    write_arrays,
    write_names,
    write_wthor,
)
from othello_env.squares import parse_square
from tests.othello_env.records.samples import DRAW, FULL, PASSES, RUNNING, SMALL, WIPEOUT

PUBLISHED = ("WTH_1986.wtb", "WTH_2001.wtb", "WTH_2016.wtb")


def encode(game: Game) -> bytes:
    """The 60 bytes of the moves, column plus ten times row from 1."""
    return bytes(10 * (square // 8 + 1) + square % 8 + 1 for square in game.moves).ljust(60, b"\0")


def header(num_games: int, **fields: int) -> bytes:
    values = {"names": 0, "year": 1980, "size": 8, "kind": 0, "depth": 24, "reserved": 0} | fields
    return struct.pack("<4BIHHBBBB", 20, 1, 4, 5, num_games, *values.values())


# Two games: tournament 70, players 445 and 556; black's discs 28 and 64, theoretical 39 and 50.
FILE = header(2) + struct.pack("<HHHBB", 70, 445, 556, 28, 39) + encode(FULL) + struct.pack("<HHHBB", 71, 1, 0, 64, 50) + encode(WIPEOUT)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "WTH_1980.wtb"
    path.write_bytes(FILE)
    return path


def test_games_are_read_with_all_that_the_file_says(path: Path) -> None:
    first, second = read_records(path)
    assert first == GameRecord(
        FULL,
        date="1980",
        result=RecordedResult.from_discs(28, 36),
        theoretical_score=14,
        tags={"WthorTournament": "70", "WthorBlack": "445", "WthorWhite": "556", "WthorCreated": "2001-04-05", "WthorDepth": "24"},
    )
    assert (second.game, second.result, second.theoretical_score) == (WIPEOUT, RecordedResult.from_discs(64, 0), 36)
    assert [str(record.place) for record in (first, second)] == ["WTH_1980.wtb, byte 16", "WTH_1980.wtb, byte 84"]
    assert first.contradictions() == second.contradictions() == ()


def test_results_count_the_empties_for_the_winner(path: Path) -> None:
    path.write_bytes(FILE[:-62] + b"\x0d" + FILE[-61:])  # 13 discs of Black, those on the board
    assert list(read_records(path))[1].contradictions() == ("recorded '13', but the board says 13-0, a win for black",)


def test_the_draw_with_empties_has_32_discs(path: Path) -> None:
    path.write_bytes(header(1) + struct.pack("<HHHBB", 0, 0, 0, 32, 32) + encode(DRAW))
    (record,) = read_records(path)
    assert (record.game, record.result, record.contradictions()) == (DRAW, RecordedResult.from_discs(32, 32), ())


def test_passes_are_not_written(path: Path) -> None:
    path.write_bytes(header(1) + struct.pack("<HHHBB", 0, 0, 0, 0, 0) + encode(PASSES))
    assert next(read_records(path)).game == PASSES


def test_names_come_from_the_files_beside_it(path: Path, tmp_path: Path) -> None:
    players = ["???", "Müller"] + [f"player {number}" for number in range(2, 600)]
    write_names(tmp_path / "WTHOR.JOU", players)
    write_names(tmp_path / "WTHOR.TRN", ["Diverses parties", *(f"open {number}" for number in range(1, 71))])
    first, second = read_records(path)
    assert (first.black, first.white, first.event) == ("player 445", "player 556", "open 70")
    assert (second.black, second.white, second.event) == ("Müller", "", "")  # number 71 is behind the end
    write_names(tmp_path / "WTH_1980.jou", ["???", "nearer"])
    assert [record.black for record in read_records(path)] == ["", "nearer"]


def test_arrays_are_the_bytes_of_the_file(path: Path) -> None:
    arrays = read_arrays(path)
    assert len(arrays) == 2
    assert arrays.header == WthorHeader((2001, 4, 5), num_games=2, year=1980, depth=24)
    assert (arrays.tournaments.tolist(), arrays.black_players.tolist(), arrays.white_players.tolist()) == ([70, 71], [445, 1], [556, 0])
    assert (arrays.black_scores.tolist(), arrays.theoretical_scores.tolist()) == ([28, 64], [39, 50])
    assert arrays.moves.shape == (2, 60)
    assert arrays.moves.dtype == np.uint8
    assert arrays.moves[0].tobytes() == encode(FULL)
    assert arrays.squares()[1].tolist() == [*WIPEOUT.moves, *[NO_SQUARE] * 51]


def test_codes_are_column_plus_ten_times_row() -> None:
    assert [SQUARE_OF_CODE[code] for code in (11, 18, 81, 88, 56)] == [parse_square(name) for name in ("a1", "h1", "a8", "h8", "f5")]
    assert (SQUARE_OF_CODE == NO_SQUARE).sum() == 256 - 64


def test_arrays_are_written_byte_for_byte(path: Path, tmp_path: Path) -> None:
    write_arrays(tmp_path / "copy.wtb", read_arrays(path))
    assert (tmp_path / "copy.wtb").read_bytes() == FILE
    odd = header(2, size=0, depth=0, reserved=7) + FILE[16:]
    path.write_bytes(odd)
    write_arrays(tmp_path / "copy.wtb", read_arrays(path))
    assert (tmp_path / "copy.wtb").read_bytes() == odd


def test_records_are_written_byte_for_byte(path: Path, tmp_path: Path) -> None:
    assert write_records(tmp_path / "copy.wtb", read_records(path)) == 2
    assert (tmp_path / "copy.wtb").read_bytes() == FILE
    assert sorted(file.name for file in tmp_path.iterdir()) == ["WTH_1980.wtb", "copy.wtb"]


def test_names_are_written_beside_the_games(tmp_path: Path) -> None:
    records = [
        GameRecord(FULL, black="Müller", white="two", event="Open", date="2006-05-28"),
        GameRecord(WIPEOUT, black="two", white="three", date="2006"),
        GameRecord(RUNNING, white="Müller", result=RecordedResult.from_discs(20, 40), theoretical_score=-6, date="2006-07"),
    ]
    assert write_wthor(tmp_path / "games.wtb", records, created=(2026, 11, 30)) == 3
    assert read_names(tmp_path / "games.JOU") == ("???", "Müller", "two", "three")
    assert read_names(tmp_path / "games.TRN") == ("Diverses parties", "Open")
    read = list(read_records(tmp_path / "games.wtb"))
    assert [(record.game, record.black, record.white, record.event, record.date) for record in read] == [
        (FULL, "Müller", "two", "Open", "2006"),
        (WIPEOUT, "two", "three", "", "2006"),
        (RUNNING, "", "Müller", "", "2006"),
    ]
    # Results go with the empties to the winner; a game without a theoretical score has its result
    # there.
    assert [record.result for record in read] == [RecordedResult.from_discs(*discs) for discs in ((28, 36), (64, 0), (20, 44))]
    assert [record.theoretical_score for record in read] == [-8, 64, -6]
    assert read_arrays(tmp_path / "games.wtb").header == WthorHeader((2026, 11, 30), num_games=3, year=2006, depth=24)


def test_years_that_differ_are_left_open(tmp_path: Path) -> None:
    write_wthor(tmp_path / "games.wtb", [GameRecord(FULL, date="2006"), GameRecord(FULL, date="2007")])
    assert [record.date for record in read_records(tmp_path / "games.wtb")] == ["", ""]


def test_numbers_are_kept_where_they_do_not_meet(tmp_path: Path) -> None:
    records = [
        GameRecord(FULL, black="one", tags={"WthorBlack": "7"}),
        GameRecord(FULL, black="two", tags={"WthorBlack": "7"}),  # from another file
        GameRecord(FULL, black="three"),
        GameRecord(FULL, tags={"WthorBlack": "9"}),
        GameRecord(FULL, tags={"WthorBlack": "7"}),
        GameRecord(FULL, black="one"),
        GameRecord(FULL, black="one", tags={"WthorBlack": "12"}),
    ]
    write_wthor(tmp_path / "games.wtb", records)
    assert read_arrays(tmp_path / "games.wtb").black_players.tolist() == [7, 8, 9, 0, 0, 7, 12]
    assert [record.black for record in read_records(tmp_path / "games.wtb")] == ["one", "two", "three", "", "", "one", "one"]


@pytest.mark.parametrize(
    ("record", "error"),
    [
        (GameRecord(SMALL), "WTHOR holds games from the standard start position on 8x8 only"),
        (GameRecord(Game()), "WTHOR holds no game without moves"),
        (GameRecord(RUNNING), "WTHOR needs a result in discs"),
        (GameRecord(FULL, result=RecordedResult(1)), "WTHOR needs a result in discs"),
        (GameRecord(FULL, black="村上"), "'村上': WTHOR writes names in Latin-1"),
        (GameRecord(FULL, white="x" * 20), "WTHOR has room for 19 bytes in the name of a player"),
        (GameRecord(FULL, event="x" * 26), "WTHOR has room for 25 bytes in the name of a tournament"),
        (GameRecord(FULL, theoretical_score=3), "theoretical score +3: WTHOR holds an even one from -64 to +64"),
    ],
)
def test_what_the_format_cannot_hold_is_refused(record: GameRecord, error: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"^record 2: .*{re.escape(error)}$"):
        write_wthor(tmp_path / "games.wtb", [GameRecord(FULL), record])
    assert list(tmp_path.iterdir()) == []
    errors: list[ValueError] = []
    assert write_wthor(tmp_path / "games.wtb", [record, GameRecord(FULL)], on_error=errors.append) == 1
    assert len(errors) == 1
    assert [record.game for record in read_records(tmp_path / "games.wtb")] == [FULL]


def test_a_winner_alone_is_enough_where_the_board_says_the_same(tmp_path: Path) -> None:
    write_wthor(tmp_path / "games.wtb", [GameRecord(FULL, result=RecordedResult(-1))])
    assert next(read_records(tmp_path / "games.wtb")).result == RecordedResult.from_discs(28, 36)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "byte 0: the file ends inside the header of 16 bytes"),
        (FILE[:10], "byte 10: the file ends inside the header of 16 bytes"),
        (FILE[:-1], "byte 151: 2 games need 152 bytes, but the file has 151"),
        (FILE + b"\0", "byte 152: 2 games need 152 bytes, but the file has 153"),
        (header(4_000_000_000) + FILE[16:], "byte 152: 4000000000 games need 272000000016 bytes, but the file has 152"),
        (header(2, size=10) + FILE[16:], "byte 12: a board of size 10, expected 8 (or 0, which stands for it)"),
        (header(2, kind=1) + FILE[16:], "byte 13: 1, a file of solitaires; expected 0, games"),
        (header(2, names=3) + FILE[16:], "byte 8: 3 names; expected 0 in a file of games"),
        (FILE[:1] + b"\xc8" + FILE[2:], "byte 1: the year of the creation date is 200, expected 0 to 99"),
        (FILE[:24] + b"\x63" + FILE[25:], "byte 16: game 1: move 1 has the code 99, expected column + 10 * row, and 0 only at the end"),
        (FILE[:24] + b"\x00" + FILE[25:], "byte 16: game 1: move 2 has the code 46, expected column + 10 * row, and 0 only at the end"),
        (FILE[:22] + b"\x41" + FILE[23:], "byte 16: game 1: the scores are 65 and 39, expected 0 to 64 discs"),
        (FILE[:-1] + b"\x0b", "byte 84: game 2: move 60 has the code 11, expected column + 10 * row, and 0 only at the end"),
        (b"version https://git-lfs.github.com/spec/v1\n", "byte 0: a Git LFS pointer in place of the file; `git lfs pull` fetches it"),
    ],
)
def test_files_that_do_not_follow_the_format_are_refused(data: bytes, error: str, path: Path) -> None:
    path.write_bytes(data)
    for read in (lambda: list(read_records(path)), lambda: read_arrays(path)):
        with pytest.raises(RecordFormatError) as caught:
            read()
        assert str(caught.value) == f"WTH_1980.wtb, {error}"


def test_illegal_moves_are_found_by_the_reader_of_games(path: Path) -> None:
    path.write_bytes(FILE[:25] + FILE[24:25] + FILE[26:])
    assert len(read_arrays(path)) == 2
    with pytest.raises(RecordFormatError, match="^WTH_1980.wtb, byte 16: game 1: move 2: e6 is illegal for white"):
        list(read_records(path))
    errors: list[RecordFormatError] = []
    assert [record.game for record in read_records(path, on_error=errors.append)] == [WIPEOUT]
    assert len(errors) == 1


def test_a_file_that_becomes_shorter_is_refused(path: Path) -> None:
    with pytest.raises(RecordFormatError, match="byte 151: the file has become shorter"):
        list(read_wthor(io.BytesIO(FILE[:-1]), path))


def test_games_are_read_block_by_block(tmp_path: Path) -> None:
    path = tmp_path / "many.wtb"
    path.write_bytes(header(100_000) + FILE[84:] * 100_000)
    num_bytes: list[int] = []
    records = read_records(path, on_progress=num_bytes.append)
    assert [next(records).place.offset for _ in range(3)] == [16, 84, 152]
    assert sum(num_bytes) < 100_000
    records.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("suffix", [".jou", ".TRN"])
def test_names_are_written_and_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"names{suffix}"
    write_names(path, ["???", "Jérôme", ""], created=(2026, 11, 30))
    data = path.read_bytes()
    assert data[:16] == struct.pack("<4BIHHBBBB", 20, 26, 11, 30, 0, 3, 0, 0, 0, 0, 0)
    assert data[16:20] == b"???\0"
    assert read_names(path) == ("???", "Jérôme", "")
    path.write_bytes(data[:-1])
    with pytest.raises(RecordFormatError, match=rf"^names{suffix}, byte {len(data) - 1}: 3 names need {len(data)} bytes"):
        read_names(path)
    with pytest.raises(RecordFormatError, match="byte 0: holds names, no games"):
        next(read_records(path))


def test_names_belong_into_files_of_names(tmp_path: Path) -> None:
    wrong: tuple[Callable[[], object], ...] = (
        lambda: write_names(tmp_path / "names.txt", []),
        lambda: read_names(tmp_path / "names.txt"),
    )
    for use in wrong:
        with pytest.raises(ValueError, match=r"^names.txt: expected a name that ends with .jou or .trn$"):
            use()
    with pytest.raises(ValueError, match="^65536 names: a .jou file holds 65535$"):
        write_names(tmp_path / "names.jou", [""] * 65536)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files_are_written_byte_for_byte_as_arrays(shared_data: Path, tmp_path: Path, name: str) -> None:
    arrays = read_arrays(shared_data / name)
    write_arrays(tmp_path / name, arrays)
    assert (tmp_path / name).read_bytes() == (shared_data / name).read_bytes()
    assert len(arrays) == {"WTH_1986.wtb": 1440, "WTH_2001.wtb": 5575, "WTH_2016.wtb": 2013}[name]
    assert str(arrays.header.year) in name


@pytest.mark.parametrize("name", [PUBLISHED[0], *(pytest.param(name, marks=pytest.mark.slow) for name in PUBLISHED[1:])])
def test_published_games_are_legal_and_agree_with_their_scores(shared_data: Path, tmp_path: Path, name: str) -> None:
    records = list(read_records(shared_data / name))
    assert write_records(tmp_path / name, records) == len(records)
    assert (tmp_path / name).read_bytes() == (shared_data / name).read_bytes()
    for record in records:
        assert record.result is not None
        if record.is_complete:
            assert record.result.score == record.game.final.score("empties_to_winner")
        assert record.contradictions() == ()


def test_names_of_a_damaged_file_are_not_invented(path: Path, tmp_path: Path) -> None:
    (tmp_path / "WTH_1980.jou").write_bytes(b"\0" * 15)
    with pytest.raises(RecordFormatError, match=r"^WTH_1980.jou, byte 15: the file ends inside the header"):
        list(read_records(path))


def test_headers_are_read_and_written() -> None:
    assert WthorHeader.parse(FILE[:16]).to_bytes() == FILE[:16]
    assert replace(WthorHeader((2001, 4, 5)), num_games=2, year=1980, depth=24).to_bytes() == FILE[:16]
