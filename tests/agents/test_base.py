from __future__ import annotations

import numpy as np
import pytest

from agents import Agent, make_agent
from agents.base import AfterstateAgent, best_afterstates
from othello_env import PASS, Position, PositionBatch

SPECS = ["random", "greedy", "positional", "positional:table=heur", "positional:table=bench"]


def mixed_positions(rng: np.random.Generator, size: int = 300) -> PositionBatch:
    """Positions of all stages, finished ones among them."""
    games = PositionBatch.start(size)
    for ply in range(60):
        moving = np.flatnonzero((np.arange(size) % 61 > ply) & ~games.is_over)
        moved = games.take(moving)
        moved.step(moved.sample_moves(rng))
        games.reset(moving, moved)
    return games


@pytest.mark.parametrize("spec", SPECS)
def test_agents_play_legal_moves_and_leave_the_positions_alone(spec: str, rng: np.random.Generator) -> None:
    agent: Agent = make_agent(spec)
    positions = mixed_positions(rng)
    assert positions.is_over.any()
    before = list(positions)
    moves = agent.select_moves(positions, rng)
    assert moves.shape == (len(positions),)
    assert np.issubdtype(moves.dtype, np.integer)
    assert (moves[positions.is_over] == PASS).all()
    assert list(positions) == before
    positions.step(moves)


@pytest.mark.parametrize("spec", SPECS)
def test_agents_repeat_with_their_seed_and_handle_one_position_like_many(spec: str, rng: np.random.Generator) -> None:
    agent = make_agent(spec)
    positions = mixed_positions(rng)
    first, second = (agent.select_moves(positions, np.random.default_rng(1)) for _ in range(2))
    assert first.tolist() == second.tolist()
    single = agent.select_moves(positions.take(np.array([5])), rng)
    assert single.shape == (1,)
    assert agent.select_moves(positions.take(np.array([], dtype=np.int64)), rng).shape == (0,)


def test_the_highest_value_of_each_row_is_chosen() -> None:
    rows = np.array([0, 0, 2, 2, 2, 5])
    values = np.array([1.0, 2.0, -3.0, -1.0, -2.0, -9.0])
    assert best_afterstates(rows, values, np.random.default_rng(0)).tolist() == [1, 3, 5]


def test_ties_are_broken_evenly() -> None:
    rows = np.repeat(np.arange(9000), 4)
    values = np.tile([1.0, 1.0 + 1e-9, 0.0, 1.0], 9000)
    chosen = best_afterstates(rows, values, np.random.default_rng(0)) % 4
    counts = np.bincount(chosen, minlength=4)
    assert counts[2] == 0
    assert (abs(counts[[0, 1, 3]] - 3000) < 5 * 3000**0.5).all()


def test_symmetric_first_moves_are_tied_for_a_symmetric_agent() -> None:
    moves = make_agent("positional").select_moves(PositionBatch.start(2000), np.random.default_rng(0))
    assert set(moves.tolist()) == {19, 26, 37, 44}


def test_an_afterstate_agent_sees_the_position_after_its_own_move() -> None:
    agent = AfterstateAgent("to the corner", lambda after: (after.own & np.uint64(1) != 0).astype(np.float32))
    position = Position.parse("-OX" + "-OX" + "-" * 58 + "X")
    assert agent.select_moves(PositionBatch.from_positions([position]), np.random.default_rng(0)).tolist() == [0]
