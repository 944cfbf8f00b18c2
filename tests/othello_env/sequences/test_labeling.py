from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from othello_env import Game, IllegalMoveError, Position
from othello_env.bitboard import BitboardArray, squares_of
from othello_env.sequences import PADDING, label_games, pad_games, random_games, write_passes
from othello_env.squares import BOARD_SIZES
from tests import oracle

# After 8 moves Black has no move, and White plays c5 (the earliest forced pass there is).
EARLY_PASS = Game.parse("f5f6d3g5h5h4f7h6c5")


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_labels_are_those_of_an_independent_program(board_size: int, either_backend: None) -> None:
    moves = random_games(12, board_size, 3)
    labels = label_games(moves, board_size)
    boards = labels.boards("color")
    for game, row in enumerate(moves):
        board, sign = oracle.start_board(board_size), "X"
        for column in range(labels.lengths[game] + 1):
            assert "".join("O-X"[content + 1] for content in boards[game, column]) == "".join(map("".join, board))
            assert labels.side_to_move[game, column] == "XO".index(sign)
            legal = oracle.legal_squares(board, sign)
            assert squares_of(int(labels.legal_moves[game, column])) == tuple(legal)
            assert labels.empties[game, column] == oracle.count(board, "-")
            if column < labels.lengths[game]:
                square = int(row[column])
                assert set(squares_of(int(labels.flipped[game, column]))) == oracle.flipped(board, sign, square)
                board = oracle.play(board, sign, square)
                sign = oracle.next_side(board, sign)


def test_the_side_to_move_is_the_true_one_after_a_pass(either_backend: None) -> None:
    labels = label_games(pad_games([EARLY_PASS.moves]))
    assert labels.side_to_move[0, :10].tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 1, 0]
    assert [labels.position(0, ply) for ply in range(10)] == list(EARLY_PASS.positions())


def test_a_written_pass_that_is_forced_changes_nothing_with_automatic_passes(either_backend: None) -> None:
    omitted = label_games(pad_games([EARLY_PASS.moves]))
    written = label_games(pad_games([[*EARLY_PASS.moves[:8], 64, *EARLY_PASS.moves[8:]]]))
    assert written.position(0, 8) == written.position(0, 9) == omitted.position(0, 8)
    assert written.position(0, 10) == omitted.position(0, 9)
    assert written.flipped[0, 8] == 0
    assert written.lengths[0] == omitted.lengths[0] + 1


def test_without_automatic_passes_a_side_that_must_pass_has_the_move(either_backend: None) -> None:
    labels = label_games(pad_games([[*EARLY_PASS.moves[:8], 64, *EARLY_PASS.moves[8:]]]), auto_pass=False)
    assert labels.side_to_move[0, :11].tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert labels.position(0, 8).must_pass
    mask = labels.legal_mask()
    assert mask[0, 8].nonzero()[0].tolist() == [64]
    assert labels.position(0, 9) == EARLY_PASS.positions()[8]
    with pytest.raises(IllegalMoveError, match=r"game 0, move 9 \(c5\): only the other side can play there"):
        label_games(pad_games([EARLY_PASS.moves]), auto_pass=False)


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_labels_with_written_passes_agree_with_those_without(board_size: int, either_backend: None) -> None:
    moves = random_games(600, board_size, 9)
    omitted = label_games(moves, board_size)
    written_moves = write_passes(moves, board_size)
    written = label_games(written_moves, board_size, auto_pass=False)
    placing, before = written_moves < board_size**2, moves != PADDING
    for name in ("own", "opp", "side_to_move", "legal_moves", "flipped"):
        one, other = getattr(written, name), getattr(omitted, name)
        assert np.array_equal(one[:, : placing.shape[1]][placing], other[:, : before.shape[1]][before]), name
    passes = written.legal_mask()[:, :-1, -1]
    assert np.array_equal(passes == 1, written_moves == board_size**2)
    assert passes.sum() > 50


def test_columns_after_the_last_position_are_zero(either_backend: None) -> None:
    labels = label_games(pad_games([[19, 18], [37]]))
    assert labels.prefix_mask[:, :4].tolist() == [[True, True, True, False], [True, True, False, False]]
    for name in ("own", "opp", "side_to_move", "legal_moves", "empty_squares", "empties"):
        array = getattr(labels, name)
        assert not array[~labels.prefix_mask].any(), name
    assert not labels.boards("color")[~labels.prefix_mask].any()
    assert not labels.legal_mask()[~labels.prefix_mask].any()
    assert labels.flipped[1].tolist() == [1 << 36, *[0] * 59]


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_unpacked_labels_have_the_contents_of_the_bitboards(board_size: int) -> None:
    labels = label_games(random_games(400, board_size, 2), board_size)
    num_squares = board_size**2
    squares = np.arange(num_squares, dtype=np.uint64)

    def has(bits: BitboardArray) -> npt.NDArray[np.int8]:
        bit: BitboardArray = bits[..., None] >> squares & np.uint64(1)
        return bit.astype(np.int8)

    by_side, by_color = labels.boards("side_to_move"), labels.boards("color")
    assert by_side.dtype == by_color.dtype == np.int8
    assert np.array_equal(by_side, has(labels.own) - has(labels.opp))
    assert np.array_equal(by_color, has(labels.black) - has(labels.white))
    assert np.array_equal(has(labels.empty_squares)[labels.prefix_mask], by_color[labels.prefix_mask] == 0)
    assert np.array_equal(labels.legal_mask()[..., :-1], has(labels.legal_moves))
    assert not labels.legal_mask()[..., -1].any(), "passes are made by themselves"
    assert np.array_equal(labels.flipped_mask(), has(labels.flipped))


def test_flipped_discs_are_those_that_change_color(either_backend: None) -> None:
    moves = random_games(300, 8, 11)
    labels = label_games(moves)
    boards = labels.boards("color")
    played = moves != PADDING
    changed = (boards[:, :-1] * boards[:, 1:] == -1).astype(np.int8)
    assert np.array_equal(changed[played], labels.flipped_mask()[played])
    assert (labels.flipped[played] != 0).all()


def test_a_game_that_stops_early_keeps_its_legal_moves(either_backend: None) -> None:
    labels = label_games([[19, 18, 26]])
    assert labels.lengths.tolist() == [3]
    assert labels.position(0, 3) == Position.start().play(19).play(18).play(26)
    assert labels.legal_moves[0, 3] == labels.position(0, 3).legal_moves != 0


@pytest.mark.parametrize("moves", [np.empty((0, 60), dtype=np.uint8), np.full((2, 60), PADDING), np.empty((2, 0), dtype=np.int64)])
def test_games_without_moves_have_the_start_position(moves: npt.NDArray[np.integer], either_backend: None) -> None:
    labels = label_games(moves)
    assert len(labels) == len(moves)
    assert labels.boards("color").shape == (len(moves), moves.shape[1] + 1, 64)
    assert all(labels.position(row, 0) == Position.start() for row in range(len(moves)))


def test_an_illegal_game_is_named(either_backend: None) -> None:
    with pytest.raises(IllegalMoveError, match=r"^game 1, move 3 \(c5\): a disc lies on the square$"):
        label_games(pad_games([[19, 18], [19, 34, 34], [0]]))


def test_wrong_arguments_are_refused() -> None:
    labels = label_games([[19]])
    with pytest.raises(ValueError, match="perspective 'mine': expected one of side_to_move, color"):
        labels.boards("mine")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="game 0 after 2 moves: expected 0 to 1"):
        labels.position(0, 2)
    with pytest.raises(ValueError, match="board_size 5"):
        label_games([[19]], 5)


def test_recorded_tournament_games_give_the_positions_of_game(shared_data: Path) -> None:
    lines = (shared_data / "games.tsv").read_text(encoding="utf-8").splitlines()
    records = [line.split("\t") for line in lines if not line.startswith("#")]
    games = [Game.parse(record[8]) for record in records]
    labels = label_games(pad_games(game.moves for game in games))
    for row in range(0, len(games), 20):
        assert tuple(labels.position(row, ply) for ply in range(len(games[row].moves) + 1)) == games[row].positions()
    final = labels.boards("color")[np.arange(len(games)), labels.lengths]
    discs = [f"{(board == 1).sum()}-{(board == -1).sum()}" for board in final]
    assert discs == [record[5] for record in records]
    # Forced passes, as "ply:side" before the move with that index.
    for row, record in enumerate(records):
        side = labels.side_to_move[row]
        passes = [f"{ply}:{'WB'[side[ply]]}" for ply in range(1, labels.lengths[row] + 1) if side[ply] == side[ply - 1]]
        if record[6] == "1":
            assert passes == ([] if record[7] == "-" else [entry for entry in record[7].split(",") if int(entry.split(":")[0]) <= 60])
