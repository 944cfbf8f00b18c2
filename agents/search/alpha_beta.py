"""Alpha-beta search with an evaluation by table entries or features, and exact endgames.

The search uses iterative deepening, null windows, a transposition table, and moves ordered by a
one-ply evaluation. A search of a given depth returns the same value as plain minimax: depth counts
placed discs, passes do not count, and finished games have their result. It visits millions of
positions per second on one core. Requires numba (extra `[fast]`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from agents.base import Moves, check_board_size
from agents.board import (
    BOARD,
    EMPTY,
    NUM_SQUARES,
    ONE,
    embedded,
    final_score,
    flips_at,
    moves_on,
    settle_on,
    squares_on_board,
    touching,
)
from agents.heuristics import HeuristicEvaluator
from agents.league import load_league_player
from agents.ntuple.network import NTupleNetwork
from agents.positional import Table as SquareTable
from agents.positional import square_weights
from agents.search.endgame import exact_search, principal_variation, value_of
from agents.search.evaluation import (
    LARGEST,
    SearchEvaluation,
    afterstate_value,
    feature_evaluation,
    look_at,
    network_evaluation,
    network_of_square_weights,
)
from agents.search.limits import check_count, check_seconds, node_limit, run_interruptibly
from agents.search.transposition import (
    FINISHED,
    MAX_NODES,
    NO_SQUARE,
    NODES,
    STOP,
    UNLIMITED,
    Table,
    allocate,
    begin_search,
    best_square,
    depth_of,
    find,
    finished_pv,
    lower_bound,
    move_list,
    prepend,
    put_move,
    pv_at,
    store,
    take_move,
    upper_bound,
)
from othello_env import backend
from othello_env.batch import PositionBatch
from othello_env.bitboard import BitboardArray
from othello_env.compiled import Int, Square, Word, compiled_function, inlined, kernel, lowest_square, place, popcount
from othello_env.position import Position

# The value of a game won by s discs is WON + s, which exceeds every evaluation.
WON: Final = 2 * LARGEST
_INFINITY: Final = 4 * LARGEST

# Two plies before the leaves, moves are ordered by the number of replies, which is cheaper than an
# evaluation.
_REPLY: Final = 8
_FROM_TABLE: Final = 1 << 40

# Depth that marks results of the solver.
_EXACT: Final = 64

# Minimum number of positions per thread.
_ROWS_PER_THREAD: Final = 2

# Columns of the result array of a search.
_SQUARE: Final = 0
_VALUE: Final = 1
_DEPTH: Final = 2
_NODES: Final = 3


@inlined
def _result(own: Word, opp: Word, board: Word) -> Int:
    """Return the value of a finished game from the perspective of `own`."""
    score = final_score(own, opp, board, np.int64(1))
    return score + (WON if score > 0 else (-WON if score < 0 else 0))


@inlined
def _leaf_value(square: Square, flipped: Word, next_own: Word, next_opp: Word, board: Word, evaluation: SearchEvaluation) -> Int:
    """Return the value of the position after a move, from the perspective of the side that made it.

    next_own: discs of the other side.
    """
    _, _, moves, passed = settle_on(next_own, next_opp, board)
    if moves == EMPTY:
        return np.int64(_result(next_opp, next_own, board))
    return afterstate_value(square, flipped, next_opp, next_own, EMPTY if passed else moves, evaluation)


@compiled_function
def _last_ply(own: Word, opp: Word, moves: Word, beta: Int, board: Word, table: Table, evaluation: SearchEvaluation) -> tuple[Int, Square]:
    """Return the value and the square of the best move one ply before the leaves.

    Stops at the first move whose value is at least beta.
    """
    look_at(own, opp, evaluation)
    best = np.int64(-_INFINITY)
    best_move = np.int64(NO_SQUARE)
    rest = moves
    while rest != EMPTY:
        square = lowest_square(rest)
        move = rest & (EMPTY - rest)
        rest ^= move
        flipped = flips_at(own, opp, square)
        next_own, next_opp = place(own, opp, move, flipped)
        table[NODES] += ONE
        value = _leaf_value(square, flipped, next_own, next_opp, board, evaluation)
        if value > best:
            best = value
            best_move = square
            if best >= beta:
                break
    return best, best_move


@compiled_function
def _search(own: Word, opp: Word, alpha: Int, beta: Int, depth: Int, board: Word, table: Table, evaluation: SearchEvaluation) -> Int:
    """Return the value of a position: exact between alpha and beta, otherwise a bound.

    The value is from the perspective of `own`, the side to move.
    """
    table[NODES] += ONE
    if table[NODES] >= table[MAX_NODES]:
        table[STOP] = ONE
    pv = pv_at(depth)
    table[pv] = EMPTY
    mover, other, rest, passed = settle_on(own, opp, board)
    if rest == EMPTY:
        return np.int64(_result(own, opp, board))
    if passed:
        return -_search(mover, other, -beta, -alpha, depth, board, table, evaluation)
    if depth == 1:
        value, square = _last_ply(own, opp, rest, beta, board, table, evaluation)
        table[pv] = ONE
        table[pv + 1] = np.uint64(square)
        return value
    null_window = beta - alpha == 1
    lower = np.int64(-_INFINITY)
    upper = np.int64(_INFINITY)
    remembered = np.int64(NO_SQUARE)
    entry = find(table, own, opp)
    if entry:
        remembered = best_square(table, entry)
        # Bounds of another depth would make the value depend on the order of the search. The few
        # nodes with an open window are searched again, for the principal variation.
        if null_window and depth_of(table, entry) == depth:
            lower = lower_bound(table, entry)
            upper = upper_bound(table, entry)
            if lower >= beta or lower == upper:
                return lower
            if upper <= alpha:
                return upper
            alpha = max(alpha, lower)
            beta = min(beta, upper)

    by_evaluation = depth > 2
    if by_evaluation:
        look_at(own, opp, evaluation)
    moves = move_list(depth)
    num_moves = np.int64(0)
    while rest != EMPTY:
        square = lowest_square(rest)
        move = rest & (EMPTY - rest)
        rest ^= move
        flipped = flips_at(own, opp, square)
        next_own, next_opp = place(own, opp, move, flipped)
        if square == remembered:
            key = np.int64(_FROM_TABLE)
        elif by_evaluation:
            key = _leaf_value(square, flipped, next_own, next_opp, board, evaluation)
        else:
            replies = moves_on(next_own, next_opp, board)
            key = -np.int64(_REPLY * popcount(replies) + popcount(touching(next_opp) & ~(next_own | next_opp) & board))
        put_move(table, moves, num_moves, key + _INFINITY, square, flipped)
        num_moves += 1

    best = np.int64(-_INFINITY)
    best_move = np.int64(NO_SQUARE)
    for i in range(num_moves):
        square, flipped = take_move(table, moves, i, num_moves)
        next_own, next_opp = place(own, opp, ONE << np.uint64(square), flipped)
        bound = max(alpha, best)
        if i == 0:
            value = -_search(next_own, next_opp, -beta, -bound, depth - 1, board, table, evaluation)
        else:
            value = -_search(next_own, next_opp, -bound - 1, -bound, depth - 1, board, table, evaluation)
            if bound < value < beta and table[STOP] == EMPTY:
                value = -_search(next_own, next_opp, -beta, -bound, depth - 1, board, table, evaluation)
        if table[STOP] != EMPTY:
            return np.int64(0)
        if value > best:
            best = value
            best_move = square
            if best >= beta:
                break
            if best > alpha and not null_window:
                prepend(table, depth, square)
    if best > alpha:
        lower = max(lower, best)
    if best < beta:
        upper = min(upper, best)
    store(table, own, opp, lower, upper, best_move, depth)
    return best


@compiled_function
def _search_root(own: Word, opp: Word, max_depth: Int, board: Word, table: Table, evaluation: SearchEvaluation) -> tuple[Square, Int, Int]:
    """Search with iterative deepening; return (square, value, depth) of the last finished search.

    The side to move must have a legal square.
    """
    moves = moves_on(own, opp, board)
    value, best_move = _last_ply(own, opp, moves, np.int64(_INFINITY), board, table, evaluation)
    finished = pv_at(np.int64(FINISHED))
    table[finished] = ONE
    table[finished + 1] = np.uint64(best_move)
    depth = np.int64(1)
    max_depth = min(max_depth, popcount(board & ~(own | opp)))
    while depth < max_depth:
        deeper = _search(own, opp, np.int64(-_INFINITY), np.int64(_INFINITY), depth + 1, board, table, evaluation)
        if table[STOP] != EMPTY:
            break
        value = deeper
        depth += 1
        for word in range(depth + 1):
            table[finished + word] = table[pv_at(depth) + word]
    return np.int64(table[finished + 1]), value, depth


@compiled_function
def _solve_root(own: Word, opp: Word, board: Word, table: Table) -> tuple[Square, Int]:
    """Return (square, score) of perfect play, with empty squares counted for the winner.

    They are meaningless if the search was stopped.
    """
    num_squares = popcount(board)
    value = value_of(own, opp, -num_squares, num_squares, board, np.int64(1), table)
    entry = find(table, own, opp)
    if entry:
        return best_square(table, entry), value
    rest = moves_on(own, opp, board)
    while rest != EMPTY and table[STOP] == EMPTY:
        square = lowest_square(rest)
        rest &= rest - ONE
        next_own, next_opp = place(own, opp, ONE << np.uint64(square), flips_at(own, opp, square))
        if value_of(next_own, next_opp, -value, -value + 1, board, np.int64(1), table) <= -value:
            return np.int64(square), value
    return np.int64(NO_SQUARE), value


@kernel
def _search_rows(
    own: BitboardArray,
    opp: BitboardArray,
    results: npt.NDArray[np.int64],
    max_depth: int,
    max_nodes: np.uint64,
    board: Word,
    table: Table,
    evaluation: SearchEvaluation,
) -> None:
    """Search each row within the limits or until stopped, and write its results: [B, 4].

    The side to move must have a legal square in each row.
    """
    for row in range(len(own)):
        begin_search(table, max_nodes)
        square, value, depth = _search_root(own[row], opp[row], max_depth, board, table, evaluation)
        results[row, _SQUARE], results[row, _VALUE], results[row, _DEPTH] = square, value, depth
        results[row, _NODES] += np.int64(table[NODES])
        if table[STOP] != EMPTY and table[NODES] < table[MAX_NODES]:
            return


@kernel
def _solve_rows(own: BitboardArray, opp: BitboardArray, results: npt.NDArray[np.int64], board: Word, table: Table) -> None:
    """Solve each row and write its results, with depth `_EXACT`; if stopped, only the nodes."""
    for row in range(len(own)):
        begin_search(table, UNLIMITED)
        square, value = _solve_root(own[row], opp[row], board, table)
        results[row, _NODES] += np.int64(table[NODES])
        if table[STOP] != EMPTY:
            return
        results[row, _SQUARE], results[row, _VALUE], results[row, _DEPTH] = square, value, _EXACT


# Trained networks have values from -1 to 1. A linear fit of exact scores to their values, at 16
# empty squares of 250 games of the shipped network with some random moves: 48 discs per unit on
# 8x8, with an error of 5.7 discs (root mean square) at depth 4.
_DISCS_PER_UNIT: Final = 0.75


@dataclass(frozen=True, slots=True)
class SearchReport:
    """Result of a search.

    square: the move. score: from the perspective of the side to move, in the units of the
    evaluation; if `decided`, the final score of the principal variation with empty squares counted
    for the winner. decided: True if the outcome (win, draw or loss) is proven. exact: True if move
    and score are proven, that is, no move reaches a higher final score. This is the case with at
    most `solver` empty squares, unless the solver exceeds `solver_seconds`, and if the search
    reaches the end of the game. depth: search depth, in placed discs. pv: principal variation, the
    squares without passes. nodes: number of positions visited. seconds: time taken.
    """

    square: int
    score: float
    decided: bool
    exact: bool
    depth: int
    pv: tuple[int, ...]
    nodes: int
    seconds: float


class AlphaBetaAgent:
    """Plays the best move of a search. Deterministic unless a time limit is set. Not thread-safe.

    evaluate: returns the evaluation for a board size, and its scale; raises `ValueError` for a
    board size that it cannot evaluate.

    depth, seconds, nodes: limits of the search per position. The first limit reached ends the
    search, but not before depth 1.

    solver: number of empty squares up to which the agent plays perfectly. The limits above do not
    apply to the solver; 20 empty squares take about a second, 24 about a minute. solver_seconds:
    time limit of the solver per position in seconds (default: none). If it is exceeded, the agent
    searches the position within the limits above instead, and its move may be imperfect; see
    `SearchReport.exact`.

    hash_mb: size of the transposition table of each thread in MiB. Copies and unpickled agents
    start with empty tables, which does not affect their moves.

    board_size: the only board size that the agent plays, or None for all.

    discs_per_unit: discs that one unit of the evaluation is worth, for people who read the scores.
    """

    def __init__(
        self,
        name: str,
        evaluate: Callable[[int], tuple[SearchEvaluation, float]],
        *,
        depth: int | None = None,
        seconds: float | None = None,
        nodes: int | None = None,
        solver: int = 0,
        solver_seconds: float | None = None,
        hash_mb: int = 16,
        board_size: int | None = None,
        discs_per_unit: float = 1.0,
    ) -> None:
        if depth is None and seconds is None and nodes is None:
            raise ValueError("a search needs a limit: depth, seconds or nodes")
        check_count("depth", depth, 1, NUM_SQUARES)
        check_count("solver", solver, 0, NUM_SQUARES)
        check_seconds("seconds", seconds)
        check_seconds("solver_seconds", solver_seconds)
        if solver_seconds is not None and not solver:
            raise ValueError(f"solver_seconds={solver_seconds} without a solver: expected solver=1 to {NUM_SQUARES} too")
        self.name = name
        self.board_size = board_size
        self.discs_per_unit = discs_per_unit
        self._evaluate = evaluate
        self._evaluations: dict[int, tuple[SearchEvaluation, float]] = {}
        self._depth = NUM_SQUARES if depth is None else depth
        self._seconds = seconds
        self._nodes = node_limit("nodes", nodes)
        self._solver = solver
        self._solver_seconds = solver_seconds
        self._hash_mb = hash_mb
        self._has_compiled = False
        self._tables = [allocate(hash_mb)]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_evaluations": {}, "_tables": [], "_has_compiled": False}

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:  # noqa: ARG002 (nothing is left to chance)
        """See `Agent`."""
        moves: Moves = np.append(squares_on_board(positions.board_size), positions.pass_square)[self._results(positions)[:, _SQUARE]]
        return moves

    def search(self, position: Position) -> SearchReport:
        """Search one position. Raises `ValueError` if the side to move has no legal square."""
        if not position.legal_moves:
            raise ValueError(f"nothing to search: the side to move has no legal square in {position}")
        start = time.perf_counter()
        square, value, depth, nodes = self._results(PositionBatch.from_positions([position]))[0].tolist()
        squares = squares_on_board(position.board_size)
        score, exact = float(value), depth == _EXACT
        if exact:
            decided, pv = True, self._exact_pv(position, int(squares[square]), value)
        else:
            pv = tuple(squares[finished_pv(self._tables[0])].tolist())
            reaches_the_end = depth == position.empties
            decided = abs(value) >= WON or (value == 0 and reaches_the_end)
            exact = decided and reaches_the_end
            score = value - WON * ((value > 0) - (value < 0)) if decided else value / self._evaluation(position.board_size)[1]
        return SearchReport(pv[0], score, decided, exact, min(depth, position.empties), pv, nodes, time.perf_counter() - start)

    def _results(self, positions: PositionBatch) -> npt.NDArray[np.int64]:
        """Return square (of the 8x8 board), value, depth and nodes of each row: [B, 4] int64.

        The square is `NO_SQUARE` if no square is legal.
        """
        check_board_size(self, positions.board_size)
        self._evaluation(positions.board_size)
        if not self._has_compiled and (self._seconds is not None or self._solver_seconds is not None):
            self._compile(positions.board_size)
        results = np.full((len(positions), 4), (NO_SQUARE, 0, 0, 0), dtype=np.int64)
        rows = np.flatnonzero(positions.legal_moves)
        self._solve(positions, rows[positions.empties[rows] <= self._solver], results, seconds=self._solver_seconds)
        unsolved = rows[results[rows, _SQUARE] == NO_SQUARE]
        self._search(positions, unsolved, results, depth=self._depth, seconds=self._seconds)
        self._has_compiled = True
        return results

    def _evaluation(self, board_size: int) -> tuple[SearchEvaluation, float]:
        """Return the evaluation for a board size, and its scale."""
        if board_size not in self._evaluations:
            self._evaluations[board_size] = self._evaluate(board_size)
        return self._evaluations[board_size]

    def _compile(self, board_size: int) -> None:
        """Compile the search, so that compilation does not count towards a time limit."""
        row, results = np.zeros(1, dtype=np.int64), np.zeros((1, 4), dtype=np.int64)
        self._search(PositionBatch.start(1, board_size), row, results, depth=1, seconds=None)
        if self._solver:
            self._solve(PositionBatch.start(1, 4), row, results, seconds=None)
            start = Position.start(4)
            self._exact_pv(start, int(squares_on_board(4)[results[0, _SQUARE]]), int(results[0, _VALUE]))

    def _search(
        self, positions: PositionBatch, rows: npt.NDArray[np.int64], results: npt.NDArray[np.int64], *, depth: int, seconds: float | None
    ) -> None:
        """Search the given rows within the limits; see `_search_rows`."""
        evaluation, _ = self._evaluation(positions.board_size)
        board = BOARD[positions.board_size]

        def search(own: BitboardArray, opp: BitboardArray, found: npt.NDArray[np.int64], table: Table) -> None:
            private = evaluation._replace(indices=np.empty_like(evaluation.indices))
            _search_rows(own, opp, found, depth, self._nodes, board, table, private)

        self._run(search, positions, rows, results, seconds=seconds)

    def _solve(
        self, positions: PositionBatch, rows: npt.NDArray[np.int64], results: npt.NDArray[np.int64], *, seconds: float | None
    ) -> None:
        """Solve the given rows; see `_solve_rows`."""
        board = BOARD[positions.board_size]

        def solve(own: BitboardArray, opp: BitboardArray, found: npt.NDArray[np.int64], table: Table) -> None:
            _solve_rows(own, opp, found, board, table)

        self._run(solve, positions, rows, results, seconds=seconds)

    def _run(
        self,
        function: Callable[[BitboardArray, BitboardArray, npt.NDArray[np.int64], Table], None],
        positions: PositionBatch,
        rows: npt.NDArray[np.int64],
        results: npt.NDArray[np.int64],
        *,
        seconds: float | None,
    ) -> None:
        """Call a function on the discs and results of the given rows.

        Uses threads, or goes row by row if a time limit applies to each row.
        """
        if seconds is not None and len(rows) > 1:
            for row in range(len(rows)):
                self._run(function, positions, rows[row : row + 1], results, seconds=seconds)
            return
        num_parts = min(backend.num_threads(), len(rows) // _ROWS_PER_THREAD) or 1
        while len(self._tables) < num_parts:
            self._tables.append(allocate(self._hash_mb))
        tables = self._tables[:num_parts]
        own, opp = (embedded(discs[rows], positions.board_size) for discs in (positions.own, positions.opp))
        found = results[rows]

        def run(part: int) -> None:
            chunk = slice(part * len(rows) // num_parts, (part + 1) * len(rows) // num_parts)
            function(own[chunk], opp[chunk], found[chunk], tables[part])

        run_interruptibly(lambda: backend.run_parts(run, num_parts), tables, seconds=seconds)
        results[rows] = found

    def _exact_pv(self, position: Position, move: int, score: int) -> tuple[int, ...]:
        """Return a perfect game that begins with a move, after `_solve` of the position."""
        table = self._tables[0]
        table[STOP] = 0  # the time limit may have come to an end just after the search
        after = position.play(move)
        same_side = after.side_to_move == position.side_to_move
        value = exact_search(table, "empties_to_winner")
        return (move, *principal_variation(after, score if same_side else -score, value=value, table=table))


Evaluation = Literal["swh", "heur", "bench", "heuristics"]


@dataclass(frozen=True, slots=True)
class _Source:
    """Picklable source of an evaluation, which is built per board size and per process."""

    network: NTupleNetwork | None = None
    square_table: SquareTable | None = None

    def __call__(self, board_size: int) -> tuple[SearchEvaluation, float]:
        if self.square_table is not None:
            return network_evaluation(network_of_square_weights(square_weights(self.square_table, board_size), board_size))
        if self.network is None:
            return feature_evaluation(HeuristicEvaluator(), board_size)
        return network_evaluation(self.network)


def alpha_beta_agent(
    file: Path | None = None,
    *,
    evaluation: Evaluation | None = None,
    depth: int | None = None,
    seconds: float | None = None,
    nodes: int | None = None,
    solver: int = 0,
    solver_seconds: float | None = None,
    hash_mb: int = 16,
) -> AlphaBetaAgent:
    """Return the agent that searches with a network from a file or a built-in evaluation.

    Without a limit the depth is 6. file: a file written by `NTupleNetwork.save`, or a `.txt` file
    in the League's text format, used with `view="mover"`. evaluation: a table of square weights
    (`agents.positional`) or "heuristics" (default: "swh"), not allowed with a file. For the other
    parameters see `AlphaBetaAgent`. Raises `ValueError` for invalid limits, and `CheckpointError`
    or `RecordFormatError` for an invalid file.
    """
    if file is not None and evaluation is not None:
        raise ValueError(f"a file and evaluation={evaluation}: expected one of them")
    if depth is None and seconds is None and nodes is None:
        depth = 6
    evaluation = evaluation or "swh"
    network = None
    if file is not None and file.suffix == ".txt":
        network = load_league_player(file)
    elif file is not None:
        network = NTupleNetwork.load(file)
    is_trained = file is not None and file.suffix != ".txt"
    source = f"evaluation={evaluation}" if file is None else file.name
    limits = {"depth": depth, "seconds": seconds, "nodes": nodes, "solver": solver or None}
    limits["solver_seconds"] = solver_seconds
    settings = "".join(f",{key}={value}" for key, value in limits.items() if value is not None)
    return AlphaBetaAgent(
        f"alpha_beta:{source}{settings}",
        _Source(network, evaluation if network is None and evaluation != "heuristics" else None),
        depth=depth,
        seconds=seconds,
        nodes=nodes,
        solver=solver,
        solver_seconds=solver_seconds,
        hash_mb=hash_mb,
        board_size=None if network is None else network.board_size,
        discs_per_unit=_DISCS_PER_UNIT * network.board_size**2 if network is not None and is_trained else 1.0,
    )
