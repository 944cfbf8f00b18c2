"""Exact endgame solver: the final score of perfect play, and the moves that reach it.

The search is alpha-beta with null windows, a transposition table, stability cutoffs, and moves
ordered by the number of replies. It visits about 25 million positions per second on one core.
Requires numba (extra `[fast]`). `python -m agents.solve` solves files of positions.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from agents.board import (
    CORNERS,
    EMPTY,
    NEIGHBORS,
    ONE,
    QUADRANTS,
    SIZE,
    board_arguments,
    embedded_square,
    final_score,
    flips_at,
    moves_on,
    settle_on,
    touching,
)
from agents.heuristics import GEOMETRY, stable_discs
from agents.search.limits import check_seconds, node_limit, run_interruptibly
from agents.search.transposition import (
    MAX_NODES,
    NO_SQUARE,
    NODES,
    STOP,
    Table,
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
from othello_env.compiled import Int, Square, Word, compiled_function, inlined, kernel, lowest_square, place, popcount
from othello_env.position import Position, Scoring, check_scoring

# Greater than every score.
_INFINITY: Final = 127
# With at most this many empties, neither the table nor ordering by replies pays off.
_FEW: Final = 6
# With at least this many empties, all children are looked up in the table before any is searched
# (enhanced transposition cutoff).
_LOOK_UP_MOVES: Final = 10

# Weights of the move ordering, tuned to minimize the nodes of FFO #28 to #36. Moves with a higher
# sum come first.
_REPLY: Final = 256  # subtracted for each reply, twice for a corner
_POTENTIAL_REPLY: Final = 32  # subtracted for each empty square beside the mover's discs
_ODD_QUADRANT: Final = 64  # a square in a quadrant with an odd number of empties
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
def _in_odd_quadrants(empties: Word) -> Word:
    """Return the empties in quadrants of the board with an odd number of empties."""
    odd = EMPTY
    for quadrant in range(4):
        part = empties & QUADRANTS[quadrant]
        odd |= part * np.uint64(popcount(part) & 1)
    return odd


@inlined
def _with_one_empty(own: Word, opp: Word, square: Square, to_winner: Int) -> Int:
    """Return the value of a position with one empty square."""
    difference = popcount(own) - popcount(opp)
    num_flipped = popcount(flips_at(own, opp, square))
    if num_flipped:
        return difference + 2 * num_flipped + 1
    num_flipped = popcount(flips_at(opp, own, square))
    if num_flipped:
        return difference - 2 * num_flipped - 1
    return difference + (to_winner if difference > 0 else (-to_winner if difference < 0 else 0))


@compiled_function
def _with_few_empties(
    own: Word, opp: Word, alpha: Int, beta: Int, empties: Word, passed: Int, board: Word, to_winner: Int, table: Table
) -> Int:
    """Return the value of a position with at least two empties, trying each empty square.

    passed: 1 after a pass of `opp`. Duplicates the rules for speed: the legal moves are not
    computed. `tests/agents/search/test_endgame.py` compares it with `Position`.
    """
    table[NODES] += ONE
    best = np.int64(-_INFINITY)
    odd = _in_odd_quadrants(empties)
    without_one = empties & (empties - ONE)
    two_left = (without_one & (without_one - ONE)) == EMPTY
    for part in (empties & odd, empties & ~odd):
        rest = part
        while rest != EMPTY:
            square = lowest_square(rest)
            move = rest & (EMPTY - rest)
            rest ^= move
            if NEIGHBORS[square] & opp == EMPTY:
                continue
            flipped = flips_at(own, opp, square)
            if flipped == EMPTY:
                continue
            next_own, next_opp = place(own, opp, move, flipped)
            rest_empties = empties ^ move
            if two_left:
                table[NODES] += ONE
                value = -_with_one_empty(next_own, next_opp, lowest_square(rest_empties), to_winner)
            else:
                bound = max(alpha, best)
                value = -_with_few_empties(next_own, next_opp, -beta, -bound, rest_empties, np.int64(0), board, to_winner, table)
            if value > best:
                best = value
                if best >= beta:
                    return best
    if best != -_INFINITY:
        return best
    if passed:
        return final_score(own, opp, board, to_winner)
    return -_with_few_empties(opp, own, -beta, -alpha, empties, np.int64(1), board, to_winner, table)


@compiled_function
def _with_many_empties(own: Word, opp: Word, alpha: Int, beta: Int, num_empties: Int, board: Word, to_winner: Int, table: Table) -> Int:
    """Return the value of a position: exact between alpha and beta, otherwise a bound."""
    table[NODES] += ONE
    if table[NODES] >= table[MAX_NODES]:
        table[STOP] = ONE
    num_squares = popcount(board)
    if num_squares - 2 * popcount(opp) <= alpha:
        most = num_squares - 2 * popcount(stable_discs(opp, own, _GEOMETRY))
        if most <= alpha:
            return np.int64(most)
    lower = np.int64(-_INFINITY)
    upper = np.int64(_INFINITY)
    remembered = np.int64(NO_SQUARE)
    entry = find(table, own, opp)
    if entry:
        lower = lower_bound(table, entry)
        upper = upper_bound(table, entry)
        if lower >= beta or lower == upper:
            return lower
        if upper <= alpha:
            return upper
        alpha = max(alpha, lower)
        beta = min(beta, upper)
        remembered = best_square(table, entry)
    mover, other, rest, passed = settle_on(own, opp, board)
    if rest == EMPTY:
        return np.int64(final_score(own, opp, board, to_winner))
    if passed:
        return -_with_many_empties(mover, other, -beta, -alpha, num_empties, board, to_winner, table)

    odd = _in_odd_quadrants(board & ~(own | opp))
    moves = move_list(num_empties)
    num_moves = np.int64(0)
    while rest != EMPTY:
        square = lowest_square(rest)
        move = rest & (EMPTY - rest)
        rest ^= move
        flipped = flips_at(own, opp, square)
        next_own, next_opp = place(own, opp, move, flipped)
        if num_empties >= _LOOK_UP_MOVES:
            entry = find(table, next_own, next_opp)
            if entry and -upper_bound(table, entry) >= beta:
                return -upper_bound(table, entry)
        replies = moves_on(next_own, next_opp, board)
        key = _POSITIVE - _REPLY * (popcount(replies) + popcount(replies & CORNERS))
        key -= _POTENTIAL_REPLY * popcount(touching(next_opp) & ~(next_own | next_opp) & board)
        key += _ODD_QUADRANT * np.int64(odd & move != EMPTY) + _SQUARE[square] + _FROM_TABLE * np.int64(square == remembered)
        put_move(table, moves, num_moves, key, square, flipped)
        num_moves += 1

    best = np.int64(-_INFINITY)
    best_move = np.int64(NO_SQUARE)
    for i in range(num_moves):
        square, flipped = take_move(table, moves, i, num_moves)
        next_own, next_opp = place(own, opp, ONE << np.uint64(square), flipped)
        bound = max(alpha, best)
        if num_empties - 1 <= _FEW:
            empties = board & ~(next_own | next_opp)
            value = -_with_few_empties(next_own, next_opp, -beta, -bound, empties, np.int64(0), board, to_winner, table)
        elif i == 0:
            value = -_with_many_empties(next_own, next_opp, -beta, -bound, num_empties - 1, board, to_winner, table)
        else:
            value = -_with_many_empties(next_own, next_opp, -bound - 1, -bound, num_empties - 1, board, to_winner, table)
            if bound < value < beta and table[STOP] == EMPTY:
                value = -_with_many_empties(next_own, next_opp, -beta, -value, num_empties - 1, board, to_winner, table)
        if table[STOP] != EMPTY:
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
    store(table, own, opp, lower, upper, best_move, num_empties)
    return best


@compiled_function
def value_of(own: Word, opp: Word, alpha: Int, beta: Int, board: Word, to_winner: Int, table: Table) -> Int:
    """Return the value of a position: exact between alpha and beta, otherwise a bound.

    For compiled functions. The value is from the perspective of `own`, the side to move. own, opp,
    board: from `board_arguments`. to_winner: 1 if empty squares count for the winner, else 0.
    table: after `begin_search`; if STOP is set afterwards, the value is meaningless.
    """
    empties = board & ~(own | opp)
    num_empties = popcount(empties)
    if num_empties == 0:
        return np.int64(final_score(own, opp, board, to_winner))
    if num_empties == 1:
        table[NODES] += ONE
        return np.int64(_with_one_empty(own, opp, lowest_square(empties), to_winner))
    if num_empties <= _FEW:
        return _with_few_empties(own, opp, np.int64(alpha), np.int64(beta), empties, np.int64(0), board, np.int64(to_winner), table)
    return _with_many_empties(own, opp, np.int64(alpha), np.int64(beta), num_empties, board, np.int64(to_winner), table)


@kernel
def _value(own: Word, opp: Word, alpha: int, beta: int, board: Word, to_winner: int, table: Table) -> int:
    value: int = value_of(own, opp, alpha, beta, board, to_winner, table)
    return value


class SearchStoppedError(RuntimeError):
    """Raised when a search reaches its node or time limit before it has a result."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The solution of a position.

    score: final score of perfect play, from the perspective of the side to move. pv: principal
    variation, the squares of a perfect game to its end; passes are left out, except a forced pass
    at the beginning. nodes: number of positions visited. seconds: time taken.
    """

    score: int
    pv: tuple[int, ...]
    nodes: int
    seconds: float


class Solver:
    """Solves endgames exactly, one position at a time. Not thread-safe.

    scoring: the score to maximize, "empties_to_winner" as in tournaments and files, or "discs". The
    same moves win, draw and lose with both. hash_mb: size of the transposition table in MiB. 20
    empties take about a second, 24 empties about a minute.

    Limits of the methods: seconds, the time per call; max_nodes, the number of positions visited.
    Invalid limits raise `ValueError`, and searches that exceed a limit raise `SearchStoppedError`.
    """

    def __init__(self, scoring: Scoring = "empties_to_winner", *, hash_mb: int = 64) -> None:
        check_scoring(scoring)
        self.scoring: Scoring = scoring
        self._table = allocate(hash_mb)
        self.solve(Position.start(4))  # so that no time limit has to wait for the compiler

    def solve(self, position: Position, *, seconds: float | None = None, max_nodes: int | None = None) -> Solution:
        """Return the score of perfect play and a principal variation."""
        start = time.perf_counter()
        search = self._begin(seconds, max_nodes)
        largest = position.board_size**2
        score = search(position, -largest, largest)
        pv = principal_variation(position, score, value=search, table=self._table)
        return Solution(score, pv, self.nodes, time.perf_counter() - start)

    def outcome(self, position: Position, *, seconds: float | None = None, max_nodes: int | None = None) -> int:
        """Return +1, 0 or -1 if the side to move wins, draws or loses with perfect play.

        Several times faster than `solve`.
        """
        value = self._begin(seconds, max_nodes)(position, -1, 1)
        return (value > 0) - (value < 0)

    def move_scores(self, position: Position, *, seconds: float | None = None, max_nodes: int | None = None) -> dict[int, int]:
        """Return the exact score of each legal move by square, in descending order.

        The scores are from the perspective of the side to move.
        """
        search = self._begin(seconds, max_nodes)
        largest = position.board_size**2
        scores = {}
        for square in position.legal_squares():
            after = position.play(square)
            sign = 1 if after.side_to_move == position.side_to_move else -1
            scores[square] = sign * search(after, -largest, largest)
        return dict(sorted(scores.items(), key=lambda entry: -entry[1]))

    def judge(self, position: Position, square: int) -> tuple[int, int]:
        """Return the exact scores of the best move and of a legal move.

        The scores are from the perspective of the side to move.
        """
        search = self._begin(None, None)
        after = position.play(square)
        largest = position.board_size**2
        best = search(position, -largest, largest)
        made = search(after, -largest, best) if after.side_to_move == position.side_to_move else -search(after, -best, largest)
        return best, min(made, best)

    @property
    def nodes(self) -> int:
        """Number of positions visited by the latest call."""
        return int(self._table[NODES])

    def _begin(self, seconds: float | None, max_nodes: int | None) -> Callable[[Position, int, int], int]:
        """Begin a search with these limits. Returns the function of `exact_search`."""
        check_seconds("seconds", seconds)
        deadline = None if seconds is None else time.perf_counter() + seconds
        begin_search(self._table, node_limit("max_nodes", max_nodes))
        return exact_search(self._table, self.scoring, deadline=deadline)


def exact_search(table: Table, scoring: Scoring, *, deadline: float | None = None) -> Callable[[Position, int, int], int]:
    """Return a function (position, alpha, beta) that returns a value as `value_of` does.

    Ctrl-C interrupts the function, and it raises `SearchStoppedError` at the deadline and at the
    node limit. table: after `begin_search`. deadline: time in seconds by `time.perf_counter`.
    """

    def search(position: Position, alpha: int, beta: int) -> int:
        own, opp, board = board_arguments(position.own, position.opp, position.board_size)
        arguments = own, opp, alpha, beta, board, int(scoring == "empties_to_winner"), table
        remaining = None if deadline is None else deadline - time.perf_counter()
        value: int = run_interruptibly(lambda: _value(*arguments), [table], seconds=remaining)
        if table[STOP]:
            raise SearchStoppedError(f"stopped after {int(table[NODES])} nodes in {position}")
        return value

    return search


def principal_variation(position: Position, score: int, *, value: Callable[[Position, int, int], int], table: Table) -> tuple[int, ...]:
    """Return the squares of a game from `position` that reaches its score, as in `Solution`.

    value: from `exact_search`. table: of the search that found the score; it contains most of the
    moves.
    """
    pv: list[int] = []
    while position.legal_squares():
        own, opp, _ = board_arguments(position.own, position.opp, position.board_size)
        remembered = _remembered_square(own, opp, table)
        squares = sorted(position.legal_squares(), key=lambda square: embedded_square(square, position.board_size) != remembered)
        for square in squares:
            after = position.play(square)
            same_side = after.side_to_move == position.side_to_move
            if value(after, score - 1, score) >= score if same_side else value(after, -score, -score + 1) <= -score:
                break
        else:
            raise AssertionError(f"no move of {position} reaches its value {score}")
        pv.append(square)
        position, score = after, score if same_side else -score
    return tuple(pv)


@kernel
def _remembered_square(own: Word, opp: Word, table: Table) -> int:
    """Return the best square of a position in the table, or `NO_SQUARE`."""
    entry = find(table, own, opp)
    return int(best_square(table, entry)) if entry else NO_SQUARE
