from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

from othello_env import Game, Position, RecordFormatError
from training.evaluation.openings import (
    BALANCED_FILE,
    SOURCES,
    OpeningBook,
    load_games,
    load_openings,
    parse_openings,
    random_openings,
)


def test_a_file_may_mix_transcripts_and_positions_with_comments(tmp_path: Path) -> None:
    game = Game.parse("f5d6c3")
    path = tmp_path / "openings.txt"
    path.write_text(f"# two ways to say the same\n\nf5d6c3  # a transcript\n{game.final}\nF5 D6 C3\n")
    for load in (load_openings, load_games):
        assert load(path) == [game, Game((), game.final), game]


# U+2028, form feed and other characters at which `str.splitlines` ends a line are white space
# inside an opening.
@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_end_at_line_feeds_alone(tmp_path: Path, separator: str, end: str) -> None:
    path = tmp_path / "openings.txt"
    path.write_bytes(f"f5d6{separator}c3{end}f5f6 # one{separator}f5f4{end}f5f4".encode())
    for load in (load_openings, load_games):
        assert load(path) == [Game.parse("f5d6c3"), Game.parse("f5f6"), Game.parse("f5f4")]
    path.write_bytes(f"f5{separator}d6{end}f5a1{end}".encode())
    with pytest.raises(RecordFormatError, match="line 2: move 2"):
        load_openings(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f5d6\nf5a1\n", "line 2: move 2"),
        ("f5d6\n\nhello\n", "line 3: "),
        (f"f5\n{'-' * 63} X\n", "line 2: "),
        (f"f5\n{'-' * 64} X\n", "line 2: the game is over"),
        (f"f5\n{Position.start(6)}\n", "line 2: .* a 6x6 board, but board_size is 8"),
        ("# nothing\n", "no openings"),
        ("", "no openings"),
    ],
)
def test_a_faulty_line_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "openings.txt"
    path.write_text(text)
    with pytest.raises(RecordFormatError, match=message) as caught:
        load_openings(path)
    assert str(path) in str(caught.value)


def test_games_may_be_finished(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_text(f"f5d6c3\n{'X' * 64} O\n")
    assert load_games(path)[1].final.is_over
    with pytest.raises(RecordFormatError, match="line 2: the game is over"):
        load_openings(path)
    path.write_text("f5d6\nf5a1\n")
    with pytest.raises(RecordFormatError, match=r"games.txt, line 2: move 2: a1 is illegal"):
        load_games(path)
    path.write_text("# nothing\n")
    with pytest.raises(RecordFormatError, match="no games in it"):
        load_games(path)


@pytest.mark.parametrize("board_size", [6, 8])
def test_random_openings_repeat_with_their_seed(board_size: int) -> None:
    first, second = (random_openings(20, 8, rng=np.random.default_rng(2), board_size=board_size) for _ in range(2))
    assert first == second
    assert {sum(position.discs) for position in first} == {12}
    assert not any(position.is_over for position in first)
    assert len(set(first)) > 15


def test_a_transcript_with_spaces_and_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "openings.txt"
    path.write_text("\ufefff5d6c4d3c2b3b4b5 c5\n", encoding="utf-8")
    assert load_openings(path) == [Game.parse("f5d6c4d3c2b3b4b5c5")]


def test_random_openings_depend_on_their_number_and_the_seed_alone() -> None:
    book, again, other = OpeningBook("random:6", seed=1), OpeningBook("random:6", seed=1), OpeningBook("random:6", seed=2)
    games = [book[number] for number in range(20)]
    assert [again[number] for number in reversed(range(20))] == games[::-1]
    assert [other[number] for number in range(20)] != games
    assert {len(game.moves) for game in games} == {6}
    assert len(set(games)) > 15
    # The match command takes what tournaments with the same seed play.
    assert parse_openings("random:6", 40, seed=1) == games


def test_random_openings_are_those_of_earlier_tournaments() -> None:
    """A tournament that was begun with an earlier version goes on with the same openings."""
    book = OpeningBook("random:4", seed=3)
    assert [str(book[number]) for number in range(3)] == ["e6f4c3c4", "e6f4e3f2", "e6f4e3d6"]


def test_openings_of_a_file_come_in_its_order_again_and_again(tmp_path: Path) -> None:
    position = Position.start().play("f5")
    path = tmp_path / "openings.txt"
    path.write_text(f"f5d6\n{position}\nf5f6 # the third\n", encoding="utf-8")
    book = OpeningBook(str(path))
    assert [str(book[number]) for number in range(5)] == ["f5d6", "", "f5f6", "f5d6", ""]
    assert book[1].final == position
    assert book.take(10) == [book[number] for number in range(5)]
    assert book.take(0) == load_openings(path)
    assert book.digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_start_is_an_opening_without_moves() -> None:
    book = OpeningBook("start", board_size=6)
    assert book[3] == Game((), Position.start(6))
    assert book.take(4) == [book[0]] * 2
    assert book.digest == ""


def test_balanced_openings_come_in_an_order_of_the_seed_and_around_again_where_they_are_too_few() -> None:
    everything = load_openings(BALANCED_FILE)
    few = parse_openings("balanced", 200, seed=0)
    assert len(few) == len(set(few)) == 100
    assert set(few) < set(everything)
    assert few == parse_openings("balanced", 200, seed=0) != parse_openings("balanced", 200, seed=1)
    shuffled = parse_openings("balanced", 0, seed=0)
    assert shuffled[:100] == few
    assert len(shuffled) == len(everything)
    assert set(shuffled) == set(everything)
    assert parse_openings("balanced", 2 * len(everything) + 20, seed=0) == [*shuffled, *shuffled[:10]]
    book = OpeningBook("balanced", seed=0)
    assert [book[number] for number in range(100)] == few
    assert book.digest == ""


@pytest.mark.parametrize(
    "source", ["foo", "", "Start", "random", "random:", "random:x", "random:-1", "random:²", "start:5", "/does/not/exist", "."]
)
def test_an_unknown_source_is_refused_with_what_is_allowed(source: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(f'openings {source!r}: expected {SOURCES}')}$"):
        OpeningBook(source)


@pytest.mark.parametrize(
    ("source", "board_size", "message"),
    [("random:70", 8, "70 random plies"), ("random:13", 4, "13 random plies"), ("balanced", 6, "'balanced' are of board_size 8, not 6")],
)
def test_openings_that_do_not_exist_are_refused_at_once(source: str, board_size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OpeningBook(source, board_size=board_size)


@pytest.mark.parametrize(
    ("source", "games", "message"),
    [
        ("start", 0, "'start' need a number of games"),
        ("random:4", 0, "'random:4' need a number of games"),
        ("start", 3, "games 3: every opening is played twice"),
        ("balanced", -2, "games -2"),
    ],
)
def test_a_number_of_games_that_cannot_be_played_is_refused(source: str, games: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_openings(source, games, seed=0)
