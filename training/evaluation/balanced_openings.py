"""Balanced openings: positions after a number of plies in which neither side is ahead.

`python -m training.evaluation.balanced_openings --plies 8 --evaluation NETWORK NETWORK --limit 0.05
--out FILE`

Of all positions, distinct up to symmetry, those are kept for which the score of every evaluation is
within the limit of zero. Positions are searched to increasing depths, with a wider limit at smaller
depths, so that only few are searched to the full depth. Then each evaluation plays every remaining
opening against itself, which shows how often Black wins from these openings. Needs numba (extra
`[fast]`).
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from agents.ntuple.network import KIND as NTUPLE_KIND
from agents.weight_file import read_weights
from othello_env.agent import ask_agent
from othello_env.batch import PositionBatch
from othello_env.command import Parser, Progress, command, format_command, seed
from othello_env.game import Game
from othello_env.position import Position
from othello_env.squares import parse_square
from othello_env.symmetry import NUM_SYMMETRIES, transform

if TYPE_CHECKING:
    from agents.search.alpha_beta import AlphaBetaAgent

# The only first move, up to symmetry.
FIRST_MOVE: Final = parse_square("f5", 8)
# With more plies there are millions of positions.
MAX_PLIES: Final = 9

HEURISTICS: Final = "heuristics"
# Number of empty squares from which on the games that show the balance are played perfectly.
_SOLVER: Final = 12
_NUM_ENVS: Final = 500
_HASH_MB: Final = 16


def canonical(position: Position) -> tuple[int, int, int]:
    """Return own and opp of the representative of a position's symmetric images, and its side.

    The representative is the smallest of the eight (own, opp); the side is the side to move.
    """
    own, opp, n = position.own, position.opp, position.board_size
    images = ((transform(own, symmetry, n), transform(opp, symmetry, n)) for symmetry in range(NUM_SYMMETRIES))
    return *min(images), position.side_to_move


def distinct_openings(num_plies: int) -> list[Game]:
    """Return one game for each 8x8 position after `num_plies` plies, up to symmetry.

    All games begin with f5, and none is over. If several move sequences lead to a position, the
    first one in the order of the squares is returned. Raises `ValueError` for less than 1 ply or
    more than 9.
    """
    if not 1 <= num_plies <= MAX_PLIES:
        raise ValueError(f"plies {num_plies}: expected 1 to {MAX_PLIES}")
    first = Position.start().play(FIRST_MOVE)
    games: dict[tuple[int, int, int], tuple[Position, tuple[int, ...]]] = {canonical(first): (first, (FIRST_MOVE,))}
    for _ in range(num_plies - 1):
        longer: dict[tuple[int, int, int], tuple[Position, tuple[int, ...]]] = {}
        for position, moves in games.values():
            for square in position.legal_squares():
                after = position.play(square)
                longer.setdefault(canonical(after), (after, (*moves, square)))
        games = longer
    return [Game(moves) for position, moves in games.values() if not position.is_over]


@dataclass(frozen=True, slots=True)
class Judge:
    """Evaluation that decides which openings are balanced.

    source: file with an n-tuple network, or "heuristics". The methods raise `CheckpointError` for a
    file that cannot be used.
    """

    source: str

    def agent(self, depth: int, *, solver: int = 0) -> AlphaBetaAgent:
        """Return an agent that searches to this depth with the evaluation.

        solver: number of empty squares from which on it plays perfectly.
        """
        from agents.search.alpha_beta import alpha_beta_agent  # late: it needs numba

        if self.source == HEURISTICS:
            return alpha_beta_agent(evaluation=HEURISTICS, depth=depth, solver=solver, hash_mb=_HASH_MB)
        return alpha_beta_agent(Path(self.source), depth=depth, solver=solver, hash_mb=_HASH_MB)

    def origin(self) -> str:
        """Return the origin of the evaluation, as far as its file records it."""
        if self.source == HEURISTICS:
            return f"{self.source}: agents.heuristics"
        settings: dict[str, Any] = read_weights(Path(self.source), NTUPLE_KIND)[1].get("settings", {})
        if not settings:
            return f"{self.source}: an n-tuple network of unknown origin"
        flags = (f"--{name.replace('_', '-')} {value}" for name, value in settings.items())
        return f"{self.source}: python -m training.td_ntuple {' '.join(flags)}"


def leeway(depth: int, *, full_depth: int) -> float:
    """Return the factor of the limit at a depth: 1 at the full depth, plus 1/2 per ply less."""
    return 1 + (full_depth - depth) / 2


def search_depths(full_depth: int) -> range:
    """Return the depths to which positions are searched: every second one up to the full depth."""
    return range(2 - full_depth % 2, full_depth + 1, 2)


def keep_balanced(
    openings: Sequence[Game], agent: AlphaBetaAgent, *, limit: float, progress: Callable[[], object] = lambda: None
) -> list[Game]:
    """Return the openings whose score in the agent's search is from -limit to limit.

    limit: in the units of the evaluation; for the networks of `training.td_ntuple` a score s means
    an expected outcome of tanh(s). progress: called after each search.
    """
    kept = []
    for opening in openings:
        if abs(agent.search(opening.final).score) <= limit:
            kept.append(opening)
        progress()
    return kept


def self_play(
    agent: AlphaBetaAgent, openings: Sequence[Game], *, progress: Callable[[int], object] = lambda _: None
) -> npt.NDArray[np.int64]:
    """Play a game of an agent against itself from each opening.

    progress: called with the number of finished games. Returns [openings] int64, Black's discs
    minus White's, with the empty squares counted for the winner.
    """
    rng = np.random.default_rng(0)  # unused by the agent
    scores = [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(openings), _NUM_ENVS):
        games = PositionBatch.from_positions([opening.final for opening in openings[start : start + _NUM_ENVS]])
        while not games.is_over.all():
            games.step(ask_agent(agent, games, rng))
            progress(start + int(games.is_over.sum()))
        scores.append(games.score("empties_to_winner"))
    return np.concatenate(scores)


def describe_games(agent: AlphaBetaAgent, scores: npt.NDArray[np.int64]) -> str:
    """Return a sentence about the games of an agent against itself. scores: see `self_play`."""
    points = float((np.sign(scores) + 1).mean()) / 2
    draws, spread = float((scores == 0).mean()), float(scores.std())
    return (
        f"{agent.name} against itself, one game per opening: Black scores {100 * points:.1f}%, {100 * draws:.1f}% draws, "
        f"{scores.mean():+.2f} discs on average, standard deviation {spread:.1f}"
    )


def _code_version() -> str:
    """Return the versions of the software that the result depends on."""
    found = []
    for name in ("othello-env", "numba", "numpy"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # run from a checkout that is not installed
            found.append(f"{name} of unknown version")
    return ", ".join(found)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command. argv: its arguments, by default those of the process."""
    parser = Parser(prog="python -m training.evaluation.balanced_openings", description="Search for balanced openings.")
    evaluation_help = "files with n-tuple networks, or heuristics: every one of them must find an opening balanced (default: heuristics)"
    limit_help = "largest absolute score of a balanced opening, in the units of the evaluations (default: 0.05)"
    seed_help = "seed of the choice of openings where more than --lines are found (default: 0)"
    parser.add_argument("--plies", metavar="N", type=int, default=8, help=f"plies of each opening, 1 to {MAX_PLIES} (default: 8)")
    parser.add_argument("--evaluation", nargs="+", default=[HEURISTICS], metavar="FILE", help=evaluation_help)
    parser.add_argument("--depth", metavar="N", type=int, default=8, help="depth of the searches, in plies (default: 8)")
    parser.add_argument("--limit", metavar="X", type=float, default=0.05, help=limit_help)
    parser.add_argument(
        "--game-depth", metavar="N", type=int, default=4, help="search depth in the games that test the balance (default: 4)"
    )
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help=seed_help)
    parser.add_argument("--lines", metavar="N", type=int, help="largest number of openings to write (default: all that are found)")
    parser.add_argument("--out", type=Path, required=True, help="file to write, one transcript per line")
    arguments = parser.parse_args(argv)
    with command("balanced_openings"):
        _generate(arguments, format_command(*parser.prog.split(), *(sys.argv[1:] if argv is None else argv)))


def _check(arguments: argparse.Namespace) -> None:
    for name, value in (("depth", arguments.depth), ("game-depth", arguments.game_depth), ("lines", arguments.lines)):
        if value is not None and value < 1:
            raise ValueError(f"{name} {value}: expected at least 1")
    if not (arguments.limit > 0 and math.isfinite(arguments.limit)):
        raise ValueError(f"limit {arguments.limit}: expected a number above 0")


def _generate(arguments: argparse.Namespace, command_line: str) -> None:
    """Search for openings and write the file. command_line: recorded in the file."""
    _check(arguments)
    start = time.perf_counter()
    judges = [Judge(source) for source in arguments.evaluation]
    origins = [judge.origin() for judge in judges]
    players = [judge.agent(arguments.game_depth, solver=_SOLVER) for judge in judges]
    kept = distinct_openings(arguments.plies)
    found = len(kept)
    print(f"{found} positions after {arguments.plies} plies, up to symmetry")
    for judge in judges:
        for depth in search_depths(arguments.depth):
            kept = _keep_balanced(kept, judge, depth, limit=arguments.limit * leeway(depth, full_depth=arguments.depth))
    if not kept:
        raise ValueError(f"limit {arguments.limit}: no opening is that balanced")
    made = [
        f"the {found} positions after {arguments.plies} plies, distinct up to symmetry and transposition; of these {len(kept)} score "
        f"within {arguments.limit} of zero in a search of depth {arguments.depth} with each evaluation"
    ]
    if arguments.lines is not None and len(kept) > arguments.lines:
        made.append(f"chosen at random: {arguments.lines} of {len(kept)}")
        chosen = np.random.default_rng(arguments.seed).permutation(len(kept))[: arguments.lines]
        kept = [kept[index] for index in chosen]
    for judge, player in zip(judges, players, strict=True):
        with Progress(len(kept), unit="games", description=judge.source) as progress:
            made.append(f"{judge.source}: {describe_games(player, self_play(player, kept, progress=progress.advance))}")
    header = [f"Balanced openings: {len(kept)} lines of {arguments.plies} plies. Made by", command_line, f"with {_code_version()}."]
    header += ["Evaluations:", *origins, "How:", *made]
    lines = sorted(map(str, kept))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("".join([*(f"# {line}\n" for line in header), *(f"{line}\n" for line in lines)]), encoding="utf-8")
    print(*made, f"{len(kept)} openings in {arguments.out}, after {time.perf_counter() - start:.0f} s", sep="\n")


def _keep_balanced(openings: Sequence[Game], judge: Judge, depth: int, *, limit: float) -> list[Game]:
    """Call `keep_balanced` with a progress bar, and print the result."""
    start = time.perf_counter()
    with Progress(len(openings), unit="openings", description=f"{judge.source}, depth {depth}") as progress:
        kept = keep_balanced(openings, judge.agent(depth), limit=limit, progress=progress.update)
    seconds = time.perf_counter() - start
    print(f"{judge.source}, depth {depth}: {len(kept)} of {len(openings)} within {limit:.3g} ({seconds:.0f} s)", flush=True)
    return kept


if __name__ == "__main__":
    main()
