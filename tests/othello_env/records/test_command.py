from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from othello_env.records import GameRecord, RecordedResult, read_records, write_records
from othello_env.records.__main__ import main
from othello_env.records.wthor import write_names
from tests.conftest import REPOSITORY
from tests.othello_env.records.samples import DRAW, FULL, RUNNING, SMALL, WIPEOUT


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "games.pgn"
    records = [
        GameRecord(FULL, black="one", white="two", date="2006-05-28", event="Open"),
        GameRecord(WIPEOUT, black="two", white="three", date="2007", result=RecordedResult.from_discs(0, 64)),
        GameRecord(RUNNING, black="one"),
    ]
    write_records(path, records)
    return path


def test_games_are_converted(games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["convert", str(games), str(tmp_path / "games.ggf")])
    assert capsys.readouterr().out == f"3 records written to {tmp_path / 'games.ggf'}\n"
    assert [record.game for record in read_records(tmp_path / "games.ggf")] == [FULL, WIPEOUT, RUNNING]
    main(["convert", str(games), str(tmp_path / "games.dat"), "--to", "sgf-quarry", "--from", "pgn"])
    assert (tmp_path / "games.dat").read_text().startswith("(;GM[2]FF[4]CA[UTF-8]")


def test_the_first_bad_game_stops_a_conversion(games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["convert", str(games), str(tmp_path / "games.wtb")])
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "records convert: record 3 (games.pgn, line 26): WTHOR needs a result in discs\n"
    assert not (tmp_path / "games.wtb").exists()


def test_bad_games_may_be_left_out(games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games.write_text(games.read_text().replace("2. d3 e7", "2. d3 d3"))
    with pytest.raises(SystemExit) as stopped:
        main(["convert", "--skip", str(games), str(tmp_path / "games.wtb")])
    assert stopped.value.code == 1
    output = capsys.readouterr().out.splitlines()
    assert output[0].startswith("games.pgn, line 9: move 4: d3 is illegal for white")
    assert output[1:] == [
        "record 2 (games.pgn, line 26): WTHOR needs a result in discs",
        f"1 records written to {tmp_path / 'games.wtb'}, 2 left out",
    ]


def test_files_are_described(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["info", str(games)])
    assert capsys.readouterr().out.splitlines() == [
        "format         pgn (chess's format, as Edax writes it)",
        "records        3: 2 complete games, 1 that stop early, 0 positions",
        "boards         8x8",
        "moves          7 to 60, 25.3 a game",
        "dates          2006-05-28 to 2007",
        "players        3",
        "events         1",
        "results        White 2, unfinished 1",
        "contradictions 1 (`check` lists them)",
        "unreadable     0",
    ]


def test_files_of_names_and_empty_files_are_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_names(tmp_path / "WTHOR.JOU", ["???", "one"])
    main(["info", str(tmp_path / "WTHOR.JOU")])
    assert capsys.readouterr().out.splitlines()[1] == "names          2, from '???' to 'one'"
    (tmp_path / "games.ggf").touch()
    main(["info", str(tmp_path / "games.ggf")])
    assert "records        0: 0 complete games" in capsys.readouterr().out


def test_contradictions_are_listed_and_give_exit_code_1(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["check", str(games)])
    assert stopped.value.code == 1
    assert capsys.readouterr().out.splitlines() == [
        "games.pgn, line 15: recorded '0-1', but the board says 13-0, a win for black; "
        "the sign is the opposite, as Edax 4.6 writes it after an odd number of moves",
        "2 complete games, 1 that stop early, 0 positions; 1 contradict their result, 0 cannot be read",
    ]


def test_games_that_cannot_be_read_are_listed_and_give_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.txt"
    path.write_text(f"f5f5\n{FULL}\n{SMALL.start}\n")
    with pytest.raises(SystemExit) as stopped:
        main(["check", str(path)])
    assert stopped.value.code == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("games.txt, line 1: move 2: f5 is illegal for white")
    assert lines[1:] == ["1 complete games, 0 that stop early, 1 positions; 0 contradict their result, 1 cannot be read"]


def test_a_file_without_faults_gives_exit_code_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_records(tmp_path / "games.wtb", [GameRecord(FULL), GameRecord(DRAW)])
    main(["check", str(tmp_path / "games.wtb")])
    assert capsys.readouterr().out == "2 complete games, 0 that stop early, 0 positions; 0 contradict their result, 0 cannot be read\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["info", "none.pgn"], "records info: none.pgn: No such file or directory"),
        (["check", "."], "records check: .: "),
        (["convert", "none.pgn", "out.txt"], "records convert: none.pgn: No such file or directory"),
        (["convert", "none.pgn"], "records convert: the following arguments are required: OUT"),
        (["convert", "a", "b", "--to", "doc"], "records convert: argument --to: invalid choice: 'doc'"),
        ([], "records: the following arguments are required: COMMAND"),
    ],
)
def test_bad_input_gives_one_line_and_exit_code_2(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(message)
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("words", [["--help"], ["convert", "--help"], ["info", "--help"], ["check", "--help"]])
def test_the_help_lists_the_formats_and_exit_codes(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert "wthor       .wtb .jou .trn" in text
    if words[0] in ("convert", "check"):
        assert "exit codes: 0 " in text


def test_the_module_is_a_command(games: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "othello_env.records", "check", str(games)], capture_output=True, text=True, check=False, cwd=REPOSITORY
    )
    assert (run.returncode, run.stderr) == (1, "")
    assert run.stdout.endswith("1 contradict their result, 0 cannot be read\n")
