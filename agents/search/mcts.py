"""Batched Monte Carlo tree search: PUCT or Gumbel AlphaZero.

PUCT follows Silver et al. (2018), Gumbel AlphaZero follows Danihelka et al. (2022).

Each simulation selects a path from the root to a position that is not in the tree yet and adds it
as a leaf. One call of an `Evaluator` evaluates the leaves of all games; then the leaves are
expanded and their values backed up. Trees are rows of flat arrays, processed by compiled loops; see
`agents.search.tree`.

Passes are automatic in a tree, so a side may move twice in a row. A value changes sign only where
the side to move changes. A finished game has its exact result and is never evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from agents.base import Moves, check_board_size
from agents.board import mixed_result
from agents.ntuple.network import NTupleEvaluator, NTupleNetwork
from agents.search.leaf import AfterstateEvaluator, Evaluation, Evaluator, RolloutEvaluator
from agents.search.tree import (
    EDGE_BYTES,
    GAME_BYTES,
    MAX_EDGES,
    NO_NODE,
    NODE_BYTES,
    SearchParams,
    Tree,
    expand_roots,
    extract_results,
    gather_leaves,
    init_roots,
    rebuild_edge_statistics,
    rebuild_nodes,
    simulate,
)
from othello_env import backend
from othello_env.batch import PositionBatch
from othello_env.bitboard import BitboardArray, unpack
from othello_env.compiled import GEOMETRY

Method = Literal["puct", "gumbel"]

# Maximum memory for trees, in bytes. Games whose trees do not fit are searched in groups. See
# `Tree` for the memory per game.
TREE_MEMORY: Final = 512 << 20

# A simulation takes a few microseconds per game, dispatching games to a thread about a hundred.
_ROWS_PER_THREAD: Final = 128

_MOST_SIMULATIONS: Final = 10_000_000  # edges are counted in 32 bits
_MOST_SCALE: Final = 1e6
# Noise that breaks ties where Gumbel noise is off.
_TIE_NOISE: Final = 1e-9
# Tuned for one random playout per simulation, whose values are much noisier than a network's.
_ROLLOUT_PB_C_INIT: Final = 2.0
_ROLLOUT_VALUE_SCALE: Final = 0.1
_ROLLOUT_MAXVISIT_INIT: Final = 20.0
# Temperature of the softmax of n-tuple network values.
_NETWORK_TEMPERATURE: Final = 0.5

# Node fields that cannot be recomputed from the positions.
_NODE_FIELDS: Final = ("parent_edge", "value", "visits", "value_sum")
# Maximum absolute value of numbers in a checkpoint.
_LARGEST: Final = 1e30

_UNIFORM: Final = np.empty((0, 0), dtype=np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Settings of a search. Raises `ValueError` for invalid values.

    simulations: number of simulations per game, at least 1. method: "puct" or "gumbel".
    leaves_per_call: maximum number of leaves of one game per call of the evaluator; 1 is sequential
    search. PUCT selects further leaves with virtual losses for pending simulations; Gumbel selects
    them within one phase of sequential halving.

    PUCT maximizes the mean value of an edge plus exploration(N) * prior * sqrt(N) / (1 + n), where
    N and n are the visits of the node and of the edge, and exploration(N) = pb_c_init + log((1 + N
    + pb_c_base) / pb_c_base). An edge without visits has the mean value of the node minus
    `fpu_reduction`. dirichlet_fraction: fraction of Dirichlet(dirichlet_alpha) noise in the prior
    of the root, for self-play.

    Gumbel considers the `max_num_considered_actions` moves with the highest logit plus
    `gumbel_scale` times Gumbel noise (0: the highest logits, ties broken at random) by sequential
    halving. Values are multiplied by (maxvisit_init + n) * value_scale before they are added to
    logits, where n is the number of visits of the most visited move.

    margin_share: weight of the margin in the values of finished games, in [0, 1]; see
    `agents.board.mixed_result`. The values of the evaluator must have the same meaning.
    """

    simulations: int
    method: Method = "puct"
    leaves_per_call: int = 1
    pb_c_init: float = 1.25
    pb_c_base: float = 19652.0
    fpu_reduction: float = 0.0
    dirichlet_fraction: float = 0.0
    dirichlet_alpha: float = 0.3
    max_num_considered_actions: int = 16
    gumbel_scale: float = 1.0
    value_scale: float = 0.5
    maxvisit_init: float = 50.0
    margin_share: float = 0.0

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise ValueError(f"method {self.method!r}: expected one of {', '.join(get_args(Method))}")
        for name in ("simulations", "leaves_per_call", "max_num_considered_actions"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name} {getattr(self, name)}: must be at least 1")
        for name in ("pb_c_init", "fpu_reduction", "gumbel_scale", "value_scale", "maxvisit_init"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} {getattr(self, name)}: must be a number that is not negative")
        for name in ("pb_c_base", "dirichlet_alpha"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} {getattr(self, name)}: must be a positive number")
        if self.simulations > _MOST_SIMULATIONS:
            raise ValueError(f"simulations {self.simulations}: at most {_MOST_SIMULATIONS}")
        if self.value_scale * self.maxvisit_init > _MOST_SCALE:
            raise ValueError(f"value_scale {self.value_scale} times maxvisit_init {self.maxvisit_init}: at most {_MOST_SCALE:g}")
        for name in ("dirichlet_fraction", "margin_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} {getattr(self, name)}: must be between 0 and 1")


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """Result of a search, from the perspective of the side to move at the root.

    visit_counts: [B, A] int32, visits of each move; all 0 if the position is not searched: a single
    legal move, a forced pass, or a finished game. root_values: [B] float32, mean of the evaluation
    of the root and the values of all simulations; the evaluation alone if the position is not
    searched, and the result if the game is over. q_values: [B, A] float32, mean value of each move,
    NaN for moves without visits. policy: [B, A] float32, the share of visits (PUCT) or the improved
    policy (Gumbel); 0 for illegal moves. moves: [B] int64, the most visited move (PUCT) or the move
    left after sequential halving (Gumbel); the pass if no square is legal.
    """

    visit_counts: npt.NDArray[np.int32]
    root_values: npt.NDArray[np.float32]
    q_values: npt.NDArray[np.float32]
    policy: npt.NDArray[np.float32]
    moves: Moves


class Searches:
    """G concurrent searches, which begin and end independently of each other.

    A new search can begin in place of one that has ended. One call of the evaluator evaluates the
    leaves of all running searches, at least one leaf each.
    """

    def __init__(self, num_searches: int, settings: SearchSettings, *, board_size: int, empties: int) -> None:
        """Create idle searches.

        settings: its `simulations` are the maximum per search. empties: maximum number of empty
        squares of a root.
        """
        self.settings = settings
        self._board_size, self._empties = board_size, empties
        self._tree = _empty_tree(num_searches, settings, empties=empties)
        self._buffers = _LeafBuffers.empty(self._tree.leaves.size)
        self._params = _params(settings, board_size, ())

    @property
    def idle(self) -> npt.NDArray[np.int64]:
        """Numbers of the searches that are not running, ascending: int64."""
        numbers: npt.NDArray[np.int64] = np.flatnonzero(self._tree.leaves[:, 0] == NO_NODE)
        return numbers

    def begin(self, numbers: npt.NDArray[np.int64], positions: PositionBatch, *, simulations: npt.NDArray[np.int64] | None = None) -> None:
        """Begin searches of B positions.

        numbers: [B], distinct numbers of idle searches. simulations: [B], number of simulations of
        each search, by default and at most that of the settings. Positions with at most one legal
        move are evaluated, not searched. Raises `ValueError` for numbers of simulations out of
        range, for running searches, and for positions that are over, of another board size or with
        too many empties.
        """
        lengths = np.full(len(numbers), self.settings.simulations) if simulations is None else simulations
        if not len(numbers) == len(positions) == len(lengths):
            raise ValueError(f"{len(numbers)} numbers, {len(positions)} positions, {len(lengths)} counts of simulations: expected as many")
        if (self._tree.leaves[numbers, 0] != NO_NODE).any():
            raise ValueError("a search that is running cannot begin")
        if positions.is_over.any():
            raise ValueError("a finished game cannot be searched")
        if positions.board_size != self._board_size or positions.empties.max(initial=0) > self._empties:
            found = f"board_size {positions.board_size} with up to {positions.empties.max(initial=0)} empty squares"
            raise ValueError(f"positions of {found}: expected {self._board_size} and at most {self._empties}")
        if ((lengths < 1) | (lengths > self.settings.simulations)).any():
            raise ValueError(f"simulations from {lengths.min()} to {lengths.max()}: expected 1 to {self.settings.simulations}")
        init_roots(self._tree, numbers, positions.own, positions.opp, positions.side_to_move, lengths, self._params)
        in_use, self._tree.schedule[:] = np.unique(self._tree.limit, return_inverse=True)
        self._params = _params(self.settings, self._board_size, tuple(in_use.tolist()))

    def advance(self, evaluator: Evaluator, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Evaluate and expand the current leaves, and select the next ones.

        Returns the numbers of the searches that have ended in this step.
        """
        tree = self._tree
        running: npt.NDArray[np.int64] = np.flatnonzero(tree.leaves[:, 0] != NO_NODE)
        if not len(running):
            return running
        evaluation = _evaluate(evaluator, self._buffers.positions(gather_leaves(tree, *self._buffers), self._board_size), rng)
        logits = _UNIFORM if evaluation.policy_logits is None else evaluation.policy_logits
        fresh = running[tree.simulations_done[running] < 0]
        expand_roots(tree, fresh, logits, evaluation.values)
        _add_noise(tree, fresh[tree.limit[fresh] > 0], self.settings, rng)
        _run(simulate, tree, self._params, logits, evaluation.values)
        ended_mask = tree.leaves[running, 0] == NO_NODE
        ended: npt.NDArray[np.int64] = running[ended_mask]
        return ended

    def results(self, numbers: npt.NDArray[np.int64]) -> SearchResult:
        """Return the results of searches that have ended, in the order of `numbers`.

        Raises `ValueError` for other searches.
        """
        if ((self._tree.leaves[numbers, 0] != NO_NODE) | (self._tree.nodes_used[numbers] == 0)).any():
            raise ValueError("a search that has not ended has no result")
        result = _empty_result(len(numbers), self._board_size)
        extract_results(
            self._tree, numbers, self._params, result.visit_counts, result.root_values, result.q_values, result.policy, result.moves
        )
        return result

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the running searches for a checkpoint, without what follows from the positions."""
        tree = self._tree
        running_mask = tree.leaves[:, 0] != NO_NODE
        num_nodes, num_edges = tree.nodes_used * running_mask, tree.edges_used * running_mask

        def used(array: npt.NDArray[Any], counts: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
            used_mask = np.arange(counts.max(initial=0)) < counts[:, None]
            return np.where(used_mask, array[:, : used_mask.shape[1]], array.dtype.type(0))

        return {
            "num_nodes": num_nodes,
            "limit": tree.limit * running_mask,
            "simulations_done": tree.simulations_done * running_mask,
            "leaves": tree.leaves.copy(),
            "noise": tree.noise * running_mask[:, None],
            **{name: used(getattr(tree, name), num_nodes) for name in _NODE_FIELDS},
            "edge_prior": used(tree.edge_prior, num_edges),
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]], positions: PositionBatch) -> None:
        """Restore the arrays of `state`. No search may be running.

        positions: [G], the roots of the running searches. Raises `ValueError` or `KeyError` for
        arrays that do not fit; this object must not be used after an error.
        """
        tree, num_nodes, limits, prior = self._tree, arrays["num_nodes"], arrays["limit"], arrays["edge_prior"]
        num_games, width = len(tree.limit), int(num_nodes.max(initial=0))
        for name, room in self.state().items():
            shape = (num_games, width) if name in _NODE_FIELDS else prior.shape if name == "edge_prior" else room.shape
            if arrays[name].dtype != room.dtype or arrays[name].shape != shape:
                raise ValueError(f"{name}: {arrays[name].dtype} of shape {arrays[name].shape} does not fit")
        if not 0 <= num_nodes.min(initial=0) <= width <= tree.own.shape[1] or len(positions) != num_games:
            raise ValueError(f"searches of other trees, or {len(positions)} positions: expected {num_games}")
        numbers = np.flatnonzero(num_nodes)
        if not len(numbers):
            return
        self.begin(numbers, positions.take(numbers), simulations=np.maximum(limits[numbers], 1).astype(np.int64))
        has_grown = rebuild_nodes(tree, numbers, num_nodes[numbers], arrays["parent_edge"][numbers], self._params)
        num_edges = int(tree.edges_used[numbers].max(initial=0))
        if (
            not has_grown
            or (arrays["parent_edge"][numbers, :1] != NO_NODE).any()
            or (tree.limit[numbers] != limits[numbers]).any()
            or prior.shape != (num_games, num_edges)
        ):
            raise ValueError("searches of other positions")
        for name in ("simulations_done", "leaves", "noise"):
            getattr(tree, name)[numbers] = arrays[name][numbers]
        for name in _NODE_FIELDS[1:]:
            getattr(tree, name)[numbers, :width] = arrays[name][numbers]
        tree.edge_prior[numbers, :num_edges] = prior[numbers]
        if not _is_consistent(tree, numbers, width=width, num_edges=num_edges):
            raise ValueError("searches that contradict themselves")
        rebuild_edge_statistics(tree, numbers)


def _is_consistent(tree: Tree, games: npt.NDArray[np.int64], *, width: int, num_edges: int) -> bool:
    """Return True if nodes, leaves and counts of running searches agree.

    width, num_edges: maximum numbers of nodes and of edges in use.
    """
    leaves, limit, done = tree.leaves[games], tree.limit[games], tree.simulations_done[games]
    nodes_used, visits = tree.nodes_used[games], tree.visits[games, :width]
    leaf_mask = leaves != NO_NODE
    num_leaves = leaf_mask.sum(axis=1)
    if not (leaf_mask[:, :1].all() and (leaf_mask[:, 1:] <= leaf_mask[:, :-1]).all()):
        return False
    if ((leaves < NO_NODE) | (leaves >= nodes_used[:, None])).any():
        return False
    waiting_mask = np.zeros(visits.shape, dtype=np.bool_)
    waiting_mask[np.nonzero(leaf_mask)[0], leaves[leaf_mask]] = True
    begun_mask = (done >= 0) & (done + num_leaves <= limit) & ~waiting_mask[:, 0]
    fresh_mask = (done == -1) & (nodes_used == 1)
    games_fit_mask = (begun_mask | fresh_mask) & (waiting_mask.sum(axis=1) == num_leaves) & (nodes_used <= done + num_leaves + 1)
    unused_mask = np.arange(width) >= nodes_used[:, None]
    nodes_fit_mask = (
        ((visits == 0) == waiting_mask)
        & (visits >= 0)
        & (visits <= done[:, None] + 1)
        & ~(waiting_mask & tree.is_over[games, :width])
        & (np.abs(tree.value[games, :width]) <= _LARGEST)
        & (np.abs(tree.value_sum[games, :width]) <= _LARGEST)
    )
    unused_edge_mask = np.arange(num_edges) >= tree.edges_used[games][:, None]
    edge_node = np.where(unused_edge_mask, 0, tree.edge_node[games, :num_edges])
    prior = tree.edge_prior[games, :num_edges]
    edges_fit_mask = np.where(np.take_along_axis(waiting_mask, edge_node, axis=1), prior == 0, (prior > 0) & (prior <= _LARGEST))
    return bool(
        games_fit_mask.all()
        and (nodes_fit_mask | unused_mask).all()
        and (edges_fit_mask | unused_edge_mask).all()
        and (np.abs(tree.noise[games]) <= _LARGEST).all()
    )


def search(positions: PositionBatch, evaluator: Evaluator, *, settings: SearchSettings, rng: np.random.Generator) -> SearchResult:
    """Search a batch of positions.

    Positions with at most one legal move are not searched. Games are searched in groups whose trees
    fit into `TREE_MEMORY`. The result for a position depends on the other positions only through
    the random numbers drawn from `rng`.
    """
    result = _empty_result(len(positions), positions.board_size)
    over = positions.is_over
    if over.any():
        margins = positions.score("empties_to_winner")[over]
        black_values = mixed_result(positions.outcome[over], margins, positions.pass_square, settings.margin_share)
        result.root_values[over] = black_values * (1 - 2 * positions.side_to_move[over].astype(np.int8))
        result.policy[over, -1] = 1
    for rows in _groups(positions, np.flatnonzero(~over), settings):
        group, numbers = positions.take(rows), np.arange(len(rows))
        searches = Searches(len(rows), settings, board_size=positions.board_size, empties=int(group.empties.max()))
        searches.begin(numbers, group)
        while len(searches.idle) < len(rows):
            searches.advance(evaluator, rng)
        found = searches.results(numbers)
        for field in fields(SearchResult):
            getattr(result, field.name)[rows] = getattr(found, field.name)
    return result


def _empty_result(num_rows: int, board_size: int) -> SearchResult:
    """Return results without visits, with the pass as the move."""
    num_actions = board_size**2 + 1
    return SearchResult(
        np.zeros((num_rows, num_actions), dtype=np.int32),
        np.empty(num_rows, dtype=np.float32),
        np.full((num_rows, num_actions), np.nan, dtype=np.float32),
        np.zeros((num_rows, num_actions), dtype=np.float32),
        np.full(num_rows, num_actions - 1, dtype=np.int64),
    )


def tree_bytes(settings: SearchSettings, *, empties: int) -> int:
    """Return the memory of one game's tree in bytes. empties: empty squares of the root."""
    num_nodes, num_edges = _tree_size(empties, settings)
    return GAME_BYTES + 4 * _most_leaves(settings) + NODE_BYTES * num_nodes + EDGE_BYTES * num_edges


def _most_leaves(settings: SearchSettings) -> int:
    """Return the maximum number of leaves of one game per call of the evaluator."""
    return min(settings.leaves_per_call, settings.simulations)


def _tree_size(empties: int, settings: SearchSettings) -> tuple[int, int]:
    """Return sufficient numbers of nodes and edges for a root with `empties` empty squares."""
    return settings.simulations + 1, (settings.simulations + 1) * empties


def _groups(positions: PositionBatch, rows: npt.NDArray[np.int64], settings: SearchSettings) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the rows in groups whose trees fit into `TREE_MEMORY`."""
    if len(rows):
        size = max(1, TREE_MEMORY // tree_bytes(settings, empties=int(positions.empties[rows].max())))
        yield from (rows[start : start + size] for start in range(0, len(rows), size))


def _evaluate(evaluator: Evaluator, positions: PositionBatch, rng: np.random.Generator) -> Evaluation:
    """Return the evaluation of positions, as contiguous float32 arrays.

    Raises `ValueError` if a shape is wrong, a value is not finite, or the logit of a legal square
    is NaN or +inf.
    """
    logits, values = evaluator.evaluate(positions, rng)
    values = np.ascontiguousarray(values, dtype=np.float32)
    if values.shape != (len(positions),) or not np.isfinite(values).all():
        found = f"shape {values.shape}" if values.shape != (len(positions),) else f"{values[~np.isfinite(values)][0]}"
        raise ValueError(f"an evaluator gave values of {found}; expected {len(positions)} finite numbers")
    if logits is not None:
        logits = np.ascontiguousarray(logits, dtype=np.float32)
        expected = (len(positions), positions.pass_square + 1)
        if logits.shape != expected:
            raise ValueError(f"an evaluator gave logits of shape {logits.shape}; expected {expected}")
        legal_logits = logits[:, :-1][unpack(positions.legal_moves, positions.pass_square) == 1]
        if len(legal_logits) and not legal_logits.max() < np.inf:
            raise ValueError(f"an evaluator gave the logit {legal_logits.max()} for a legal square; expected numbers below infinity")
    return Evaluation(logits, values)


def _run(function: Callable[..., None], tree: Tree, *settings: Any) -> None:
    """Call a loop over games, with threads if the number of games is large."""
    backend.run_rows(lambda *arguments: function(Tree(*arguments[: len(tree)]), *settings), tree, rows_per_thread=_ROWS_PER_THREAD)


class _LeafBuffers(NamedTuple):
    """Buffers for the leaves of one call of the evaluator: [L] each."""

    own: BitboardArray
    opp: BitboardArray
    side: npt.NDArray[np.uint8]
    legal_moves: BitboardArray

    @classmethod
    def empty(cls, size: int) -> _LeafBuffers:
        """Return buffers for `size` leaves."""
        own, opp, legal = np.empty((3, size), dtype=np.uint64)
        return cls(own, opp, np.empty(size, dtype=np.uint8), legal)

    def positions(self, num_leaves: int, board_size: int) -> PositionBatch:
        """Return the first `num_leaves` leaves as a batch, with the legal moves of the tree."""
        own, opp, side, legal = (array[:num_leaves].copy() for array in self)
        return PositionBatch.trusted(own, opp, side, legal, np.zeros(num_leaves, dtype=np.bool_), board_size=board_size)


def _empty_tree(num_games: int, settings: SearchSettings, *, empties: int) -> Tree:
    """Return arrays for the trees of `num_games` games. empties: maximum for a root."""
    num_nodes, num_edges = _tree_size(empties, settings)

    def nodes(dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        return np.empty((num_games, num_nodes), dtype=dtype)

    def edges(dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        return np.empty((num_games, num_edges), dtype=dtype)

    def counts() -> npt.NDArray[np.int32]:
        return np.zeros(num_games, dtype=np.int32)

    return Tree(
        own=nodes(np.uint64),
        opp=nodes(np.uint64),
        legal_moves=nodes(np.uint64),
        side=nodes(np.uint8),
        is_over=nodes(np.bool_),
        value=nodes(np.float32),
        parent_edge=nodes(np.int32),
        first_edge=nodes(np.int32),
        num_edges=nodes(np.uint8),
        visits=nodes(np.int32),
        value_sum=nodes(np.float64),
        edge_node=edges(np.int32),
        edge_child=edges(np.int32),
        edge_square=edges(np.uint8),
        edge_prior=edges(np.float32),
        edge_visits=edges(np.int32),
        edge_pending=edges(np.int32),
        edge_value_sum=edges(np.float64),
        nodes_used=counts(),
        edges_used=counts(),
        simulations_done=counts(),
        limit=counts(),
        schedule=counts(),
        passed=np.zeros(num_games, dtype=np.bool_),
        leaves=np.full((num_games, _most_leaves(settings)), NO_NODE, dtype=np.int32),
        first_leaf=np.zeros(num_games, dtype=np.int64),
        num_considered=counts(),
        noise=np.zeros((num_games, MAX_EDGES)),
    )


@lru_cache(maxsize=16)
def _params(settings: SearchSettings, board_size: int, lengths: tuple[int, ...]) -> SearchParams:
    """Return the settings for compiled loops.

    lengths: numbers of simulations that have rows in the tables.
    """
    visits = np.arange(settings.simulations + 2)
    exploration = (settings.pb_c_init + np.log((1 + visits + settings.pb_c_base) / settings.pb_c_base)) * np.sqrt(visits)
    gumbel = settings.method == "gumbel"
    most = min(settings.max_num_considered_actions, MAX_EDGES)
    visits_table, phase_table = np.zeros((2, len(lengths), most + 1, settings.simulations if gumbel else 0), dtype=np.int32)
    for row, length in enumerate(lengths if gumbel else ()):
        for count in range(1, most + 1):
            visits_table[row, count, :length], phase_table[row, count, :length] = considered_visits(count, length)
    return SearchParams(
        gumbel,
        most,
        exploration,
        settings.fpu_reduction,
        settings.value_scale,
        settings.maxvisit_init,
        visits_table,
        phase_table,
        settings.margin_share,
        GEOMETRY[board_size],
    )


def considered_visits(num_considered: int, simulations: int) -> tuple[list[int], list[int]]:
    """Return the schedule of sequential halving: visits and phase for each simulation.

    A simulation goes to the best of the moves with this number of visits, so that eliminated moves
    fall behind. The simulations are divided among about log2(num_considered) phases, and within a
    phase equally among the remaining moves. The last two moves get the rest.
    """
    visits, phases = list[int](), list[int]()
    num_phases = max(1, math.ceil(math.log2(num_considered)))
    done, left, phase = 0, num_considered, 0
    while len(visits) < simulations:
        rounds = max(1, simulations // (num_phases * left))
        visits += [done + number for number in range(rounds) for _ in range(left)]
        phases += [phase] * (rounds * left)
        done, left, phase = done + rounds, max(min(2, num_considered), left // 2), phase + 1
    return visits[:simulations], phases[:simulations]


def _add_noise(tree: Tree, games: npt.NDArray[np.int64], settings: SearchSettings, rng: np.random.Generator) -> None:
    """Draw the noise at the edges of the given roots.

    Mixes Dirichlet noise into the priors if the settings say so, and sets `noise` to Gumbel noise
    or to noise that breaks ties.
    """
    shape = len(games), MAX_EDGES
    if settings.dirichlet_fraction > 0 and settings.method == "puct":
        has_edge_mask = np.arange(shape[1]) < tree.num_edges[games, :1]
        # Dirichlet: gamma variates over their sum. With a small alpha all may be 0.
        weights = np.where(has_edge_mask, rng.standard_gamma(settings.dirichlet_alpha, shape) + 1e-12, 0)
        weights /= weights.sum(axis=1, keepdims=True)
        width = min(shape[1], tree.edge_prior.shape[1])
        priors = tree.edge_prior[games, :width]
        priors[~has_edge_mask[:, :width]] = 0  # unused entries may be anything
        mixed = (1 - settings.dirichlet_fraction) * priors + settings.dirichlet_fraction * weights[:, :width]
        np.copyto(priors, mixed, where=has_edge_mask[:, :width], casting="same_kind")
        tree.edge_prior[games, :width] = priors
    if settings.method == "gumbel" and settings.gumbel_scale > 0:
        tree.noise[games] = settings.gumbel_scale * rng.gumbel(size=shape)
    else:
        tree.noise[games] = _TIE_NOISE * rng.random(shape)


@dataclass(frozen=True, slots=True)
class MCTSAgent:
    """Plays the move of a tree search.

    board_size: the only board size that the evaluator can evaluate, or None for all.
    """

    name: str
    evaluator: Evaluator
    settings: SearchSettings
    board_size: int | None = None

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        """See `Agent`."""
        check_board_size(self, positions.board_size)
        return search(positions, self.evaluator, settings=self.settings, rng=rng).moves


def mcts_agent(file: Path | None = None, *, simulations: int = 200, method: Method = "puct", rollouts: int | None = None) -> MCTSAgent:
    """Return the agent that plays by Monte Carlo tree search.

    It searches with random playouts and a uniform policy, or with an n-tuple network if a file is
    given, whose policy is the softmax of the values of the moves. simulations: number of
    simulations per move. method: "puct" or "gumbel". rollouts: number of playouts per simulation
    (default: 1), not allowed with a file. Raises `ValueError` for numbers below 1, and
    `CheckpointError` for a damaged or missing file.
    """
    if file is not None and rollouts is not None:
        raise ValueError(f"a file and rollouts={rollouts}: expected one of them")
    name = f"mcts:{file.name}," if file else "mcts:"
    name += f"simulations={simulations}"
    name += f",method={method}" if method != "puct" else ""
    name += f",rollouts={rollouts}" if rollouts not in (None, 1) else ""
    if file is not None:
        network = NTupleNetwork.load(file)
        evaluator = AfterstateEvaluator(NTupleEvaluator(network), temperature=_NETWORK_TEMPERATURE)
        settings = SearchSettings(simulations=simulations, method=method, gumbel_scale=0.0)
        return MCTSAgent(name, evaluator, settings, network.board_size)
    settings = SearchSettings(
        simulations=simulations,
        method=method,
        pb_c_init=_ROLLOUT_PB_C_INIT,
        gumbel_scale=0.0,
        max_num_considered_actions=MAX_EDGES,
        value_scale=_ROLLOUT_VALUE_SCALE,
        maxvisit_init=_ROLLOUT_MAXVISIT_INIT,
    )
    return MCTSAgent(name, RolloutEvaluator(1 if rollouts is None else rollouts), settings)
