from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from othello_env import Game, Position, RecordFormatError
from tests.conftest import REPOSITORY
from tests.training.evaluation.commands import stopped_line
from training.evaluation import journal as journal_module
from training.evaluation.journal import FORMAT, JOURNAL, GameRecord, Journal, count_lines, find_journal, main, read_journal
from training.evaluation.openings import load_games

# The shortest game on 8x8: White is wiped out by Black's fifth move.
SHORTEST = "f5d6c5f4e3f6g5e6e7"
RECORD = GameRecord(
    game=0,
    black="greedy",
    white="league:a,b=c.txt",
    opening=str(Position.start()),
    moves=SHORTEST,
    black_score=1.0,
    disc_difference=13,
    reason="played out",
    detail='quotes " and ⚫',
    seed=(0, 1, 2),
    seconds=(0.25, 1e-06),
    ended="2031-10-30T12:00:00Z",
    prefix="",
)


def numbered(game: int, **changes: Any) -> GameRecord:
    """The record with another number; games with odd numbers have the colors swapped."""
    record = replace(RECORD, game=game, **changes)
    return replace(record, black=record.white, white=record.black) if game % 2 else record


def write(path: Path, games: int) -> None:
    with Journal(path) as journal:
        journal.begin_session({"settings": {}})
        for game in range(games):
            journal.append(numbered(game))


def games_of(path: Path) -> list[int]:
    return [entry.game for entry in read_journal(path) if isinstance(entry, GameRecord)]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    write(path, 3)
    session, *records = read_journal(path)
    assert isinstance(session, dict)
    assert session["versions"]["python"]
    assert records == [numbered(game) for game in range(3)]
    assert RECORD.replayed() == Game.parse(SHORTEST)
    assert count_lines(path) == 4


def test_each_game_is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    with Journal(path) as journal:
        for game in range(3):
            journal.append(numbered(game))
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


def line_of(record: GameRecord, **changes: object) -> str:
    return json.dumps({**asdict(record), **changes})


def without(name: str) -> str:
    return json.dumps({key: value for key, value in asdict(numbered(1)).items() if key != name})


START, MIDDLE = RECORD.opening, str(Game.parse("f5d6").final)
DAMAGE: dict[str, list[Any]] = {
    "game": [-1, 1 << 40, "1", True, 1.0, None],
    "black": [None, 3, "", "league:a,b=c.txt ", "nobody", "greedy"],  # the last one is White
    "white": ["league:a,b=c.txt", [], "nobody"],
    "opening": ["", START[:-1], START.replace("-", "."), f"-{START}", str(Position.start(6)), MIDDLE, 3],
    "moves": ["f5d", "f9", "pass", "F5", 3, "a1" * 61, "f5" * 8],
    "prefix": ["f5", "f9", None, "f5d"],
    "black_score": [0.7, "1", True, False, None, 0, 0.5, -1, 2, [1]],
    "disc_difference": [10**12, -(10**12), 65, -65, 12, 13.0, True, "13", None, -13, 15],
    "reason": ["boredom", None, ["error"], "rubbish"],  # the last one is a fault in a game that nobody forfeited: see below
    "seconds": [[1], [1, "x"], [1, 2, 3], [-1, 0], [True, 0], [0, False], [1e300, 0], "12", {"a": 1}, None],
    "seed": [3, ["x"], [True], [-1], [1.5], "1", None],
    "ended": ["", "yesterday", 3, None],
    "detail": [None, 3],
}
LINES = [
    "",
    "{",
    "[]",
    "3",
    "null",
    "\x00\x00\x00",
    "[" * 200_000,
    '{"a":' * 100_000,
    f'{{"session": {"[" * 200_000}',
    "9" * 10_000,
    '{"session": 3}',
    '{"session": {}}',
    '{"session": {"format": 99}}',
    '{"session": {"format": true}}',
    '{"session": {"format": [1]}}',
    without("moves"),
    line_of(numbered(1), surprise=1),
    line_of(numbered(1), seconds=[float("nan"), 0]),
    line_of(numbered(1), seconds=[float("inf"), 0]),
    line_of(numbered(0)),  # for the second time
    line_of(replace(RECORD, game=1)),  # not the first one with colors swapped
    line_of(numbered(1), opening=MIDDLE, moves=SHORTEST[4:], prefix="f5d6"),  # not its opening
    line_of(numbered(1), reason="timeout", black_score=0.5),
]


@pytest.mark.parametrize(
    "line",
    [*LINES, *(line_of(numbered(1), **{name: value}) for name, values in DAMAGE.items() for value in values if value != "rubbish")],
    ids=lambda line: line[:60],
)
def test_damage_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "games.jsonl"
    with Journal(path) as journal:
        journal.begin_session({"settings": {"players": ["greedy", "league:a,b=c.txt"]}})
        journal.append(RECORD)
    sound = path.read_bytes()
    path.write_bytes(sound + line_of(numbered(1)).encode() + b"\n")
    assert games_of(path) == [0, 1]
    path.write_bytes(sound + line.encode() + b"\n")
    started = time.monotonic()
    with pytest.raises(RecordFormatError, match=r"games\.jsonl, line 3: ") as caught:
        list(read_journal(path))
    assert len(str(caught.value)) < len(str(path)) + 500
    assert time.monotonic() - started < 5
    with Journal(path):  # and it does not stop a tournament from looking at its last line
        pass


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "_MAX_LINE", 1000)
    path = tmp_path / "games.jsonl"
    write(path, 2)
    sound = path.read_bytes()
    path.write_bytes(sound + b"x" * 999)
    assert games_of(path) == [0, 1]  # the rest of a line that was cut short
    for rest in (b"x" * 1000, b"x" * 5000 + b"\n"):
        path.write_bytes(sound + rest)
        with pytest.raises(RecordFormatError, match="line 4: 1000 bytes or more"):
            games_of(path)


def test_faults_lose_games_at_any_disc_difference(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    with Journal(path) as journal:
        for game, (score, moves, difference) in enumerate([(0.0, "f5", 3), (1.0, "", 0), (1.0, "f5d6", 0), (0.0, "f5d6", 0)]):
            journal.append(numbered(game, reason="died", black_score=score, moves=moves, disc_difference=difference))
    assert games_of(path) == [0, 1, 2, 3]


@pytest.mark.parametrize("board_size", [4, 6, 8])
def test_random_games_are_sound_on_all_board_sizes(tmp_path: Path, board_size: int) -> None:
    path = tmp_path / "games.jsonl"
    rng = np.random.default_rng(board_size)
    expected = []
    with Journal(path) as journal:
        for game in range(20):
            opening = Game.random(game % 4, rng, Position.start(board_size))
            position, moves = opening.final, []
            while not position.is_over:
                moves.append(int(rng.choice(position.legal_squares())))
                position = position.play(moves[-1])
            played = Game(tuple(moves), opening.final)
            changes = {"opening": str(opening.final), "prefix": str(opening), "moves": str(played)}
            difference = position.score("discs")
            journal.append(numbered(2 * game, **changes, disc_difference=difference, black_score=(position.outcome + 1) / 2))
            expected.append((position.discs, difference, position.score("empties_to_winner"), board_size))
    records = [entry for entry in read_journal(path) if isinstance(entry, GameRecord)]
    found = [(record.discs, record.score("discs"), record.score("empties_to_winner"), record.board_size) for record in records]
    assert found == expected
    with pytest.raises(ValueError, match="scoring 'points'"):
        records[0].score("points")  # type: ignore[arg-type]


def test_a_journal_of_format_1_is_read(tmp_path: Path) -> None:
    """Its games that ended by invalid output have another word for it."""
    path = tmp_path / "games.jsonl"
    session = {"session": {"format": 1, "started": "2031-10-30T12:00:00Z", "versions": {}, "settings": {}}}
    path.write_text(f"{json.dumps(session)}\n{line_of(RECORD, reason='rubbish')}\n{line_of(numbered(1))}\n", encoding="utf-8")
    records = [entry for entry in read_journal(path) if isinstance(entry, GameRecord)]
    assert [record.reason for record in records] == ["invalid output", "played out"]
    with Journal(path) as journal:
        journal.begin_session({})
    assert [entry["format"] for entry in read_journal(path) if isinstance(entry, dict)] == [1, FORMAT] == [1, 2]


@pytest.mark.parametrize("found", [0, 3, "1", None])
def test_another_format_is_refused_by_its_name(tmp_path: Path, found: object) -> None:
    (tmp_path / "games.jsonl").write_text(json.dumps({"session": {"format": found}}) + "\n", encoding="utf-8")
    with pytest.raises(RecordFormatError, match=f"a session of format {found!r}; this version reads formats 1 and 2"):
        list(read_journal(tmp_path / "games.jsonl"))


def test_games_are_exported_as_transcripts_with_both_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / JOURNAL
    opening = Game.parse("f5d6")
    full = "X" * 40 + "O" * 23 + "- X"
    with Journal(path) as journal:
        journal.append(RECORD)
        journal.append(numbered(2, opening=str(opening.final), prefix=str(opening), moves="c3", reason="timeout", disc_difference=3))
        journal.append(numbered(4, moves="f5", reason="invalid output", disc_difference=3, black_score=0.0))
        journal.append(numbered(6, opening=full, moves="", disc_difference=17))
    expected = (
        f"{SHORTEST}  # game 0: greedy - league:a,b=c.txt 13-0 by discs, 64-0 with the empties to the winner\n"
        "f5d6c3  # game 2: greedy - league:a,b=c.txt white forfeits (timeout)\n"
        "f5  # game 4: greedy - league:a,b=c.txt black forfeits (invalid output)\n"
    )
    for source in (path, tmp_path):
        main([str(source)])
        output = capsys.readouterr()
        assert output.out == expected
        assert output.err.startswith("1 games begin in positions")
    (tmp_path / "games.txt").write_text(output.out, encoding="utf-8")
    assert load_games(tmp_path / "games.txt") == [Game.parse(moves) for moves in (SHORTEST, "f5d6c3", "f5")]


def test_a_result_is_shown_once_where_both_scores_are_equal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    game = Game.random(59, rng)
    while game.final.is_over or game.final.empties != 1:
        game = Game.random(59, rng)
    last = game.final.play(game.final.legal_squares()[0])
    assert last.empties == 0
    moves = str(Game((*game.moves, game.final.legal_squares()[0])))
    white_wins = last.score("discs") < 0
    with Journal(tmp_path / JOURNAL) as journal:
        journal.append(numbered(0, moves=moves, disc_difference=last.score("discs"), black_score=0.0 if white_wins else 1.0))
    main([str(tmp_path)])
    black, white = last.discs
    assert capsys.readouterr().out == f"{moves}  # game 0: greedy - league:a,b=c.txt {black}-{white}\n"


def test_a_folder_and_a_file_are_both_journals(tmp_path: Path) -> None:
    assert find_journal(tmp_path) == tmp_path / JOURNAL
    assert find_journal(tmp_path / "other.jsonl") == tmp_path / "other.jsonl"


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda folder: folder / "nothing", "nothing: No such file"),
        (lambda folder: folder, "games.jsonl: No such file"),
        (lambda folder: folder.parent.joinpath("damaged.jsonl"), "damaged.jsonl, line 1: no JSON"),
    ],
)
def test_the_command_names_what_is_wrong_in_one_line(
    tmp_path: Path, prepare: Callable[[Path], Path], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "damaged.jsonl").write_text("{\n", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    line = stopped_line(main, [str(prepare(tmp_path / "folder"))], capsys)
    assert line.startswith("journal: ")
    assert message in line


@pytest.mark.skipif(sys.platform == "win32", reason="needs head")
def test_a_reader_that_stops_reading_gets_no_message(tmp_path: Path) -> None:
    write(tmp_path / JOURNAL, 2000)
    command = f"{sys.executable} -m training.evaluation.journal {tmp_path} | head -n 1"
    run = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert run.stderr == ""
    assert run.stdout.count("\n") == 1
