from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from agents import Agent, make_agent
from agents.base import TIE, WON, AfterstateAgent, best_afterstates, check_board_size, groups_of, set_results
from othello_env import PASS, Position, PositionBatch
from othello_env.squares import BOARD_SIZES
from tests.agents.ntuple.test_network import network_of
from tests.agents.test_league import PLAYER

SPECS = ["random", "greedy", "positional", "positional:table=heur", "positional:table=bench", "ntuple", "league"]


@pytest.fixture(params=SPECS)
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Agent:
    if request.param == "ntuple":
        network_of(8).save(tmp_path / "net")
        return make_agent(f"ntuple:{tmp_path / 'net'}")
    if request.param == "league":
        (tmp_path / "player.txt").write_text(PLAYER)
        return make_agent(f"league:{tmp_path / 'player.txt'}")
    return make_agent(request.param)


def mixed_positions(rng: np.random.Generator, size: int = 300) -> PositionBatch:
    """Positions of all stages, finished ones among them."""
    games = PositionBatch.start(size)
    for ply in range(60):
        moving = np.flatnonzero((np.arange(size) % 61 > ply) & ~games.is_over)
        moved = games.take(moving)
        moved.step(moved.sample_moves(rng))
        games.reset(moving, moved)
    return games


def test_agents_play_legal_moves_and_leave_the_positions_alone(agent: Agent, rng: np.random.Generator) -> None:
    positions = mixed_positions(rng)
    assert positions.is_over.any()
    before = list(positions)
    moves = agent.select_moves(positions, rng)
    assert moves.shape == (len(positions),)
    assert np.issubdtype(moves.dtype, np.integer)
    assert (moves[positions.is_over] == PASS).all()
    assert list(positions) == before
    positions.step(moves)


def test_agents_repeat_with_their_seed(agent: Agent, rng: np.random.Generator) -> None:
    positions = mixed_positions(rng)
    first, second = (agent.select_moves(positions, np.random.default_rng(1)) for _ in range(2))
    assert first.tolist() == second.tolist()
    assert agent.select_moves(positions.take(np.array([], dtype=np.int64)), rng).shape == (0,)


def test_agents_play_one_position_as_they_play_it_among_many(agent: Agent, rng: np.random.Generator) -> None:
    if agent.name == "random":
        pytest.skip("plays anything")
    positions = mixed_positions(rng, 60)
    alone = [int(agent.select_moves(positions.take(np.array([row])), rng)[0]) for row in range(60)]
    together = np.stack([agent.select_moves(positions, rng) for _ in range(30)])
    untied = np.flatnonzero((together == together[0]).all(axis=0))  # where moves are tied, chance decides
    assert len(untied) > 5
    assert [alone[row] for row in untied] == together[0, untied].tolist()


def test_agents_can_be_pickled_for_worker_processes(agent: Agent, rng: np.random.Generator) -> None:
    positions = mixed_positions(rng, 60)
    copied = pickle.loads(pickle.dumps(agent))
    moves = [a.select_moves(positions, np.random.default_rng(2)).tolist() for a in (agent, copied)]
    assert moves[0] == moves[1]


@pytest.mark.parametrize(
    ("rows", "first", "counts"),
    [([0, 0, 1, 3, 3, 3], [0, 2, 3], [2, 1, 3]), ([1, 1, 2], [0, 2], [2, 1]), ([5], [0], [1]), ([0], [0], [1]), ([], [], [])],
)
def test_groups_are_the_entries_of_one_row_whichever_row_comes_first(rows: list[int], first: list[int], counts: list[int]) -> None:
    found = groups_of(np.array(rows, dtype=np.int64))
    assert [part.tolist() for part in found] == [first, counts]


def test_a_position_without_a_move_passes_wherever_it_stands_in_the_batch() -> None:
    over, start = Position.parse("X" * 64 + "X"), Position.start()
    for order in ([over, start, start], [start, over, start], [start, start, over]):
        moves = make_agent("greedy").select_moves(PositionBatch.from_positions(order), np.random.default_rng(0))
        assert [move == PASS for move in moves] == [position.is_over for position in order]


def test_the_highest_value_of_each_row_is_chosen() -> None:
    rows = np.array([0, 0, 2, 2, 2, 5])
    values = np.array([1.0, 2.0, -3.0, -1.0, -2.0, -9.0])
    assert best_afterstates(rows, values, rng=np.random.default_rng(0)).tolist() == [1, 3, 5]


def test_ties_are_broken_evenly() -> None:
    rows = np.repeat(np.arange(9000), 4)
    values = np.tile([1.0, 1.0 + 1e-9, 0.0, 1.0], 9000)
    chosen = best_afterstates(rows, values, rng=np.random.default_rng(0)) % 4
    counts = np.bincount(chosen, minlength=4)
    assert counts[2] == 0
    assert (abs(counts[[0, 1, 3]] - 3000) < 5 * 3000**0.5).all()


def test_symmetric_first_moves_are_tied_for_a_symmetric_agent() -> None:
    moves = make_agent("positional").select_moves(PositionBatch.start(2000), np.random.default_rng(0))
    assert set(moves.tolist()) == {19, 26, 37, 44}


def test_an_afterstate_agent_sees_the_position_after_its_own_move() -> None:
    agent = AfterstateAgent("to the corner", lambda after: (after.own & np.uint64(1) != 0).astype(np.float32))
    assert (agent.board_size, agent.sees_colors) == (None, False)
    position = Position.parse("-OX" + "-OX" + "-" * 58 + "X")
    assert agent.select_moves(PositionBatch.from_positions([position]), np.random.default_rng(0)).tolist() == [0]


def test_values_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="1 of 3 values are not finite"):
        best_afterstates(np.array([0, 0, 1]), np.array([0.0, np.nan, 1.0]), rng=np.random.default_rng(0))


ANY_SIZE = ("random", "greedy", "positional", "beginner", "heuristics", "alpha_beta:depth=1", "alpha_beta:evaluation=heuristics,depth=1")
NETWORKS = ("ntuple:{}", "alpha_beta:{},depth=1", "mcts:{},simulations=2")


@pytest.mark.parametrize("spec", [*ANY_SIZE, "mcts:simulations=2", *NETWORKS])
def test_an_agent_says_before_the_first_game_which_board_sizes_it_can_play(spec: str, tmp_path: Path, rng: np.random.Generator) -> None:
    network_of(6).save(tmp_path / "net")
    agent = make_agent(spec.format(tmp_path / "net"))
    for board_size in BOARD_SIZES:
        positions = PositionBatch.start(2, board_size)
        if spec in NETWORKS and board_size != 6:
            for refuse in (lambda n=board_size: check_board_size(agent, n), lambda p=positions: agent.select_moves(p, rng)):
                with pytest.raises(ValueError, match=f"^{agent.name} plays on board_size 6, not {board_size}$"):
                    refuse()
        else:
            check_board_size(agent, board_size)
            assert positions.is_legal(agent.select_moves(positions, rng)).all()


@pytest.mark.parametrize("simulations", [0, 2])
def test_a_policy_value_network_plays_on_its_board_size_alone(simulations: int, tmp_path: Path) -> None:
    networks = pytest.importorskip("agents.networks")
    networks.PolicyValueNetwork(networks.Architecture(6, 1, 3)).save(tmp_path / "net")
    agent = make_agent(f"policy_value:{tmp_path / 'net'},simulations={simulations}")
    check_board_size(agent, 6)
    with pytest.raises(ValueError, match="plays on board_size 6, not 8"):
        check_board_size(agent, 8)


def test_values_are_tied_within_the_tolerance_alone() -> None:
    rows = np.zeros(2, dtype=np.int64)
    for difference, tied in ((0.5 * TIE, True), (2 * TIE, False)):
        chosen = {int(best_afterstates(rows, np.array([1.0, 1.0 + difference]), rng=np.random.default_rng(n))[0]) for n in range(30)}
        assert chosen == ({0, 1} if tied else {1})


def test_results_replace_the_values_of_finished_games() -> None:
    # Black's a1 ends the game with three discs to White's number of discs on the last row.
    ends = [Position.parse("-OX" + "-" * (61 - white) + "O" * white + " X") for white in (0, 3, 4)]
    after = PositionBatch.from_positions([Position.start(), *ends]).afterstates()
    values = np.full(len(after), 0.25)
    set_results(values, after)
    assert values.tolist() == [0.25] * 4 + [WON + 3, 0, -WON - 1]
