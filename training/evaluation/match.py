"""Matches: two agents, every opening twice with colours swapped, a score with its 95% interval.

`python -m training.evaluation.match SPEC SPEC --openings random:8 --games 1000`

The two games of an opening are one observation: an opening that favours a side then adds nothing to the difference between the
agents, and no game is counted as more independent than it is.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from agents import Agent, agent_specs, make_agent
from othello_env.batch import PositionBatch
from othello_env.errors import IllegalMoveError
from othello_env.position import BLACK, WHITE, Position
from training.evaluation.openings import load_openings, random_openings

Z_95: Final = 1.959964

# Games played in lockstep. More use more memory; fewer make the batches of slow agents smaller.
_LOCKSTEP: Final = 8192


@dataclass(frozen=True, slots=True)
class MatchResult:
    """What came of a match, from the first agent's view.

    agents: the names. scores: [pairs, 2] float64, 1 for a win, 0.5 for a draw, 0 for a loss, in the game that the first agent
    played with Black and in the one with White. disc_differences: [pairs, 2] int64, own discs minus the opponent's.
    """

    agents: tuple[str, str]
    scores: npt.NDArray[np.float64]
    disc_differences: npt.NDArray[np.int64]

    @property
    def games(self) -> int:
        """The number of games."""
        return self.scores.size

    @property
    def wins(self) -> int:
        """Games that the first agent won."""
        return int((self.scores == 1).sum())

    @property
    def draws(self) -> int:
        """Games that nobody won."""
        return int((self.scores == 0.5).sum())

    @property
    def losses(self) -> int:
        """Games that the first agent lost."""
        return int((self.scores == 0).sum())

    @property
    def score(self) -> float:
        """The share of the points that the first agent got; a draw is half a point."""
        return float(self.scores.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the score, see `score_interval`."""
        return score_interval(self.scores.mean(axis=1))


def score_interval(pair_scores: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The 95% interval for the mean of independent observations between 0 and 1.

    pair_scores: [pairs], the mean score of each pair of games. The interval is Wilson's (1927), for as many yes/no trials as
    would vary like the observations; it stays inside [0, 1] and does not shrink to a point where all observations are equal,
    since one observation of the largest possible variance is added to the estimate.
    """
    pairs, mean = len(pair_scores), float(pair_scores.mean())
    largest_variance = mean * (1 - mean)
    trials = float(pairs)
    if largest_variance > 0:
        variance = (float(((pair_scores - mean) ** 2).sum()) + largest_variance) / pairs
        trials = max(trials * largest_variance / variance, trials)
    center = (mean + Z_95**2 / (2 * trials)) / (1 + Z_95**2 / trials)
    half_width = Z_95 / (1 + Z_95**2 / trials) * math.sqrt(largest_variance / trials + Z_95**2 / (4 * trials**2))
    return max(0.0, center - half_width), min(1.0, center + half_width)


def play_match(
    first: Agent, second: Agent, openings: Sequence[Position], *, seed: int = 0, epsilon: float = 0.0, lockstep: int = _LOCKSTEP
) -> MatchResult:
    """Play every opening twice, with colours swapped, many games in lockstep.

    seed: of all randomness, so that the match repeats. epsilon: the chance that a move of either side is replaced by a random
    legal one; 0.1 is the published League mode. Raises `IllegalMoveError` with the agent's name where one breaks the rules.
    """
    if not openings:
        raise ValueError("a match needs at least one opening")
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon {epsilon}: a chance is between 0 and 1")
    results = []
    for number, start in enumerate(range(0, len(openings), max(1, lockstep // 2))):
        rng = np.random.default_rng([seed, number])
        results.append(_play_pairs((first, second), openings[start : start + max(1, lockstep // 2)], rng, epsilon))
    differences = np.concatenate(results)
    return MatchResult((first.name, second.name), (np.sign(differences) + 1) / 2, differences)


def _play_pairs(
    agents: tuple[Agent, Agent], openings: Sequence[Position], rng: np.random.Generator, epsilon: float
) -> npt.NDArray[np.int64]:
    """The disc differences from the first agent's view: [pairs, 2], with Black and with White."""
    pairs = len(openings)
    games = PositionBatch.from_positions([*openings, *openings])
    first_color = np.repeat([BLACK, WHITE], pairs)
    while not games.is_over.all():
        moves = np.full(len(games), games.pass_square, dtype=np.int64)
        for agent, color in ((agents[0], first_color), (agents[1], 1 - first_color)):
            turns = np.flatnonzero((games.side_to_move == color) & ~games.is_over)
            if len(turns):
                positions = games.take(turns)
                moves[turns] = _select_moves(agent, positions, rng, epsilon)
        games.step(moves)
    differences: npt.NDArray[np.int64] = games.score("discs").reshape(2, pairs).T * np.array([1, -1])
    return differences


def _select_moves(agent: Agent, positions: PositionBatch, rng: np.random.Generator, epsilon: float) -> npt.NDArray[np.int64]:
    moves = np.asarray(agent.select_moves(positions, rng))
    if moves.shape != (len(positions),) or not np.issubdtype(moves.dtype, np.integer):
        raise IllegalMoveError(f"{agent.name} answered {len(positions)} positions with {moves.dtype} of shape {moves.shape}")
    illegal = np.flatnonzero(~positions.is_legal(moves))
    if len(illegal):
        raise IllegalMoveError(f"{agent.name} played square {moves[illegal[0]]}, which is illegal in {positions[int(illegal[0])]}")
    if epsilon:
        at_random = rng.random(len(positions)) < epsilon
        moves = np.where(at_random, positions.sample_moves(rng), moves)
    return moves.astype(np.int64)


def format_results(results: Sequence[MatchResult]) -> str:
    """A table with one line a match: opponents, games, wins, draws, losses, score, interval."""
    width = max(8, *(len(name) for result in results for name in result.agents))
    lines = [f"{'agent':{width}}  {'opponent':{width}}  {'games':>6} {'wins':>6} {'draws':>6} {'losses':>6}  {'score':>6}  95% interval"]
    for result in results:
        low, high = result.interval
        lines.append(
            f"{result.agents[0]:{width}}  {result.agents[1]:{width}}  {result.games:6} {result.wins:6} {result.draws:6} {result.losses:6}"
            f"  {result.score:6.3f}  {low:.3f} to {high:.3f}"
        )
    return "\n".join(lines)


def parse_openings(source: str, num_games: int, seed: int) -> list[Position]:
    """Openings as the command line names them, one for each pair of games.

    source: "start", "random:PLIES", or a file for `load_openings`, which is gone through from the top as often as needed; with
    `num_games` 0 once. Raises `ValueError` or `OSError`.
    """
    pairs = (num_games + 1) // 2
    kind, _, plies = source.partition(":")
    if kind == "start" or (kind == "random" and plies.isdigit()):
        if not pairs:
            raise ValueError(f"--openings {source} needs a number of --games")
        return random_openings(pairs, int(plies), np.random.default_rng(seed)) if plies else [Position.start()] * pairs
    openings = load_openings(Path(source))
    return list(islice(cycle(openings), pairs or len(openings)))


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluation.match",
        description="Play two agents against each other, every opening twice with colours swapped.",
        epilog="Agents: " + ", ".join(agent_specs()),
    )
    parser.add_argument("first", help="spec of the agent whose score is shown")
    parser.add_argument("second", help="spec of its opponent")
    parser.add_argument(
        "--openings", default="random:8", help="start, random:PLIES, or a file of transcripts or positions (default: random:8)"
    )
    parser.add_argument("--games", type=int, default=1000, help="games in all; 0 for every opening of a file once (default: 1000)")
    parser.add_argument("--epsilon", type=float, default=0.0, help="chance of a random move on both sides; 0.1 is League mode (default: 0)")
    parser.add_argument("--seed", type=int, default=0, help="seed of openings, ties and random moves (default: 0)")
    arguments = parser.parse_args(argv)
    try:
        openings = parse_openings(arguments.openings, arguments.games, arguments.seed)
        first, second = make_agent(arguments.first), make_agent(arguments.second)
        start = time.perf_counter()
        result = play_match(first, second, openings, seed=arguments.seed, epsilon=arguments.epsilon)
    except (OSError, ValueError) as error:
        sys.exit(f"match: {error}")
    print(format_results([result]))
    print(f"{result.games / (time.perf_counter() - start):.0f} games/s")


if __name__ == "__main__":
    main()
