from __future__ import annotations

import io
import itertools
import tracemalloc
from pathlib import Path

import pytest

from othello_env import Game, RecordFormatError, backend, bitboard
from othello_env.records import FORMATS, GameRecord, RecordedResult, format_of, format_of_text, parse_records, read_records, write_records
from tests.othello_env.records.samples import DRAW, FULL, GAMES, PASSES, RUNNING, SMALL, WHITE_FIRST, WIPEOUT, write_one

GAME_FORMATS = [name for name in FORMATS if name != "obf"]
TEXT_FORMATS = [name for name in GAME_FORMATS if name != "wthor"]
POSITION = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X"


def suffix(name: str) -> str:
    return FORMATS[name].suffixes[0] if FORMATS[name].suffixes else ".sgf"


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("games.txt", "f5d6c3", "transcript"),
        ("games.TXT", "", "transcript"),
        ("logbook.gam", "+f5-d6: +00 10", "transcript"),
        ("games.csv", "moves\nf5d6", "csv"),
        ("games.tsv", "", "csv"),
        ("suite.obf", "", "obf"),
        ("games.ggf", "", "ggf"),
        ("games.sgf", "", "sgf"),
        ("game.sof", "", "sgf"),
        ("games.pgn", "", "pgn"),
        ("WTH_1980.wtb", "(;GM[Othello];)", "wthor"),
        ("WTHOR.JOU", "", "wthor"),
        ("games.txt", "(;GM[Othello]B[f5];)", "ggf"),
        ("games.sgf", "2 (;GM[Othello]B[f5];)(;GM[Othello]B[f5];)", "ggf"),
        ("games.txt", "\n1\n(;GM[Othello]\nB[f5];)", "ggf"),
        ("games.ggf", "(;FF[4]GM[2];B[f5])", "sgf"),
        ("games.txt", '[Event "?"]\n\n1. f5', "pgn"),
        ("games.txt", f"% a suite\n{POSITION}; G8:+18;", "obf"),
        ("games.txt", f"{POSITION};G8H1", "transcript"),
        ("games", "f5d6c3\n", "transcript"),
        ("games", "# games\n1. f5 d6\n", "transcript"),
        ("games.dat", "black,moves\none,f5d6c3d3\n", "csv"),
        ("games.dat", "one\tf5d6c3d3\n", "csv"),
        ("games.dat", "\ufefff5d6", "transcript"),
    ],
)
def test_the_first_bytes_or_the_name_decide(name: str, content: str, form: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert format_of(tmp_path / name) == form


def test_files_that_do_not_exist_have_the_format_of_their_name(tmp_path: Path) -> None:
    assert format_of(tmp_path / "games.PGN") == "pgn"


@pytest.mark.parametrize("content", ["", "hello\n", "1,2\n"])
def test_unknown_files_are_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "games.dat").write_text(content)
    with pytest.raises(ValueError, match=r"^games.dat: unknown format; the file names end with .txt .*, the formats are transcript,"):
        format_of(tmp_path / "games.dat")
    with pytest.raises(ValueError, match=r"^games.dat: unknown format; expected a name that ends with one of .txt"):
        write_records(tmp_path / "games.dat", [])
    with pytest.raises(ValueError, match=r"^format 'doc': expected one of transcript, csv, obf,"):
        read_records(tmp_path / "games.dat", "doc")
    with pytest.raises(ValueError, match=r"^encoding 'hex': unknown"):
        read_records(tmp_path / "games.dat", "transcript", encoding="hex")
    with pytest.raises(ValueError, match=r"^games.jou: WTHOR games go to a .wtb file"):
        write_records(tmp_path / "games.jou", [])
    with pytest.raises(FileNotFoundError):
        list(read_records(tmp_path / "none.pgn"))
    with pytest.raises(FileNotFoundError, match="none'$"):
        write_records(tmp_path / "none" / "games.pgn", [])


@pytest.mark.parametrize("name", ["games.txt", "games.wtb", "games.ggf"])
def test_pointers_of_git_lfs_are_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
    with pytest.raises(RecordFormatError, match=f"^{name}, byte 0: a Git LFS pointer in place of the file; `git lfs pull` fetches it$"):
        list(read_records(tmp_path / name))
    with pytest.raises(RecordFormatError, match="Git LFS pointer"):
        list(read_records(tmp_path / name, FORMATS["transcript"].name))


@pytest.mark.parametrize("source", GAME_FORMATS)
def test_games_of_every_format_are_written_in_every_other(source: str, tmp_path: Path) -> None:
    games = [WIPEOUT, DRAW, FULL, PASSES]
    first = tmp_path / f"first{suffix(source)}"
    records = [GameRecord(game, black="one", white="two", date="2006") for game in games]
    assert write_records(first, records, source) == 4
    for target in GAME_FORMATS:
        second = tmp_path / f"second{suffix(target)}"
        assert write_records(second, read_records(first), target) == 4
        assert [record.game for record in read_records(second)] == games
        assert all(record.contradictions() == () for record in read_records(second))


@pytest.mark.parametrize("form", TEXT_FORMATS)
def test_records_of_all_kinds_are_written_and_read(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"games{suffix(form)}"
    games = [*GAMES, WHITE_FIRST, SMALL]
    write_records(path, [GameRecord(game) for game in games], form)
    assert [record.game for record in read_records(path, form)] == games


def test_a_file_may_be_written_over_itself(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    write_records(path, [GameRecord(FULL)] * 3)
    before = path.read_bytes()
    assert write_records(path, read_records(path)) == 3
    assert path.read_bytes() == before


def test_what_pgn_does_not_know_goes_through_it_as_tags(tmp_path: Path) -> None:
    (tmp_path / "games.ggf").write_text(
        "(;GM[Othello]PC[GGS]DT[2003.12.15_12:33:18.MST]PB[one]PW[two]RB[1]TI[05:00//02:00]TY[s8r4]RE[+8.500]KM[-0.5]B[f5/1/2]W[d6];)\n"
    )
    write_records(tmp_path / "games.pgn", read_records(tmp_path / "games.ggf"))
    write_records(tmp_path / "again.ggf", read_records(tmp_path / "games.pgn"))
    (before,), (after,) = read_records(tmp_path / "games.ggf"), read_records(tmp_path / "again.ggf")
    assert after == before


def test_records_that_a_format_cannot_hold_may_be_left_out(tmp_path: Path) -> None:
    errors: list[ValueError] = []
    records = [GameRecord(FULL), GameRecord(FULL, black="[one]"), GameRecord(DRAW)]
    assert write_records(tmp_path / "games.ggf", records, on_error=errors.append) == 2
    assert [record.game for record in read_records(tmp_path / "games.ggf")] == [FULL, DRAW]
    assert len(errors) == 1


def test_encodings_may_be_given(tmp_path: Path) -> None:
    text = write_one("pgn", GameRecord(RUNNING, black="村上"))
    (tmp_path / "games.pgn").write_bytes(text.encode("euc_jp"))
    assert [record.black for record in read_records(tmp_path / "games.pgn", encoding="euc_jp")] == ["村上"]
    (tmp_path / "games.pgn").write_bytes(text.encode("shift_jis"))
    assert [record.black for record in read_records(tmp_path / "games.pgn")] == ["村上"]


@pytest.mark.parametrize("form", TEXT_FORMATS)
def test_the_first_game_is_read_long_before_the_last(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"games{suffix(form)}"
    text = write_one(form, GameRecord(FULL, result=RecordedResult.from_discs(28, 36))).removeprefix(FORMATS[form].header)
    path.write_text(FORMATS[form].header + text * 2_000, encoding="utf-8")
    num_bytes: list[int] = []
    records = read_records(path, form, on_progress=num_bytes.append)
    tracemalloc.start()
    assert [next(records).game for _ in range(3)] == [FULL] * 3
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(num_bytes) <= 1 << 17
    assert peak < 2_000_000
    records.close()  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("form", GAME_FORMATS)
def test_memory_does_not_grow_with_the_number_of_games(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "play_move", bitboard.play_move)  # numba would be loaded on the way
    path = tmp_path / f"games{suffix(form)}"
    record = GameRecord(Game.parse("f5d6"), black="one", result=RecordedResult.from_discs(33, 31))
    write_records(path, (record for _ in range(20_000)), form)
    records = read_records(path, form)
    for _ in itertools.islice(records, 4_000):  # what is loaded and compiled with the first games is no part of it
        pass
    tracemalloc.start()
    assert sum(1 for _ in itertools.islice(records, 1_000)) == 1_000
    before, _ = tracemalloc.get_traced_memory()
    assert sum(1 for _ in itertools.islice(records, 14_000)) == 14_000
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 500_000  # less than 5 MB for the 127,000 games of a large collection
    assert peak < 5_000_000
    assert sum(1 for _ in records) == 1_000


def test_progress_counts_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    write_records(path, [GameRecord(RUNNING)] * 5000)
    num_bytes: list[int] = []
    assert sum(1 for _ in read_records(path, on_progress=num_bytes.append)) == 5000
    assert sum(num_bytes) == path.stat().st_size


@pytest.mark.parametrize("step", [20, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", TEXT_FORMATS)
def test_published_games_are_written_and_read(form: str, step: int, shared_data: Path, tmp_path: Path) -> None:
    """The games of `games.tsv`, of which column 2 is the score of Black and the last one the moves."""
    lines = (shared_data / "games.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")][::step]
    records = [GameRecord(Game.parse(row[-1]), result=RecordedResult.from_discs(int(row[1]), 64 - int(row[1]))) for row in rows]
    assert len(records) == (1909 if step == 1 else 96)
    path = tmp_path / f"games{suffix(form)}"
    write_records(path, records, form)
    read_again = list(read_records(path))
    assert [record.game for record in read_again] == [record.game for record in records]
    for record in read_again:
        assert record.contradictions() == ()
        if form != "transcript" and record.is_complete:
            assert record.result is not None
            assert record.result.score == record.game.final.score("empties_to_winner")


def test_published_tables_are_read(shared_data: Path) -> None:
    records = list(read_records(shared_data / "games.tsv"))
    assert len(records) == 1909
    assert sum(record.is_complete for record in records) == 1843
    assert len(list(itertools.islice(read_records(shared_data / "xot.txt"), 100))) == 100
    assert len(list(read_records(shared_data / "openings-11-discs.txt"))) == 500


def test_readers_take_any_source_of_bytes() -> None:
    from othello_env.records.lines import read_lines
    from othello_env.records.transcript import read_transcripts

    assert [str(record.game) for record in read_transcripts(read_lines(io.BytesIO(b"f5d6"), "memory"), "memory")] == ["f5d6"]


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if form.read is not None and name != "csv"])
def test_a_text_is_read_like_a_file_of_it(name: str, tmp_path: Path) -> None:
    record = GameRecord(Game.parse("f5d6c3"), black="Ann", white="Bo")
    form = FORMATS[name]
    assert form.format_record is not None
    if name == "obf":
        record = GameRecord(Game((), Game.parse("f5d6c3").final))
    text = form.header + form.format_record(record)
    (tmp_path / "game.txt").write_text(text, encoding="utf-8")
    assert format_of_text(text) == format_of(tmp_path / "game.txt")
    assert [found.game for found in parse_records(text)] == [found.game for found in read_records(tmp_path / "game.txt")]
    assert [found.game for found in parse_records(text)] == [record.game]


@pytest.mark.parametrize("text", ["nonsense", "(;GM[Othello]", "version https://git-lfs.github.com/spec/v1\n"])
def test_a_text_that_holds_no_game_is_refused(text: str) -> None:
    with pytest.raises(RecordFormatError, match="^clipboard, "):
        list(parse_records(text, "clipboard"))
