"""Exact endgames: the score that perfect play reaches, and the moves that reach it.

The search is alpha-beta with null windows, a transposition table, cuts by stable discs, and moves in the order of the replies that
they leave; it visits some 25 million positions a second on one core. Needs numba (extra `[fast]`). `python -m agents.solve` solves
files of positions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from agents.heuristics import GEOMETRY, stable_discs
from agents.search.board import (
    CORNERS,
    EMPTY,
    NEIGHBOURS,
    ONE,
    QUARTERS,
    SIZE,
    board_arguments,
    embedded_square,
    final_score,
    flips_at,
    moves_on,
    touching,
)
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
from othello_env.position import Position, Scoring, check_scoring

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
        part = empties & QUARTERS[quarter]
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
