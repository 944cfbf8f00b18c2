"""Tree search for many games in lockstep, by PUCT (Silver et al. 2018) or by Gumbel AlphaZero's rules (Danihelka et al. 2022).

Each simulation walks from the root of its game's tree to a position that is not in the tree yet, adds it, and asks an `Evaluator`
about it; the leaves of all games go to the evaluator in one call. Trees are rows of flat arrays, see `Tree`; compiled loops that
handle each game alone walk through them.

In a tree passes happen by themselves, so a side may move twice in a row: a value changes sign where the side to move does. A
finished game has its exact result, and no evaluator sees it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from agents.base import Moves
from agents.evaluators import AfterstateEvaluator, Evaluation, Evaluator, RolloutEvaluator
from agents.ntuple import NTupleEvaluator, NTupleNetwork
from othello_env import backend
from othello_env.batch import PositionBatch
from othello_env.bitboard import BitboardArray, unpack
from othello_env.compiled import GEOMETRY, flips, inlined, kernel, legal_moves, lowest_square, popcount, unpacked

Method = Literal["puct", "gumbel"]

# Memory for trees at a time, in bytes; more games are searched one group after the other. See `Tree` for what a game takes.
TREE_MEMORY: Final = 512 << 20

# What the fields of `Tree` take a game, a node and an edge.
_GAME_BYTES: Final = 536
_NODE_BYTES: Final = 51
_EDGE_BYTES: Final = 29

# A simulation takes some microseconds a game, handing games to a thread a hundred.
_ROWS_PER_THREAD: Final = 128

_MAX_EDGES: Final = 64  # no node has more
_MOST_SIMULATIONS: Final = 10_000_000  # edges are counted in 32 bits
_MOST_SCALE: Final = 1e6
_NO_NODE: Final = -1
# Priors are at least this: so small that it never matters, and large enough for logarithms and for weights that multiply it.
_LEAST_PRIOR: Final = 1e-30
# Gumbel noise that is switched off still breaks ties.
_TIE_NOISE: Final = 1e-9
_ONE: Final = np.uint64(1)
# What played best with one random playout a simulation, where values are far noisier than a network's.
_ROLLOUT_C_PUCT: Final = 2.0
_ROLLOUT_VALUE_SCALE: Final = 0.1
_ROLLOUT_VISIT_OFFSET: Final = 20.0
# By which the sums of n-tuple networks are divided to make a policy of them.
_NETWORK_TEMPERATURE: Final = 0.5

_UNIFORM: Final = np.empty((0, 0), dtype=np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """How to search. Raises `ValueError` for impossible values.

    simulations: walks through the tree a game, at least 1. method: "puct" or "gumbel". leaves_per_call: the most leaves of one
    game that the evaluator gets in one call; with 1 the search is the plain sequential one. PUCT takes the further ones while it
    counts those on their way as lost (virtual loss); Gumbel takes them from one phase of the sequential halving.

    PUCT adds exploration(N) * prior * sqrt(N) / (1 + n) to an edge's mean value, where N and n count the visits of the node and
    of the edge, and exploration(N) = c_puct + log((1 + N + c_base) / c_base). An edge without visits has the node's mean value
    minus `fpu_reduction`. noise_fraction: the share of Dirichlet(noise_alpha) noise in the root's prior, for self-play.

    Gumbel considers the `max_considered_actions` moves with the highest logit plus `gumbel_scale` times Gumbel noise (0: the
    highest logits, ties at random), and halves them in turn; a value counts (visit_offset + n) * value_scale times against a
    logit, where n is the number of visits of the most visited move.

    margin_share: how much of the value of a finished game is the disc difference, as a share of the board and with the empty squares
    for the winner; the rest is who has won. It must be what the evaluator's values mean.
    """

    simulations: int
    method: Method = "puct"
    leaves_per_call: int = 1
    c_puct: float = 1.25
    c_base: float = 19652.0
    fpu_reduction: float = 0.0
    noise_fraction: float = 0.0
    noise_alpha: float = 0.3
    max_considered_actions: int = 16
    gumbel_scale: float = 1.0
    value_scale: float = 0.5
    visit_offset: float = 50.0
    margin_share: float = 0.0

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise ValueError(f"method {self.method!r}: expected one of {', '.join(get_args(Method))}")
        for name in ("simulations", "leaves_per_call", "max_considered_actions"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)}: must be at least 1")
        for name in ("c_puct", "fpu_reduction", "gumbel_scale", "value_scale", "visit_offset"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} {getattr(self, name)}: must be a number that is not negative")
        for name in ("c_base", "noise_alpha"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} {getattr(self, name)}: must be a positive number")
        if self.simulations > _MOST_SIMULATIONS:
            raise ValueError(f"simulations {self.simulations}: at most {_MOST_SIMULATIONS}")
        if self.value_scale * self.visit_offset > _MOST_SCALE:
            raise ValueError(f"value_scale {self.value_scale} times visit_offset {self.visit_offset}: at most {_MOST_SCALE:g}")
        for name in ("noise_fraction", "margin_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} {getattr(self, name)}: must be between 0 and 1")


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """What a search found. All values are from the view of the root's side to move.

    visit_counts: [B, A] int32, of the moves; all 0 where there was nothing to search: one legal move, a pass, a finished game.
    root_values: [B] float32, the mean value of all simulations and of the root's own evaluation; that evaluation alone where
    nothing was searched, the result where the game is over. q_values: [B, A] float32, mean values of the moves, NaN where a
    move has no visit. policy: [B, A] float32, the share of visits (PUCT) or the improved policy (Gumbel); 0 for illegal moves.
    moves: [B] int64, the most visited move, or what sequential halving leaves; the pass where nothing else is legal.
    """

    visit_counts: npt.NDArray[np.int32]
    root_values: npt.NDArray[np.float32]
    q_values: npt.NDArray[np.float32]
    policy: npt.NDArray[np.float32]
    moves: Moves


class Tree(NamedTuple):
    """The trees of G games, N nodes and E edges each: N is the number of simulations plus 1, as each adds one node at most.

    A node's edges lie together in their game's row, in the order of their squares. A node has at most as many edges as the root
    has empty squares, so E = N times that is enough for every game; `tree_bytes` says what it takes: 719 kilobytes for 400
    simulations from the start position. The system provides pages when they are written to, so a usual game takes a sixth.

    Values are from the view of the side to move: that of the node, or of the node where the edge begins. A named tuple, because
    compiled loops take one as it is.
    """

    own: BitboardArray  # [G, N], discs of the side to move
    opp: BitboardArray  # [G, N]
    legal_moves: BitboardArray  # [G, N]
    side: npt.NDArray[np.uint8]  # [G, N], 0 or 1, the side to move
    is_over: npt.NDArray[np.bool_]  # [G, N]
    value: npt.NDArray[np.float32]  # [G, N], the evaluator's, or the result where the game is over
    parent_edge: npt.NDArray[np.int32]  # [G, N], -1 for the root, which is node 0
    first_edge: npt.NDArray[np.int32]  # [G, N]
    num_edges: npt.NDArray[np.uint8]  # [G, N], 0 where the game is over
    visits: npt.NDArray[np.int32]  # [G, N], 0 while the evaluator has not answered
    value_sum: npt.NDArray[np.float64]  # [G, N], of all visits
    edge_node: npt.NDArray[np.int32]  # [G, E], the node where the edge begins
    edge_child: npt.NDArray[np.int32]  # [G, E], the node where it ends, -1 before its first visit
    edge_square: npt.NDArray[np.uint8]  # [G, E], the move
    edge_prior: npt.NDArray[np.float32]  # [G, E], the policy; a node's edges sum to 1
    edge_visits: npt.NDArray[np.int32]  # [G, E]
    edge_pending: npt.NDArray[np.int32]  # [G, E], walks through it whose leaf waits for the evaluator
    edge_value_sum: npt.NDArray[np.float64]  # [G, E]
    nodes_used: npt.NDArray[np.int32]  # [G]
    edges_used: npt.NDArray[np.int32]  # [G]
    simulations_done: npt.NDArray[np.int32]  # [G]
    leaves: npt.NDArray[np.int32]  # [G, K], the nodes that wait for the evaluator, -1 behind the last
    first_leaf: npt.NDArray[np.int64]  # [G], the number of the first of them among the leaves of all games
    num_considered: npt.NDArray[np.int32]  # [G], how many moves Gumbel considers at the root
    noise: npt.NDArray[np.float64]  # [G, 64], noise of the root's edges, in their order


class _Rules(NamedTuple):
    """The settings as compiled loops see them.

    exploration: [S + 2] for S simulations, the factor of prior / (1 + n), by the visits of the node. considered_visits: [M + 1, S],
    for each number of considered moves the visits that a move must have in order to be tried next, by simulation. phase: [M + 1,
    S], the number of the halving. margin_share: as in the settings. words: of `GEOMETRY`.
    """

    gumbel: bool
    simulations: int
    exploration: npt.NDArray[np.float64]
    fpu_reduction: float
    value_scale: float
    visit_offset: float
    considered_visits: npt.NDArray[np.int32]
    phase: npt.NDArray[np.int32]
    margin_share: float
    words: BitboardArray


def search(positions: PositionBatch, evaluator: Evaluator, *, settings: SearchSettings, rng: np.random.Generator) -> SearchResult:
    """Search every position, all in lockstep.

    Positions with at most one legal move are not searched. Games are searched in groups whose trees fit into `TREE_MEMORY`. What
    is found for a position does not depend on the others but for the random numbers, which come from `rng`.
    """
    num_rows, num_actions = len(positions), positions.pass_square + 1
    result = SearchResult(
        np.zeros((num_rows, num_actions), dtype=np.int32),
        np.empty(num_rows, dtype=np.float32),
        np.full((num_rows, num_actions), np.nan, dtype=np.float32),
        np.zeros((num_rows, num_actions), dtype=np.float32),
        np.full(num_rows, positions.pass_square, dtype=np.int64),
    )
    over = positions.is_over
    if over.any():
        margins = positions.score("empties_to_winner")[over] / positions.pass_square
        black_values = (1 - settings.margin_share) * positions.outcome[over] + settings.margin_share * margins
        result.root_values[over] = black_values * (1 - 2 * positions.side_to_move[over].astype(np.int8))
        result.policy[over, -1] = 1
    running = np.flatnonzero(~over)
    for rows in _groups(positions, running, settings):
        _search_group(positions, rows, evaluator=evaluator, settings=settings, rng=rng, result=result)
    return result


def tree_bytes(settings: SearchSettings, *, empties: int) -> int:
    """The memory that the tree of one game is given, in bytes. empties: the empty squares at the root."""
    num_nodes, num_edges = _tree_size(empties, settings)
    return _GAME_BYTES + 4 * settings.leaves_per_call + _NODE_BYTES * num_nodes + _EDGE_BYTES * num_edges


def _tree_size(empties: int, settings: SearchSettings) -> tuple[int, int]:
    """The nodes and edges that are enough for a game with so many empty squares."""
    return settings.simulations + 1, (settings.simulations + 1) * empties


def _groups(positions: PositionBatch, rows: npt.NDArray[np.int64], settings: SearchSettings) -> Iterator[npt.NDArray[np.int64]]:
    """The rows in parts whose trees fit into the memory."""
    if len(rows):
        size = max(1, TREE_MEMORY // tree_bytes(settings, empties=int(positions.empties[rows].max())))
        yield from (rows[start : start + size] for start in range(0, len(rows), size))


def _search_group(
    positions: PositionBatch,
    rows: npt.NDArray[np.int64],
    *,
    evaluator: Evaluator,
    settings: SearchSettings,
    rng: np.random.Generator,
    result: SearchResult,
) -> None:
    """Search some rows, none of them over, and write what is found into `result`."""
    n = positions.board_size
    own, opp, side = positions.own[rows], positions.opp[rows], positions.side_to_move[rows]
    roots = PositionBatch(own, opp, side, board_size=n)  # a forced pass has happened here
    passed_mask = roots.side_to_move != side
    evaluation = _ask(evaluator, roots, rng)
    result.root_values[rows] = np.where(passed_mask, -evaluation.values, evaluation.values)
    only_one_mask = passed_mask | (roots.legal_moves & (roots.legal_moves - _ONE) == 0)
    forced = rows[only_one_mask]
    result.moves[forced] = np.argmax(positions.take(forced).legal_mask(), axis=1)
    result.policy[forced, result.moves[forced]] = 1
    searched = np.flatnonzero(~only_one_mask)
    if not len(searched):
        return
    logits = None if evaluation.policy_logits is None else evaluation.policy_logits[searched]
    evaluation = Evaluation(logits, evaluation.values[searched])
    roots = roots.take(searched)
    rules = _rules(settings, n)
    tree = _new_tree(roots, settings, rules)
    _take_roots(tree, _logits_array(evaluation), evaluation.values)
    _add_noise(tree, settings, rng)
    buffers = _LeafBuffers.empty(tree.leaves.size)
    while True:
        _run(_simulate, tree, rules, _logits_array(evaluation), evaluation.values)
        num_leaves = _gather(tree, *buffers)
        if num_leaves == 0:
            break
        evaluation = _ask(evaluator, buffers.positions(num_leaves, n), rng)
    num_actions = result.policy.shape[1]
    visit_counts = np.zeros((len(roots), num_actions), dtype=np.int32)
    q_values = np.full((len(roots), num_actions), np.nan, dtype=np.float32)
    policy = np.zeros((len(roots), num_actions), dtype=np.float32)
    root_values, moves = np.empty(len(roots), dtype=np.float32), np.empty(len(roots), dtype=np.int64)
    _report(tree, rules, visit_counts, root_values, q_values, policy, moves)
    searched_rows = rows[searched]
    result.visit_counts[searched_rows], result.q_values[searched_rows], result.policy[searched_rows] = visit_counts, q_values, policy
    result.root_values[searched_rows], result.moves[searched_rows] = root_values, moves


def _ask(evaluator: Evaluator, positions: PositionBatch, rng: np.random.Generator) -> Evaluation:
    """The evaluator's answer, checked. Raises `ValueError` where it is of a wrong shape or not finite."""
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


def _logits_array(evaluation: Evaluation) -> npt.NDArray[np.float32]:
    """The logits as compiled loops take them: an array without columns for a uniform policy."""
    return _UNIFORM if evaluation.policy_logits is None else evaluation.policy_logits


def _run(function: Callable[..., None], tree: Tree, *settings: Any) -> None:
    """Call a loop over games, on parts of them at the same time where there are many."""
    backend.run_rows(lambda *arguments: function(Tree(*arguments[: len(tree)]), *settings), tree, rows_per_thread=_ROWS_PER_THREAD)


class _LeafBuffers(NamedTuple):
    """Room for the leaves of one call: [L] each."""

    own: BitboardArray
    opp: BitboardArray
    side: npt.NDArray[np.uint8]
    legal_moves: BitboardArray

    @classmethod
    def empty(cls, size: int) -> _LeafBuffers:
        """Room for `size` leaves."""
        own, opp, legal = np.empty((3, size), dtype=np.uint64)
        return cls(own, opp, np.empty(size, dtype=np.uint8), legal)

    def positions(self, num_leaves: int, board_size: int) -> PositionBatch:
        """The first leaves as a batch, without computing again what the tree knows of them."""
        own, opp, side, legal = (array[:num_leaves].copy() for array in self)
        return PositionBatch.trusted(own, opp, side, legal, np.zeros(num_leaves, dtype=np.bool_), board_size=board_size)


def _new_tree(roots: PositionBatch, settings: SearchSettings, rules: _Rules) -> Tree:
    """Trees of the roots alone, which are the first leaves."""
    num_games = len(roots)
    num_nodes, num_edges = _tree_size(int(roots.empties.max()), settings)

    def nodes(dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        return np.empty((num_games, num_nodes), dtype=dtype)

    def edges(dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        return np.empty((num_games, num_edges), dtype=dtype)

    def counts() -> npt.NDArray[np.int32]:
        return np.zeros(num_games, dtype=np.int32)

    tree = Tree(
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
        simulations_done=counts() - 1,  # the evaluation of the root is not counted
        leaves=np.full((num_games, settings.leaves_per_call), _NO_NODE, dtype=np.int32),
        first_leaf=np.arange(num_games),
        num_considered=counts(),
        noise=np.zeros((num_games, _MAX_EDGES)),
    )
    tree.leaves[:, 0] = 0
    _plant(tree, roots.own, roots.opp, roots.side_to_move, rules)
    np.minimum(tree.num_edges[:, 0], min(settings.max_considered_actions, _MAX_EDGES), out=tree.num_considered, casting="unsafe")
    return tree


@lru_cache(maxsize=16)
def _rules(settings: SearchSettings, board_size: int) -> _Rules:
    visits = np.arange(settings.simulations + 2)
    exploration = (settings.c_puct + np.log((1 + visits + settings.c_base) / settings.c_base)) * np.sqrt(visits)
    gumbel = settings.method == "gumbel"
    tables = (
        [considered_visits(count, settings.simulations) for count in range(1, min(settings.max_considered_actions, _MAX_EDGES) + 1)]
        if gumbel
        else []
    )
    shape = (len(tables) + 1, settings.simulations if gumbel else 0)
    visits_table, phase_table = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32)
    for number, (visits_row, phase_row) in enumerate(tables, 1):
        visits_table[number], phase_table[number] = visits_row, phase_row
    return _Rules(
        gumbel,
        settings.simulations,
        exploration,
        settings.fpu_reduction,
        settings.value_scale,
        settings.visit_offset,
        visits_table,
        phase_table,
        settings.margin_share,
        GEOMETRY[board_size],
    )


def considered_visits(num_considered: int, simulations: int) -> tuple[list[int], list[int]]:
    """The schedule of sequential halving: for each simulation the visits that a move must have to be tried, and the phase's number.

    Among the moves with so many visits the best one is tried; moves that a halving drops fall behind. In each phase, of about
    log2(num_considered), the moves left share about the same number of simulations equally. The last two keep the rest.
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


def _add_noise(tree: Tree, settings: SearchSettings, rng: np.random.Generator) -> None:
    """Random numbers for the roots' edges: in their priors where that is wanted, and in `noise`."""
    shape = tree.noise.shape
    if settings.noise_fraction > 0 and settings.method == "puct":
        has_edge_mask = np.arange(shape[1]) < tree.num_edges[:, :1]
        # Dirichlet: gamma variates over their sum. With a small alpha all may be 0.
        weights = np.where(has_edge_mask, rng.standard_gamma(settings.noise_alpha, shape) + 1e-12, 0)
        weights /= weights.sum(axis=1, keepdims=True)
        width = min(shape[1], tree.edge_prior.shape[1])
        priors = tree.edge_prior[:, :width]
        priors[~has_edge_mask[:, :width]] = 0  # what lay in the memory need not be numbers
        mixed = (1 - settings.noise_fraction) * priors + settings.noise_fraction * weights[:, :width]
        np.copyto(priors, mixed, where=has_edge_mask[:, :width], casting="same_kind")
    if settings.method == "gumbel" and settings.gumbel_scale > 0:
        tree.noise[:] = settings.gumbel_scale * rng.gumbel(size=shape)
    else:
        tree.noise[:] = _TIE_NOISE * rng.random(shape)


# The compiled loops. Each handles its games alone.


@inlined
def _result(own: Any, opp: Any, rules: Any) -> Any:
    """The value of a finished game, see `SearchSettings`."""
    difference, full = popcount(own) - popcount(opp), unpacked(rules.words)[4]
    outcome = np.int64(difference > 0) - np.int64(difference < 0)
    margin = difference + outcome * popcount(full & ~(own | opp))
    return (1 - rules.margin_share) * outcome + rules.margin_share * margin / popcount(full)


@kernel
def _add_node(tree: Any, game: int, parent_edge: int, own: Any, opp: Any, side: Any, rules: Any) -> Any:
    """Add a node for a position, after a pass where one is forced, and its edges, without priors. Returns the node."""
    geometry = unpacked(rules.words)
    node = np.int64(tree.nodes_used[game])
    tree.nodes_used[game] = node + 1
    is_over = False
    moves = legal_moves(own, opp, geometry)
    if moves == 0:
        replies = legal_moves(opp, own, geometry)
        if replies == 0:
            is_over = True
        else:
            own, opp, moves = opp, own, replies
            side = np.uint8(1 - side)
    tree.own[game, node], tree.opp[game, node], tree.side[game, node] = own, opp, side
    tree.legal_moves[game, node], tree.is_over[game, node] = moves, is_over
    tree.value[game, node] = _result(own, opp, rules) if is_over else 0
    tree.parent_edge[game, node] = parent_edge
    tree.visits[game, node], tree.value_sum[game, node] = 0, 0
    edge = np.int64(tree.edges_used[game])
    tree.first_edge[game, node] = edge
    while moves:
        tree.edge_node[game, edge], tree.edge_child[game, edge] = node, _NO_NODE
        tree.edge_square[game, edge] = lowest_square(moves)
        tree.edge_visits[game, edge], tree.edge_pending[game, edge], tree.edge_value_sum[game, edge] = 0, 0, 0
        edge += 1
        moves &= moves - _ONE
    tree.num_edges[game, node] = edge - tree.edges_used[game]
    tree.edges_used[game] = edge
    return node


@kernel
def _add_child(tree: Any, game: int, edge: int, rules: Any) -> Any:
    """Add the node where an edge ends. Returns it."""
    node = np.int64(tree.edge_node[game, edge])
    own, opp = tree.own[game, node], tree.opp[game, node]
    move = _ONE << np.uint64(tree.edge_square[game, edge])
    placed = move | flips(own, opp, move, unpacked(rules.words))
    child = _add_node(tree, game, edge, opp & ~placed, own | placed, np.uint8(1 - tree.side[game, node]), rules)
    tree.edge_child[game, edge] = child
    return child


@kernel
def _plant(tree: Any, own: BitboardArray, opp: BitboardArray, side: npt.NDArray[np.uint8], rules: Any) -> None:
    """Add the roots."""
    for game in range(len(own)):
        _add_node(tree, game, np.int64(-1), own[game], opp[game], side[game], rules)


@kernel
def _count_visit(tree: Any, game: int, node: int, value: float) -> None:
    """Add a value, from the view of `node`, to it and to all before it; the walk to it is no longer on its way."""
    side = tree.side[game, node]
    tree.simulations_done[game] += 1
    while True:
        node_value = value if tree.side[game, node] == side else -value
        tree.visits[game, node] += 1
        tree.value_sum[game, node] += node_value
        edge = np.int64(tree.parent_edge[game, node])
        if edge < 0:
            return
        node = np.int64(tree.edge_node[game, edge])
        tree.edge_visits[game, edge] += 1
        tree.edge_pending[game, edge] -= 1
        tree.edge_value_sum[game, edge] += value if tree.side[game, node] == side else -value


@kernel
def _back_up(tree: Any, game: int, logits: npt.NDArray[np.float32], values: npt.NDArray[np.float32]) -> None:
    """Take the evaluator's answers about a game's leaves. logits: [L, A], empty for a uniform policy. values: [L]."""
    for slot in range(tree.leaves.shape[1]):
        node = np.int64(tree.leaves[game, slot])
        if node < 0:
            break
        leaf = tree.first_leaf[game] + slot
        first = np.int64(tree.first_edge[game, node])
        last = first + tree.num_edges[game, node]
        highest = -np.inf
        if logits.shape[1] > 0:
            for edge in range(first, last):
                highest = max(highest, logits[leaf, tree.edge_square[game, edge]])
        if highest == -np.inf:
            for edge in range(first, last):
                tree.edge_prior[game, edge] = 1 / (last - first)
        else:
            total = 0.0
            for edge in range(first, last):
                total += math.exp(logits[leaf, tree.edge_square[game, edge]] - highest)
            for edge in range(first, last):
                weight = math.exp(logits[leaf, tree.edge_square[game, edge]] - highest)
                tree.edge_prior[game, edge] = max(weight / total, _LEAST_PRIOR)
        tree.value[game, node] = values[leaf]
        _count_visit(tree, game, node, np.float64(values[leaf]))
        tree.leaves[game, slot] = _NO_NODE


@kernel
def _walk(tree: Any, game: int, rules: Any, weights: npt.NDArray[np.float64]) -> None:
    """Walk to as many new leaves of a game as one call may have; walks that reach a finished game count at once."""
    num_leaves, phase = np.int64(0), np.int64(-1)
    while num_leaves < tree.leaves.shape[1] and tree.simulations_done[game] + num_leaves < rules.simulations:
        considered = np.int64(0)
        if rules.gumbel:
            simulation = tree.simulations_done[game] + num_leaves
            considered = np.int64(rules.considered_visits[tree.num_considered[game], simulation])
            next_phase = np.int64(rules.phase[tree.num_considered[game], simulation])
            if num_leaves > 0 and next_phase != phase:
                break  # the halving needs the values of the leaves
            phase = next_phase
        node, pending = np.int64(0), np.int64(num_leaves)  # pending: other walks through the node that are on their way
        while True:
            if not rules.gumbel:
                edge = _puct_edge(tree, game, node, pending, rules)
            elif node == 0:
                edge = _considered_edge(tree, game, considered, rules, weights)
            else:
                edge = _improved_edge(tree, game, node, rules, weights)
            pending = np.int64(tree.edge_pending[game, edge])
            tree.edge_pending[game, edge] += 1
            node = np.int64(tree.edge_child[game, edge])
            if node < 0:
                node = _add_child(tree, game, edge, rules)
                break
            if tree.is_over[game, node] or tree.visits[game, node] == 0:
                break
        if tree.is_over[game, node]:
            _count_visit(tree, game, node, np.float64(tree.value[game, node]))
        elif pending == 0:
            tree.leaves[game, num_leaves] = node
            num_leaves += 1
        else:  # a leaf of this call again: no better one is known before the evaluator has answered
            while node > 0:
                edge = np.int64(tree.parent_edge[game, node])
                tree.edge_pending[game, edge] -= 1
                node = np.int64(tree.edge_node[game, edge])
            break


@kernel
def _take_roots(tree: Any, logits: npt.NDArray[np.float32], values: npt.NDArray[np.float32]) -> None:
    """Take the evaluator's answers about the roots."""
    for game in range(len(tree.leaves)):
        _back_up(tree, game, logits, values)


@kernel
def _simulate(tree: Any, rules: Any, logits: npt.NDArray[np.float32], values: npt.NDArray[np.float32]) -> None:
    """Take the evaluator's answers about the leaves, if there are any, and walk to the next ones."""
    weights = np.empty(_MAX_EDGES, dtype=np.float64)
    for game in range(len(tree.leaves)):
        _back_up(tree, game, logits, values)
        _walk(tree, game, rules, weights)


@kernel
def _puct_edge(tree: Any, game: int, node: int, pending: int, rules: Any) -> Any:
    """The edge with the highest mean value plus exploration. Walks on their way count as lost. pending: those through the node."""
    factor = rules.exploration[tree.visits[game, node] + pending]
    unvisited_value = tree.value_sum[game, node] / tree.visits[game, node] - rules.fpu_reduction
    first = np.int64(tree.first_edge[game, node])
    best, best_score = first, -np.inf
    for edge in range(first, first + tree.num_edges[game, node]):
        lost = tree.edge_pending[game, edge]
        visits = tree.edge_visits[game, edge] + lost
        value = (tree.edge_value_sum[game, edge] - lost) / visits if visits > 0 else unvisited_value
        score = value + factor * tree.edge_prior[game, edge] / (1 + visits)
        if score > best_score:
            best, best_score = edge, score
    return best


@kernel
def _completed_logits(tree: Any, game: int, node: int, rules: Any, weights: npt.NDArray[np.float64]) -> None:
    """Write the logits of a node's improved policy into `weights`, for each of its edges, up to a constant.

    A move's value counts for its logit. Where it has no visits, the mixed value of the node stands for it: of its evaluation, and
    of its visited moves by their priors (appendix D of the paper).
    """
    first = np.int64(tree.first_edge[game, node])
    count = tree.num_edges[game, node]
    visits, most_visits, visited_prior, weighted_value = 0, 0, 0.0, 0.0
    for edge in range(first, first + count):
        edge_visits = tree.edge_visits[game, edge]
        if edge_visits > 0:
            prior = np.float64(tree.edge_prior[game, edge])
            visits += edge_visits
            most_visits = max(most_visits, edge_visits)
            visited_prior += prior
            weighted_value += prior * tree.edge_value_sum[game, edge] / edge_visits
    mixed_value = np.float64(tree.value[game, node])
    if visits > 0:
        mixed_value = (mixed_value + visits * weighted_value / visited_prior) / (1 + visits)
    scale = (rules.visit_offset + most_visits) * rules.value_scale
    for index in range(count):
        edge = first + index
        edge_visits = tree.edge_visits[game, edge]
        value = tree.edge_value_sum[game, edge] / edge_visits if edge_visits > 0 else mixed_value
        weights[index] = math.log(tree.edge_prior[game, edge]) + scale * value


@kernel
def _normalise(weights: npt.NDArray[np.float64], count: int) -> None:
    """The softmax of the first entries, in place."""
    highest = weights[0]
    for index in range(1, count):
        highest = max(highest, weights[index])
    total = 0.0
    for index in range(count):
        weights[index] = math.exp(weights[index] - highest)
        total += weights[index]
    for index in range(count):
        weights[index] /= total


@kernel
def _considered_edge(tree: Any, game: int, considered: int, rules: Any, weights: npt.NDArray[np.float64]) -> Any:
    """At the root: of the edges with `considered` visits, those on their way included, the one with the highest noisy logit."""
    _completed_logits(tree, game, np.int64(0), rules, weights)
    first = np.int64(tree.first_edge[game, 0])
    best, best_score = first, -np.inf
    for index in range(tree.num_edges[game, 0]):
        edge = first + index
        score = weights[index] + tree.noise[game, index]
        if tree.edge_visits[game, edge] + tree.edge_pending[game, edge] == considered and score > best_score:
            best, best_score = edge, score
    return best


@kernel
def _improved_edge(tree: Any, game: int, node: int, rules: Any, weights: npt.NDArray[np.float64]) -> Any:
    """Below the root: the edge whose share of the visits is furthest behind the improved policy."""
    count = tree.num_edges[game, node]
    first = np.int64(tree.first_edge[game, node])
    _completed_logits(tree, game, node, rules, weights)
    _normalise(weights, count)
    visits = 0
    for edge in range(first, first + count):
        visits += tree.edge_visits[game, edge] + tree.edge_pending[game, edge]
    best, best_score = first, -np.inf
    for index in range(count):
        edge = first + index
        score = weights[index] - (tree.edge_visits[game, edge] + tree.edge_pending[game, edge]) / (1 + visits)
        if score > best_score:
            best, best_score = edge, score
    return best


@kernel
def _gather(tree: Any, own: BitboardArray, opp: BitboardArray, side: npt.NDArray[np.uint8], legal: BitboardArray) -> Any:
    """Copy the leaves of all games into the arrays, and note where those of each game begin. Returns how many they are."""
    count = 0
    for game in range(len(tree.leaves)):
        tree.first_leaf[game] = count
        for slot in range(tree.leaves.shape[1]):
            node = np.int64(tree.leaves[game, slot])
            if node < 0:
                break
            own[count], opp[count] = tree.own[game, node], tree.opp[game, node]
            side[count], legal[count] = tree.side[game, node], tree.legal_moves[game, node]
            count += 1
    return count


@kernel
def _report(
    tree: Any,
    rules: Any,
    visit_counts: npt.NDArray[np.int32],
    root_values: npt.NDArray[np.float32],
    q_values: npt.NDArray[np.float32],
    policy: npt.NDArray[np.float32],
    moves: npt.NDArray[np.int64],
) -> None:
    """Write what `SearchResult` says of each game. The arrays come in with their values for moves without a visit."""
    weights = np.empty(_MAX_EDGES, dtype=np.float64)
    for game in range(len(moves)):
        first = np.int64(tree.first_edge[game, 0])
        count = tree.num_edges[game, 0]
        total_visits, most_visits = 0, 0
        for edge in range(first, first + count):
            visits = tree.edge_visits[game, edge]
            total_visits += visits
            most_visits = max(most_visits, visits)
        _completed_logits(tree, game, np.int64(0), rules, weights)
        best_score = -np.inf
        for index in range(count):
            edge = first + index
            square, visits = tree.edge_square[game, edge], tree.edge_visits[game, edge]
            visit_counts[game, square] = visits
            if visits > 0:
                q_values[game, square] = tree.edge_value_sum[game, edge] / visits
            if visits == most_visits:
                value = weights[index] if rules.gumbel else tree.edge_value_sum[game, edge] / visits
                score = value + tree.noise[game, index]
                if score > best_score:
                    best_score, moves[game] = score, square
        _normalise(weights, count)
        for index in range(count):
            edge = first + index
            share = weights[index] if rules.gumbel else tree.edge_visits[game, edge] / total_visits
            policy[game, tree.edge_square[game, edge]] = share
        root_values[game] = tree.value_sum[game, 0] / tree.visits[game, 0]


@dataclass(frozen=True, slots=True)
class MCTSAgent:
    """Plays the move that a tree search finds."""

    name: str
    evaluator: Evaluator
    settings: SearchSettings

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        """See `Agent`."""
        return search(positions, self.evaluator, settings=self.settings, rng=rng).moves


def mcts_agent(file: Path | None = None, *, simulations: int = 200, method: Method = "puct", rollouts: int | None = None) -> MCTSAgent:
    """Searches with random playouts and a uniform policy, knowing nothing but the rules; or with an n-tuple network from a file.

    rollouts: playouts a simulation, by default one; not with a file. The network's values of the moves are the policy too. Raises
    `ValueError` for counts below 1, `CheckpointError` for a file that cannot be used.
    """
    if file is not None and rollouts is not None:
        raise ValueError(f"a file and rollouts={rollouts}: expected one of them")
    name = f"mcts:{file.name}," if file else "mcts:"
    name += f"simulations={simulations}"
    name += f",method={method}" if method != "puct" else ""
    name += f",rollouts={rollouts}" if rollouts not in (None, 1) else ""
    if file is not None:
        network = AfterstateEvaluator(NTupleEvaluator(NTupleNetwork.load(file)), temperature=_NETWORK_TEMPERATURE)
        return MCTSAgent(name, network, SearchSettings(simulations=simulations, method=method, gumbel_scale=0.0))
    settings = SearchSettings(
        simulations=simulations,
        method=method,
        c_puct=_ROLLOUT_C_PUCT,
        gumbel_scale=0.0,
        max_considered_actions=_MAX_EDGES,
        value_scale=_ROLLOUT_VALUE_SCALE,
        visit_offset=_ROLLOUT_VISIT_OFFSET,
    )
    return MCTSAgent(name, RolloutEvaluator(1 if rollouts is None else rollouts), settings)
