"""Alpha-beta search over any evaluation that is a sum of table entries or features, with exact endgames.

Iterative deepening, null windows, a transposition table, moves in the order of their evaluation one move deep. A search of a given
depth has the value that plain minimax has: depth counts discs placed, a pass costs none, and finished games count by their
result. It visits millions of positions a second on one core. Needs numba (extra `[fast]`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from agents.base import Moves, check_board_size
from agents.heuristics import HeuristicEvaluator
from agents.league import load_league_player
from agents.ntuple.network import NTupleNetwork
from agents.positional import Table, square_weights
from agents.search.board import (
    BOARD,
    EMPTY,
    NUM_SQUARES,
    ONE,
    embedded,
    final_score,
    flips_at,
    moves_on,
    squares_on_board,
    touching,
)
from agents.search.endgame import exact_value, principal_variation, run_interruptibly, value_of
from agents.search.evaluation import (
    LARGEST,
    SearchEvaluation,
    afterstate_value,
    feature_evaluation,
    look_at,
    network_evaluation,
    network_of_square_weights,
)
from agents.search.transposition import (
    FINISHED,
    MAX_NODES,
    NO_SQUARE,
    NODES,
    SEARCH,
    STOP,
    UNLIMITED,
    allocate,
    begin_search,
    best_square,
    depth_of,
    find,
    finished_line,
    line_at,
    lower_bound,
    move_list,
    prepend,
    put_move,
    store,
    take_move,
    upper_bound,
)
from othello_env import backend
from othello_env.batch import PositionBatch
from othello_env.bitboard import BitboardArray
from othello_env.compiled import compiled_function, inlined, kernel, lowest_square, popcount
from othello_env.position import Position

# A game won by s discs counts this much plus s: more than every evaluation.
WON: Final = 2 * LARGEST
_INFINITY: Final = 4 * LARGEST

# Two plies before the leaves, moves are in the order of the replies that they leave: cheaper than an evaluation.
_REPLY: Final = 8
_FROM_TABLE: Final = 1 << 40

# The depth that stands for exact play, and what is searched before it where there may be no time for it.
_EXACT: Final = 64
_QUICK_DEPTH: Final = 4

_MOST_NODES: Final = (1 << 63) - 1

# Positions that a thread takes at least.
_ROWS_PER_THREAD: Final = 2


@inlined
def _result(own: Any, opp: Any, board: Any) -> Any:
    """The value of a finished game from the view of `own`."""
    score = final_score(own, opp, board, np.int64(1))
    return score + (WON if score > 0 else (-WON if score < 0 else 0))


@inlined
def _leaf_value(square: Any, flipped: Any, next_own: Any, next_opp: Any, board: Any, evaluation: Any) -> Any:
    """The value of the position after a move, from the view of the side that made it. next_own: the other side's discs then."""
    replies = moves_on(next_own, next_opp, board)
    if replies == EMPTY and moves_on(next_opp, next_own, board) == EMPTY:
        return np.int64(_result(next_opp, next_own, board))
    return afterstate_value(square, flipped, next_opp, next_own, replies, evaluation)


@compiled_function
def _last_ply(own: Any, opp: Any, moves: Any, beta: Any, board: Any, memory: Any, evaluation: Any) -> Any:
    """The highest value of the moves one ply before the end of the search, or one that is not below beta; and its square."""
    look_at(own, opp, evaluation)
    best = np.int64(-_INFINITY)
    best_move = np.int64(NO_SQUARE)
    rest = moves
    while rest != EMPTY:
        square = lowest_square(rest)
        move = rest & (EMPTY - rest)
        rest ^= move
        flipped = flips_at(own, opp, square)
        memory[NODES] += ONE
        value = _leaf_value(square, flipped, opp ^ flipped, own | move | flipped, board, evaluation)
        if value > best:
            best = value
            best_move = square
            if best >= beta:
                break
    return best, best_move


@compiled_function
def _search(own: Any, opp: Any, alpha: Any, beta: Any, depth: Any, board: Any, memory: Any, evaluation: Any) -> Any:
    """The value of a position from the view of `own`, the side to move: exact between alpha and beta, a bound on it elsewhere."""
    memory[NODES] += ONE
    if memory[NODES] >= memory[MAX_NODES]:
        memory[STOP] = ONE
    line = line_at(depth)
    memory[line] = EMPTY
    rest = moves_on(own, opp, board)
    if rest == EMPTY:
        if moves_on(opp, own, board) == EMPTY:
            return np.int64(_result(own, opp, board))
        return -_search(opp, own, -beta, -alpha, depth, board, memory, evaluation)
    if depth == 1:
        value, square = _last_ply(own, opp, rest, beta, board, memory, evaluation)
        memory[line] = ONE
        memory[line + 1] = np.uint64(square)
        return value
    null_window = beta - alpha == 1
    lower = np.int64(-_INFINITY)
    upper = np.int64(_INFINITY)
    remembered = np.int64(NO_SQUARE)
    place = find(memory, own, opp)
    if place:
        remembered = best_square(memory, place)
        # Bounds of another depth would make the value depend on the order of the search. With an open window there are few nodes,
        # and they are searched again for the line.
        if null_window and depth_of(memory, place) == depth:
            lower = lower_bound(memory, place)
            upper = upper_bound(memory, place)
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
        next_own = opp ^ flipped
        next_opp = own | move | flipped
        if square == remembered:
            key = np.int64(_FROM_TABLE)
        elif by_evaluation:
            key = _leaf_value(square, flipped, next_own, next_opp, board, evaluation)
        else:
            replies = moves_on(next_own, next_opp, board)
            key = -np.int64(_REPLY * popcount(replies) + popcount(touching(next_opp) & ~(next_own | next_opp) & board))
        put_move(memory, moves, num_moves, key + _INFINITY, square, flipped)
        num_moves += 1

    best = np.int64(-_INFINITY)
    best_move = np.int64(NO_SQUARE)
    for i in range(num_moves):
        square, flipped = take_move(memory, moves, i, num_moves)
        next_own = opp ^ flipped
        next_opp = own | flipped | (ONE << np.uint64(square))
        bound = max(alpha, best)
        if i == 0:
            value = -_search(next_own, next_opp, -beta, -bound, depth - 1, board, memory, evaluation)
        else:
            value = -_search(next_own, next_opp, -bound - 1, -bound, depth - 1, board, memory, evaluation)
            if bound < value < beta and memory[STOP] == EMPTY:
                value = -_search(next_own, next_opp, -beta, -bound, depth - 1, board, memory, evaluation)
        if memory[STOP] != EMPTY:
            return np.int64(0)
        if value > best:
            best = value
            best_move = square
            if best >= beta:
                break
            if best > alpha and not null_window:
                prepend(memory, depth, square)
    if best > alpha:
        lower = max(lower, best)
    if best < beta:
        upper = min(upper, best)
    store(memory, own, opp, lower, upper, best_move, depth)
    return best


@compiled_function
def _search_root(own: Any, opp: Any, max_depth: Any, board: Any, memory: Any, evaluation: Any) -> Any:
    """Deepen to the depth or until stopped: (square, value, depth) of the last search that was finished, depth 0 where none was.

    The side to move must have a move.
    """
    moves = moves_on(own, opp, board)
    value, best_move = _last_ply(own, opp, moves, np.int64(_INFINITY), board, memory, evaluation)
    finished = line_at(np.int64(FINISHED))
    memory[finished] = ONE
    memory[finished + 1] = np.uint64(best_move)
    depth = np.int64(1)
    max_depth = min(max_depth, popcount(board & ~(own | opp)))
    while depth < max_depth:
        deeper = _search(own, opp, np.int64(-_INFINITY), np.int64(_INFINITY), depth + 1, board, memory, evaluation)
        if memory[STOP] != EMPTY:
            break
        value = deeper
        depth += 1
        for word in range(depth + 1):
            memory[finished + word] = memory[line_at(depth) + word]
    return np.int64(memory[finished + 1]), value, depth


@compiled_function
def _solve_root(own: Any, opp: Any, board: Any, memory: Any) -> Any:
    """The (square, value) of exact play, empty squares to the winner; means nothing where stopped."""
    num_squares = popcount(board)
    value = value_of(own, opp, -num_squares, num_squares, board, np.int64(1), memory)
    place = find(memory, own, opp)
    if place:
        return best_square(memory, place), value
    rest = moves_on(own, opp, board)
    while rest != EMPTY and memory[STOP] == EMPTY:
        square = lowest_square(rest)
        rest &= rest - ONE
        flipped = flips_at(own, opp, square)
        next_own = opp ^ flipped
        next_opp = own | flipped | (ONE << np.uint64(square))
        if value_of(next_own, next_opp, -value, -value + 1, board, np.int64(1), memory) <= -value:
            return np.int64(square), value
    return np.int64(NO_SQUARE), value


@kernel
def _choose(
    own: BitboardArray,
    opp: BitboardArray,
    legal: BitboardArray,
    results: npt.NDArray[np.int64],
    limits: Any,
    max_nodes: Any,
    board: Any,
    memory: BitboardArray,
    evaluation: Any,
) -> None:
    """Search each row that has a legal square, until stopped. results: [B, 3], of each row the best square, its value, the depth.

    For exact play the value is the score, and the depth is `_EXACT`. limits: the depth, the number of empties from which on to play
    perfectly, and 1 where the search may be stopped and has to have a move all the same, else 0.
    """
    max_depth, solver_empties, may_stop = limits
    for row in range(len(own)):
        if legal[row] == EMPTY:
            continue
        begin_search(memory, max_nodes)
        square, value, depth = np.int64(NO_SQUARE), np.int64(0), np.int64(_EXACT)
        num_empties = popcount(board & ~(own[row] | opp[row]))
        if may_stop or num_empties > solver_empties:
            first_depth = max_depth if num_empties > solver_empties else min(max_depth, np.int64(_QUICK_DEPTH))
            square, value, depth = _search_root(own[row], opp[row], first_depth, board, memory, evaluation)
        if num_empties <= solver_empties:
            memory[SEARCH] += ONE  # the bounds of an evaluation are none on the score
            exact_square, exact_value = _solve_root(own[row], opp[row], board, memory)
            if memory[STOP] == EMPTY:
                square, value, depth = exact_square, exact_value, np.int64(_EXACT)
        results[row, 0], results[row, 1], results[row, 2] = square, value, depth
        if memory[STOP] != EMPTY and memory[NODES] < memory[MAX_NODES]:
            return


@dataclass(frozen=True, slots=True)
class SearchReport:
    """What a search found out.

    square: the move. score: what the side to move can expect, in the units of the evaluation; the final score, empty squares to the
    winner, where the game is decided. decided: whether the score is that of the end of the game: as perfect play has it where exact,
    else what the line found leads to. exact: whether perfect play reaches this score. depth: discs that the search placed. pv: the
    squares of the game that it expects, passes left out. nodes: positions visited. seconds: time taken.
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
    """Plays the move that a search finds best. Deterministic but for a limit of time; not for several threads at once.

    evaluate: the evaluation for a board size, and the number by which its integers are too large; raises `ValueError` for a size
    that it cannot evaluate. depth, seconds, nodes: where to stop, whichever comes first; a search is at least one move deep. solver:
    with so many empties or fewer it plays perfectly. hash_mb: of the transposition table of each thread. board_size: the only one
    that it can play, or None for any. Copies and pickles begin with empty tables, which makes no difference to their moves.
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
        hash_mb: int = 16,
        board_size: int | None = None,
    ) -> None:
        if depth is None and seconds is None and nodes is None:
            raise ValueError("a search needs a limit: depth, seconds or nodes")
        bounds = (("depth", depth, 1, NUM_SQUARES), ("nodes", nodes, 1, _MOST_NODES), ("solver", solver, 0, NUM_SQUARES))
        for what, limit, least, most in bounds:
            if limit is not None and not least <= limit <= most:
                raise ValueError(f"{what}={limit}: expected {least} to {most}")
        if seconds is not None and not 0 < seconds <= threading.TIMEOUT_MAX:
            raise ValueError(f"seconds={seconds}: expected a positive number, at most {threading.TIMEOUT_MAX:g}")
        self.name = name
        self.board_size = board_size
        self._evaluate = evaluate
        self._evaluations: dict[int, tuple[SearchEvaluation, float]] = {}
        self._seconds = seconds
        self._nodes = np.uint64(UNLIMITED if nodes is None else nodes)
        may_stop = seconds is not None or nodes is not None
        self._limits = np.int64(NUM_SQUARES if depth is None else depth), np.int64(solver), np.int64(may_stop)
        self._megabytes = hash_mb
        self._has_compiled = False
        self._memories = [allocate(hash_mb)]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_evaluations": {}, "_memories": [], "_has_compiled": False}

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:  # noqa: ARG002 (nothing is left to chance)
        """See `Agent`."""
        if self._seconds is None:
            num_parts = min(backend.num_threads(), len(positions) // _ROWS_PER_THREAD) or 1
            squares = self._run(positions, num_parts)[0][:, 0]
        else:  # one by one: the time is for each
            squares = np.array([self._run(positions.take(np.array([row])), 1)[0][0, 0] for row in range(len(positions))], dtype=np.int64)
        moves: Moves = np.append(squares_on_board(positions.board_size), positions.pass_square)[squares]
        return moves

    def search(self, position: Position) -> SearchReport:
        """Search one position and report. Raises `ValueError` where the side to move has no legal square."""
        if not position.legal_moves:
            raise ValueError(f"nothing to search: the side to move has no legal square in {position}")
        start = time.perf_counter()
        results, scale = self._run(PositionBatch.from_positions([position]), 1)
        square, value, depth = results[0].tolist()
        memory = self._memories[0]
        nodes = int(memory[NODES])
        squares = squares_on_board(position.board_size)
        exact = depth == _EXACT
        found = tuple(squares[finished_line(memory)].tolist())
        line = self._exact_line(position, int(squares[square]), value) if exact else found
        decided = exact or abs(value) >= WON or (value == 0 and depth == position.empties)
        if decided and not exact:
            value -= WON * ((value > 0) - (value < 0))
            exact = depth == position.empties
        elif not decided:
            value /= scale
        return SearchReport(line[0], value, decided, exact, min(depth, position.empties), line, nodes, time.perf_counter() - start)

    def _run(self, positions: PositionBatch, num_parts: int, *, warm_up: bool = False) -> tuple[npt.NDArray[np.int64], float]:
        """Search all rows, in so many threads: the results of `_choose`, and the number by which values are too large."""
        check_board_size(self, positions.board_size)
        if self._seconds is not None and not (warm_up or self._has_compiled):
            # So that the compiler does not take the time.
            self._run(PositionBatch.start(1, positions.board_size), 1, warm_up=True)
            self._exact_line(Position.start(4), Position.start(4).legal_squares()[0], -10)
        board_size = positions.board_size
        if board_size not in self._evaluations:
            self._evaluations[board_size] = self._evaluate(board_size)
        evaluation, scale = self._evaluations[board_size]
        own, opp = embedded(positions.own, board_size), embedded(positions.opp, board_size)
        results = np.full((len(positions), 3), NO_SQUARE, dtype=np.int64)
        limits = (np.int64(1), np.int64(0), np.int64(0)) if warm_up else self._limits
        while len(self._memories) < num_parts:
            self._memories.append(allocate(self._megabytes))
        memories = self._memories[:num_parts]

        def choose(part: int) -> None:
            private = evaluation._replace(indices=np.empty_like(evaluation.indices))
            rows = slice(part * len(own) // num_parts, (part + 1) * len(own) // num_parts)
            arrays = own[rows], opp[rows], positions.legal_moves[rows], results[rows]
            _choose(*arrays, limits, self._nodes, BOARD[board_size], memories[part], private)

        run_interruptibly(lambda: backend.run_parts(choose, num_parts), memories, seconds=None if warm_up else self._seconds)
        self._has_compiled = True
        return results, scale

    def _exact_line(self, position: Position, move: int, score: int) -> tuple[int, ...]:
        """A perfect game that begins with the move."""
        memory = self._memories[0]
        memory[MAX_NODES], memory[STOP] = UNLIMITED, 0
        after = position.play(move)

        def value(asked: Position, alpha: int, beta: int) -> int:
            found = exact_value(asked, memory, alpha=alpha, beta=beta, scoring="empties_to_winner")
            assert found is not None
            return found

        same_side = after.side_to_move == position.side_to_move
        return (move, *principal_variation(after, score if same_side else -score, value=value, memory=memory))


Evaluation = Literal["swh", "heur", "bench", "heuristics"]


@dataclass(frozen=True, slots=True)
class _Source:
    """What an agent evaluates with, made anew for each board size and in each process."""

    network: NTupleNetwork | None = None
    table: Table | None = None

    def __call__(self, board_size: int) -> tuple[SearchEvaluation, float]:
        if self.table is not None:
            return network_evaluation(network_of_square_weights(square_weights(self.table, board_size), board_size))
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
    hash_mb: int = 16,
) -> AlphaBetaAgent:
    """An agent that searches with a network from a file, or with a built-in evaluation; 6 moves deep if no limit is given.

    file: as `NTupleNetwork.save` writes it, or in the League's text format (`.txt`), seen from the mover. evaluation: a table of
    square weights (`agents.positional`), "swh" if neither is named, or "heuristics". The rest: see
    `AlphaBetaAgent`. Raises `ValueError` for impossible limits, and `CheckpointError` or `RecordFormatError` for a file that cannot
    be used.
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
    source = f"evaluation={evaluation}" if file is None else file.name
    limits = {"depth": depth, "seconds": seconds, "nodes": nodes, "solver": solver or None}
    settings = "".join(f",{key}={value}" for key, value in limits.items() if value is not None)
    return AlphaBetaAgent(
        f"alpha_beta:{source}{settings}",
        _Source(network, evaluation if network is None and evaluation != "heuristics" else None),
        depth=depth,
        seconds=seconds,
        nodes=nodes,
        solver=solver,
        hash_mb=hash_mb,
        board_size=None if network is None else network.board_size,
    )
