from __future__ import annotations

from pathlib import Path

import pytest

from othello_env import Game, Position
from training.evaluation.opening_book import OpeningBook
from training.evaluation.openings import parse_openings


def test_random_openings_depend_on_their_number_and_the_seed_alone() -> None:
    book, again, other = OpeningBook("random:6", seed=1), OpeningBook("random:6", seed=1), OpeningBook("random:6", seed=2)
    games = [book.game(number) for number in range(20)]
    assert [again.game(number) for number in reversed(range(20))] == games[::-1]
    assert [other.game(number) for number in range(20)] != games
    assert {len(game.moves) for game in games} == {6}
    assert len(set(games)) > 15


def test_openings_of_a_file_come_in_its_order_again_and_again(tmp_path: Path) -> None:
    position = Position.start().play("f5")
    (tmp_path / "openings.txt").write_text(f"f5d6\n{position}\nf5f6 # the third\n", encoding="utf-8")
    book = OpeningBook(str(tmp_path / "openings.txt"))
    assert [str(book.game(number)) for number in range(5)] == ["f5d6", "", "f5f6", "f5d6", ""]
    assert book.game(1).final == position


def test_balanced_openings_are_those_of_a_match_with_the_same_seed() -> None:
    book = OpeningBook("balanced", seed=5)
    assert [book.game(number).final for number in range(50)] == parse_openings("balanced", 100, seed=5)
    assert all(len(book.game(number).moves) == 8 for number in range(50))


def test_the_start_is_an_opening_without_moves() -> None:
    assert OpeningBook("start", board_size=6).game(3) == Game((), Position.start(6))


@pytest.mark.parametrize(
    ("source", "board_size", "message"),
    [
        ("random:", 8, "number of plies"),
        ("random:-1", 8, "number of plies"),
        ("random:70", 8, "70 random plies"),
        ("balanced", 6, "board_size 8, not 6"),
        ("/does/not/exist", 8, "/does/not/exist"),
    ],
)
def test_sources_that_are_none_are_refused_at_once(source: str, board_size: int, message: str) -> None:
    with pytest.raises((ValueError, OSError), match=message):
        OpeningBook(source, board_size=board_size)
