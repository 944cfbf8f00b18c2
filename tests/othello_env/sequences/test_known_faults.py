"""The faults of the board class and the data set code that most research on Othello sequences shares, each with the input that shows it.

likenneth/othello_world (data/othello.py, mingpt/dataset.py,
mechanistic_interpretability/mech_interp_othello_utils.py) and alfredclwong/othello-gpt
(data/generate.py), read in November 2026.
"""

from __future__ import annotations

import pickle
import time
from pathlib import Path

import numpy as np
import pytest

from othello_env import Game, Position, RecordFormatError
from othello_env.sequences import (
    PADDING,
    IllegalReason,
    find_illegal_moves,
    label_games,
    make_tokenizer,
    omit_passes,
    pad_games,
    random_games,
    read_games,
    write_games,
)


def test_w1_games_and_labels_take_microseconds_not_13_ms(either_backend: None) -> None:
    """Theirs: 13.2 ms for a random game, 12.6 ms for the legal moves of its positions. The bounds here leave room for any machine."""
    random_games(300, 8, 0)
    label_games(random_games(300, 8, 0))  # compiled
    start = time.perf_counter()
    moves = random_games(2_000, 8, 1)
    assert (time.perf_counter() - start) / 2_000 < 0.0132 / 10
    start = time.perf_counter()
    label_games(moves).legal_mask()
    assert (time.perf_counter() - start) / 2_000 < 0.0126 / 10


def test_w2_a_move_of_the_other_side_is_illegal_where_the_mover_has_moves(either_backend: None) -> None:
    """`umpire` takes 20 as the first move, as White's, and has Black move again."""
    verdicts = find_illegal_moves(np.array([[20]]))
    assert (verdicts.first_illegal[0], verdicts.reason(0)) == (0, IllegalReason.OTHER_SIDE)


def test_w3_the_side_to_move_is_not_the_parity_of_the_ply() -> None:
    """Labels by parity are wrong at some ply in 34.5 % of random games, and in 1.17 % of their positions."""
    moves = random_games(40_000, 8, 2)
    labels = label_games(moves)
    before_a_move = moves != PADDING
    wrong = (labels.side_to_move[:, :-1] != np.arange(60) % 2) & before_a_move
    assert abs(wrong.any(axis=1).mean() - 0.345) < 4.5 * np.sqrt(0.345 * 0.655 / 40_000)
    assert abs(wrong.sum() / before_a_move.sum() - 0.0117) < 4.5 * wrong.sum(axis=1).std() / 60 / np.sqrt(40_000)
    # The same share among games of exactly 60 moves, which Nanda's filter keeps.
    full = before_a_move.all(axis=1)
    assert abs(wrong[full].any(axis=1).mean() - 0.345) < 0.01
    # Where parity is right, mine and theirs by parity are right as well.
    few = label_games(moves[:2_000])
    sign = np.where(np.arange(60) % 2 == 0, np.int8(1), np.int8(-1))[:, None]
    differs = (few.boards("side_to_move")[:, :-1] != few.boards("color")[:, :-1] * sign).any(axis=2)
    assert np.array_equal(differs & before_a_move[:2_000], wrong[:2_000])


def test_w4_their_number_of_d3_is_26_and_ours_is_19() -> None:
    assert make_tokenizer("squares", orientation="transposed").decode([[26]]).tolist() == [[19]]
    assert Game.parse("d3").moves == (19,)


def test_w5_names_count_rows_from_1() -> None:
    """Their labels run from A0 to H7."""
    names = make_tokenizer("othello_gpt", orientation="transposed").names
    assert (names[1], names[2], names[8], names[60]) == ("a1", "a2", "a8", "h8")


def test_w6_a_written_pass_does_not_cut_the_game() -> None:
    transcript = "f5f6d3g5h5h4f7h6" + "pa" + "c5"
    assert len(Game.parse(transcript).moves) == 9
    squares = [37, 45, 19, 38, 39, 31, 53, 47, 64, 34]
    decoded = make_tokenizer("squares").decode([squares])
    assert decoded.tolist() == [squares]
    assert label_games(decoded).position(0, 10) == Game.parse(transcript).final
    assert omit_passes(decoded)[0, :9].tolist() == list(Game.parse(transcript).moves)


def test_w7_a_data_set_does_not_change_while_it_is_read(tmp_path: Path) -> None:
    """`CharDataset` appends -100 to the game that it reads."""
    short = [game for game in random_games(3_000, 8, 3).tolist() if PADDING in game]
    games = [[move for move in game if move != PADDING] for game in short]
    before = [list(game) for game in games]
    moves = pad_games(games)
    snapshot = moves.copy()
    tokenizer = make_tokenizer("othello_gpt")
    first = tokenizer.encode(moves)
    second = tokenizer.encode(moves)
    label_games(moves)
    find_illegal_moves(moves)
    assert games == before
    assert len(games) > 5
    assert np.array_equal(moves, snapshot)
    assert np.array_equal(first, second)
    first[:] = 0
    assert np.array_equal(tokenizer.decode(second), snapshot), "the tokens share no memory with the games"


def test_w8_reading_deletes_nothing_and_generating_repeats(tmp_path: Path) -> None:
    """`Othello(ood_num=-1)` deletes pickles of fewer than 90,000 games; its games have no seed."""
    files = {
        "short.pickle": pickle.dumps([[19, 18]]),
        "damaged.pickle": pickle.dumps([[19, 18]])[:-3],
        "empty.npy": b"",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        try:
            assert read_games(tmp_path / name)[0, :2].tolist() == [19, 18]
            assert name == "short.pickle"
        except RecordFormatError:
            assert name != "short.pickle"
    write_games(tmp_path / "games.npy", random_games(100, 8, 9))
    assert np.array_equal(read_games(tmp_path / "games.npy"), random_games(100, 8, 9))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name in files} == files


def test_w9_the_start_position_stays_the_start_position() -> None:
    """`initial_state` is the board itself: after one move it has five discs."""
    labels = label_games(random_games(50, 8, 4))
    assert {labels.position(row, 0) for row in range(50)} == {Position.start()}
    assert (labels.empties[:, 0] == 60).all()


@pytest.mark.parametrize(("board_size", "passes_per_game"), [(6, 0.552), (8, 0.447)])
def test_w10_games_with_passes_are_kept(board_size: int, passes_per_game: float) -> None:
    """Wong's generator throws them away, which changes the distribution."""
    moves = random_games(20_000, board_size, 5)
    side = label_games(moves, board_size).side_to_move
    passes = ((side[:, 1:-1] == side[:, :-2]) & (moves[:, 1:] != PADDING)).sum(axis=1)
    assert abs(passes.mean() - passes_per_game) < 0.03
    assert passes.max() >= 4
