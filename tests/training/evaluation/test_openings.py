from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from othello_env import Game, Position, RecordFormatError
from training.evaluation.openings import BALANCED_FILE, load_openings, parse_openings, random_openings


def test_a_file_may_mix_transcripts_and_positions_with_comments(tmp_path: Path) -> None:
    position = Game.parse("f5d6c3").final
    path = tmp_path / "openings.txt"
    path.write_text(f"# two ways to say the same\n\nf5d6c3  # a transcript\n{position}\nF5 D6 C3\n")
    assert load_openings(path) == [position] * 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f5d6\nf5a1\n", "line 2: move 2"),
        ("f5d6\n\nhello\n", "line 3: "),
        (f"f5\n{'-' * 63} X\n", "line 2: "),
        (f"f5\n{'-' * 64} X\n", "line 2: .* is over"),
        (f"f5\n{Position.start(6)}\n", "line 2: .* not of board size 8"),
        ("# nothing\n", "no openings"),
    ],
)
def test_a_faulty_line_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "openings.txt"
    path.write_text(text)
    with pytest.raises(RecordFormatError, match=message) as caught:
        load_openings(path)
    assert str(path) in str(caught.value)


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
    assert load_openings(path) == [Game.parse("f5d6c4d3c2b3b4b5c5").final]


def test_openings_of_the_command_line(tmp_path: Path) -> None:
    assert parse_openings("start", 4, seed=0) == [Position.start()] * 2
    assert parse_openings("start", 2, seed=0, board_size=6) == [Position.start(6)]
    random = parse_openings("random:4", 20, seed=0)
    assert len(random) == 10
    assert all(sum(position.discs) == 8 for position in random)
    assert random == parse_openings("random:4", 20, seed=0) != parse_openings("random:4", 20, seed=1)
    file = tmp_path / "openings.txt"
    file.write_text("f5d6\nf5f6\nf5f4\n")
    assert parse_openings(str(file), 0, seed=0) == load_openings(file)
    assert parse_openings(str(file), 10, seed=0) == [*load_openings(file), *load_openings(file)[:2]]


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
    with pytest.raises(ValueError, match="'balanced' are of board_size 8, not 6"):
        parse_openings("balanced", 10, seed=0, board_size=6)


@pytest.mark.parametrize(
    ("source", "games", "message"),
    [
        ("random:x", 10, "'random:x': expected a number of plies"),
        ("random:", 10, "'random:': expected a number of plies"),
        ("random:²", 10, "expected a number of plies"),
        ("start", 0, "'start' need a number of games"),
        ("start", 3, "games 3: every opening is played twice"),
        ("start", -2, "games -2"),
    ],
)
def test_wrong_openings_of_the_command_line_are_refused(source: str, games: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_openings(source, games, seed=0)
    for missing in ("nothing.txt", "start:5"):
        with pytest.raises(FileNotFoundError):
            parse_openings(missing, 10, seed=0)
