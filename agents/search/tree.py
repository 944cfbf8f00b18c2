"""Batched search trees as flat arrays, and compiled loops over them: select, expand, backup.

See `agents.search.mcts`.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.board import result_value
from othello_env.bitboard import BitboardArray
from othello_env.compiled import Word, flips, kernel, lowest_square, place, settle, unpacked

Node = Any  # int64: the number of a node in the tree of its game
Edge = Any  # int64: the number of an edge

NO_NODE: Final = -1
MAX_EDGES: Final = 64  # no node has more

# Size of a `Tree` in bytes per game, node and edge, without `leaves`, which has 4 bytes per leaf.
GAME_BYTES: Final = 545
NODE_BYTES: Final = 51
EDGE_BYTES: Final = 29

# Lower bound of priors: small enough to be negligible, large enough for logarithms and products.
_LEAST_PRIOR: Final = 1e-30
_ONE: Final = np.uint64(1)


class Tree(NamedTuple):
    """The trees of G games with capacity for N nodes and E edges each.

    N is the maximum number of simulations plus 1. The edges of a node are contiguous in the row of
    their game, ordered by square. A node has at most as many edges as the root has empty squares,
    so E = N * (empty squares of the root) is sufficient. `agents.search.mcts.tree_bytes` returns
    the memory per game: 719 kilobytes for 400 simulations from the start position. The operating
    system allocates pages when they are first written, so a typical game takes a sixth of that.

    Values are from the perspective of the side to move at the node, or at the node where the edge
    begins. This is a named tuple because compiled functions accept one as an argument.
    """

    own: BitboardArray  # [G, N], discs of the side to move
    opp: BitboardArray  # [G, N]
    legal_moves: BitboardArray  # [G, N]
    side: npt.NDArray[np.uint8]  # [G, N], 0 or 1, the side to move
    is_over: npt.NDArray[np.bool_]  # [G, N]
    value: npt.NDArray[np.float32]  # [G, N], of the evaluator, or the result where the game is over
    parent_edge: npt.NDArray[np.int32]  # [G, N], -1 for the root, which is node 0
    first_edge: npt.NDArray[np.int32]  # [G, N]
    num_edges: npt.NDArray[np.uint8]  # [G, N], 0 where the game is over
    visits: npt.NDArray[np.int32]  # [G, N], 0 before the node is evaluated
    value_sum: npt.NDArray[np.float64]  # [G, N], over all visits
    edge_node: npt.NDArray[np.int32]  # [G, E], the node where the edge begins
    edge_child: npt.NDArray[np.int32]  # [G, E], the node where it ends, -1 before its first visit
    edge_square: npt.NDArray[np.uint8]  # [G, E], the move
    edge_prior: npt.NDArray[np.float32]  # [G, E], the policy; sums to 1 over the edges of a node
    edge_visits: npt.NDArray[np.int32]  # [G, E]
    edge_pending: npt.NDArray[np.int32]  # [G, E], simulations through it whose leaf is not evaluated yet
    edge_value_sum: npt.NDArray[np.float64]  # [G, E]
    nodes_used: npt.NDArray[np.int32]  # [G]
    edges_used: npt.NDArray[np.int32]  # [G]
    simulations_done: npt.NDArray[np.int32]  # [G], -1 before the root is evaluated, which counts as none
    limit: npt.NDArray[np.int32]  # [G], number of simulations of the search, 0 where there is nothing to search
    schedule: npt.NDArray[np.int32]  # [G], the row of the tables of `SearchParams` for this limit
    passed: npt.NDArray[np.bool_]  # [G], whether the root is the position after a forced pass
    leaves: npt.NDArray[np.int32]  # [G, K], the nodes to evaluate next, -1 behind the last
    first_leaf: npt.NDArray[np.int64]  # [G], the index of the first of them among the leaves of all games
    num_considered: npt.NDArray[np.int32]  # [G], number of moves that Gumbel considers at the root
    noise: npt.NDArray[np.float64]  # [G, 64], noise of the edges of the root, in their order


class SearchParams(NamedTuple):
    """`SearchSettings` for compiled functions.

    S is the maximum number of simulations, T the number of different numbers of simulations, and M
    the maximum number of considered moves. exploration: [S + 2], factor of prior / (1 + n) by the
    visits of the node. considered_visits, phase: [T, M + 1, S], the schedules of sequential
    halving (`agents.search.mcts.considered_visits`) by number of simulations, number of considered
    moves and simulation. words: the board's `GEOMETRY`. For the other fields see `SearchSettings`.
    """

    gumbel: bool
    max_num_considered_actions: int
    exploration: npt.NDArray[np.float64]
    fpu_reduction: float
    value_scale: float
    maxvisit_init: float
    considered_visits: npt.NDArray[np.int32]
    phase: npt.NDArray[np.int32]
    margin_share: float
    words: BitboardArray


# Compiled loops over games. The games are independent of each other.


@kernel
def _add_node(tree: Tree, game: int, parent_edge: Edge, own: Word, opp: Word, side: np.uint8, params: SearchParams) -> Node:
    """Add a node and its edges, without priors, and return the node.

    If the side to move must pass, the node is the position after the pass.
    """
    node = np.int64(tree.nodes_used[game])
    tree.nodes_used[game] = node + 1
    own, opp, moves, passed = settle(own, opp, unpacked(params.words))
    side = np.uint8(side ^ passed)
    is_over = moves == 0
    tree.own[game, node], tree.opp[game, node], tree.side[game, node] = own, opp, side
    tree.legal_moves[game, node], tree.is_over[game, node] = moves, is_over
    tree.value[game, node] = result_value(own, opp, params.words[-1], params.margin_share) if is_over else 0
    tree.parent_edge[game, node] = parent_edge
    tree.visits[game, node], tree.value_sum[game, node] = 0, 0
    edge = np.int64(tree.edges_used[game])
    tree.first_edge[game, node] = edge
    while moves:
        tree.edge_node[game, edge], tree.edge_child[game, edge] = node, NO_NODE
        tree.edge_square[game, edge] = lowest_square(moves)
        tree.edge_prior[game, edge], tree.edge_visits[game, edge] = 0, 0
        tree.edge_pending[game, edge], tree.edge_value_sum[game, edge] = 0, 0
        edge += 1
        moves &= moves - _ONE
    tree.num_edges[game, node] = edge - tree.edges_used[game]
    tree.edges_used[game] = edge
    return node


@kernel
def _add_child(tree: Tree, game: int, edge: Edge, params: SearchParams) -> Node:
    """Add the node where an edge ends, and return it."""
    node = np.int64(tree.edge_node[game, edge])
    own, opp = tree.own[game, node], tree.opp[game, node]
    move = _ONE << np.uint64(tree.edge_square[game, edge])
    own, opp = place(own, opp, move, flips(own, opp, move, unpacked(params.words)))
    child = _add_node(tree, game, edge, own, opp, np.uint8(1 - tree.side[game, node]), params)
    tree.edge_child[game, edge] = child
    return child


@kernel
def init_roots(
    tree: Tree,
    games: npt.NDArray[np.int64],
    own: BitboardArray,
    opp: BitboardArray,
    side: npt.NDArray[np.uint8],
    limits: npt.NDArray[np.int64],
    params: SearchParams,
) -> None:
    """Start new trees for the given games. They consist of the root, which is the first leaf."""
    for number in range(len(games)):
        game = games[number]
        tree.nodes_used[game], tree.edges_used[game], tree.simulations_done[game] = 0, 0, -1
        _add_node(tree, game, np.int64(-1), own[number], opp[number], side[number], params)
        tree.passed[game] = tree.side[game, 0] != side[number]
        num_moves = tree.num_edges[game, 0]
        tree.num_considered[game] = min(num_moves, params.max_num_considered_actions)
        tree.limit[game] = 0 if tree.passed[game] or num_moves == 1 else limits[number]
        tree.leaves[game, 0] = 0


@kernel
def rebuild_nodes(
    tree: Tree, games: npt.NDArray[np.int64], num_nodes: npt.NDArray[np.int32], parent_edges: npt.NDArray[np.int32], params: SearchParams
) -> bool:
    """Add nodes to trees that consist of a root.

    num_nodes: [B], number of nodes of each tree. parent_edges: [B, N], the edge that ends at each
    node, in the order of the nodes. Returns False if an edge does not exist or is repeated.
    """
    for number in range(len(games)):
        game = games[number]
        for node in range(1, num_nodes[number]):
            edge = np.int64(parent_edges[number, node])
            if not 0 <= edge < tree.edges_used[game] or tree.edge_child[game, edge] != NO_NODE:
                return False
            _add_child(tree, game, edge, params)
    return True


@kernel
def rebuild_edge_statistics(tree: Tree, games: npt.NDArray[np.int64]) -> None:
    """Compute visits, value sums and pending simulations of edges from nodes and leaves."""
    for game in games:
        for node in range(1, tree.nodes_used[game]):
            edge = np.int64(tree.parent_edge[game, node])
            value_sum = tree.value_sum[game, node]
            tree.edge_visits[game, edge] = tree.visits[game, node]
            same_side = tree.side[game, node] == tree.side[game, tree.edge_node[game, edge]]
            tree.edge_value_sum[game, edge] = value_sum if same_side else -value_sum
        for node in tree.leaves[game]:
            if node < 0:
                break
            edge = np.int64(tree.parent_edge[game, node])
            while edge >= 0:
                tree.edge_pending[game, edge] += 1
                edge = np.int64(tree.parent_edge[game, tree.edge_node[game, edge]])


@kernel
def _backup(tree: Tree, game: int, node: Node, value: float) -> None:
    """Back up a value to a node and all nodes and edges above it, which completes a simulation.

    value: from the perspective of the side to move at `node`.
    """
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
def _expand_leaves(tree: Tree, game: int, logits: npt.NDArray[np.float32], values: npt.NDArray[np.float32]) -> None:
    """Set the priors of the edges of evaluated leaves, and back up the values.

    logits: [L, A], empty for a uniform policy. values: [L].
    """
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
        _backup(tree, game, node, np.float64(values[leaf]))
        tree.leaves[game, slot] = NO_NODE


@kernel
def _select_leaves(tree: Tree, game: int, params: SearchParams, weights: npt.NDArray[np.float64]) -> None:
    """Select the leaves of a game to evaluate next.

    Simulations that reach a finished game are backed up at once. weights: [MAX_EDGES], scratch
    space, here and below.
    """
    num_leaves, phase = np.int64(0), np.int64(-1)
    schedule, num_considered = tree.schedule[game], tree.num_considered[game]
    while num_leaves < tree.leaves.shape[1] and tree.simulations_done[game] + num_leaves < tree.limit[game]:
        considered = np.int64(0)
        if params.gumbel:
            simulation = tree.simulations_done[game] + num_leaves
            considered = np.int64(params.considered_visits[schedule, num_considered, simulation])
            next_phase = np.int64(params.phase[schedule, num_considered, simulation])
            if num_leaves > 0 and next_phase != phase:
                break  # the halving needs the values of the leaves
            phase = next_phase
        node, pending = np.int64(0), np.int64(num_leaves)  # pending: number of pending simulations through the node
        while True:
            if not params.gumbel:
                edge = _puct_edge(tree, game, node, pending, params)
            elif node == 0:
                edge = _considered_edge(tree, game, considered, params, weights)
            else:
                edge = _improved_edge(tree, game, node, params, weights)
            pending = np.int64(tree.edge_pending[game, edge])
            tree.edge_pending[game, edge] += 1
            node = np.int64(tree.edge_child[game, edge])
            if node < 0:
                node = _add_child(tree, game, edge, params)
                break
            if tree.is_over[game, node] or tree.visits[game, node] == 0:
                break
        if tree.is_over[game, node]:
            _backup(tree, game, node, np.float64(tree.value[game, node]))
        elif pending == 0:
            tree.leaves[game, num_leaves] = node
            num_leaves += 1
        else:  # a leaf of this call again: there is no better one before its evaluation
            while node > 0:
                edge = np.int64(tree.parent_edge[game, node])
                tree.edge_pending[game, edge] -= 1
                node = np.int64(tree.edge_node[game, edge])
            break


@kernel
def expand_roots(tree: Tree, games: npt.NDArray[np.int64], logits: npt.NDArray[np.float32], values: npt.NDArray[np.float32]) -> None:
    """Expand the roots of the given games.

    logits, values: the evaluator's output for the leaves of all games.
    """
    for game in games:
        _expand_leaves(tree, game, logits, values)


@kernel
def simulate(tree: Tree, params: SearchParams, logits: npt.NDArray[np.float32], values: npt.NDArray[np.float32]) -> None:
    """Expand the evaluated leaves of all games, back up values, and select the next leaves."""
    weights = np.empty(MAX_EDGES, dtype=np.float64)
    for game in range(len(tree.leaves)):
        _expand_leaves(tree, game, logits, values)
        _select_leaves(tree, game, params, weights)


@kernel
def _puct_edge(tree: Tree, game: int, node: Node, pending: int, params: SearchParams) -> Edge:
    """Return the edge with the highest PUCT score: mean value plus exploration.

    Pending simulations count as losses (virtual loss). pending: number of pending simulations
    through the node.
    """
    factor = params.exploration[tree.visits[game, node] + pending]
    unvisited_value = tree.value_sum[game, node] / tree.visits[game, node] - params.fpu_reduction
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
def _completed_logits(tree: Tree, game: int, node: Node, params: SearchParams, weights: npt.NDArray[np.float64]) -> None:
    """Write the improved-policy logits of a node's edges into `weights`, up to a constant.

    The logit of a move is its prior logit plus its scaled value. A move without visits has the
    mixed value of the node: the node's evaluation combined with the values of its visited moves,
    which are weighted by their priors (appendix D of Danihelka et al. 2022).
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
    scale = (params.maxvisit_init + most_visits) * params.value_scale
    for index in range(count):
        edge = first + index
        edge_visits = tree.edge_visits[game, edge]
        value = tree.edge_value_sum[game, edge] / edge_visits if edge_visits > 0 else mixed_value
        weights[index] = math.log(tree.edge_prior[game, edge]) + scale * value


@kernel
def _softmax(weights: npt.NDArray[np.float64], count: int) -> None:
    """Apply softmax to the first `count` entries, in place."""
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
def _considered_edge(tree: Tree, game: int, considered: int, params: SearchParams, weights: npt.NDArray[np.float64]) -> Edge:
    """Return the root edge with the highest noisy logit among those with `considered` visits.

    Visits include pending ones.
    """
    _completed_logits(tree, game, np.int64(0), params, weights)
    first = np.int64(tree.first_edge[game, 0])
    best, best_score = first, -np.inf
    for index in range(tree.num_edges[game, 0]):
        edge = first + index
        score = weights[index] + tree.noise[game, index]
        if tree.edge_visits[game, edge] + tree.edge_pending[game, edge] == considered and score > best_score:
            best, best_score = edge, score
    return best


@kernel
def _improved_edge(tree: Tree, game: int, node: Node, params: SearchParams, weights: npt.NDArray[np.float64]) -> Edge:
    """Return the edge whose share of visits is furthest below the improved policy.

    For nodes other than the root.
    """
    count = tree.num_edges[game, node]
    first = np.int64(tree.first_edge[game, node])
    _completed_logits(tree, game, node, params, weights)
    _softmax(weights, count)
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
def gather_leaves(tree: Tree, own: BitboardArray, opp: BitboardArray, side: npt.NDArray[np.uint8], legal: BitboardArray) -> int:
    """Copy the leaves of all games into the arrays, and return their number.

    Also sets `first_leaf` of each game.
    """
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
def extract_results(
    tree: Tree,
    games: npt.NDArray[np.int64],
    params: SearchParams,
    visit_counts: npt.NDArray[np.int32],
    root_values: npt.NDArray[np.float32],
    q_values: npt.NDArray[np.float32],
    policy: npt.NDArray[np.float32],
    moves: npt.NDArray[np.int64],
) -> None:
    """Write the fields of `SearchResult` for the given games into the arrays.

    The arrays must already contain the entries of unvisited moves.
    """
    weights = np.empty(MAX_EDGES, dtype=np.float64)
    for row in range(len(games)):
        game = games[row]
        first = np.int64(tree.first_edge[game, 0])
        root_values[row] = tree.value_sum[game, 0] / tree.visits[game, 0]
        if tree.limit[game] == 0:
            moves[row] = policy.shape[1] - 1 if tree.passed[game] else np.int64(tree.edge_square[game, first])
            policy[row, moves[row]] = 1
            if tree.passed[game]:
                root_values[row] = -root_values[row]
            continue
        count = tree.num_edges[game, 0]
        total_visits, most_visits = 0, 0
        for edge in range(first, first + count):
            visits = tree.edge_visits[game, edge]
            total_visits += visits
            most_visits = max(most_visits, visits)
        _completed_logits(tree, game, np.int64(0), params, weights)
        best_score = -np.inf
        for index in range(count):
            edge = first + index
            square, visits = tree.edge_square[game, edge], tree.edge_visits[game, edge]
            visit_counts[row, square] = visits
            if visits > 0:
                q_values[row, square] = tree.edge_value_sum[game, edge] / visits
            if visits == most_visits:
                value = weights[index] if params.gumbel else tree.edge_value_sum[game, edge] / visits
                score = value + tree.noise[game, index]
                if score > best_score:
                    best_score, moves[row] = score, square
        _softmax(weights, count)
        for index in range(count):
            edge = first + index
            share = weights[index] if params.gumbel else tree.edge_visits[game, edge] / total_visits
            policy[row, tree.edge_square[game, edge]] = share
