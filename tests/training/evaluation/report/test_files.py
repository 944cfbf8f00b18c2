from __future__ import annotations

import csv
import json
import tracemalloc
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from othello_env.command import missing_extra
from othello_env.errors import RecordFormatError
from othello_env.squares import BOARD_SIZES
from tests.training.evaluation.report.journals import lost_by, page_of, played, reported, round_robin, write_journal
from training.evaluation.journal import GameRecord
from training.evaluation.report import files, write_report


def test_a_report_has_a_page_markdown_and_tables_with_the_same_numbers(tmp_path: Path) -> None:
    games = round_robin(["one", "two", "three"], 5)
    out = reported(tmp_path, games, anchor=("two", 1000))
    assert sorted(path.name for path in out.iterdir()) == ["crosstable.csv", "games.csv", "ratings.csv", "report.html", "report.md"]
    with (out / "games.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(int(row["game"]), row["black"], row["moves"]) for row in rows] == [(one.game, one.black, one.moves) for one in games]
    assert (rows[0]["black_seconds"], rows[0]["white_seconds"], rows[3]["seed"]) == ("0.25", "0.5", "0 3")
    with (out / "ratings.csv").open(newline="") as file:
        ratings = {row["player"]: row for row in csv.DictReader(file)}
    assert float(ratings["two"]["elo"]) == 1000
    with (out / "crosstable.csv").open(newline="") as file:
        cells = {(row["player"], row["opponent"]): row for row in csv.DictReader(file)}
    assert len(cells) == 6
    assert float(cells["one", "two"]["score"]) + float(cells["two", "one"]["score"]) == pytest.approx(1)
    wins = sum(
        (one.black_score if one.black == "one" else 1 - one.black_score) == 1 for one in games if {one.black, one.white} == {"one", "two"}
    )
    assert int(cells["one", "two"]["wins"]) == wins
    text, markdown = page_of(out).text, (out / "report.md").read_text(encoding="utf-8")
    for name in ("one", "two", "three"):
        for document in (text, markdown):
            assert name in document
            assert f"{float(ratings[name]['elo']):.0f}".replace("-", "−") in document
    assert f"{float(cells['one', 'two']['score']):.1%}" in text
    assert f"{float(cells['one', 'two']['score']):.1%}" in markdown


def test_copies_of_games_are_pointed_out(tmp_path: Path) -> None:
    first, second = round_robin(["one", "two"], 1)
    games = [replace((first, second)[number % 2], game=number) for number in range(40)]
    assert "Only 2 of the 40 games are distinct" in page_of(reported(tmp_path, games)).text


def test_an_empty_journal_makes_a_page_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.touch()
    write_report(path, tmp_path)
    assert "No game has been played yet." in page_of(tmp_path).text
    assert "No game has been played yet." in (tmp_path / "report.md").read_text()
    assert "No game" in page_of(reported(tmp_path, [], {"players": ["one", "two"]})).text


def test_one_game_makes_a_page_that_says_what_is_missing(tmp_path: Path) -> None:
    page = page_of(reported(tmp_path, [played(0, "one", "two")], accuracy_games=5))
    assert "The only game." in page.text
    assert "Not in this table, nor in the ratings: 1 game without" in page.text
    assert len(page.data["games"]) == 1


def test_only_draws_make_a_page_that_says_so(tmp_path: Path) -> None:
    draw = next(game for game in (played(number, "one", "two", board_size=4) for number in count()) if game.black_score == 0.5)
    games = [replace(draw, game=0), replace(draw, game=1, black="two", white="one")]
    assert "All games are draws." in page_of(reported(tmp_path, games)).text


def test_players_that_never_met_are_in_groups_of_their_own(tmp_path: Path) -> None:
    games = round_robin(["one", "two"], 3) + [replace(one, game=one.game + 6) for one in round_robin(["three", "four"], 3)]
    out = reported(tmp_path, games)
    page = page_of(out)
    assert page.tags["svg"] > 5
    assert "Group" in page.text
    with (out / "ratings.csv").open(newline="") as file:
        assert {row["group"] for row in csv.DictReader(file)} == {"1", "2"}


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_reports_are_made_for_every_board_size(tmp_path: Path, board_size: int) -> None:
    page = page_of(reported(tmp_path, round_robin(["one", "two"], 4, board_size=board_size), accuracy_games=8))
    assert all(len(opening) == board_size**2 + 2 for opening in page.data["openings"])


def test_endgames_are_judged_where_the_solver_is(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    told: list[tuple[str, int, int]] = []
    out = reported(tmp_path, round_robin(["one", "two"], 3), accuracy_games=4, progress=lambda *work: told.append(work))
    for document in (page_of(out).text, (out / "report.md").read_text()):
        assert "The endgame moves of 4 games" in document
        assert "Discs lost per move" in document
    work, done, total = told[-1]
    assert (work, done) == ("judging endgames", total)


def test_endgames_are_left_out_where_the_solver_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise missing_extra("numba", "the solver")

    monkeypatch.setattr(files, "exact_solvers", missing)
    page = page_of(reported(tmp_path, round_robin(["one", "two"], 3), accuracy_games=4))
    assert "not compared with perfect play: the solver needs numba; in a clone: pip install" in page.text


def test_the_page_has_a_bounded_sample_and_the_games_lost_by_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_REPLAYS", 8)
    games = round_robin(["one", "two", "three"], 10)
    for number in (33, 41):
        games[number] = lost_by(games[number], "illegal move", f"f{number % 8 + 1} in a position")
    page = page_of(reported(tmp_path, games))
    numbers = [one["game"] for one in page.data["games"]]
    assert {33, 41} <= set(numbers)
    assert 8 <= len(numbers) <= 10
    assert "f2 in a position" in page.text
    assert "2 of" not in page.text.split("Games lost by faults")[-1].split("Time")[0]


ONE = played(0, "one", "two")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"moves": "a1" + ONE.moves[2:]}, "game 0: move 1"),
        ({"disc_difference": 0, "black_score": 0.5}, "game 0: its moves end in a disc difference of"),
    ],
)
def test_a_game_that_contradicts_itself_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(RecordFormatError, match=message):
        reported(tmp_path, [replace(ONE, **change)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"disc_difference": 10**12}, "disc_difference"),
        ({"disc_difference": 66}, "disc_difference"),
        ({"moves": "a1" * 10**5}, "100000 moves"),
        ({"seconds": (1e300, 0.1)}, "seconds"),
    ],
)
def test_values_out_of_range_are_refused_before_anything_is_made_from_them(tmp_path: Path, change: dict[str, object], message: str) -> None:
    tracemalloc.start()
    with pytest.raises(RecordFormatError, match=f"line 2: .*{message}"):
        reported(tmp_path, [replace(ONE, **change)])  # type: ignore[arg-type]
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def test_more_players_than_can_be_compared_are_refused_without_a_matrix_of_them(tmp_path: Path) -> None:
    names = [f"player {number}" for number in range(5000)]
    tracemalloc.start()
    with pytest.raises(ValueError, match="5,000 players"):
        reported(tmp_path, round_robin(["player 0", "player 1"], 1), {"players": names})
    assert tracemalloc.get_traced_memory()[1] < 60_000_000
    tracemalloc.stop()


def test_a_journal_that_is_damaged_from_the_start_makes_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text("nonsense\n")
    with pytest.raises(RecordFormatError, match="line 1"):
        write_report(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_report_that_fails_leaves_the_old_files(tmp_path: Path) -> None:
    games = round_robin(["one", "two"], 2)
    out = reported(tmp_path, games)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    journal = write_journal(tmp_path / "games.jsonl", games)
    journal.write_text(journal.read_text() + "nonsense\n")
    with pytest.raises(RecordFormatError):
        write_report(journal, out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_memory_does_not_grow_with_the_number_of_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_REPLAYS", 20)
    peaks = []
    for pairs in (150, 1500):
        path = tmp_path / f"{pairs}.jsonl"
        write_many(path, pairs, openings=20)
        tracemalloc.start()
        write_report(path, tmp_path / "out", accuracy_games=0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 1_300_000  # the records of all games would take three times as much


def write_many(path: Path, pairs: int, *, openings: int = 50) -> None:
    """Write a journal of three players with many different games, made from few."""
    games = [one for pair in range(openings) for one in (played(2 * pair, "", ""), played(2 * pair + 1, "", ""))]
    pairings = [("one", "two"), ("one", "three"), ("two", "three")]
    with path.open("w", encoding="utf-8") as file:
        for number in range(2 * pairs):
            first, second = pairings[number // 2 % 3]
            one = games[number % len(games)]
            values = {name: getattr(one, name) for name in GameRecord.__dataclass_fields__} | {
                "game": number,
                "black": (first, second)[number % 2],
                "white": (second, first)[number % 2],
            }
            file.write(json.dumps(values) + "\n")


@pytest.mark.slow
def test_a_hundred_thousand_games_need_little_memory(tmp_path: Path) -> None:
    write_many(tmp_path / "games.jsonl", 50_000)
    tracemalloc.start()
    write_report(tmp_path / "games.jsonl", tmp_path / "out", accuracy_games=0)
    assert tracemalloc.get_traced_memory()[1] < 30_000_000
    tracemalloc.stop()
    assert (tmp_path / "out" / "report.html").stat().st_size < 1_000_000
