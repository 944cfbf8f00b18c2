"""What single agents play, on boards small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pytest

from agents import make_agent
from agents.positional import TABLES, square_weights
from othello_env import Position, PositionBatch
from othello_env.symmetry import NUM_SYMMETRIES, transform_policy


def move_of(spec: str, position: Position) -> int:
    return int(make_agent(spec).select_moves(PositionBatch.from_positions([position]), np.random.default_rng(0))[0])


def test_greedy_turns_the_most_discs() -> None:
    position = Position.parse("-OX-----" + "-OOX----" + "--------" * 6 + "X")
    assert move_of("greedy", position) == 8  # a2 turns two discs, a1 one


def test_positional_agents_prefer_the_corner_to_more_discs() -> None:
    position = Position.parse("-OX-----" + "-OOX----" + "--------" * 6 + "X")
    for table in ("swh", "heur", "bench"):
        assert move_of(f"positional:table={table}", position) == 0


def test_the_published_tables_are_as_printed() -> None:
    swh, heur, bench = (TABLES[name].reshape(8, 8) for name in ("swh", "heur", "bench"))
    np.testing.assert_array_equal(swh[0], np.array([1, -0.25, 0.1, 0.05, 0.05, 0.1, -0.25, 1], dtype=np.float32))
    np.testing.assert_array_equal(swh[3], np.array([0.05, 0.01, 0.02, 0.01, 0.01, 0.02, 0.01, 0.05], dtype=np.float32))
    np.testing.assert_array_equal(heur[1], [-25, -25, 2, 2, 2, 2, -25, -25])
    np.testing.assert_array_equal(heur[5], [10, 2, 5, 1, 1, 5, 2, 10])
    printed = """80 -26 24 -1 -5 28 -18 76 -23 -39 -18 -9 -6 -8 -39 -1 46 -16 4 1 -3 6 -20 52 -13 -5 2 -1 4 3 -12 -2
    -5 -6 1 -2 -3 0 -9 -5 48 -13 12 5 0 5 -24 41 -27 -53 -11 -1 -11 -16 -58 -15 87 -25 27 -1 5 36 -3 100"""
    assert bench.ravel().tolist() == [float(number) for number in printed.split()]
    for table in (TABLES["swh"], TABLES["heur"]):
        for symmetry in range(NUM_SYMMETRIES):
            np.testing.assert_array_equal(transform_policy(np.append(table, 0), symmetry)[:-1], table)


def test_small_boards_take_the_corners_of_the_tables() -> None:
    # The first two and the last two rows and columns of the printed table.
    small = [[80, -26, -18, 76], [-23, -39, -39, -1], [-27, -53, -58, -15], [87, -25, -3, 100]]
    np.testing.assert_array_equal(square_weights("bench", 4).reshape(4, 4), small)
    numbered = square_weights("heur", 6).reshape(6, 6)
    np.testing.assert_array_equal(numbered[0], [100, -25, 10, 10, -25, 100])
    np.testing.assert_array_equal(numbered[2], [10, 2, 5, 5, 2, 10])
    np.testing.assert_array_equal(square_weights("bench", 8), TABLES["bench"])
    position = Position.parse("-OX---" + "-OOX--" + "------" * 4 + "X")
    assert move_of("positional", position) == 0


@pytest.mark.parametrize("board_size", [4, 6, 8])
def test_the_simple_agents_play_on_every_board(board_size: int) -> None:
    for spec in ("random", "greedy", "positional", "positional:table=bench", "alpha_beta:depth=2", "alpha_beta:depth=2,evaluation=bench"):
        assert move_of(spec, Position.start(board_size)) in Position.start(board_size).legal_squares()
