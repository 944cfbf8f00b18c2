"""Matches: two agents, every opening twice with colours swapped, a score with its 95% interval.

`python -m training.evaluation.match SPEC SPEC --openings random:8 --games 1000`

The two games of an opening are one observation: an opening that favours a side then adds nothing to the difference between the
agents. Pairs that are copies of each other, as deterministic agents play them from equal openings, count as one observation, so
that no game is counted as more independent than it is.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from agents import Agent, agent_specs, make_agent
from othello_env.batch import PositionBatch
from othello_env.bitboard import BitboardArray, popcount
from othello_env.errors import IllegalMoveError
from othello_env.position import BLACK, WHITE, Position
from othello_env.squares import BOARD_SIZES
from training.evaluation.openings import parse_openings

Z_95: Final = 1.959964

# Games played in lockstep. More use more memory; fewer make the batches of slow agents smaller.
_LOCKSTEP: Final = 8192


@dataclass(frozen=True, slots=True)
class MatchResult:
    """What came of a match, from the first agent's view.

    agents: the names. scores: [pairs, 2] float64, 1 for a win, 0.5 for a draw, 0 for a loss, in the game that the first agent
    played with Black and in the one with White. disc_differences: [pairs, 2] int64, own discs minus the opponent's.
    distinct_pairs: how many pairs are no copies of another, in opening and in final boards.
    """

    agents: tuple[str, str]
    scores: npt.NDArray[np.float64]
    disc_differences: npt.NDArray[np.int64]
    distinct_pairs: int

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
        return score_interval(self.scores.mean(axis=1), distinct_pairs=self.distinct_pairs)


def score_interval(pair_scores: npt.NDArray[np.float64], *, distinct_pairs: int | None = None) -> tuple[float, float]:
    """The 95% interval for the mean of independent observations between 0 and 1.

    pair_scores: [pairs], the mean score of each pair of games. distinct_pairs: how many of them are observations of their own,
    by default all. The interval is Wilson's (1927), for as many yes/no trials as would vary like the observations; it stays
    inside [0, 1] and does not shrink to a point where all observations are equal, since one observation of the largest possible
    variance is added to the estimate.
    """
    mean = float(pair_scores.mean())
    trials = float(len(pair_scores) if distinct_pairs is None else distinct_pairs)
    largest_variance = mean * (1 - mean)
    if largest_variance > 0:
        variance = float(((pair_scores - mean) ** 2).mean()) + largest_variance / trials
        trials = max(trials * largest_variance / variance, trials)
    center = (mean + Z_95**2 / (2 * trials)) / (1 + Z_95**2 / trials)
    half_width = Z_95 / (1 + Z_95**2 / trials) * math.sqrt(largest_variance / trials + Z_95**2 / (4 * trials**2))
    return max(0.0, center - half_width), min(1.0, center + half_width)


def play_match(
    first: Agent, second: Agent, openings: Sequence[Position], *, seed: int = 0, epsilon: float = 0.0, lockstep: int = _LOCKSTEP
) -> MatchResult:
    """Play every opening twice, with colours swapped, many games in lockstep.

    seed: of all randomness, so that the match repeats. epsilon: the chance that a move of either side is replaced by a random
    legal one; 0.1 is the published League mode. lockstep: the most games at a time. Raises `IllegalMoveError` with the agent's
    name where one breaks the rules.
    """
    if not openings:
        raise ValueError("a match needs at least one opening")
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon {epsilon}: a chance is between 0 and 1")
    size = max(1, lockstep // 2)
    finals = []
    for number, start in enumerate(range(0, len(openings), size)):
        rng = np.random.default_rng([seed, number])
        finals.append(_play_pairs((first, second), openings[start : start + size], rng=rng, epsilon=epsilon))
    boards = np.concatenate(finals)
    differences = (popcount(boards[..., 0]).astype(np.int64) - popcount(boards[..., 1])) * np.array([1, -1])
    begun = [(opening.black, opening.white, opening.side_to_move) for opening in openings]
    distinct = len(set(zip(begun, map(bytes, boards), strict=True)))
    return MatchResult((first.name, second.name), (np.sign(differences) + 1) / 2, differences, distinct)


def _play_pairs(agents: tuple[Agent, Agent], openings: Sequence[Position], *, rng: np.random.Generator, epsilon: float) -> BitboardArray:
    """The final boards of the games that the first agent played with Black and with White: [pairs, 2, 2] black and white discs."""
    pairs = len(openings)
    games = PositionBatch.from_positions([*openings, *openings])
    first_color = np.repeat([BLACK, WHITE], pairs)
    while not games.is_over.all():
        moves = np.full(len(games), games.pass_square, dtype=np.int64)
        for agent, color in ((agents[0], first_color), (agents[1], 1 - first_color)):
            turns = np.flatnonzero((games.side_to_move == color) & ~games.is_over)
            if len(turns):
                chosen = _select_moves(agent, games, turns=turns, rng=rng)
                if epsilon:
                    random_mask = rng.random(len(turns)) < epsilon
                    chosen = np.where(random_mask, games.take(turns).sample_moves(rng), chosen)
                moves[turns] = chosen
        games.step(moves)
    is_black = games.side_to_move == BLACK
    boards: BitboardArray = np.stack([np.where(is_black, games.own, games.opp), np.where(is_black, games.opp, games.own)], axis=1)
    by_pair: BitboardArray = boards.reshape(2, pairs, 2).transpose(1, 0, 2).copy()
    return by_pair


def _select_moves(agent: Agent, games: PositionBatch, *, turns: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """An agent's moves in some of the games. It gets copies, so that it cannot change the games."""
    answer = agent.select_moves(games.take(turns), rng)
    try:
        moves = np.asarray(answer)
    except ValueError:
        raise IllegalMoveError(f"{agent.name} answered {len(turns)} positions with something that is no array") from None
    if moves.shape != turns.shape or not np.issubdtype(moves.dtype, np.integer):
        raise IllegalMoveError(f"{agent.name} answered {len(turns)} positions with {moves.dtype} of shape {moves.shape}")
    illegal = np.flatnonzero(~games.is_legal(moves, turns))
    if len(illegal):
        position = games[int(turns[illegal[0]])]
        raise IllegalMoveError(f"{agent.name} played square {moves[illegal[0]]}, which is illegal in {position}")
    return moves.astype(np.int64)


def format_results(results: Sequence[MatchResult]) -> str:
    """A table with one line a match: opponents, games, wins, draws, losses, score, interval."""
    width = max([8, *(len(name) for result in results for name in result.agents)])
    lines = [f"{'agent':{width}}  {'opponent':{width}}  {'games':>6} {'wins':>6} {'draws':>6} {'losses':>6}  {'score':>6}  95% interval"]
    for result in results:
        low, high = result.interval
        lines.append(
            f"{result.agents[0]:{width}}  {result.agents[1]:{width}}  {result.games:6} {result.wins:6} {result.draws:6} {result.losses:6}"
            f"  {result.score:6.3f}  {low:.3f} to {high:.3f}"
        )
        pairs = len(result.scores)
        if result.distinct_pairs < 0.9 * pairs:
            copies = f"only {result.distinct_pairs} of these {pairs} pairs of games are no copies of another"
            lines.append(f"  {copies}: use more varied openings, or --epsilon")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluation.match",
        description="Play two agents against each other, every opening twice with colours swapped.",
        epilog="Agents: " + ", ".join(agent_specs()),
    )
    openings_help = "start, random:PLIES, balanced, or a file of transcripts or positions (default: random:8)"
    parser.add_argument("first", help="spec of the agent whose score is shown")
    parser.add_argument("second", help="spec of its opponent")
    parser.add_argument("--openings", default="random:8", help=openings_help)
    parser.add_argument(
        "--games", type=int, default=1000, help="games in all, even; 0 for every opening of a list or file twice (default: 1000)"
    )
    parser.add_argument("--epsilon", type=float, default=0.0, help="chance of a random move on both sides; 0.1 is League mode (default: 0)")
    parser.add_argument("--board-size", type=int, choices=BOARD_SIZES, default=8, help="default: 8")
    parser.add_argument("--seed", type=int, default=0, help="seed of openings, ties and random moves (default: 0)")
    arguments = parser.parse_args(argv)
    start = time.perf_counter()
    try:
        if arguments.seed < 0:
            raise ValueError(f"seed {arguments.seed}: must not be negative")
        openings = parse_openings(arguments.openings, arguments.games, seed=arguments.seed, board_size=arguments.board_size)
        first, second = make_agent(arguments.first), make_agent(arguments.second)
        result = play_match(first, second, openings, seed=arguments.seed, epsilon=arguments.epsilon)
    except (OSError, ValueError) as error:
        sys.exit(f"match: {' '.join(str(error).split())}")
    print(format_results([result]))
    print(f"{result.games / (time.perf_counter() - start):.0f} games/s")


if __name__ == "__main__":
    main()
