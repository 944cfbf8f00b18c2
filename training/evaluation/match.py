"""Matches of two agents: every opening is played twice, with colors swapped.

`python -m training.evaluation.match SPEC SPEC --openings random:8 --games 1000`

The result is a score with its 95% interval. The two games of an opening are one observation, so an
opening that favors a color adds nothing to the difference between the agents. Pairs that are copies
of each other, as deterministic agents play them from equal openings, also count as one observation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from agents.base import check_board_size
from agents.registry import agents_help
from othello_env.agent import Agent, agent_name
from othello_env.batch import PositionBatch
from othello_env.bitboard import BitboardArray, popcount
from othello_env.command import Parser, Progress, command, seed
from othello_env.game import Game
from othello_env.position import BLACK, Position
from othello_env.squares import BOARD_SIZES
from training.evaluation.journal import JOURNAL, GameRecord, Journal
from training.evaluation.openings import SOURCES, parse_openings
from training.evaluation.players import build_player
from training.evaluation.referee import GameBatch
from training.evaluation.results import MatchResult as MatchResult

# Maximum number of games in a batch. Larger batches use more memory; smaller ones slow agents down.
_BATCH_SIZE: Final = 8192
# The command shows a score early and often: the first batch is small, and there are at least
# _BATCHES batches, unless these would have fewer than _SMALLEST_LIMIT games.
_FIRST_BATCH_SIZE: Final = 4
_SMALLEST_LIMIT: Final = 64
_BATCHES: Final = 8
# Seconds between two updates of the progress line, and of the score in it.
_SHOW_SECONDS: Final = 0.1
_SCORE_SECONDS: Final = 1.0


class Match:
    """Match in progress.

    `step` plays one move in each game of the current batch; `result` is the result of the complete
    pairs so far.

    openings: each is played twice, with colors swapped. seed: of all randomness, so that the match
    can be repeated. epsilon: probability that a move of either side is replaced by a random legal
    one; 0.1 is the published League mode. batch_size: maximum number of games in a batch.
    first_batch_size: number of games in the first batch, which doubles from batch to batch; by
    default `batch_size`.

    names: the agents' names. players: their names in the records, which differ even if the agents'
    names are equal. num_games: number of games of the whole match. finished: if set, called with
    the record of each game when it ends.

    Raises `ValueError` for invalid arguments and for an agent that cannot play on the board. `step`
    raises `AgentError` with the agent's name if an agent fails.
    """

    def __init__(
        self,
        first: Agent,
        second: Agent,
        openings: Sequence[Position | Game],
        *,
        seed: int = 0,
        epsilon: float = 0.0,
        batch_size: int = _BATCH_SIZE,
        first_batch_size: int | None = None,
    ) -> None:
        if not openings:
            raise ValueError("a match needs at least one opening")
        if not 0 <= epsilon <= 1:
            raise ValueError(f"epsilon {epsilon}: expected a probability, from 0 to 1")
        self._openings = [opening if isinstance(opening, Game) else Game((), opening) for opening in openings]
        self._agents = first, second
        self.num_games = 2 * len(self._openings)
        for agent in self._agents:
            for board_size in {opening.start.board_size for opening in self._openings}:
                check_board_size(agent, board_size)
        self.names = agent_name(first), agent_name(second)
        second_name = self.names[1] if self.names[1] != self.names[0] else f"{self.names[1]} (2)"
        self.players = self.names[0], second_name
        self.finished: Callable[[GameRecord], object] | None = None
        self._seed, self._epsilon = seed, epsilon
        self._batch_size = batch_size
        self._next_batch_size = min(batch_size, first_batch_size or batch_size)
        self._num_batches = 0
        self._num_started = 0  # pairs, with those of the current batch
        self._batch: GameBatch | None = None
        self._boards: list[BitboardArray] = []  # of each finished batch
        self._empties = np.array([opening.final.empties for opening in self._openings])

    @property
    def num_moves(self) -> int:
        """Number of moves so far; a finished game counts as played until the board is full."""
        running = 0 if self._batch is None else int(self._batch.positions.empties[self._batch.running_mask].sum())
        return 2 * int(self._empties[: self._num_started].sum()) - running

    @property
    def total_moves(self) -> int:
        """Number of moves of the whole match, counted in the same way."""
        return 2 * int(self._empties.sum())

    def step(self) -> bool:
        """Play one move in each running game of the current batch.

        Returns False, without a move, if the match is over.
        """
        while True:
            if self._batch is None:
                if self._num_started == len(self._openings):
                    return False
                self._begin_batch()
            assert self._batch is not None
            if self._batch.step():
                return True
            self._boards.append(self._boards_of(self._batch))
            self._batch = None

    def _begin_batch(self) -> None:
        start = self._num_started
        openings = self._openings[start : start + max(1, self._next_batch_size // 2)]
        positions = [opening.final for opening in openings]
        seeds = (self._seed, self._num_batches)

        def end(row: int) -> None:
            if self.finished is not None:
                color, pair = divmod(row, len(openings))
                game = 2 * (start + pair) + color
                self.finished(batch.record(row, game=game, names=self.players, opening=openings[pair], seed=seeds))

        batch = GameBatch(
            self._agents,
            PositionBatch.from_positions([*positions, *positions]),
            np.repeat([0, 1], len(positions)),  # the first agent has Black in the first half
            rng=np.random.default_rng(seeds),
            epsilon=self._epsilon,
            ended=end,
        )
        self._batch = batch
        self._num_started += len(positions)
        self._num_batches += 1
        self._next_batch_size = min(2 * self._next_batch_size, self._batch_size)

    def _boards_of(self, batch: GameBatch) -> BitboardArray:
        """Return the boards of a batch: [pairs, 2, 2] uint64.

        Axis 1: the game with Black, the game with White. Axis 2: black discs, white discs.
        """
        positions = batch.positions
        is_black = positions.side_to_move == BLACK
        black, white = np.where(is_black, positions.own, positions.opp), np.where(is_black, positions.opp, positions.own)
        boards: BitboardArray = np.stack([black, white], axis=1).reshape(2, -1, 2).transpose(1, 0, 2).copy()
        return boards

    @property
    def result(self) -> MatchResult:
        """Result of the complete pairs so far."""
        complete = self._boards
        num_before = sum(map(len, complete))
        openings = self._openings[:num_before]
        # Ctrl-C may come at any moment: a batch counts once, even if the interrupt came while it
        # was being added to the finished ones.
        if self._batch is not None and len(self._boards) < self._num_batches:
            ended_mask = ~self._batch.running_mask.reshape(2, -1).any(axis=0)
            complete = [*complete, self._boards_of(self._batch)[ended_mask]]
            openings = openings + [self._openings[num_before + pair] for pair in np.flatnonzero(ended_mask).tolist()]
        boards: BitboardArray = np.concatenate([np.empty((0, 2, 2), dtype=np.uint64), *complete])
        differences: npt.NDArray[np.int64] = popcount(boards[..., 0]).astype(np.int64) - popcount(boards[..., 1])
        distinct = set(zip((opening.final for opening in openings), map(bytes, boards), strict=True))
        return MatchResult(self.names, differences * np.array([1, -1]), len(distinct))


def play_match(
    first: Agent,
    second: Agent,
    openings: Sequence[Position | Game],
    *,
    seed: int = 0,
    epsilon: float = 0.0,
    batch_size: int = _BATCH_SIZE,
) -> MatchResult:
    """Play every opening twice, with colors swapped, and return the result.

    Arguments and errors are those of `Match`.
    """
    match = Match(first, second, openings, seed=seed, epsilon=epsilon, batch_size=batch_size)
    while match.step():
        pass
    return match.result


def format_results(results: Sequence[MatchResult]) -> str:
    """Return a table with one line per match.

    Columns: agent, opponent, games, wins, draws, losses, score, interval. A line below a match
    warns if many of its pairs are copies.
    """
    width = max([8, *(len(name) for result in results for name in result.agents)])
    lines = [f"{'agent':{width}}  {'opponent':{width}}  {'games':>6} {'wins':>6} {'draws':>6} {'losses':>6}  {'score':>6}  95% interval"]
    for result in results:
        low, high = result.interval
        lines.append(
            f"{result.agents[0]:{width}}  {result.agents[1]:{width}}  {result.games:6} {result.wins:6} {result.draws:6} {result.losses:6}"
            f"  {result.score:6.3f}  {low:.3f} to {high:.3f}"
        )
        pairs = len(result.disc_differences)
        if result.distinct_pairs < 0.9 * pairs:
            lines.append(f"  only {result.distinct_pairs} of {pairs} game pairs are distinct: use more varied openings, or --epsilon")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line. argv: its arguments, by default those of the process."""
    parser = Parser(
        prog="python -m training.evaluation.match",
        description="Play two agents against each other, every opening twice with colors swapped.",
        epilog=agents_help(),
    )
    games_help = "number of games, even; 0 plays every opening of a list or file twice (default: 1000)"
    out_help = f"keep the games: a new journal (.jsonl), or a folder for a {JOURNAL} (default: only the score is shown)"
    parser.add_argument("first", help="spec of the agent whose score is shown")
    parser.add_argument("second", help="spec of its opponent")
    parser.add_argument("--openings", default="random:8", help=f"{SOURCES} (default: random:8)")
    parser.add_argument("--games", metavar="N", type=int, default=1000, help=games_help)
    parser.add_argument(
        "--epsilon",
        metavar="P",
        type=float,
        default=0.0,
        help="probability of a random move, for both agents; League mode: 0.1 (default: 0)",
    )
    parser.add_argument("--board-size", type=int, choices=BOARD_SIZES, default=8, help="squares per side (default: 8)")
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="seed of openings, ties and random moves (default: 0)")
    parser.add_argument("--out", type=Path, metavar="FILE|DIR", help=out_help)
    arguments = parser.parse_args(argv)
    with command("match"):
        _run(arguments)


def _run(arguments: argparse.Namespace) -> None:
    openings = parse_openings(arguments.openings, arguments.games, seed=arguments.seed, board_size=arguments.board_size)
    match = Match(
        build_player(arguments.first, arguments.first, arguments.board_size),
        build_player(arguments.second, arguments.second, arguments.board_size),
        openings,
        seed=arguments.seed,
        epsilon=arguments.epsilon,
        batch_size=min(_BATCH_SIZE, max(_SMALLEST_LIMIT, 2 * len(openings) // _BATCHES)),
        first_batch_size=_FIRST_BATCH_SIZE,
    )
    start = time.perf_counter()
    with nullcontext() if arguments.out is None else _new_journal(arguments.out) as journal:
        if journal is not None:
            journal.begin_session({"kind": "match", "settings": _settings(arguments, match)})
            match.finished = journal.append
        try:
            _play(match)
        finally:
            result = match.result
            if result.games:
                print(format_results([result]))
            if journal is not None:
                print(f"Games: {_journal_path(arguments.out)}")
    print(f"{result.games / (time.perf_counter() - start):.0f} games/s")


def _play(match: Match) -> None:
    """Play a match to its end, and show the number of moves and the score so far."""
    shown = scored = time.monotonic()
    with Progress(match.total_moves, unit="moves") as progress:
        while match.step():
            now = time.monotonic()
            if now - scored > _SCORE_SECONDS:
                scored, result = now, match.result
                if result.games:
                    progress.note(f"score {result.score:.3f} after {result.games} games")
            if now - shown > _SHOW_SECONDS:
                shown = now
                progress.update(match.num_moves - progress.done)
        progress.update(match.num_moves - progress.done)


def _settings(arguments: argparse.Namespace, match: Match) -> dict[str, object]:
    """Return the settings that decide which games are played, for the journal."""
    first, second = arguments.first, arguments.second
    return {
        "agents": [first, second],
        "players": list(match.players),
        "games": match.num_games,
        **{name: getattr(arguments, name) for name in ("openings", "epsilon", "board_size", "seed")},
    }


def _journal_path(out: Path) -> Path:
    return out if out.suffix == ".jsonl" else out / JOURNAL


def _new_journal(out: Path) -> Journal:
    path = _journal_path(out)
    if path.is_file() and path.stat().st_size:
        raise ValueError(f"{path} has games: choose another file or folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    return Journal(path)


if __name__ == "__main__":
    main()
