from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from agents.board import (
    BOARD,
    NEIGHBORS,
    NUM_SQUARES,
    QUADRANTS,
    board_arguments,
    embedded,
    embedded_square,
    final_score,
    flips_at,
    mixed_result,
    moves_on,
    result_value,
    settle_on,
    squares_on_board,
    touching,
)
from othello_env import Position, PositionBatch
from othello_env.bitboard import BitboardArray, flips, legal_moves, pack, unpack
from othello_env.squares import BOARD_SIZES
from tests.kernels import kept_kernel
from tests.oracle import DIRECTIONS

MANY = 20_000


@kept_kernel
def look(own: Any, opp: Any, board: Any, moves: Any, wide: Any, flipped: Any, scores: Any) -> None:
    """Write what the functions under test say about each board. flipped: [B, 64]; scores: [B, 2], discs and empties to the winner."""
    for row in range(len(own)):
        moves[row] = moves_on(own[row], opp[row], board)
        wide[row] = touching(own[row])
        for square in range(64):
            flipped[row, square] = flips_at(own[row], opp[row], square)
        for to_winner in range(2):
            scores[row, to_winner] = final_score(own[row], opp[row], board, to_winner)


def played_boards(board_size: int, rng: np.random.Generator) -> tuple[BitboardArray, BitboardArray]:
    """Own and opponent's discs of all positions of random games."""
    games = PositionBatch.start(400, board_size=board_size)
    boards = []
    while not games.is_over.all():
        boards.append((games.own.copy(), games.opp.copy()))
        games.step(games.sample_moves(rng))
    boards.append((games.own.copy(), games.opp.copy()))
    own, opp = (np.concatenate(side) for side in zip(*boards, strict=True))
    return own, opp


def scattered_boards(board_size: int, rng: np.random.Generator) -> tuple[BitboardArray, BitboardArray]:
    """Discs anywhere, from few to a full board, from one side's alone to the other's."""
    shares = rng.dirichlet(np.ones(3), size=MANY)
    contents = (rng.random((MANY, board_size**2))[:, :, None] > shares.cumsum(axis=1)[:, None, :2]).sum(axis=2)
    return pack(contents == 0), pack(contents == 1)


def embed(discs: BitboardArray, board_size: int) -> BitboardArray:
    """Boards in the middle of 8x8 boards, by padding."""
    margin = (8 - board_size) // 2
    squares = unpack(discs, board_size**2).reshape(-1, board_size, board_size)
    padded = np.pad(squares, ((0, 0), (margin, margin), (margin, margin)))
    return pack(padded.reshape(-1, NUM_SQUARES))


@pytest.mark.parametrize("boards", [played_boards, scattered_boards])
@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_moves_flips_and_scores_are_those_of_the_rules_on_every_board_size(board_size: int, boards: Any, rng: np.random.Generator) -> None:
    small_own, small_opp = boards(board_size, rng)
    own, opp = embed(small_own, board_size), embed(small_opp, board_size)
    moves, wide = np.empty_like(own), np.empty_like(own)
    flipped = np.empty((len(own), NUM_SQUARES), dtype=np.uint64)
    scores = np.empty((len(own), 2), dtype=np.int64)
    look(own, opp, BOARD[board_size], moves, wide, flipped, scores)

    np.testing.assert_array_equal(moves, embed(legal_moves(small_own, small_opp, board_size), board_size))
    for square in range(board_size**2):
        free = (small_own | small_opp) >> np.uint64(square) & np.uint64(1) == 0
        move = np.full(int(free.sum()), 1 << square, dtype=np.uint64)
        expected = embed(flips(small_own[free], small_opp[free], move, board_size), board_size)
        np.testing.assert_array_equal(flipped[free, embedded_square(square, board_size)], expected)
    for row in range(0, len(own), 37):
        position = Position(int(small_own[row]), int(small_opp[row]), board_size=board_size)
        assert list(scores[row]) == [position.score("discs"), position.score("empties_to_winner")]


@kept_kernel
def decide(own: Any, opp: Any, board: Any, found: Any, shares: Any, values: Any) -> None:
    """Write what `settle_on` returns, [B, 4], and the values of the boards as finished games, [B, shares]."""
    for row in range(len(own)):
        found[row, 0], found[row, 1], found[row, 2], found[row, 3] = settle_on(own[row], opp[row], board)
        for column in range(len(shares)):
            values[row, column] = result_value(own[row], opp[row], board, shares[column])


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_turns_and_results_are_those_of_the_rules_on_every_board_size(board_size: int, rng: np.random.Generator) -> None:
    small_own, small_opp = (discs[:1500] for discs in scattered_boards(board_size, rng))
    own, opp = embed(small_own, board_size), embed(small_opp, board_size)
    found, shares = np.empty((len(own), 4), dtype=np.uint64), np.array([0.0, 0.75, 1.0])
    values = np.empty((len(own), len(shares)))
    decide(own, opp, BOARD[board_size], found, shares, values)
    counts = dict.fromkeys(("moves", "passes", "ends"), 0)
    for row in range(len(own)):
        given = Position(int(small_own[row]), int(small_opp[row]), board_size=board_size)
        position = given.resolve_pass()
        counts["ends" if given.is_over else "passes" if given.must_pass else "moves"] += 1
        discs = [embedded(discs, board_size) for discs in (position.own, position.opp, position.legal_moves)]
        assert found[row].tolist() == [*discs, int(given.must_pass)]
        margin = given.score("empties_to_winner")
        expected = [(1 - share) * np.sign(margin) + share * margin / board_size**2 for share in shares]
        np.testing.assert_allclose(values[row], expected, atol=1e-12)
    assert min(counts.values()) > 20


@pytest.mark.parametrize("difference", range(-4, 5))
def test_a_result_by_few_discs_is_a_win_a_draw_or_a_loss(difference: int) -> None:
    """On full boards, and with one empty square, which counts for the winner."""
    for empties in (0, 1):
        num_own = (NUM_SQUARES - empties + difference) // 2
        if 2 * num_own - difference != NUM_SQUARES - empties:
            continue
        own = np.array([(1 << num_own) - 1], dtype=np.uint64)
        opp = np.array([((1 << (NUM_SQUARES - empties)) - 1) ^ ((1 << num_own) - 1)], dtype=np.uint64)
        found, values = np.empty((1, 4), dtype=np.uint64), np.empty((1, 2))
        decide(own, opp, BOARD[8], found, np.array([0.0, 1.0]), values)
        sign = int(np.sign(difference))
        assert values[0].tolist() == [sign, (difference + sign * empties) / 64]


def test_results_are_mixed_alike_for_arrays() -> None:
    mixed = mixed_result(np.array([1, 0, -1], dtype=np.int8), np.array([12, 0, -36], dtype=np.int64), 36, 0.75)
    np.testing.assert_allclose(mixed, [0.25 + 0.25, 0, -1])


def test_touching_squares_are_the_set_and_all_beside_it(rng: np.random.Generator) -> None:
    own, opp = scattered_boards(8, rng)
    wide, moves = np.empty_like(own), np.empty_like(own)
    flipped, scores = np.empty((len(own), NUM_SQUARES), dtype=np.uint64), np.empty((len(own), 2), dtype=np.int64)
    look(own, opp, BOARD[8], moves, wide, flipped, scores)
    padded = np.pad(unpack(own, NUM_SQUARES).reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    expected = padded[:, 1:9, 1:9].copy()
    for dr, dc in DIRECTIONS:
        expected |= padded[:, 1 + dr : 9 + dr, 1 + dc : 9 + dc]
    np.testing.assert_array_equal(unpack(wide, NUM_SQUARES), expected.reshape(-1, NUM_SQUARES))


def test_neighbors_are_the_squares_a_king_reaches() -> None:
    for square in range(NUM_SQUARES):
        row, column = divmod(square, 8)
        reached = {(row + dr) * 8 + column + dc for dr, dc in DIRECTIONS if 0 <= row + dr < 8 and 0 <= column + dc < 8}
        assert {other for other in range(NUM_SQUARES) if int(NEIGHBORS[square]) >> other & 1} == reached


def test_the_quadrants_are_four_by_four_and_make_up_the_board() -> None:
    for quadrant, (first_row, first_column) in zip(QUADRANTS, [(0, 0), (0, 4), (4, 0), (4, 4)], strict=True):
        squares = {row * 8 + column for row in range(first_row, first_row + 4) for column in range(first_column, first_column + 4)}
        assert {square for square in range(NUM_SQUARES) if int(quadrant) >> square & 1} == squares


def test_a_small_board_lies_in_the_middle() -> None:
    assert [embedded_square(square, 4) for square in (0, 3, 12, 15)] == [18, 21, 42, 45]
    assert [embedded_square(square, 6) for square in (0, 5, 30, 35)] == [9, 14, 49, 54]
    assert [embedded_square(square, 8) for square in range(NUM_SQUARES)] == list(range(NUM_SQUARES))


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_discs_and_squares_go_to_the_large_board_and_back(board_size: int, rng: np.random.Generator) -> None:
    own = scattered_boards(board_size, rng)[0][:200]
    for small, large in zip(own, embed(own, board_size), strict=True):
        assert embedded(int(small), board_size) == int(large)
    start = Position.start(board_size)
    assert [int(bits) for bits in board_arguments(start.own, start.opp, board_size)[:2]] == [
        sum(1 << embedded_square(square, board_size) for square in range(board_size**2) if discs >> square & 1)
        for discs in (start.own, start.opp)
    ]
    back: npt.NDArray[np.int64] = squares_on_board(board_size)
    assert [int(back[embedded_square(square, board_size)]) for square in range(board_size**2)] == list(range(board_size**2))
    assert (back == -1).sum() == NUM_SQUARES - board_size**2
    assert int(BOARD[board_size]) == sum(1 << square for square in range(NUM_SQUARES) if back[square] >= 0)
