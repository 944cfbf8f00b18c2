"""Endgame accuracy of agents and of games, measured with the exact solver.

`python -m training.evaluation.accuracy SPEC [SPEC ...] --positions 1000 --max-empties 14`

Two figures are given for each band of empty squares: the share of moves that keep the outcome of
perfect play (win, draw or loss), and the mean number of discs that a move loses. Only moves with an
alternative count: a forced move cannot be wrong. Needs numba (extra `[fast]`).
"""

from __future__ import annotations

import argparse
import math
import queue
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

import numpy as np
import numpy.typing as npt

from agents import make_agent
from agents.registry import agents_help
from othello_env.agent import Agent, Moves, ask_agent
from othello_env.backend import num_threads
from othello_env.batch import PositionBatch
from othello_env.command import Parser, Progress, command, seed
from othello_env.game import Game
from othello_env.position import COLOR_NAMES, Position, Scoring
from othello_env.squares import BOARD_SIZES
from training.evaluation.openings import load_games
from training.evaluation.results import Z_95, score_interval

if TYPE_CHECKING:
    from agents.search.endgame import Solver

Band = tuple[int, int]
ProgressCallback = Callable[[int, int], object]
"""Called with the number of moves judged so far and the total number of moves."""

BANDS: Final[tuple[Band, ...]] = ((1, 4), (5, 8), (9, 12), (13, 16), (17, 20))
# With 20 empties or more a position takes seconds. With one empty square there is never a choice.
EMPTIES: Final = (2, 20)

# Number of positions in each call of an agent.
_BATCH_SIZE: Final = 256
# The search for positions is given up after this number of batches of games.
_TRIES: Final = 100
# Smallest possible loss, in discs, in a game that ends with a full board.
_SMALLEST_LOSS: Final = 2


@dataclass(frozen=True, slots=True)
class BandAccuracy:
    """Accuracy of the moves made with `low` to `high` empty squares, both included.

    moves: number of moves with an alternative. outcomes_kept: number of them that kept the win,
    draw or loss of perfect play. best_moves: number of them that kept the score of perfect play.
    discs_lost: sum over the moves of the best score minus the score of the move. The intervals are
    95% intervals of the two shares and of the mean. All moves of one game are one observation, and
    copies of a game or of a position are the same observation.
    """

    low: int
    high: int
    moves: int
    outcomes_kept: int
    best_moves: int
    discs_lost: int
    outcome_kept_interval: tuple[float, float]
    best_move_interval: tuple[float, float]
    discs_lost_interval: tuple[float, float]

    @property
    def outcome_kept_share(self) -> float:
        """Share of the moves that kept the outcome; NaN without moves, like the other means."""
        return self._mean(self.outcomes_kept)

    @property
    def best_move_share(self) -> float:
        """Share of the moves that kept the score of perfect play."""
        return self._mean(self.best_moves)

    @property
    def mean_discs_lost(self) -> float:
        """Mean number of discs lost per move."""
        return self._mean(self.discs_lost)

    def _mean(self, total: int) -> float:
        return total / self.moves if self.moves else math.nan


@dataclass(frozen=True, slots=True)
class _Decision:
    """Position with at least two legal moves.

    source: the observation that the position belongs to, a game or a position.
    """

    position: Position
    source: Hashable


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Exact scores of the best move and of the move made, for the side that made it."""

    decision: _Decision
    best: int
    made: int


def exact_solvers(scoring: Scoring = "empties_to_winner", *, threads: int | None = None) -> list[Solver]:
    """Return solvers for `measure_accuracy` and `judge_games`, one per thread.

    scoring: of the scores; the moves that keep the outcome are the same in both scorings. threads:
    by default the number of cores. Raises `ImportError` without numba.
    """
    from agents.search.endgame import Solver  # late: it needs numba

    if threads is not None and threads < 1:
        raise ValueError(f"threads {threads}: expected at least 1")
    return [Solver(scoring, hash_mb=16) for _ in range(threads or num_threads())]


def endgame_positions(
    num_positions: int, empties: Band, *, rng: np.random.Generator, player: Agent | None = None, epsilon: float = 0.1, board_size: int = 8
) -> PositionBatch:
    """Return positions with at least two legal moves, each from its own game.

    empties: smallest and largest number of empty squares; all numbers occur equally often. player:
    plays both sides, with a random move instead of its own with probability `epsilon`; by default
    all moves are random. Raises `ValueError` if no such positions are found, `AgentError` if the
    player fails.
    """
    low, high = empties
    if not EMPTIES[0] <= low <= high <= EMPTIES[1]:
        raise ValueError(f"empties {low} to {high}: expected {EMPTIES[0]} to {EMPTIES[1]}; there is no choice with one empty square")
    if num_positions < 1:
        raise ValueError(f"positions {num_positions}: expected at least 1")
    found = PositionBatch.start(num_positions, board_size)
    wanted = low + np.arange(num_positions) % (high - low + 1)
    missing = np.arange(num_positions)
    for _ in range(_TRIES):
        games = PositionBatch.start(len(missing), board_size)
        while len(turns := np.flatnonzero(~games.is_over & (games.empties > wanted[missing]))):
            games.step(_choose_moves(games.take(turns), player, rng=rng, epsilon=epsilon), turns)
        one_less = games.legal_moves - (games.legal_moves != 0)
        found_mask = (games.empties == wanted[missing]) & ((games.legal_moves & one_less) != 0)
        found.reset(missing[found_mask], games.take(found_mask))
        missing = missing[~found_mask]
        if not len(missing):
            return found
    raise ValueError(f"no position with a choice at {wanted[missing[0]]} empties in {_TRIES} games on a board of size {board_size}")


def _choose_moves(positions: PositionBatch, player: Agent | None, *, rng: np.random.Generator, epsilon: float) -> Moves:
    if player is None:
        return positions.sample_moves(rng)
    moves = ask_agent(player, positions, rng)
    return np.where(rng.random(len(positions)) < epsilon, positions.sample_moves(rng), moves)


def measure_accuracy(
    agent: Agent,
    positions: PositionBatch | Sequence[Game],
    *,
    rng: np.random.Generator,
    bands: Sequence[Band] = BANDS,
    max_empties: int = 14,
    solvers: Sequence[Solver] | None = None,
    progress: ProgressCallback | None = None,
) -> tuple[BandAccuracy, ...]:
    """Compare an agent's moves with perfect play.

    positions: the positions that the agent is asked about, or games of which all positions are
    used. bands: ranges of empty squares in ascending order; bands beyond `max_empties` are left
    out. solvers: one per thread, by default `exact_solvers()`; the result does not depend on their
    number. Raises `AgentError` if the agent does not return legal moves.
    """
    bands = _bands_up_to(max_empties, bands)
    solvers = solvers or exact_solvers()
    if isinstance(positions, PositionBatch):
        decisions = list(_choices(((position, position) for position in positions), bands))
    else:
        decisions = list(_choices(((position, game) for game in positions for position in game.positions()), bands))
    verdicts: list[_Verdict] = []
    for start in range(0, len(decisions), _BATCH_SIZE):
        batch = decisions[start : start + _BATCH_SIZE]
        moves = ask_agent(agent, PositionBatch.from_positions([decision.position for decision in batch]), rng).tolist()
        verdicts += _judge(batch, moves, solvers=solvers, progress=_shifted(progress, start, total=len(decisions)))
    return _by_band(verdicts, bands)


def judge_games(
    games: Sequence[Game],
    colors: Sequence[tuple[str, str]] | None = None,
    *,
    bands: Sequence[Band] = BANDS,
    max_empties: int = 14,
    solvers: Sequence[Solver] | None = None,
    progress: ProgressCallback | None = None,
) -> dict[str, tuple[BandAccuracy, ...]]:
    """Compare the moves of games with perfect play, separately for each player.

    colors: for each game the names of the players of Black and White; by default "black" and
    "white". The result has an entry for each name, in order of appearance. The other arguments are
    those of `measure_accuracy`. Raises `ValueError` if the number of colors is not that of the
    games.
    """
    colors = [COLOR_NAMES] * len(games) if colors is None else colors
    if len(colors) != len(games):
        raise ValueError(f"{len(games)} games, but colors for {len(colors)}")
    bands = _bands_up_to(max_empties, bands)
    names: list[str] = []
    decisions: list[_Decision] = []
    moves: list[int] = []
    for game, players in zip(games, colors, strict=True):
        move_in = dict(zip(game.positions(), game.moves, strict=False))  # the last position has no move
        for decision in _choices(((position, game) for position in move_in), bands):
            names.append(players[decision.position.side_to_move])
            decisions.append(decision)
            moves.append(move_in[decision.position])
    verdicts = _judge(decisions, moves, solvers=solvers or exact_solvers(), progress=_shifted(progress, 0, total=len(moves)))
    by_name: dict[str, list[_Verdict]] = {name: [] for players in colors for name in players}
    for name, verdict in zip(names, verdicts, strict=True):
        by_name[name].append(verdict)
    return {name: _by_band(own_verdicts, bands) for name, own_verdicts in by_name.items()}


def _bands_up_to(max_empties: int, bands: Sequence[Band]) -> tuple[Band, ...]:
    """Return the bands up to `max_empties`.

    Raises `ValueError` for bands that are empty, overlap, or are out of order.
    """
    if not EMPTIES[0] <= max_empties <= EMPTIES[1]:
        raise ValueError(f"empties {max_empties}: expected {EMPTIES[0]} to {EMPTIES[1]}; there is no choice with one empty square")
    ends = [end for band in bands for end in (band[0] - 1, band[1])]
    if not bands or ends != sorted(ends) or any(low > high for low, high in bands):
        raise ValueError(f"bands {list(bands)}: expected ranges of empties in ascending order, such as (1, 4), (5, 8)")
    return tuple((low, min(high, max_empties)) for low, high in bands if low <= max_empties)


def _choices(positions: Iterable[tuple[Position, Hashable]], bands: Sequence[Band]) -> Iterator[_Decision]:
    """Yield the positions in one of the bands that have at least two legal moves."""
    for position, source in positions:
        if position.legal_moves.bit_count() > 1 and any(low <= position.empties <= high for low, high in bands):
            yield _Decision(position, source)


def _shifted(progress: ProgressCallback | None, start: int, *, total: int) -> Callable[[int], object]:
    """Return a callback for the moves of a batch that begins at move `start`."""
    return lambda done: None if progress is None else progress(start + done, total)


def _judge(
    decisions: Sequence[_Decision], moves: Sequence[int], *, solvers: Sequence[Solver], progress: Callable[[int], object]
) -> list[_Verdict]:
    """Return the scores of each decision; repeated decisions are solved once."""
    free: queue.SimpleQueue[Solver] = queue.SimpleQueue()
    for solver in solvers:
        free.put(solver)

    def scores(question: tuple[Position, int]) -> tuple[int, int]:
        solver = free.get()
        try:
            return solver.judge(*question)
        finally:
            free.put(solver)

    questions = [(decision.position, move) for decision, move in zip(decisions, moves, strict=True)]
    copies: dict[tuple[Position, int], int] = {}
    for question in questions:
        copies[question] = copies.get(question, 0) + 1
    answers: dict[tuple[Position, int], tuple[int, int]] = {}
    done = 0
    with ThreadPoolExecutor(len(solvers)) as pool:
        for question, answer in zip(copies, pool.map(scores, copies), strict=True):
            answers[question] = answer
            done += copies[question]
            progress(done)
    return [_Verdict(decision, *answers[question]) for decision, question in zip(decisions, questions, strict=True)]


def _by_band(verdicts: Sequence[_Verdict], bands: Sequence[Band]) -> tuple[BandAccuracy, ...]:
    return tuple(
        _band_accuracy(low, high, [verdict for verdict in verdicts if low <= verdict.decision.position.empties <= high])
        for low, high in bands
    )


def _band_accuracy(low: int, high: int, verdicts: Sequence[_Verdict]) -> BandAccuracy:
    if not verdicts:
        return BandAccuracy(low, high, 0, 0, 0, 0, (0.0, 1.0), (0.0, 1.0), (0.0, math.inf))
    numbers: dict[Hashable, int] = {}
    sources = np.array([numbers.setdefault(verdict.decision.source, len(numbers)) for verdict in verdicts])
    best, made = np.array([(verdict.best, verdict.made) for verdict in verdicts]).T
    kept_mask, best_mask, lost = np.sign(best) == np.sign(made), best == made, best - made
    return BandAccuracy(
        low,
        high,
        len(verdicts),
        int(kept_mask.sum()),
        int(best_mask.sum()),
        int(lost.sum()),
        _share_interval(kept_mask, sources),
        _share_interval(best_mask, sources),
        _mean_interval(lost, sources),
    )


def _observations(values: npt.NDArray[np.generic], sources: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return one observation per source, for an estimate of the mean of all values.

    The observations have the mean of all values, and the variance of a mean over sources: the
    linearized ratio estimate of a cluster sample (Cochran, Sampling Techniques, 1977, chapter 9A),
    in which sources with more values have more weight. values: [N]. sources: [N], index of the
    source of each value.
    """
    counts = np.bincount(sources)
    sums = np.bincount(sources, values.astype(np.float64))
    mean = sums.sum() / len(values)
    observations: npt.NDArray[np.float64] = mean + (sums - mean * counts) / counts.mean()
    return observations


def _share_interval(mask: npt.NDArray[np.bool_], sources: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Return the 95% interval of a share, see `score_interval`.

    If a few sources have most of the values, the effective number of observations is smaller than
    the number of sources.
    """
    counts = np.bincount(sources)
    return score_interval(_observations(mask, sources), distinct_pairs=max(1, round(len(mask) ** 2 / int((counts**2).sum()))))


def _mean_interval(lost: npt.NDArray[np.int64], sources: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Return the 95% interval of the mean loss, from the normal distribution.

    It does not shrink to a point if all observations are equal, because one observation that
    differs by the smallest loss is added to the variance.
    """
    observations = _observations(lost, sources)
    mean = float(observations.mean())
    squares = float(((observations - mean) ** 2).sum()) + _SMALLEST_LOSS**2
    half_width = Z_95 * math.sqrt(squares) / len(observations)
    return max(0.0, mean - half_width), mean + half_width


def format_accuracy(results: Sequence[tuple[str, Sequence[BandAccuracy]]]) -> str:
    """Return a table with one line per player and band that has moves.

    results: names of players with their bands.
    """
    width = max([5, *(len(name) for name, _ in results)])
    columns = "empties  decisions  outcome kept (95% interval)    best move (95% interval)  discs lost per move (95% interval)"
    lines = [f"{'agent':{width}}  {columns}"]
    for name, bands in results:
        for band in bands:
            if band.moves:
                lost_low, lost_high = band.discs_lost_interval
                lines.append(
                    f"{name:{width}}  {f'{band.low}-{band.high}':>7}  {band.moves:9}"
                    f"  {_percent(band.outcome_kept_share, band.outcome_kept_interval):>27}"
                    f"  {_percent(band.best_move_share, band.best_move_interval):>26}"
                    f"  {f'{band.mean_discs_lost:.2f} ({lost_low:.2f} to {lost_high:.2f})':>34}"
                )
    return "\n".join(lines)


def _percent(share: float, interval: tuple[float, float]) -> str:
    return f"{share:6.1%} ({interval[0]:.1%} to {interval[1]:.1%})"


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command. argv: its arguments, by default those of the process."""
    parser = Parser(
        prog="python -m training.evaluation.accuracy",
        description="Compare the endgame moves of agents, or of games, with perfect play.",
        epilog=agents_help(),
    )
    parser.add_argument("specs", nargs="*", metavar="SPEC", help="agents; optional with --games")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--positions", metavar="N", type=int, default=1000, help="number of positions, from random games (default: 1000)")
    games_help = "file with a transcript per line: its moves are judged, and the agents are asked in its positions"
    source.add_argument("--games", type=Path, metavar="FILE", help=games_help)
    empties_help = f"largest number of empty squares, {EMPTIES[0]} to {EMPTIES[1]}; slow from 18 on (default: 14)"
    parser.add_argument("--max-empties", metavar="N", type=int, default=14, help=empties_help)
    scoring_help = "scoring of finished games with empty squares (default: empties_to_winner)"
    parser.add_argument("--scoring", choices=get_args(Scoring), default="empties_to_winner", help=scoring_help)
    parser.add_argument("--board-size", type=int, choices=BOARD_SIZES, default=8, help="squares per side (default: 8)")
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="seed of the positions and of the agents (default: 0)")
    arguments = parser.parse_args(argv)
    start = time.perf_counter()
    results: list[tuple[str, tuple[BandAccuracy, ...]]] = []
    with command("accuracy"):
        try:
            for result in _measure_all(arguments):
                results.append(result)
        finally:  # results before an error or Ctrl-C are printed too
            if moves := sum(band.moves for _, bands in results for band in bands):
                print(format_accuracy(results))
        if not moves:
            raise ValueError(f"{arguments.games}: no position with a choice at {arguments.max_empties} empties or fewer")
        print(f"{moves} decisions in {time.perf_counter() - start:.1f} s")


def _measure_all(arguments: argparse.Namespace) -> Iterator[tuple[str, tuple[BandAccuracy, ...]]]:
    """Yield the accuracy of the players of the games, then of each agent."""
    if not arguments.specs and arguments.games is None:
        raise ValueError("nothing to measure: name an agent, or a file with --games")
    max_empties: int = arguments.max_empties
    _bands_up_to(max_empties, BANDS)
    agents = [make_agent(spec) for spec in arguments.specs]
    solvers = exact_solvers(arguments.scoring)
    positions: PositionBatch | Sequence[Game]
    if arguments.games is None:
        rng = np.random.default_rng(arguments.seed)
        positions = endgame_positions(arguments.positions, (EMPTIES[0], max_empties), rng=rng, board_size=arguments.board_size)
    else:
        positions = load_games(arguments.games, board_size=arguments.board_size)
        with Progress(None, unit="moves", description=arguments.games.name) as bar:
            judged = judge_games(positions, max_empties=max_empties, solvers=solvers, progress=bar.advance)
        yield from judged.items()
    for agent in agents:
        rng = np.random.default_rng([arguments.seed, 1])
        with Progress(None, unit="moves", description=agent.name) as bar:
            yield agent.name, measure_accuracy(agent, positions, rng=rng, max_empties=max_empties, solvers=solvers, progress=bar.advance)


if __name__ == "__main__":
    main()
