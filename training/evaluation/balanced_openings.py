"""Balanced openings: all positions after some plies, up to symmetry, of which a search finds neither side ahead.

`python -m training.evaluation.balanced_openings --plies 8 --evaluation NETWORK NETWORK --limit 0.05 --out FILE`

A position is kept where the score of every evaluation is within the limit of zero. Each is searched to growing depths, with more
leeway the shallower the search, so that few are searched to the full depth. Then each evaluation plays every opening that is left
against itself, which shows how often Black wins from them. Needs numba (extra `[fast]`).
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from agents.ntuple.network import KIND as NTUPLE_KIND
from agents.weight_file import read_weights
from othello_env.batch import PositionBatch
from othello_env.game import Game
from othello_env.position import Position
from othello_env.squares import parse_square
from othello_env.symmetry import NUM_SYMMETRIES, transform

if TYPE_CHECKING:
    from agents.search.alpha_beta import AlphaBetaAgent

# The one first move, up to symmetry, that openings begin with.
FIRST_MOVE: Final = parse_square("f5", 8)
# More plies have millions of positions.
MAX_PLIES: Final = 9

HEURISTICS: Final = "heuristics"
# The games that show how balanced the openings are end with perfect play.
_SOLVER: Final = 12
_GAMES_AT_A_TIME: Final = 500
_TRANSPOSITION_MEGABYTES: Final = 16

Progress = Callable[[str], object]
"""Told in a sentence what has been done."""


def canonical(position: Position) -> tuple[int, int, int]:
    """Own and opp discs of the image of a position that is the same for all eight images, and the side to move."""
    own, opp, n = position.own, position.opp, position.board_size
    images = ((transform(own, symmetry, n), transform(opp, symmetry, n)) for symmetry in range(NUM_SYMMETRIES))
    return *min(images), position.side_to_move


def distinct_openings(num_plies: int) -> list[Game]:
    """One line to each 8x8 position after so many plies, up to symmetry; all begin with f5, and none is over.

    Of several lines to a position that which comes first in the order of the squares counts. Raises `ValueError` for fewer than 1
    ply and more than 9.
    """
    if not 1 <= num_plies <= MAX_PLIES:
        raise ValueError(f"plies {num_plies}: expected 1 to {MAX_PLIES}")
    first = Position.start().play(FIRST_MOVE)
    lines: dict[tuple[int, int, int], tuple[Position, tuple[int, ...]]] = {canonical(first): (first, (FIRST_MOVE,))}
    for _ in range(num_plies - 1):
        longer: dict[tuple[int, int, int], tuple[Position, tuple[int, ...]]] = {}
        for position, moves in lines.values():
            for square in position.legal_squares():
                after = position.play(square)
                longer.setdefault(canonical(after), (after, (*moves, square)))
        lines = longer
    return [Game(moves) for position, moves in lines.values() if not position.is_over]


@dataclass(frozen=True, slots=True)
class Judge:
    """An evaluation that says which openings are even.

    source: a file with an n-tuple network, or "heuristics". Its methods raise `CheckpointError` for a file that cannot be used.
    """

    source: str

    def agent(self, depth: int, *, solver: int = 0) -> AlphaBetaAgent:
        """The agent that searches so deep with this evaluation."""
        from agents.search.alpha_beta import alpha_beta_agent  # late: it needs numba

        if self.source == HEURISTICS:
            return alpha_beta_agent(evaluation=HEURISTICS, depth=depth, solver=solver, hash_mb=_TRANSPOSITION_MEGABYTES)
        return alpha_beta_agent(Path(self.source), depth=depth, solver=solver, hash_mb=_TRANSPOSITION_MEGABYTES)

    def origin(self) -> str:
        """How this evaluation was obtained, as far as its file says."""
        if self.source == HEURISTICS:
            return f"{self.source}: agents.heuristics"
        settings: dict[str, Any] = read_weights(Path(self.source), NTUPLE_KIND)[1].get("settings", {})
        if not settings:
            return f"{self.source}: an n-tuple network of which no more is known"
        flags = (f"--{name.replace('_', '-')} {value}" for name, value in settings.items())
        return f"{self.source}: python -m training.td_ntuple {' '.join(flags)}"


def leeway(depth: int, *, full_depth: int) -> float:
    """By how much the limit is multiplied at a depth: 1 at the full one, half more for each ply less."""
    return 1 + (full_depth - depth) / 2


def keep_even(
    openings: Sequence[Game], judges: Iterable[Judge], *, depth: int, limit: float, progress: Progress = lambda _: None
) -> list[Game]:
    """The openings whose score is from -limit to limit for every judge at that depth, and within the leeway at smaller ones.

    limit: in the units of the evaluations; of the networks that `training.td_ntuple` trains, s where tanh(s) is the expected outcome.
    """
    if not (limit > 0 and math.isfinite(limit)):
        raise ValueError(f"limit {limit}: expected a number above 0")
    if depth < 1:
        raise ValueError(f"depth {depth}: expected at least 1")
    kept = list(openings)
    for judge in judges:
        for shallow in range(2 - depth % 2, depth + 1, 2):
            agent, most = judge.agent(shallow), limit * leeway(shallow, full_depth=depth)
            before, start = len(kept), time.perf_counter()
            kept = [opening for opening in kept if abs(agent.search(opening.final).score) <= most]
            seconds = time.perf_counter() - start
            progress(f"{judge.source}, depth {shallow}: {len(kept)} of {before} within {most:.3g} ({seconds:.0f} s)")
    return kept


def self_play(agent: AlphaBetaAgent, openings: Sequence[Game]) -> npt.NDArray[np.int64]:
    """Black's discs minus White's, empty squares to the winner, after the game of an agent against itself: [openings] int64."""
    rng = np.random.default_rng(0)  # which nobody uses
    scores = [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(openings), _GAMES_AT_A_TIME):
        games = PositionBatch.from_positions([opening.final for opening in openings[start : start + _GAMES_AT_A_TIME]])
        while not games.is_over.all():
            games.step(agent.select_moves(games, rng))
        scores.append(games.score("empties_to_winner"))
    return np.concatenate(scores)


def describe_games(agent: AlphaBetaAgent, scores: npt.NDArray[np.int64]) -> str:
    """A sentence on the games of an agent against itself. scores: as from `self_play`."""
    points = float((np.sign(scores) + 1).mean()) / 2
    draws, spread = float((scores == 0).mean()), float(scores.std())
    return (
        f"{agent.name} against itself, one game an opening: Black scores {100 * points:.1f}%, {100 * draws:.1f}% draws, "
        f"{scores.mean():+.2f} discs on average, standard deviation {spread:.1f}"
    )


def _code_version() -> str:
    """The versions of what the result depends on."""
    found = []
    for name in ("othello-env", "numba", "numpy"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # run from a checkout that is not installed
            found.append(f"{name} of unknown version")
    return ", ".join(found)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    parser = argparse.ArgumentParser(prog="python -m training.evaluation.balanced_openings", description="Search for balanced openings.")
    evaluation_help = "files with n-tuple networks, or heuristics: all must agree that an opening is even (default: heuristics)"
    limit_help = "the largest score of an even opening, in the evaluations' units (default: 0.05)"
    parser.add_argument("--plies", type=int, default=8, help=f"1 to {MAX_PLIES} (default: 8)")
    parser.add_argument("--evaluation", nargs="+", default=[HEURISTICS], metavar="FILE", help=evaluation_help)
    parser.add_argument("--depth", type=int, default=8, help="of the search (default: 8)")
    parser.add_argument("--limit", type=float, default=0.05, help=limit_help)
    parser.add_argument("--game-depth", type=int, default=4, help="of the games that show how balanced the openings are (default: 4)")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of openings where there are more than --lines (default: 0)")
    parser.add_argument("--lines", type=int, help="most openings to write (default: all that were found)")
    parser.add_argument("--out", type=Path, required=True, help="file to write, a transcript a line")
    arguments = parser.parse_args(argv)
    try:
        _generate(arguments, shlex.join([*parser.prog.split(), *(sys.argv[1:] if argv is None else argv)]))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "numba":
            raise
        sys.exit("balanced_openings: searches need numba, which the extra [fast] brings: pip install -e '.[fast]'")
    except (OSError, ValueError) as error:
        sys.exit(f"balanced_openings: {' '.join(str(error).split())}")
    except KeyboardInterrupt:
        sys.exit(130)


def _generate(arguments: argparse.Namespace, command: str) -> None:
    """What the command's arguments ask for. command: the line that asks for it."""
    if arguments.seed < 0:
        raise ValueError(f"seed {arguments.seed}: must not be negative")
    if arguments.lines is not None and arguments.lines < 1:
        raise ValueError(f"lines {arguments.lines}: expected at least 1")
    start = time.perf_counter()
    judges = [Judge(source) for source in arguments.evaluation]
    origins = [judge.origin() for judge in judges]
    players = [judge.agent(arguments.game_depth, solver=_SOLVER) for judge in judges]
    openings = distinct_openings(arguments.plies)
    found = len(openings)
    print(f"{found} positions after {arguments.plies} plies, up to symmetry")
    kept = keep_even(openings, judges, depth=arguments.depth, limit=arguments.limit, progress=lambda line: print(line, flush=True))
    if not kept:
        raise ValueError(f"limit {arguments.limit}: no opening is that even")
    made = [
        f"the {found} positions after {arguments.plies} plies, distinct up to symmetry and transposition; of these {len(kept)} score "
        f"within {arguments.limit} of zero in a search of depth {arguments.depth} with each evaluation"
    ]
    if arguments.lines is not None and len(kept) > arguments.lines:
        made.append(f"chosen at random: {arguments.lines} of {len(kept)}")
        chosen = np.random.default_rng(arguments.seed).permutation(len(kept))[: arguments.lines]
        kept = [kept[index] for index in chosen]
    made += [f"{judge.source}: {describe_games(player, self_play(player, kept))}" for judge, player in zip(judges, players, strict=True)]
    header = [f"Balanced openings: {len(kept)} lines of {arguments.plies} plies. Made by", command, f"with {_code_version()}."]
    header += ["Evaluations:", *origins, "How:", *made]
    lines = sorted(map(str, kept))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("".join([*(f"# {line}\n" for line in header), *(f"{line}\n" for line in lines)]), encoding="utf-8")
    print(*made, f"{len(kept)} openings in {arguments.out}, after {time.perf_counter() - start:.0f} s", sep="\n")


if __name__ == "__main__":
    main()
