from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import AgentSpecError, make_agent
from agents.heuristics import HeuristicEvaluator
from agents.league import league_agent
from agents.ntuple.layout import Layout
from agents.ntuple.network import NTupleNetwork
from agents.positional import PositionalEvaluator
from agents.search.alpha_beta import AlphaBetaAgent, alpha_beta_agent
from agents.search.endgame import Solver
from agents.search.evaluation import network_evaluation
from othello_env import Game, Position, PositionBatch
from othello_env.batch import Afterstates
from tests.agents.ntuple.test_network import network_of
from training.evaluation.match import play_match
from training.evaluation.openings import random_openings

Evaluate = Callable[[Afterstates], "np.ndarray[tuple[int, ...], np.dtype[np.floating]]"]


def network(board_size: int) -> NTupleNetwork:
    if board_size > 4:
        return network_of(board_size)
    rows = tuple(tuple(range(4 * row, 4 * row + 4)) for row in range(4))
    groups = (tuple(tuple(square // 4 + square % 4 * 4 for square in row) for row in rows), *((row,) for row in rows))
    return NTupleNetwork(Layout(groups, 4), np.random.default_rng(0).normal(size=5 * 3**4))


def searching(board_size: int = 8, **limits: int | float) -> AlphaBetaAgent:
    """An agent whose evaluation has no equal values, so that its moves are the only ones."""
    evaluation = network_evaluation(network(board_size))
    return AlphaBetaAgent("search", lambda _: evaluation, **limits)  # type: ignore[arg-type]


def minimax(position: Position, depth: int, evaluate: Evaluate) -> tuple[float, int]:
    """The plain search: (value from the view of the side to move, square), nothing cut, nothing remembered."""
    position = position.resolve_pass()
    best = (-np.inf, -1)
    after = PositionBatch.from_positions([position]).afterstates()
    statics = evaluate(after)
    for square, static in zip(after.squares.tolist(), statics, strict=True):
        child = position.play(square)
        sign = 1 if child.side_to_move == position.side_to_move else -1
        if child.is_over:
            score = child.score("empties_to_winner") * (1 if position.side_to_move == 0 else -1)
            value = (score > 0) * 1e9 - (score < 0) * 1e9 + score
        elif depth == 1:
            value = float(static)
        else:
            value = sign * minimax(child, depth - 1, evaluate)[0]
        best = max(best, (value, square), key=lambda entry: entry[0])
    return best


def positions_of_play(board_size: int, rng: np.random.Generator, count: int) -> list[Position]:
    """Positions with a move, of all stages of random games."""
    positions: list[Position] = []
    while len(positions) < count:
        position = Position.start(board_size)
        for _ in range(int(rng.integers(board_size**2 - 5))):
            if position.is_over:
                break
            position = position.play(int(rng.choice(position.legal_squares())))
        if not position.is_over:
            positions.append(position)
    return positions


@pytest.mark.parametrize(
    ("board_size", "depth", "count"), [(4, 1, 30), (4, 2, 30), (4, 5, 30), (6, 3, 25), (8, 1, 25), (8, 2, 25), (8, 3, 12)]
)
def test_a_search_has_the_value_and_the_move_of_plain_minimax(board_size: int, depth: int, count: int, rng: np.random.Generator) -> None:
    agent, net = searching(board_size, depth=depth), network(board_size)

    def evaluate(after: Afterstates) -> np.ndarray[tuple[int, ...], np.dtype[np.floating]]:
        return net.values(after.own, after.opp)

    for position in positions_of_play(board_size, rng, count):
        value, square = minimax(position, depth, evaluate)
        report = agent.search(position)
        if abs(value) > 1e6:  # a game won or lost
            assert report.decided
            assert report.score == value - 1e9 * np.sign(value)
        else:
            assert report.score == pytest.approx(value, abs=1e-4)
            assert report.square == square, position
        assert report.depth == min(depth, position.empties)
        assert report.exact == (depth >= position.empties)


def test_more_moves_than_games_ever_have(rng: np.random.Generator) -> None:
    position = Position(0x437216026040C, 0x7A005200406A00, 0)
    assert len(position.legal_squares()) == 35
    net = network(8)
    value, square = minimax(position, 2, lambda after: net.values(after.own, after.opp))
    report = searching(depth=2).search(position)
    assert report.score == pytest.approx(value, abs=1e-4)
    assert report.square == square


@pytest.mark.parametrize("spec", ["swh", "heur", "bench", "heuristics"])
def test_built_in_evaluations_are_searched(spec: str, rng: np.random.Generator) -> None:
    evaluate: Evaluate = HeuristicEvaluator() if spec == "heuristics" else PositionalEvaluator(spec)  # type: ignore[arg-type]
    agent = alpha_beta_agent(evaluation=spec, depth=2)  # type: ignore[arg-type]
    for position in positions_of_play(8, rng, 15):
        value, _ = minimax(position, 2, evaluate)
        if abs(value) < 1e6:
            assert agent.search(position).score == pytest.approx(value, rel=1e-4, abs=1e-3)


def test_the_line_is_the_game_that_leads_to_the_score(rng: np.random.Generator) -> None:
    agent, net = searching(depth=5), network(8)
    for position in positions_of_play(8, rng, 20):
        report = agent.search(position)
        assert report.pv[0] == report.square
        assert len(report.pv) == report.depth or game_over_after(position, report.pv)
        side = position.side_to_move
        for square in report.pv[:-1]:
            position = position.play(square)
        if not position.play(report.pv[-1]).is_over:
            after = PositionBatch.from_positions([position]).afterstates()
            value = float(net.values(after.own, after.opp)[after.squares.tolist().index(report.pv[-1])])
            assert report.score == pytest.approx(value if position.side_to_move == side else -value, abs=1e-4)


def game_over_after(position: Position, line: tuple[int, ...]) -> bool:
    for square in line:
        position = position.play(square)
    return position.is_over


def test_searches_do_not_depend_on_what_was_searched_before(rng: np.random.Generator) -> None:
    positions = positions_of_play(8, rng, 12)
    used = searching(depth=6, hash_mb=1)
    for position in positions:
        used.search(position)
    for position in positions:
        fresh = searching(depth=6, hash_mb=1).search(position)
        again = used.search(position)
        assert (fresh.square, fresh.score, fresh.pv, fresh.nodes) == (again.square, again.score, again.pv, again.nodes)


def test_a_batch_gets_the_moves_of_its_positions_one_by_one(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    for board_size in (4, 6, 8):
        agent = searching(board_size, depth=3, solver=6)
        games = PositionBatch.start(60, board_size)
        for _ in range(board_size**2 - 4):
            going = np.flatnonzero(rng.random(60) < 0.7)
            games.step(games.take(going).sample_moves(rng), going)
        alone = [games.pass_square if p.is_over else agent.search(p).square for p in games]
        assert agent.select_moves(games, rng).tolist() == alone
        monkeypatch.setenv("OTHELLO_ENV_THREADS", "1")
        assert agent.select_moves(games, rng).tolist() == alone
        monkeypatch.delenv("OTHELLO_ENV_THREADS")


def test_no_positions_and_positions_without_a_move(rng: np.random.Generator) -> None:
    agent = alpha_beta_agent(depth=2)
    assert agent.select_moves(PositionBatch.start(0), rng).tolist() == []
    over = Position.parse("X" * 63 + "-" + " O")
    must_pass = Position.parse("XO" + "-" * 62 + " O")
    batch = PositionBatch.from_positions([over, must_pass, Position.start()], auto_pass=False)
    assert agent.select_moves(batch, rng).tolist()[:2] == [64, 64]
    for limited in (alpha_beta_agent(seconds=0.01), alpha_beta_agent(nodes=100)):
        moves = limited.select_moves(batch, rng)
        assert moves.tolist()[:2] == [64, 64]
        assert Position.start().legal_moves >> int(moves[2]) & 1
    with pytest.raises(ValueError, match="no legal square"):
        agent.search(must_pass)


def test_positions_are_left_as_they_are(rng: np.random.Generator) -> None:
    games = PositionBatch.start(5)
    before = games.copy()
    alpha_beta_agent(depth=3).select_moves(games, rng)
    assert games.own.tolist() == before.own.tolist()
    assert games.opp.tolist() == before.opp.tolist()


def test_exact_play_reaches_the_score_of_the_solver(rng: np.random.Generator) -> None:
    agent, solver = searching(depth=2, solver=11), Solver()
    for _ in range(12):
        position = Game.random(50, rng).final
        report = agent.search(position)
        assert report.exact
        assert report.score == solver.solve(position).score
        assert report.score == solver.move_scores(position)[report.square]
        for square in report.pv:
            position = position.play(square)
        assert position.is_over


def test_nodes_and_seconds_stop_a_search_that_has_a_move_all_the_same() -> None:
    position = Position.start().play("f5").play("d6").play("c3")
    report = alpha_beta_agent(nodes=20_000).search(position)
    assert position.legal_moves >> report.square & 1
    assert report.depth >= 1
    assert not report.exact
    assert report.nodes < 60_000
    start = time.perf_counter()
    report = alpha_beta_agent(seconds=0.05).search(position)
    assert position.legal_moves >> report.square & 1
    assert time.perf_counter() - start < 30  # a search without a limit would take days
    assert alpha_beta_agent(nodes=1).search(position).depth == 1
    same = alpha_beta_agent(nodes=20_000)
    assert same.search(position).pv == alpha_beta_agent(nodes=20_000).search(position).pv


@pytest.mark.parametrize("limits", [{"seconds": 1e-6}, {"nodes": 1}, {"depth": 1}])
def test_the_solver_plays_perfectly_whatever_the_limits_of_the_search_are(limits: dict[str, Any], rng: np.random.Generator) -> None:
    agent, solver = searching(solver=12, **limits), Solver()
    positions = [Game.random(48, rng).final for _ in range(10)]
    moves = agent.select_moves(PositionBatch.from_positions(positions), rng).tolist()
    for position, move in zip(positions, moves, strict=True):
        scores = solver.move_scores(position)
        report = agent.search(position)
        assert report.exact
        assert report.score == scores[move] == scores[report.square] == max(scores.values())


def test_a_solver_that_runs_out_of_its_seconds_leaves_the_move_to_the_search() -> None:
    position = Position.start().play("f5").play("d6").play("c3")
    plain = searching(depth=3).search(position)
    agent = searching(depth=3, solver=60, solver_seconds=0.02)
    start = time.perf_counter()
    report = agent.search(position)
    assert time.perf_counter() - start < 30
    assert not report.exact
    assert (report.square, report.score, report.depth, report.pv) == (plain.square, plain.score, plain.depth, plain.pv)
    assert report.nodes > plain.nodes
    batch = PositionBatch.from_positions([position, Game.random(52, np.random.default_rng(0)).final])
    assert agent.select_moves(batch, np.random.default_rng(0))[0] == plain.square
    assert agent.search(batch[1]).exact


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_ends_a_search() -> None:
    code = """if True:
        import os, signal, threading
        from agents.search.alpha_beta import alpha_beta_agent
        from othello_env import Position
        agent = alpha_beta_agent(depth=40)
        alpha_beta_agent(depth=1).search(Position.start())
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            agent.search(Position.start())
        except KeyboardInterrupt:
            print("stopped")
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120, env=os.environ)
    assert run.stdout.split() == ["stopped"], run.stderr


def test_solved_positions_are_not_lost(rng: np.random.Generator) -> None:
    """From won positions with ten empties, whatever the other side plays."""
    agent, other, solver = searching(depth=1, solver=10), make_agent("random"), Solver()
    won = 0
    while won < 12:
        position = Game.random(50, rng).final
        if solver.outcome(position) <= 0:
            continue
        won += 1
        winner = position.side_to_move
        while not position.is_over:
            player = agent if position.side_to_move == winner else other
            position = position.play(int(player.select_moves(PositionBatch.from_positions([position]), rng)[0]))
        assert position.outcome == (1 if winner == 0 else -1)


@pytest.mark.slow
def test_more_depth_is_stronger(rng: np.random.Generator) -> None:
    openings = random_openings(200, 8, rng=rng)
    result = play_match(make_agent("alpha_beta:depth=6"), make_agent("alpha_beta:depth=2"), openings)
    assert result.interval[0] > 0.5


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("alpha_beta:depth=0", "depth=0: expected 1 to 64"),
        ("alpha_beta:depth=2.5", "depth=2.5; expected an integer"),
        ("alpha_beta:nodes=0", "nodes=0: expected 1 to"),
        ("alpha_beta:seconds=0", "seconds=0.0: expected a positive number"),
        ("alpha_beta:seconds=nan", "seconds=nan: expected a positive number"),
        ("alpha_beta:seconds=inf", "seconds=inf: expected a positive number"),
        ("alpha_beta:seconds=-1", "seconds=-1.0: expected a positive number"),
        ("alpha_beta:solver=-1", "solver=-1: expected 0 to 64"),
        ("alpha_beta:solver=8,solver_seconds=nan", "solver_seconds=nan: expected a positive number"),
        ("alpha_beta:solver=8,solver_seconds=0", "solver_seconds=0.0: expected a positive number"),
        ("alpha_beta:solver_seconds=1", "solver_seconds=1.0 without a solver"),
        ("alpha_beta:hash_mb=0", "hash_mb=0: expected 1 to"),
        ("alpha_beta:evaluation=best", "evaluation=best; expected one of swh, heur, bench, heuristics"),
        ("alpha_beta:/does/not/exist", "'/does/not/exist': no such file"),
        ("alpha_beta:/does/not/exist.txt", "no such file: '/does/not/exist.txt'"),
        ("alpha_beta:width=3", "no parameter 'width'; expected alpha_beta:[FILE],evaluation="),
        ("alpha_beta:depth=3,width=3", "no parameter 'width'; expected alpha_beta:[FILE],evaluation="),
        ("alpha_beta:depth=100000000000000000000000", "expected 1 to 64"),
        ("alpha_beta:solver=65", "expected 0 to 64"),
        ("alpha_beta:nodes=100000000000000000000000", "expected 1 to"),
        ("alpha_beta:seconds=1e300", "expected a positive number, at most"),
        ("alpha_beta:hash_mb=100000000000", "hash_mb=100000000000: expected 1 to"),
        ("mcts:simulations=99999999999", "at most 10000000"),
        ("mcts:rollouts=100000000000000000000000", "at most 1000000"),
        ("mcts:simulations=0", "simulations 0: must be at least 1"),
        ("mcts:rollouts=0", "rollouts 0: must be at least 1"),
        ("mcts:method=best", "method=best; expected one of puct, gumbel"),
    ],
)
def test_impossible_parameters_are_refused_in_one_line(spec: str, message: str) -> None:
    with pytest.raises(AgentSpecError, match=re.escape(message)) as caught:
        make_agent(spec)
    assert "\n" not in str(caught.value)


def test_a_network_from_a_file_is_searched_whatever_its_format(tmp_path: Path, rng: np.random.Generator) -> None:
    network(6).save(tmp_path / "six.safetensors")
    agent = make_agent(f"alpha_beta:{tmp_path / 'six.safetensors'},depth=3,solver=8")
    assert agent.name == "alpha_beta:six.safetensors,depth=3,solver=8"
    assert len(agent.select_moves(PositionBatch.start(3, 6), rng)) == 3
    with pytest.raises(ValueError, match="six.safetensors,depth=3,solver=8 plays on board_size 6, not 8"):
        agent.select_moves(PositionBatch.start(3), rng)
    text = tmp_path / "player.txt"
    text.write_text("1\n2 2\n0 1\n7 6\n" + " ".join(str(float(weight)) for weight in rng.normal(size=9)) + "\n")
    one_ply, plain = make_agent(f"alpha_beta:{text},depth=1"), league_agent(text)
    games = PositionBatch.from_positions(positions_of_play(8, rng, 30))
    values = plain.evaluate(games.afterstates())
    after = games.afterstates()
    for row, move in enumerate(one_ply.select_moves(games, rng).tolist()):
        of_row = after.rows == row
        assert values[of_row & (after.squares == move)][0] == pytest.approx(values[of_row].max(), abs=1e-5)


def test_without_numba_the_message_says_what_to_install() -> None:
    code = "import sys; sys.modules['numba'] = None\nfrom agents import make_agent\nmake_agent('greedy')\nmake_agent('alpha_beta')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ)
    assert 'compiled code needs numba; in a clone: pip install -e ".[fast]"' in run.stderr.splitlines()[-1]


def test_a_file_and_an_evaluation_are_one_too_many(tmp_path: Path) -> None:
    network(8).save(tmp_path / "eight.safetensors")
    with pytest.raises(AgentSpecError, match="expected one of them"):
        make_agent(f"alpha_beta:{tmp_path / 'eight.safetensors'},evaluation=swh")


def test_agents_are_copied_and_pickled(rng: np.random.Generator) -> None:
    agent = make_agent("alpha_beta:depth=3")
    games = PositionBatch.start(4)
    moves = agent.select_moves(games, rng).tolist()
    for twin in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert twin.select_moves(games, rng).tolist() == moves
    assert make_agent(agent.name).name == agent.name


@pytest.mark.parametrize("size", [1e-40, 1e-300])
def test_weights_that_are_all_but_zero_are_searched(size: float) -> None:
    net = network(8)
    tiny = NTupleNetwork(net.layout, np.full(len(net.weights), size, dtype=np.float64 if size < 1e-100 else np.float32))
    evaluation = network_evaluation(tiny)
    assert AlphaBetaAgent("tiny", lambda _: evaluation, depth=2).search(Position.start()).pv


@pytest.mark.slow
def test_tree_search_with_playouts_beats_the_square_weights(rng: np.random.Generator) -> None:
    openings = random_openings(100, 8, rng=rng)
    result = play_match(make_agent("mcts:simulations=400"), make_agent("positional"), openings)
    assert result.score >= 0.6
