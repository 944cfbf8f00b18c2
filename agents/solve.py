"""Exact solver for the positions of OBF files: `python -m agents.solve FILE.obf`.

It compares its scores with those in the files. Requires numba (extra `[fast]`); see
`agents.search.endgame`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

import numpy as np

from agents.search.endgame import SearchStoppedError, Solver
from othello_env.command import EXIT_FAILURE, Parser, Progress, command, seed
from othello_env.errors import RecordFormatError
from othello_env.position import Scoring
from othello_env.records.obf import ObfEntry, read_obf
from othello_env.squares import format_square, pass_square

_HEADER: Final = "number  empties   file  found  best            nodes   seconds"


@dataclass(frozen=True, slots=True)
class _Task:
    """One position of a file. number: its number among the positions of the file, from 1."""

    file: str
    number: int
    entry: ObfEntry


@dataclass(frozen=True, slots=True)
class _Check:
    """The result of solving one position.

    score, best_square: None if the search was stopped; best_square also if the game is over.
    wrong_moves: the score found for each move whose score in the file differs. nodes: number of
    positions visited. seconds: time taken.
    """

    entry: ObfEntry
    score: int | None
    best_square: int | None
    wrong_moves: dict[int, int]
    nodes: int
    seconds: float

    @property
    def verdict(self) -> str:
        """One of "stopped", "solved" (the file has no score), "OK" and "WRONG"."""
        if self.score is None:
            return "stopped"
        if self.entry.best_score is None:
            return "solved"
        return "WRONG" if self.wrong_moves or self.score != self.entry.best_score else "OK"

    def __str__(self) -> str:
        """Return the columns of `_HEADER` after the number, then one line per wrong move."""
        entry, n = self.entry, self.entry.position.board_size
        row = f"{entry.position.empties:7}  {_format_score(entry.best_score):>5}  {_format_score(self.score):>5}"
        row += f"  {_format_square(self.best_square, n):>4}  {self.nodes:15,}  {self.seconds:8.2f}  {self.verdict}"
        wrong = (
            f"{_format_square(square, n)} has {entry.scores[square]:+d} in the file, {score:+d} found"
            for square, score in self.wrong_moves.items()
        )
        return "\n        ".join([row, *wrong])


def _format_score(score: int | None) -> str:
    return "-" if score is None else f"{score:+d}"


def _format_square(square: int | None, board_size: int) -> str:
    if square is None:
        return "-"
    return "pass" if square == pass_square(board_size) else format_square(square, board_size)


def _check(solver: Solver, entry: ObfEntry, *, moves: bool, seconds: float | None) -> _Check:
    """Solve a position. moves: also check each move in the file. seconds: time limit."""
    start = time.perf_counter()
    nodes = 0
    wrong_moves: dict[int, int] = {}
    score, best = None, None
    try:
        solution = solver.solve(entry.position, seconds=seconds)
        nodes = solution.nodes
        if moves and entry.scores:
            remaining = None if seconds is None else start + seconds - time.perf_counter()
            if remaining is not None and remaining <= 0:
                raise SearchStoppedError("no time left for the other moves")
            scores = solver.move_scores(entry.position, seconds=remaining)
            nodes += solver.nodes
            wrong_moves = {square: scores[square] for square, listed in entry.scores.items() if scores[square] != listed}
        score, best = solution.score, next(iter(solution.pv), None)
    except SearchStoppedError:
        nodes += solver.nodes
    return _Check(entry, score, best, wrong_moves, nodes, time.perf_counter() - start)


def _read(file: str, scoring: Scoring, on_error: Callable[[RecordFormatError], object] | None) -> list[_Task]:
    """Read the positions of a file. on_error: see `read_obf`.

    Raises `OSError` or `RecordFormatError`.
    """
    # Comments may be in any encoding. Elsewhere a byte that is not UTF-8 is reported with its
    # location, like any other invalid character.
    with Path(file).open(encoding="utf-8-sig", errors="replace") as lines:
        entries = read_obf(lines, file, scoring=scoring, on_error=on_error)
        return [_Task(file, number, entry) for number, entry in enumerate(entries, 1)]


def _solve_all(tasks: Sequence[_Task], solver: Solver, checks: list[_Check], *, moves: bool, seconds: float | None) -> None:
    """Solve positions one by one; print each result at once and append it to `checks`."""
    several_files = len({task.file for task in tasks}) > 1
    with Progress(len(tasks), unit="positions") as progress:
        progress.write(_HEADER)
        previous = None
        for task in tasks:
            if several_files and task.file != previous:
                progress.write(task.file)
                previous = task.file
            check = _check(solver, task.entry, moves=moves, seconds=seconds)
            checks.append(check)
            progress.write(f"{task.number:6}  {check}")
            progress.update()


def _format_totals(checks: Sequence[_Check], num_tasks: int, *, num_bad_lines: int) -> str:
    """Return the last line: numbers of positions and of failures, nodes, time, speed."""
    verdicts = [check.verdict for check in checks]
    nodes, seconds = sum(check.nodes for check in checks), sum(check.seconds for check in checks)
    counts = [f"positions: {len(checks)}" if len(checks) == num_tasks else f"interrupted; positions: {len(checks)} of {num_tasks}"]
    counts.append(f"wrong: {verdicts.count('WRONG')}")
    if "stopped" in verdicts:
        counts.append(f"stopped: {verdicts.count('stopped')}")
    if num_bad_lines:
        counts.append(f"bad lines: {num_bad_lines}")
    rate = nodes / seconds / 1e6 if seconds else 0.0
    return f"{', '.join(counts)}; {nodes:,} nodes in {seconds:.2f} s, {rate:.1f} million nodes/s"


def _parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(
        prog="python -m agents.solve",
        description="Solve the positions of OBF files exactly and compare with the scores that the files give.",
        epilog="Exit status: 0 if every position was solved and has the score of the file; 1 if a score is wrong, a position was given up "
        "(--max-seconds) or a line could not be read (--keep-going); 2 for bad arguments or files; 130 after Ctrl-C.",
    )
    files_help = "OBF file: per line a position, then its moves with their scores, such as ...squares... X; g8:+18; h1:+12;"
    parser.add_argument("files", nargs="+", metavar="FILE", help=files_help)
    scoring_help = "how the files' scores count empty squares: not (discs), or for the winner (default: empties_to_winner)"
    parser.add_argument("--scoring", choices=get_args(Scoring), default="empties_to_winner", help=scoring_help)
    moves_help = "compare the scores of all moves in the file (default: only the best score)"
    parser.add_argument("--moves", action="store_true", help=moves_help)
    parser.add_argument("--sample", type=int, metavar="N", help="solve N positions drawn at random (default: all)")
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="seed of --sample, an integer from 0 (default: 0)")
    keep_going_help = "report lines that cannot be read and solve the others (default: stop at the first such line)"
    parser.add_argument("--keep-going", action="store_true", help=keep_going_help)
    hash_help = "size of the transposition table, in megabytes (default: 64)"
    parser.add_argument("--hash-mb", type=int, default=64, metavar="MB", help=hash_help)
    seconds_help = "time limit per position, in seconds, after which it is given up (default: none)"
    parser.add_argument("--max-seconds", type=float, metavar="S", help=seconds_help)
    arguments = parser.parse_args(argv)
    if arguments.sample is not None and arguments.sample < 1:
        parser.error(f"argument --sample: {arguments.sample}: expected at least 1")
    if arguments.hash_mb < 1:
        parser.error(f"argument --hash-mb: {arguments.hash_mb}: expected at least 1")
    if arguments.max_seconds is not None and not arguments.max_seconds > 0:
        parser.error(f"argument --max-seconds: {arguments.max_seconds}: expected more than 0")
    return arguments


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command. argv: command-line arguments (default: those of the process)."""
    with command("solve"):
        arguments = _parse_arguments(argv)
        num_bad_lines = 0

        def report(error: RecordFormatError) -> None:
            nonlocal num_bad_lines
            num_bad_lines += 1
            print(f"solve: {error}", file=sys.stderr)

        on_error = report if arguments.keep_going else None
        tasks = [task for file in arguments.files for task in _read(file, arguments.scoring, on_error)]
        if not tasks and not num_bad_lines:
            raise ValueError(f"{', '.join(arguments.files)}: no positions")
        if arguments.sample is not None and arguments.sample < len(tasks):
            chosen = np.random.default_rng(arguments.seed).choice(len(tasks), arguments.sample, replace=False)
            tasks = [tasks[place] for place in sorted(chosen)]
        try:
            solver = Solver(arguments.scoring, hash_mb=arguments.hash_mb)
        except MemoryError:
            raise ValueError(f"--hash-mb {arguments.hash_mb}: the transposition table does not fit into memory") from None

        checks: list[_Check] = []
        try:
            _solve_all(tasks, solver, checks, moves=arguments.moves, seconds=arguments.max_seconds)
        finally:
            print(_format_totals(checks, len(tasks), num_bad_lines=num_bad_lines), flush=True)
        if num_bad_lines or any(check.verdict in ("WRONG", "stopped") for check in checks):
            raise SystemExit(EXIT_FAILURE)


if __name__ == "__main__":
    main()
