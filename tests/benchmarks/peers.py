"""Ours against each installed peer, in one run: `python -m tests.benchmarks.peers [NAME ...]`.

Machines are noisy, so only ratios within a run mean something: every contestant of a comparison
takes its turn in each round, and the medians over the rounds are printed. Peers that are not
installed are left out; `pip install -e ".[dev,peers]"` brings them.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import importlib.util
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from othello_env import OthelloSelfPlayVectorEnv, Position, PositionBatch, backend, othello_v0, sample_legal, use_compiled, use_numpy
from othello_env.perft import perft
from tests.conftest import SHARED_DATA

# A contestant does a fixed amount of work and returns how much that was; it prepares itself before
# it is handed over.
Contestant = Callable[[], float]

ROUNDS = 5


def has(module: str) -> bool:
    """Whether a peer is installed."""
    return importlib.util.find_spec(module) is not None


def compare(title: str, unit: str, contestants: dict[str, Contestant], rounds: int = ROUNDS) -> float:
    """Print the median rates, and the first contestant's ratio to each other one. Returns the first one's rate."""
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for work in contestants.values():
        work()  # compile, fill caches
    for _ in range(rounds):
        for name, work in contestants.items():
            start = time.perf_counter()
            done = work()
            rates[name].append(done / (time.perf_counter() - start))
    print(f"\n{title} ({unit}, median of {rounds})")
    ours = next(iter(contestants))
    for name, measured in rates.items():
        rate = statistics.median(measured)
        ratio = statistics.median(a / b for a, b in zip(rates[ours], measured, strict=True))
        against = "" if name == ours else f"   ours is {ratio:6.2f} times as fast"
        print(f"  {name:44} {rate:14,.0f}{against}", flush=True)
    return statistics.median(rates[ours])


def batched_play() -> None:
    """Uniformly random play, the choice of the moves and the restart of finished games included."""

    def ours(batch_size: int, *, compiled: bool) -> Contestant:
        games, rng = PositionBatch.start(batch_size), np.random.default_rng(0)
        steps = max(60, (20_000_000 if compiled else 2_000_000) // batch_size)

        def work() -> float:
            if compiled:
                use_compiled()
            else:
                use_numpy()
            for _ in range(steps):
                games.step(games.sample_moves(rng))
                if games.is_over.any():
                    games.reset(games.is_over)
            use_compiled()
            return steps * batch_size

        return work

    contestants = {f"PositionBatch, NumPy, {size} games": ours(size, compiled=False) for size in (65_536, 16_384, 4_096, 1_024)}
    if has("numba"):
        sizes = (65_536, 262_144, 16_384, 4_096, 1_024)
        contestants = {f"PositionBatch, compiled, {size} games": ours(size, compiled=True) for size in sizes} | contestants
    if has("pgx"):
        contestants |= {f"pgx, {size} games": pgx_play(size) for size in (256, 1_024, 4_096)}
    if has("pyspiel"):
        contestants["OpenSpiel, a Python loop"] = open_spiel_play()
    if has("rust_reversi"):
        contestants["rust-reversi, a Python loop"] = rust_reversi_play()
    rate = compare("Batched random play", "steps/s", contestants)
    if has("numba"):
        limit = backend.num_threads() * kernel_rate()
        print(f"  on {backend.num_threads()} threads it could make {limit:,.0f} steps/s: batched play reaches {rate / limit:.0%} of that")


def kernel_rate() -> float:
    """What batched play on one core cannot exceed: the kernel alone, legal moves and flips of boards that stay in its cache."""
    from othello_env import compiled

    games, rng = PositionBatch.start(1_024), np.random.default_rng(0)
    for _ in range(30):
        games.step(games.sample_moves(rng))
    moves = np.left_shift(np.uint64(1), (games.sample_moves(rng) & 63).astype(np.uint64))
    found, words = np.empty_like(games.own), compiled.GEOMETRY[8]
    rounds = 20_000

    def kernel() -> float:
        for _ in range(rounds):
            compiled.fill_legal_moves(games.own, games.opp, found, words)
            compiled.fill_flips(games.own, games.opp, moves, found, words)
        return rounds * len(games)

    return compare("The bare kernel on one core, legal moves and flips", "boards/s", {"compiled": kernel})


def pgx_play(batch_size: int) -> Contestant:
    """pgx's own way: jit, vmap, auto_reset, a scan over steps."""
    jax: Any = importlib.import_module("jax")
    env: Any = importlib.import_module("pgx").make("othello")
    auto_reset = importlib.import_module("pgx.experimental").auto_reset
    step = jax.vmap(auto_reset(env.step, env.init))
    num_steps = max(20, 200_000 // batch_size)

    def one_step(carry: Any, _: None) -> tuple[Any, None]:
        state, key = carry
        key, move_key, reset_key = jax.random.split(key, 3)
        moves = jax.random.categorical(move_key, jax.numpy.where(state.legal_action_mask, 0.0, -jax.numpy.inf), axis=-1)
        return (step(state, moves, jax.random.split(reset_key, batch_size)), key), None

    run = jax.jit(lambda carry: jax.lax.scan(one_step, carry, None, length=num_steps)[0])
    key = jax.random.PRNGKey(0)
    carry = (jax.jit(jax.vmap(env.init))(jax.random.split(key, batch_size)), key)

    def work() -> float:
        nonlocal carry
        carry = jax.block_until_ready(run(carry))
        return num_steps * batch_size

    return work


def vector_steps() -> None:
    """Vector environments that deliver observation and mask as arrays at every step, finished games restarting, random actions."""

    def ours(num_envs: int, **options: Any) -> Contestant:
        env, rng = OthelloSelfPlayVectorEnv(num_envs, autoreset_mode="SameStep", **options), np.random.default_rng(0)
        observation, _ = env.reset(seed=0)
        steps = max(60, 1_000_000 // num_envs)

        def work() -> float:
            nonlocal observation
            for _ in range(steps):
                observation, *_ = env.step(sample_legal(observation["action_mask"], rng))
            return steps * num_envs

        return work

    contestants = {f"OthelloSelfPlayVectorEnv, {size} games": ours(size) for size in (4_096, 16_384, 1_024)}
    if has("pgx"):
        contestants |= {f"pgx, {size} games": pgx_steps(size) for size in (1_024, 4_096)}
    if has("envpool"):
        contestants |= {f"EnvPool, {size} games": env_pool_steps(size, 100_000 // size) for size in (1_024, 4_096)}
    compare("Vector environment, observation and mask at every step", "steps/s", contestants)


def pgx_steps(batch_size: int) -> Contestant:
    """One jitted call a step, which gives the observation and the mask of all games."""
    jax: Any = importlib.import_module("jax")
    env: Any = importlib.import_module("pgx").make("othello")
    step = jax.vmap(importlib.import_module("pgx.experimental").auto_reset(env.step, env.init))

    def one_step(state: Any, key: Any) -> tuple[Any, Any]:
        key, move_key, reset_key = jax.random.split(key, 3)
        logits = jax.numpy.where(state.legal_action_mask, 0.0, -jax.numpy.inf)
        moves = jax.random.categorical(move_key, logits, axis=-1)
        return step(state, moves, jax.random.split(reset_key, batch_size)), key

    jitted = jax.jit(one_step)
    key = jax.random.PRNGKey(0)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(key, batch_size))
    steps = max(20, 100_000 // batch_size)

    def work() -> float:
        nonlocal state, key
        for _ in range(steps):
            state, key = jitted(state, key)
            jax.block_until_ready((state.observation, state.legal_action_mask))
        return steps * batch_size

    return work


def env_pool_steps(num_envs: int, num_steps: int) -> Contestant:
    """Its Gymnasium interface, all games in each step, on all cores."""
    make: Any = importlib.import_module("envpool").make_gymnasium
    env, rng = make("Othello-v1", num_envs=num_envs, num_threads=min(num_envs, os.cpu_count() or 1), seed=0), np.random.default_rng(0)
    infos = env.reset()[1]

    def work() -> float:
        nonlocal infos
        for _ in range(num_steps):  # each batch has the games in the order in which the threads were done with them
            infos = env.step(sample_legal(infos["legal_action_mask"], rng).astype(np.int32), infos["env_id"])[4]
        return num_steps * num_envs

    return work


def open_spiel_play(num_games: int = 200) -> Contestant:
    """One game after the other."""
    import pyspiel

    game, rng = pyspiel.load_game("othello"), np.random.default_rng(0)

    def work() -> float:
        steps = 0
        for _ in range(num_games):
            state = game.new_initial_state()
            for number in rng.random(128).tolist():
                if state.is_terminal():
                    break
                legal = state.legal_actions()
                state.apply_action(legal[int(number * len(legal))])
                steps += 1
        return steps

    return work


def rust_reversi_play(num_games: int = 500) -> Contestant:
    """One game after the other."""
    import rust_reversi

    def work() -> float:
        steps = 0
        for _ in range(num_games):
            board = rust_reversi.Board()
            while not board.is_game_over():
                if board.is_pass():
                    board.do_pass()
                else:
                    board.do_move(board.get_random_move())
                    steps += 1
        return steps

    return work


def single_game() -> None:
    """One game at a time on immutable positions, legal moves listed at each."""

    def ours() -> float:
        steps, rng = 0, np.random.default_rng(0)
        for _ in range(100):
            position = Position.start()
            for number in rng.random(60).tolist():
                legal = position.legal_squares()
                if not legal:
                    break
                position = position.play(legal[int(number * len(legal))])
                steps += 1
        return steps

    use_compiled()  # as any program does by itself once it has played `backend.WORTHWHILE_MOVES`
    contestants: dict[str, Contestant] = {"Position": ours}
    if has("pyspiel"):
        contestants["OpenSpiel"] = open_spiel_play()
    if has("rust_reversi"):
        contestants["rust-reversi"] = rust_reversi_play()
    if has("envpool"):
        contestants["EnvPool, one environment"] = env_pool_steps(1, 6_000)
    compare("A single random game", "moves/s", contestants)


def aec_turns() -> None:
    """`last()`, a random legal action, `step()`, and `reset()` after each game."""

    def turns(env: Any, num_turns: int) -> Contestant:
        rng = np.random.default_rng(0)

        def work() -> float:
            env.reset()
            for number in rng.random(num_turns).tolist():
                observation, _, termination, truncation, _ = env.last()
                if termination or truncation:
                    env.reset()
                    continue
                legal = observation["action_mask"].nonzero()[0].tolist()
                env.step(legal[int(number * len(legal))])
            return num_turns

        return work

    contestants = {
        "othello_v0.env()": turns(othello_v0.env(), 60_000),
        "othello_v0.raw_env()": turns(othello_v0.raw_env(), 60_000),
    }
    if has("pygame"):
        from pettingzoo.classic import connect_four_v3

        contestants["connect_four_v3.env()"] = turns(connect_four_v3.env(), 20_000)
        contestants["connect_four_v3.raw_env()"] = turns(connect_four_v3.raw_env(), 20_000)
    compare("PettingZoo AEC turns", "turns/s", contestants)


def perft_leaves() -> None:
    """Perft from the start position, on one core."""

    def with_numpy() -> int:
        use_numpy()
        leaves = perft(Position.start(), 9)
        use_compiled()
        return leaves

    contestants: dict[str, Contestant] = {"NumPy, perft 9": with_numpy}
    if has("numba"):
        compiled: dict[str, Contestant] = {
            "compiled, perft 10, a pass is a ply": lambda: perft(Position.start(), 10),
            "compiled, perft 10, passes are free": lambda: perft(Position.start(), 10, "free"),
        }
        contestants = compiled | contestants
    if has("rust_reversi"):
        import rust_reversi

        def count(board: Any, depth: int) -> int:
            if board.is_game_over():
                return 1
            if board.is_pass():
                passed = board.clone()
                passed.do_pass()
                return count(passed, depth - 1) if depth > 1 else 1
            if depth == 1:
                return int(board.get_legal_moves()).bit_count()
            return sum(count(child, depth - 1) for child in board.get_child_boards())

        contestants["rust-reversi from Python, perft 8"] = lambda: count(rust_reversi.Board(), 8)
    compare("Perft", "leaves/s", contestants)


def training_games() -> None:
    """Self-play of each trainer with the settings of its presets for 8x8, learning included."""
    if not has("torch"):
        return
    from training import alphazero, ppo, td_ntuple

    learners: dict[str, Any] = {
        "td_ntuple": td_ntuple.Learner(td_ntuple.PRESETS["ten-minutes"]),
        "ppo": ppo.Learner(ppo.PRESETS["8x8"]),
        "alphazero": alphazero.Learner(alphazero.PRESETS["hour"]),
    }
    for name, learner in learners.items():
        while learner.positions_done < 10_000:  # the first positions are not learned from
            learner.advance()

        def work(learner: Any = learner, seconds: float = 8.0) -> float:
            before, start = learner.positions_done, time.perf_counter()
            while time.perf_counter() - start < seconds:
                learner.advance()
            return float(learner.positions_done - before)

        compare(f"training.{name}, self-play and learning", "positions/s", {name: work}, rounds=3)


def lockstep_games() -> None:
    """AlphaZero self-play: many games at a time against one, with the same network and search.

    Once with one leaf of a game at a time, once with as many as the preset allows.
    """
    if not has("torch"):
        return
    import torch

    from agents.networks import Architecture, PolicyValueNetwork
    from agents.policy_value import network_evaluator
    from training.alphazero import PRESETS, Settings
    from training.self_play import SearchPlan, SelfPlay

    def compare_with(settings: Settings) -> None:
        torch.manual_seed(0)
        evaluator = network_evaluator(PolicyValueNetwork(Architecture(8, settings.blocks, settings.channels)))
        timed = _TimedEvaluator(evaluator)
        plan = SearchPlan(settings.simulations, settings.simulations, 1.0)
        rng = np.random.default_rng(0)
        together, single = (
            SelfPlay(size, 8, search=settings.search(), random_plies=settings.random_plies, rng=rng) for size in (settings.num_envs, 1)
        )

        def play(games: SelfPlay, asked: Any, num_moves: int) -> float:
            before = games.plies_done
            while games.plies_done < before + num_moves:
                games.advance(asked, plan, rng=rng)
            return float(games.plies_done - before)

        contestants: dict[str, Contestant] = {
            f"{settings.num_envs} games in lockstep": lambda: play(together, timed, settings.num_envs),
            "one game at a time": lambda: play(single, evaluator, 30),
        }
        play(together, timed, settings.num_envs)
        timed.seconds, timed.calls = 0.0, []
        start = time.perf_counter()
        play(together, timed, settings.num_envs)
        share = timed.seconds / (time.perf_counter() - start)
        leaves = f"{settings.leaves_per_call} at most of a game at a time"
        compare(f"AlphaZero self-play, {settings.simulations} simulations a move, {leaves}", "moves/s", contestants, rounds=3)
        sizes = f"{min(timed.calls)} to {max(timed.calls)} positions a call"
        print(f"  in lockstep the network takes {share:.0%} of the time, and gets {sizes}")

    hour = PRESETS["hour"]
    for leaves in sorted({1, hour.leaves_per_call}):
        compare_with(dataclasses.replace(hour, leaves_per_call=leaves))


@dataclasses.dataclass
class _TimedEvaluator:
    """An evaluator that notes how long it takes, and for how many positions it is asked."""

    evaluator: Any
    seconds: float = 0.0
    calls: list[int] = dataclasses.field(default_factory=list)

    def evaluate(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
        start = time.perf_counter()
        found = self.evaluator.evaluate(positions, rng)
        self.seconds += time.perf_counter() - start
        self.calls.append(len(positions))
        return found


def endgames() -> None:
    """The FFO endgame suite's #1 to #20, solved exactly on one core: ours against GRhino, where both the suite and it are there."""
    from agents.external.gtp import GtpEngine
    from agents.search.endgame import Solver
    from tests.rhino import RHINO, rhino_command

    suite = SHARED_DATA / "ffo.tsv"
    if not suite.is_file():
        print(f"\nThe FFO endgame suite is not at {suite}")
        return
    rows = [line.split("\t") for line in suite.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    positions = {int(number): (Position.parse(f"{board} {side}"), int(score)) for number, board, side, _, score, *_ in rows}
    first = [positions[number] for number in range(1, 21)]
    solver = Solver()

    def ours() -> float:
        assert all(solver.solve(position).score == score for position, score in first)
        return len(first)

    contestants: dict[str, Contestant] = {"agents.search.endgame": ours}
    with contextlib.ExitStack() as stack:
        if RHINO.is_file():
            rhino = stack.enter_context(GtpEngine(rhino_command(exact_empties=16)))

            def theirs() -> float:
                for position, _ in first:
                    rhino.choose(position)
                return len(first)

            contestants["gtp-rhino -l 3 -b 0 -e 16 -w 16"] = theirs
        compare("FFO endgames #1 to #20", "positions/s", contestants, rounds=3)
    for number in (25, 40):
        solution = solver.solve(positions[number][0])
        exact = "exact" if solution.score == positions[number][1] else "WRONG"
        print(f"  FFO #{number}: {exact}, {solution.seconds:.2f} s, {solution.nodes / solution.seconds:,.0f} nodes/s")


def searches() -> None:
    """Alpha-beta with each kind of evaluation: nodes per second on one core."""
    from agents.registry import SHIPPED_NTUPLE
    from agents.search.alpha_beta import AlphaBetaAgent, alpha_beta_agent
    from training.evaluation.openings import random_openings

    positions = random_openings(20, 20, rng=np.random.default_rng(0))

    def nodes(agent: AlphaBetaAgent) -> Contestant:
        return lambda: sum(agent.search(position).nodes for position in positions)

    contestants = {
        "the n-tuples that come with the agents, depth 8": nodes(alpha_beta_agent(SHIPPED_NTUPLE, depth=8)),
        "square weights, depth 8": nodes(alpha_beta_agent(depth=8)),
        "heuristics, depth 8": nodes(alpha_beta_agent(evaluation="heuristics", depth=8)),
    }
    compare("Alpha-beta", "nodes/s", contestants)


def tree_searches() -> None:
    """MCTS with random playouts, 400 simulations a move."""
    from agents import make_agent

    def moves(batch_size: int) -> Contestant:
        games, rng, agent = PositionBatch.start(batch_size), np.random.default_rng(0), make_agent("mcts:simulations=400")
        for _ in range(20):
            games.step(games.sample_moves(rng))
        calls = max(1, 200 // batch_size)

        def work() -> float:
            for _ in range(calls):
                agent.select_moves(games, rng)
            return calls * batch_size

        return work

    contestants = {f"{size} games at once": moves(size) for size in (100, 1, 1_000)}
    rate = compare("MCTS, 400 simulations with one playout each", "moves/s", contestants, rounds=3)
    print(f"  {1000 / rate:.2f} ms a move with 100 games at once")


COMPARISONS = {
    "batch": batched_play,
    "vector": vector_steps,
    "single": single_game,
    "aec": aec_turns,
    "perft": perft_leaves,
    "endgame": endgames,
    "search": searches,
    "mcts": tree_searches,
    "training": training_games,
    "lockstep": lockstep_games,
}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which comparisons, of {', '.join(COMPARISONS)} (default: all)")
    names = parser.parse_args().names or list(COMPARISONS)
    if unknown := set(names) - set(COMPARISONS):
        parser.error(f"no comparison {', '.join(sorted(unknown))}; there are {', '.join(COMPARISONS)}")
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} cores, {platform.machine()}")
    for name in names:
        COMPARISONS[name]()


if __name__ == "__main__":
    main()
