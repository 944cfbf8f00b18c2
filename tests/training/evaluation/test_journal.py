from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from othello_env import Game, Position, RecordFormatError
from training.evaluation.accuracy import load_games
from training.evaluation.journal import GameRecord, Journal, main, read_journal

RECORD = GameRecord(
    game=0,
    black="greedy",
    white="league:a,b=c.txt",
    opening=str(Position.start()),
    moves="f5d6c3",
    black_score=0.5,
    disc_difference=0,
    reason="played out",
    detail='quotes " and ⚫',
    seed=(0, 1, 2),
    seconds=(0.25, 1e-06),
    ended="2031-10-30T12:00:00Z",
    prefix="",
)


def write(path: Path, games: int) -> None:
    with Journal(path) as journal:
        journal.begin_session({"settings": {}})
        for game in range(games):
            journal.append(replace(RECORD, game=game))


def games_of(path: Path) -> list[int]:
    return [entry.game for entry in read_journal(path) if isinstance(entry, GameRecord)]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    write(path, 3)
    session, *records = read_journal(path)
    assert isinstance(session, dict)
    assert session["versions"]["python"]
    assert records == [replace(RECORD, game=game) for game in range(3)]
    assert RECORD.replayed() == Game.parse("f5d6c3")


def test_each_game_is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    with Journal(path) as journal:
        for game in range(3):
            journal.append(replace(RECORD, game=game))
            assert games_of(path) == list(range(game + 1))


@pytest.mark.parametrize("cut", [1, 2, 50, 10_000_000])
def test_a_last_line_that_was_cut_short_is_removed(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "games.jsonl"
    write(path, 3)
    whole = path.read_bytes()
    path.write_bytes(whole[: -min(cut, len(whole.splitlines(keepends=True)[-1]))])
    assert games_of(path) == [0, 1]
    with Journal(path) as journal:
        journal.append(replace(RECORD, game=2))
    assert path.read_bytes() == whole


def test_a_last_line_that_is_damaged_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    write(path, 2)
    whole = path.read_bytes()
    for damage in (b"\x00" * 50 + b"\n", b'{"game": 2, \n', b"\n"):
        path.write_bytes(whole + damage)
        with Journal(path):
            pass
        assert path.read_bytes() == whole


def test_a_cut_line_longer_than_one_look_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    write(path, 1)
    whole = path.read_bytes()
    path.write_bytes(whole + b"x" * 200_000)
    with Journal(path):
        pass
    assert path.read_bytes() == whole
    path.write_bytes(b"y" * 200_000)
    with Journal(path):
        pass
    assert path.read_bytes() == b""


def without(name: str) -> str:
    values = json.loads(line_of(RECORD))
    del values[name]
    return json.dumps(values)


def line_of(record: GameRecord, **changes: object) -> str:
    values = {name: getattr(record, name) for name in GameRecord.__slots__}
    return json.dumps({**values, **changes})


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "3",
        '{"session": 3}',
        '{"session": {"format": 99}}',
        without("moves"),
        line_of(RECORD, surprise=1),
        line_of(RECORD, game=-1),
        line_of(RECORD, game=1 << 40),
        line_of(RECORD, game="0"),
        line_of(RECORD, black=None),
        line_of(RECORD, black_score=0.7),
        line_of(RECORD, black_score="1"),
        line_of(RECORD, reason="boredom"),
        line_of(RECORD, seconds=[1]),
        line_of(RECORD, seconds=[1, "x"]),
        line_of(RECORD, seed=3),
        line_of(RECORD, seed=["x"]),
        line_of(RECORD),
        "\x00\x00\x00",
    ],
)
def test_damage_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "games.jsonl"
    write(path, 1)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(RecordFormatError, match=r"games\.jsonl, line 3: "):
        list(read_journal(path))


def test_games_are_exported_as_transcripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.jsonl"
    opening = Game.parse("f5d6")
    with Journal(path) as journal:
        journal.append(replace(RECORD, moves="f5d6c3", disc_difference=-4, black_score=0.0))
        journal.append(
            replace(RECORD, game=1, opening=str(opening.final), prefix=str(opening), moves="c3", reason="timeout", black_score=1.0)
        )
        journal.append(replace(RECORD, game=2, opening="X" * 20 + "-" * 24 + "O" * 20 + " X", moves=""))
    main([str(path)])
    output = capsys.readouterr()
    assert output.out == ("f5d6c3  # game 0: greedy - league:a,b=c.txt -4\nf5d6c3  # game 1: greedy - league:a,b=c.txt 1 (timeout)\n")
    assert output.err.startswith("1 games begin in positions")
    (tmp_path / "games.txt").write_text(output.out, encoding="utf-8")
    assert load_games(tmp_path / "games.txt") == [Game.parse("f5d6c3")] * 2
    with pytest.raises(SystemExit, match="/does/not/exist"):
        main(["/does/not/exist"])
