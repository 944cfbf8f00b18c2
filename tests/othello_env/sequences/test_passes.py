from __future__ import annotations

import numpy as np
import pytest

from othello_env import Game, IllegalMoveError
from othello_env.sequences import PADDING, find_illegal_moves, omit_passes, pad_games, random_games, write_passes
from othello_env.squares import BOARD_SIZES

EARLY_PASS = Game.parse("f5f6d3g5h5h4f7h6c5").moves  # Black passes before c5


def test_forced_passes_are_written_between_moves(either_backend: None) -> None:
    written = write_passes(pad_games([EARLY_PASS, EARLY_PASS[:8], (19,)]))
    assert written.tolist() == [
        [*EARLY_PASS[:8], 64, EARLY_PASS[8]],
        [*EARLY_PASS[:8], PADDING, PADDING],  # the game stops before the pass
        [19, *[PADDING] * 9],
    ]


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_omitting_undoes_writing(board_size: int, either_backend: None) -> None:
    moves = random_games(500, board_size, 17)
    written = write_passes(moves, board_size)
    assert (written == board_size**2).sum() > 100
    assert find_illegal_moves(written, board_size, auto_pass=False).is_legal.all()
    assert np.array_equal(omit_passes(written, board_size), moves)
    assert np.array_equal(write_passes(written, board_size), written), "written passes are not written twice"


def test_games_with_some_passes_written_get_the_others() -> None:
    moves = random_games(300, 4, 3)
    written = write_passes(moves, 4, length=24)
    half = written.copy()
    for row in half:
        passes = np.flatnonzero(row == 16)
        if len(passes):  # leave the first pass out
            row[passes[0] : -1] = row[passes[0] + 1 :].copy()
    assert not np.array_equal(half, written)
    assert np.array_equal(write_passes(half, 4, length=24), written)


def test_the_arrays_given_stay_as_they_are() -> None:
    moves = write_passes(random_games(50, 4, 3), 4)
    before = moves.copy()
    for result in (omit_passes(moves, 4), write_passes(moves, 4)):
        result[:] = 0
    assert np.array_equal(moves, before)


def test_a_length_is_kept_or_refused() -> None:
    moves = pad_games([EARLY_PASS])
    assert write_passes(moves, length=67).shape == (1, 67)
    assert omit_passes(moves, length=9).shape == (1, 9)
    with pytest.raises(ValueError, match="game 0: 10 entries; expected at most 9"):
        write_passes(moves, length=9)
    with pytest.raises(ValueError, match="game 0: 9 entries; expected at most 8"):
        omit_passes(moves, length=8)


def test_gaps_are_not_closed() -> None:
    """A move after padding stays one, for the referee to find."""
    assert omit_passes([[19, 64, PADDING, 18]], length=4).tolist() == [[19, PADDING, 18, PADDING]]


def test_passes_are_written_into_legal_games_only() -> None:
    with pytest.raises(IllegalMoveError, match=r"game 1, move 1 \(e3\): only the other side can play there"):
        write_passes([[19], [20]])
    with pytest.raises(IllegalMoveError, match=r"game 0, move 2 \(pass\): a pass that is not forced"):
        write_passes([[19, 64]])


def test_no_games_stay_none() -> None:
    assert write_passes(np.empty((0, 60), dtype=np.uint8)).shape == (0, 0)
    assert omit_passes(np.empty((0, 70), dtype=np.uint8)).shape == (0, 60)
