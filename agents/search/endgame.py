"""Exact endgames: the score that perfect play reaches, and the moves that reach it.

`python -m agents.search.endgame FILE.obf` solves the positions of a file and compares with the scores that the file gives. The search
is alpha-beta with null windows, a transposition table, cuts by stable discs, and moves in the order of the replies that they
leave; it visits some 25 million positions a second on one core. Needs numba (extra `[fast]`).
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, get_args

import numpy as np

from agents.board import (
    CORNERS,
    EMPTY,
    NEIGHBOURS,
    ONE,
    QUADRANTS,
    SIZE,
    board_arguments,
    embedded_square,
    final_score,
    flips_at,
    moves_on,
    touching,
)
from agents.heuristics import GEOMETRY, stable_discs
from agents.search.transposition import (
    MAX_NODES,
    NO_SQUARE,
    NODES,
    STOP,
    UNLIMITED,
    allocate,
    begin_search,
    best_square,
    find,
    lower_bound,
    move_list,
    put_move,
    store,
    take_move,
    upper_bound,
)
from othello_env.bitboard import BitboardArray
from othello_env.compiled import compiled_function, inlined, kernel, lowest_square, popcount
from othello_env.errors import RecordFormatError
from othello_env.position import Position, Scoring, check_scoring
from othello_env.records.obf import ObfEntry, read_obf
from othello_env.squares import format_square, pass_square

# Beyond every score.
_INFINITY: Final = 127
# With so many empties or fewer neither the table nor the order by replies is worth its time.
_FEW: Final = 6
# From so many empties on the table is asked for all moves before one is searched.
_LOOK_UP_MOVES: Final = 10

# What makes a move worth trying first, found by counting the nodes of the FFO suite's #28 to #36. All count for the side that moves.
_REPLY: Final = 256  # each reply, a corner twice, against it
_POTENTIAL_REPLY: Final = 32  # each empty square beside its discs, against it
_ODD_QUARTER: Final = 64  # a square in a quarter of the board with an odd number of empties
_SQUARE: Final = np.array(
    [
        [18, 4, 16, 12, 12, 16, 4, 18],
        [4, 2, 6, 8, 8, 6, 2, 4],
        [16, 6, 16, 10, 10, 16, 6, 16],
        [12, 8, 10, 0, 0, 10, 8, 12],
        [12, 8, 10, 0, 0, 10, 8, 12],
        [16, 6, 16, 10, 10, 16, 6, 16],
        [4, 2, 6, 8, 8, 6, 2, 4],
        [18, 4, 16, 12, 12, 16, 4, 18],
    ]
).ravel()
_FROM_TABLE: Final = 1 << 24
_POSITIVE: Final = 1 << 20  # makes all sums positive

_GEOMETRY: Final = GEOMETRY[SIZE]


@inlined
def _in_odd_quarters(empties: Any) -> Any:
    """The empties in quarters of the board that have an odd number of them."""
    odd = EMPTY
    for quarter in range(4):
        part = empties & QUADRANTS[quarter]
        odd |= part * np.uint64(popcount(part) & 1)
    return odd


@inlined
def _with_one_empty(own: Any, opp: Any, square: Any, to_winner: Any) -> Any:
    """The value of a position with one empty square."""
    difference = popcount(own) - popcount(opp)
    num_flipped = popcount(flips_at(own, opp, square))
    if num_flipped:
        return difference + 2 * num_flipped + 1
    num_flipped = popcount(flips_at(opp, own, square))
    if num_flipped:
        return difference - 2 * num_flipped - 1
    return difference + (to_winner if difference > 0 else (-to_winner if difference < 0 else 0))


@compiled_function
def _with_few_empties(own: Any, opp: Any, alpha: Any, beta: Any, empties: Any, passed: Any, board: Any, to_winner: Any, memory: Any) -> Any:
    """The value of a position with two or more empties, few enough to try them one by one. passed: 1 where the other side has none."""
    memory[NODES] += ONE
    best = np.int64(-_INFINITY)
    odd = _in_odd_quarters(empties)
    without_one = empties & (empties - ONE)
    two_left = (without_one & (without_one - ONE)) == EMPTY
    for part in (empties & odd, empties & ~odd):
        rest = part
        while rest != EMPTY:
            square = lowest_square(rest)
            move = rest & (EMPTY - rest)
            rest ^= move
            if NEIGHBOURS[square] & opp == EMPTY:
                continue
            flipped = flips_at(own, opp, square)
            if flipped == EMPTY:
                continue
            if two_left:
                memory[NODES] += ONE
                value = -_with_one_empty(opp ^ flipped, own | move | flipped, lowest_square(empties ^ move), to_winner)
            else:
                value = -_with_few_empties(
                    opp ^ flipped, own | move | flipped, -beta, -max(alpha, best), empties ^ move, np.int64(0), board, to_winner, memory
                )
            if value > best:
                best = value
                if best >= beta:
                    return best
    if best != -_INFINITY:
        return best
    if passed:
        return final_score(own, opp, board, to_winner)
    return -_with_few_empties(opp, own, -beta, -alpha, empties, np.int64(1), board, to_winner, memory)


@compiled_function
def _with_many_empties(own: Any, opp: Any, alpha: Any, beta: Any, num_empties: Any, board: Any, to_winner: Any, memory: Any) -> Any:
    """The value of a position: exact between alpha and beta, a bound on it elsewhere."""
    memory[NODES] += ONE
    if memory[NODES] >= memory[MAX_NODES]:
        memory[STOP] = ONE
    num_squares = popcount(board)
    if num_squares - 2 * popcount(opp) <= alpha:
        most = num_squares - 2 * popcount(stable_discs(opp, own, _GEOMETRY))
        if most <= alpha:
            return np.int64(most)
    lower = np.int64(-_INFINITY)
    upper = np.int64(_INFINITY)
    remembered = np.int64(NO_SQUARE)
    place = find(memory, own, opp)
    if place:
        lower = lower_bound(memory, place)
        upper = upper_bound(memory, place)
        if lower >= beta or lower == upper:
            return lower
        if upper <= alpha:
            return upper
        alpha = max(alpha, lower)
        beta = min(beta, upper)
        remembered = best_square(memory, place)
    rest = moves_on(own, opp, board)
    if rest == EMPTY:
        if moves_on(opp, own, board) == EMPTY:
            return np.int64(final_score(own, opp, board, to_winner))
        return -_with_many_empties(opp, own, -beta, -alpha, num_empties, board, to_winner, memory)

    odd = _in_odd_quarters(board & ~(own | opp))
    moves = move_list(num_empties)
    num_moves = np.int64(0)
    while rest != EMPTY:
        square = lowest_square(rest)
        move = rest & (EMPTY - rest)
        rest ^= move
        flipped = flips_at(own, opp, square)
        next_own = opp ^ flipped
        next_opp = own | move | flipped
        if num_empties >= _LOOK_UP_MOVES:
            place = find(memory, next_own, next_opp)
            if place and -upper_bound(memory, place) >= beta:
                return -upper_bound(memory, place)
        replies = moves_on(next_own, next_opp, board)
        key = _POSITIVE - _REPLY * (popcount(replies) + popcount(replies & CORNERS))
        key -= _POTENTIAL_REPLY * popcount(touching(next_opp) & ~(next_own | next_opp) & board)
        key += _ODD_QUARTER * np.int64(odd & move != EMPTY) + _SQUARE[square] + _FROM_TABLE * np.int64(square == remembered)
        put_move(memory, moves, num_moves, key, square, flipped)
        num_moves += 1

    best = np.int64(-_INFINITY)
    best_move = np.int64(NO_SQUARE)
    for i in range(num_moves):
        square, flipped = take_move(memory, moves, i, num_moves)
        move = ONE << np.uint64(square)
        next_own = opp ^ flipped
        next_opp = own | move | flipped
        bound = max(alpha, best)
        if num_empties - 1 <= _FEW:
            empties = board & ~(next_own | next_opp)
            value = -_with_few_empties(next_own, next_opp, -beta, -bound, empties, np.int64(0), board, to_winner, memory)
        elif i == 0:
            value = -_with_many_empties(next_own, next_opp, -beta, -bound, num_empties - 1, board, to_winner, memory)
        else:
            value = -_with_many_empties(next_own, next_opp, -bound - 1, -bound, num_empties - 1, board, to_winner, memory)
            if bound < value < beta and memory[STOP] == EMPTY:
                value = -_with_many_empties(next_own, next_opp, -beta, -value, num_empties - 1, board, to_winner, memory)
        if memory[STOP] != EMPTY:
            return np.int64(0)
        if value > best:
            best = value
            best_move = square
            if best >= beta:
                break
    if best > alpha:
        lower = max(lower, best)
    if best < beta:
        upper = min(upper, best)
    store(memory, own, opp, lower, upper, best_move, num_empties)
    return best


@compiled_function
def value_of(own: Any, opp: Any, alpha: Any, beta: Any, board: Any, to_winner: Any, memory: Any) -> Any:
    """The value of a position from the view of `own`, the side to move: exact between alpha and beta, else a bound on it.

    For compiled functions. own, opp, board: as `board_arguments` gives them. to_winner: 1 where empty squares count for the winner,
    else 0. memory: of `allocate`, after `begin_search`; where its STOP is set afterwards the value means nothing.
    """
    empties = board & ~(own | opp)
    num_empties = popcount(empties)
    if num_empties == 0:
        return np.int64(final_score(own, opp, board, to_winner))
    if num_empties == 1:
        memory[NODES] += ONE
        return np.int64(_with_one_empty(own, opp, lowest_square(empties), to_winner))
    if num_empties <= _FEW:
        return _with_few_empties(own, opp, np.int64(alpha), np.int64(beta), empties, np.int64(0), board, np.int64(to_winner), memory)
    return _with_many_empties(own, opp, np.int64(alpha), np.int64(beta), num_empties, board, np.int64(to_winner), memory)


@kernel
def _value(own: Any, opp: Any, alpha: int, beta: int, board: Any, to_winner: int, memory: BitboardArray) -> int:
    value: int = value_of(own, opp, alpha, beta, board, to_winner, memory)
    return value


# Between two tries to stop a search.
_STOP_SECONDS: Final = 0.01


class SearchStoppedError(RuntimeError):
    """A search came to its limit of nodes or seconds before it had a result."""


def run_interruptibly(search: Callable[[], Any], memories: Sequence[BitboardArray], *, seconds: float | None = None) -> Any:
    """Run compiled searches, and stop them by the STOP of their memories: after so many seconds, or when the user presses Ctrl-C."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(search())
        except BaseException as error:  # for the caller, who is in another thread
            future.set_exception(error)

    thread = threading.Thread(target=run, daemon=True)
    try:
        thread.start()
        wait([future], None if seconds is None else min(max(0.0, seconds), threading.TIMEOUT_MAX))
    finally:
        # Whoever asks next must have the memory alone. Again and again, because a search that has not begun yet clears STOP.
        while thread.ident is not None and not future.done():
            for memory in memories:
                memory[STOP] = 1
            wait([future], _STOP_SECONDS)
    return future.result()


@dataclass(frozen=True, slots=True)
class Solution:
    """What a solver found out about a position.

    score: the final score of perfect play from the view of the side to move. pv: squares of one perfect game to its end; its
    first is a best move. Passes are left out, but for the one with which a position that forces it begins. nodes: positions
    visited. seconds: time taken.
    """

    score: int
    pv: tuple[int, ...]
    nodes: int
    seconds: float


class Solver:
    """Solves endgames exactly. One position after the other; not for several threads at once.

    scoring: what is maximised, "empties_to_winner" as in tournaments and files, or "discs". Which moves win, draw or lose is the
    same in both. hash_mb: of the transposition table. Up to 20 empties take about a second, 24 empties about a minute.
    """

    def __init__(self, scoring: Scoring = "empties_to_winner", *, hash_mb: int = 64) -> None:
        check_scoring(scoring)
        self.scoring: Scoring = scoring
        self._to_winner = int(scoring == "empties_to_winner")
        self._memory = allocate(hash_mb)
        self.solve(Position.start(4))  # so that no time limit has to wait for the compiler

    def solve(self, position: Position, *, seconds: float | None = None, max_nodes: int | None = None) -> Solution:
        """The score and a perfect game. Raises `SearchStoppedError` at a limit."""
        start = time.perf_counter()
        self._begin(max_nodes)
        largest = position.board_size**2

        def value(asked: Position, alpha: int, beta: int) -> int:
            remaining = None if seconds is None else start + seconds - time.perf_counter()
            return self._search(asked, alpha=alpha, beta=beta, seconds=remaining)

        score = value(position, -largest, largest)
        line = principal_variation(position, score, value=value, memory=self._memory)
        return Solution(score, line, int(self._memory[NODES]), time.perf_counter() - start)

    def outcome(self, position: Position, *, seconds: float | None = None, max_nodes: int | None = None) -> int:
        """+1, 0 or -1 where the side to move wins, draws or loses. Several times faster than the score."""
        self._begin(max_nodes)
        value = self._search(position, alpha=-1, beta=1, seconds=seconds)
        return (value > 0) - (value < 0)

    def move_scores(self, position: Position, *, seconds: float | None = None, max_nodes: int | None = None) -> dict[int, int]:
        """The exact score after each legal square, from the view of the side to move; the best first."""
        self._begin(max_nodes)
        deadline = None if seconds is None else time.perf_counter() + seconds
        largest = position.board_size**2
        scores = {}
        for square in position.legal_squares():
            after = position.play(square)
            sign = 1 if after.side_to_move == position.side_to_move else -1
            remaining = None if deadline is None else deadline - time.perf_counter()
            scores[square] = sign * self._search(after, alpha=-largest, beta=largest, seconds=remaining)
        return dict(sorted(scores.items(), key=lambda entry: -entry[1]))

    def judge(self, position: Position, square: int) -> tuple[int, int]:
        """The exact scores of the best move and of a legal one, from the view of the side to move."""
        self._begin(None)
        after = position.play(square)
        largest = position.board_size**2

        def value(asked: Position, alpha: int, beta: int) -> int:
            return self._search(asked, alpha=alpha, beta=beta, seconds=None)

        best = value(position, -largest, largest)
        made = value(after, -largest, best) if after.side_to_move == position.side_to_move else -value(after, -best, largest)
        return best, min(made, best)

    @property
    def nodes(self) -> int:
        """Positions visited for the latest question."""
        return int(self._memory[NODES])

    def _begin(self, max_nodes: int | None) -> None:
        if max_nodes is not None and max_nodes < 1:
            raise ValueError(f"max_nodes {max_nodes}: expected at least 1")
        begin_search(self._memory, UNLIMITED if max_nodes is None else np.uint64(max_nodes))

    def _search(self, position: Position, *, alpha: int, beta: int, seconds: float | None) -> int:
        def search() -> int | None:
            return exact_value(position, self._memory, alpha=alpha, beta=beta, scoring=self.scoring)

        value: int | None = run_interruptibly(search, [self._memory], seconds=seconds)
        if value is None:
            raise SearchStoppedError(f"stopped after {self.nodes} nodes in {position}")
        return value


def exact_value(position: Position, memory: BitboardArray, *, alpha: int, beta: int, scoring: Scoring) -> int | None:
    """`value_of` for a position; None where the search was stopped."""
    own, opp, board = board_arguments(position.own, position.opp, position.board_size)
    value = int(_value(own, opp, alpha, beta, board, int(scoring == "empties_to_winner"), memory))
    return None if memory[STOP] else value


def principal_variation(
    position: Position, score: int, *, value: Callable[[Position, int, int], int], memory: BitboardArray
) -> tuple[int, ...]:
    """The squares of a game from `position` that reaches its score, passes left out.

    value: `exact_value` of a position between two bounds. memory: of the search that found the score, whose table knows most moves.
    """
    line: list[int] = []
    while position.legal_squares():
        own, opp, _ = board_arguments(position.own, position.opp, position.board_size)
        remembered = _remembered_square(own, opp, memory)
        squares = sorted(position.legal_squares(), key=lambda square: embedded_square(square, position.board_size) != remembered)
        for square in squares:
            after = position.play(square)
            same_side = after.side_to_move == position.side_to_move
            if value(after, score - 1, score) >= score if same_side else value(after, -score, -score + 1) <= -score:
                break
        else:
            raise AssertionError(f"no move of {position} reaches its value {score}")
        line.append(square)
        position, score = after, score if same_side else -score
    return tuple(line)


@kernel
def _remembered_square(own: Any, opp: Any, memory: BitboardArray) -> int:
    place = find(memory, own, opp)
    return int(best_square(memory, place)) if place else NO_SQUARE


@dataclass(frozen=True, slots=True)
class _Check:
    """What came of solving one position of a file.

    score: None where the search was stopped. wrong_moves: of the moves that the file lists, those whose score differs, with the
    score found.
    """

    entry: ObfEntry
    score: int | None
    best_square: int | None
    wrong_moves: dict[int, int]
    nodes: int
    seconds: float

    @property
    def verdict(self) -> str:
        """In one word."""
        if self.score is None:
            return "stopped"
        if self.entry.best_score is None:
            return "solved"
        return "WRONG" if self.wrong_moves or self.score != self.entry.best_score else "OK"

    def __str__(self) -> str:
        """The columns of `_HEADER` after the number."""
        entry, n = self.entry, self.entry.position.board_size
        row = f"{entry.position.empties:7}  {_shown_score(entry.best_score):>5}  {_shown_score(self.score):>5}"
        row += f"  {_shown_square(self.best_square, n):>4}  {self.nodes:15,}  {self.seconds:8.2f}  {self.verdict}"
        wrong = (
            f"{_shown_square(square, n)} has {entry.scores[square]:+d} in the file, {score:+d} found"
            for square, score in self.wrong_moves.items()
        )
        return "\n        ".join([row, *wrong])


_HEADER: Final = "number  empties   file  found  best            nodes   seconds"


def _shown_score(score: int | None) -> str:
    return "-" if score is None else f"{score:+d}"


def _shown_square(square: int | None, board_size: int) -> str:
    """A name; `-` for no square."""
    if square is None:
        return "-"
    return "pass" if square == pass_square(board_size) else format_square(square, board_size)


def _check(solver: Solver, entry: ObfEntry, *, moves: bool, seconds: float | None) -> _Check:
    """Solve a position, and each move that the file lists if `moves`."""
    start = time.perf_counter()
    nodes = 0
    wrong_moves: dict[int, int] = {}
    score, best = None, None
    try:
        solution = solver.solve(entry.position, seconds=seconds)
        nodes = solution.nodes
        if moves and entry.scores:
            remaining = None if seconds is None else start + seconds - time.perf_counter()
            scores = solver.move_scores(entry.position, seconds=remaining)
            nodes += solver.nodes
            wrong_moves = {square: scores[square] for square, listed in entry.scores.items() if scores[square] != listed}
        score, best = solution.score, next(iter(solution.pv), None)
    except SearchStoppedError:
        nodes += solver.nodes
    return _Check(entry, score, best, wrong_moves, nodes, time.perf_counter() - start)


def _read(path: str, scoring: Scoring, on_error: Callable[[RecordFormatError], object] | None) -> list[ObfEntry]:
    """The positions of a file. Raises `OSError` or `RecordFormatError`."""
    # What is no UTF-8 may stand in comments; elsewhere its place is named like that of any other sign.
    with Path(path).open(encoding="utf-8-sig", errors="replace") as file:
        return list(read_obf(file, path, scoring=scoring, on_error=on_error))


def _progress_bar(total: int) -> Any:
    """A context with a bar on the terminal, if there is a terminal, or with None, if there is no tqdm."""
    try:
        from tqdm import tqdm  # late: the only use of an optional library
    except ImportError:
        return contextlib.nullcontext()
    return tqdm(total=total, unit=" positions", disable=None, dynamic_ncols=True, leave=False)


def _fail(message: str) -> NoReturn:
    print(f"endgame: {message}", file=sys.stderr)
    sys.exit(2)


def _parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m agents.search.endgame",
        description="Solve the positions of OBF files and compare with the scores that the files give.",
        epilog="Exit status: 0 if all positions were solved and have the scores of the files, 1 if not, 2 if a file cannot be read.",
    )
    scoring_help = "how the files' scores count empty squares (default: empties_to_winner)"
    parser.add_argument("files", nargs="+", metavar="FILE", help="a position a line: squares, side to move, moves with their scores")
    parser.add_argument("--scoring", choices=get_args(Scoring), default="empties_to_winner", help=scoring_help)
    parser.add_argument("--moves", action="store_true", help="compare the scores of all listed moves, not only the best")
    parser.add_argument("--sample", type=int, metavar="N", help="solve a random sample of so many positions (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (default: 0)")
    parser.add_argument("--keep-going", action="store_true", help="report lines that cannot be read and solve the others")
    parser.add_argument("--hash_mb", type=int, default=64, help="size of the transposition table (default: 64)")
    parser.add_argument("--max-seconds", type=float, metavar="S", help="give a position up after so many seconds (default: never)")
    arguments = parser.parse_args(argv)
    if arguments.sample is not None and arguments.sample < 1:
        parser.error(f"--sample {arguments.sample}: expected at least 1")
    if arguments.seed < 0:
        parser.error(f"--seed {arguments.seed}: must not be negative")
    if arguments.hash_mb < 1:
        parser.error(f"--hash_mb {arguments.hash_mb}: expected at least 1")
    if arguments.max_seconds is not None and not arguments.max_seconds > 0:
        parser.error(f"--max-seconds {arguments.max_seconds}: expected more than 0")
    return arguments


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    arguments = _parse_arguments(argv)
    num_bad_lines = 0

    def report(error: RecordFormatError) -> None:
        nonlocal num_bad_lines
        num_bad_lines += 1
        print(f"endgame: {error}", file=sys.stderr)

    try:
        tasks = [
            (path, number, entry)
            for path in arguments.files
            for number, entry in enumerate(_read(path, arguments.scoring, report if arguments.keep_going else None), 1)
        ]
        if not tasks and not num_bad_lines:
            _fail(f"{', '.join(arguments.files)}: no positions")
        if arguments.sample is not None and arguments.sample < len(tasks):
            chosen = np.random.default_rng(arguments.seed).choice(len(tasks), arguments.sample, replace=False)
            tasks = [tasks[place] for place in sorted(chosen)]
        solver = Solver(arguments.scoring, hash_mb=arguments.hash_mb)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}")
    except RecordFormatError as error:
        _fail(str(error))
    except (MemoryError, ValueError):
        _fail(f"no memory for a table of {arguments.hash_mb} hash_mb")
    except KeyboardInterrupt:
        sys.exit(130)

    checks: list[_Check] = []
    interrupted = False
    try:
        _check_all(tasks, solver, checks, moves=arguments.moves, seconds=arguments.max_seconds)
    except KeyboardInterrupt:
        interrupted = True
    print(_totals(checks, len(tasks), num_bad_lines=num_bad_lines))
    if interrupted:
        sys.exit(130)
    if num_bad_lines or any(check.verdict in ("WRONG", "stopped") for check in checks):
        sys.exit(1)


def _check_all(
    tasks: Sequence[tuple[str, int, ObfEntry]], solver: Solver, checks: list[_Check], *, moves: bool, seconds: float | None
) -> None:
    """Solve positions one after the other, print each as soon as it is done, and add it to `checks`.

    tasks: file, number of the position in it, position.
    """
    several_files = len({path for path, _, _ in tasks}) > 1
    with _progress_bar(len(tasks)) as progress:

        def write(line: str) -> None:
            with contextlib.nullcontext() if progress is None else progress.external_write_mode():
                print(line, flush=True)

        write(_HEADER)
        previous = None
        for path, number, entry in tasks:
            if several_files and path != previous:
                write(path)
                previous = path
            check = _check(solver, entry, moves=moves, seconds=seconds)
            checks.append(check)
            write(f"{number:6}  {check}")
            if progress is not None:
                progress.update()


def _totals(checks: Sequence[_Check], num_tasks: int, *, num_bad_lines: int) -> str:
    """The last line: counts of positions and of the causes of the exit status, nodes, time, speed."""
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


if __name__ == "__main__":
    main()
