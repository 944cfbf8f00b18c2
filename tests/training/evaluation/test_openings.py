from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from othello_env import Game, Position, RecordFormatError
from training.evaluation.openings import load_openings, random_openings


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
        (f"f5\n{'-' * 64} X\n", "line 2: the game is over"),
        (f"f5\n{Position.start(6)}\n", "line 2: .*the board size differs"),
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
    first, second = (random_openings(20, 8, np.random.default_rng(2), board_size=board_size) for _ in range(2))
    assert first == second
    assert {sum(position.discs) for position in first} == {12}
    assert not any(position.is_over for position in first)
    assert len(set(first)) > 15
