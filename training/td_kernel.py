"""Compiled loops of `training.td_ntuple`: batched moves, and the updates of the weights.

A bitboard holds the squares of its board size on the 8x8 board, see `agents.board`.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.base import TIE
from agents.board import EMPTY, ONE, flips_at, moves_on, result_value, settle_on
from agents.greedy import NOBODY
from agents.ntuple.kernel import Indices, Patterns, afterstate_indices, position_indices, sum_of
from agents.xorshift import below, next_word, uniform
from othello_env.bitboard import BitboardArray
from othello_env.compiled import Int, Real, Square, Word, inlined, kernel, lowest_square, place, popcount
from othello_env.position import BLACK

# Values of finished games are clipped to this before atanh, which turns them into a sum of weights.
_HIGHEST_VALUE: Final = 0.999

_MOST_MOVES: Final = 64

# Columns of `memory`, see `learn`.
ERRORS: Final = 0
ABSOLUTE_ERRORS: Final = 1
_PENDING: Final = 2
_HITS: Final = 3
NUM_COLUMNS: Final = 4


class Games(NamedTuple):
    """G running self-play games of a network.

    own, opp: [G] uint64 and side: [G] uint8, the positions. random_words: [G] uint64, not 0, states
    of the random number generators. random_plies: [G] int64, number of random moves still to be
    played. greedy_side: [G] uint8, the side that maximizes flips, or `NOBODY`. previous: [G, K]
    int32, the indices of the last afterstate. previous_side: [G] uint8, the side that made it.
    has_previous: [G] bool.
    """

    own: BitboardArray
    opp: BitboardArray
    side: npt.NDArray[np.uint8]
    random_words: npt.NDArray[np.uint64]
    random_plies: npt.NDArray[np.int64]
    greedy_side: npt.NDArray[np.uint8]
    previous: npt.NDArray[np.int32]
    previous_side: npt.NDArray[np.uint8]
    has_previous: npt.NDArray[np.bool_]


class TDParams(NamedTuple):
    """Settings of self-play.

    patterns: the look-ups of the network. margin_share: see `agents.board.mixed_result`. epsilon:
    probability of a random move. most_random_plies: each game begins with 0 to `most_random_plies`
    random moves. greedy_share: probability that one side of a game, Black or White equally often,
    is greedy. start_own, start_opp: the start position.
    """

    patterns: Patterns
    margin_share: float
    epsilon: float
    most_random_plies: int
    greedy_share: float
    start_own: np.uint64
    start_opp: np.uint64


class Updates(NamedTuple):
    """Updates from one move in each of G games.

    There are two per game: of the afterstate before the move, and of the final afterstate if the
    game ends. indices: [G, 2, K] int32, of the weights. errors: [G, 2] float64, target minus value,
    times the derivative of tanh; 0 for no update. ended: [G] bool, True if the move ended the game.
    """

    indices: npt.NDArray[np.int32]
    errors: npt.NDArray[np.float64]
    ended: npt.NDArray[np.bool_]


@kernel
def play(games: Games, weights: npt.NDArray[np.float32], params: TDParams, updates: Updates) -> None:
    """Play one move in each game and write the updates; a game that ends is started again.

    weights: [W].
    """
    patterns = params.patterns
    board = patterns.geometry.full
    own, opp, side, previous, previous_side = games.own, games.opp, games.side, games.previous, games.previous_side
    random_plies, indices, errors = games.random_plies, updates.indices, updates.errors
    size = len(patterns.empty_indices)
    here, after, chosen = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    squares, keys = np.empty(_MOST_MOVES, dtype=np.int64), np.empty(_MOST_MOVES, dtype=np.float64)
    for game in range(len(own)):
        mover, other = own[game], opp[game]
        state = next_word(games.random_words[game])
        explores = random_plies[game] > 0 or uniform(state) < params.epsilon
        random_plies[game] = max(0, random_plies[game] - 1)

        position_indices(mover, other, popcount(mover | other) + 1, patterns, here)
        num_moves = np.int64(0)
        moves = moves_on(mover, other, board)
        while moves != EMPTY:  # insertion sort by the values of the afterstates, the highest first
            square = lowest_square(moves)
            moves &= moves - ONE
            key = _one_ply_sum(mover, other, square, params, weights, here, after)
            position = num_moves
            while position > 0 and keys[position - 1] < key:
                keys[position], squares[position] = keys[position - 1], squares[position - 1]
                position -= 1
            keys[position], squares[position] = key, square
            num_moves += 1
        num_ties = np.int64(1)
        while num_ties < num_moves and keys[num_ties] > keys[0] - TIE:
            num_ties += 1
        value = math.tanh(keys[0])
        errors[game, 0] = 0.0
        errors[game, 1] = 0.0
        if games.has_previous[game]:  # the target is the value of the best move, whichever move is made
            target = value if side[game] == previous_side[game] else -value
            errors[game, 0] = _error(target, math.tanh(sum_of(weights, previous[game])))
            for k in range(size):
                indices[game, 0, k] = previous[game, k]

        state = next_word(state)
        choice = np.int64(below(state, np.uint64(num_moves if explores else num_ties)))
        if games.greedy_side[game] == side[game] and not explores:
            choice = _most_flips(mover, other, squares[:num_moves])
        square = squares[choice]
        flipped = flips_at(mover, other, square)
        after_opp, after_own = place(mover, other, ONE << np.uint64(square), flipped)
        next_own, next_opp, next_moves, passed = settle_on(after_opp, after_own, board)
        replies = EMPTY if passed else next_moves
        afterstate_indices(square, flipped, after_own, after_opp, replies, patterns, here, chosen)
        ends = next_moves == EMPTY
        for k in range(size):
            previous[game, k] = chosen[k]
        previous_side[game] = side[game]
        games.has_previous[game] = not ends
        updates.ended[game] = ends
        if ends:
            result = result_value(after_own, after_opp, board, params.margin_share)
            errors[game, 1] = _error(result, math.tanh(sum_of(weights, chosen)))
            for k in range(size):
                indices[game, 1, k] = chosen[k]
            own[game], opp[game] = params.start_own, params.start_opp
            side[game] = BLACK
            state = next_word(state)
            random_plies[game] = np.int64(below(state, np.uint64(params.most_random_plies + 1)))
            state = next_word(state)
            is_greedy = uniform(state) < params.greedy_share
            state = next_word(state)
            games.greedy_side[game] = below(state, np.uint64(2)) if is_greedy else NOBODY
        else:
            own[game], opp[game] = next_own, next_opp
            side[game] ^= np.uint8(not passed)
        games.random_words[game] = state


@inlined
def _most_flips(own: Word, opp: Word, squares: npt.NDArray[np.int64]) -> Int:
    """Return the index of the move that flips the most discs; the first one if several do."""
    best, most = np.int64(0), np.int64(0)
    for number in range(len(squares)):
        num_flipped = popcount(flips_at(own, opp, squares[number]))
        if num_flipped > most:
            best, most = np.int64(number), num_flipped
    return best


@inlined
def _one_ply_sum(
    own: Word, opp: Word, square: Square, params: TDParams, weights: npt.NDArray[np.float32], here: Indices, after: Indices
) -> Real:
    """Return the sum of weights of an afterstate.

    For a finished game, returns the sum whose tanh is its value. here: indices before the move.
    """
    board = params.patterns.geometry.full
    flipped = flips_at(own, opp, square)
    after_opp, after_own = place(own, opp, ONE << np.uint64(square), flipped)
    _, _, next_moves, passed = settle_on(after_opp, after_own, board)
    if next_moves == EMPTY:
        result = result_value(after_own, after_opp, board, params.margin_share)
        return math.atanh(min(max(result, -_HIGHEST_VALUE), _HIGHEST_VALUE))
    replies = EMPTY if passed else next_moves
    afterstate_indices(square, flipped, after_own, after_opp, replies, params.patterns, here, after)
    return np.float64(sum_of(weights, after))


@kernel
def _error(target: float, value: float) -> float:
    """Return the TD error times the derivative of tanh."""
    return (target - value) * (1 - value * value)


@inlined
def _mirrored_weight(weight: Int, mirrored: npt.NDArray[np.int32]) -> Int:
    """Return the weight of the mirrored pattern in the same stage. mirrored: see `learn`."""
    stage = weight // len(mirrored) * len(mirrored)
    return np.int64(stage + mirrored[weight - stage])


@kernel
def learn(
    indices: npt.NDArray[np.int32],
    errors: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float32],
    memory: npt.NDArray[np.float64],
    mirrored: npt.NDArray[np.int32],
    step_size: float,
) -> None:
    """Update the weights with the step sizes of temporal coherence.

    A weight that several games look up is updated by their mean error. indices, errors: of
    `Updates`, without the padding of the indices. memory: [W, NUM_COLUMNS], for each weight the sum
    of its errors, the sum of their absolute values, and scratch space. mirrored: [W / stages], for
    each weight of a stage the weight of the mirrored pattern; a pair uses the memory of the one
    with the lower index. step_size: of a weight whose errors all have the same sign.
    """
    for game in range(len(errors)):
        for update in range(2):
            error = errors[game, update]
            if error == 0:
                continue
            for column in range(indices.shape[2]):
                weight = np.int64(indices[game, update, column])
                lower = min(weight, _mirrored_weight(weight, mirrored))
                memory[lower, _PENDING] += error
                memory[lower, _HITS] += 1
    for game in range(len(errors)):
        for update in range(2):
            error = errors[game, update]
            if error == 0:
                continue
            for column in range(indices.shape[2]):
                weight = np.int64(indices[game, update, column])
                image = _mirrored_weight(weight, mirrored)
                lower = min(weight, image)
                hits = memory[lower, _HITS]
                if hits > 0:  # at the first of the look-ups of this weight
                    sizes = memory[lower, ABSOLUTE_ERRORS]
                    coherence = abs(memory[lower, ERRORS]) / sizes if sizes > 0 else 1.0
                    updated = np.float32(weights[lower] + step_size * coherence * memory[lower, _PENDING] / hits)
                    weights[weight], weights[image] = updated, updated
                    memory[lower, ERRORS] += memory[lower, _PENDING]
                    memory[lower, _PENDING] = 0.0
                    memory[lower, _HITS] = 0.0
                memory[lower, ABSOLUTE_ERRORS] += abs(error)


@kernel
def play_and_learn(
    num_plies: int,
    totals: npt.NDArray[np.float64],
    games: Games,
    params: TDParams,
    num_lookups: int,
    weights: npt.NDArray[np.float32],
    memory: npt.NDArray[np.float64],
    mirrored: npt.NDArray[np.int32],
    step_size: float,
) -> None:
    """Play `num_plies` moves in all games and update the weights after each.

    See `play` and `learn`. totals: [3], to which are added the number of games that ended, the sum
    of the absolute errors, and the number of errors. num_lookups: number of look-ups without
    padding.
    """
    num_games = len(games.own)
    indices = np.empty((num_games, 2, len(params.patterns.empty_indices)), dtype=np.int32)
    updates = Updates(indices, np.empty((num_games, 2), dtype=np.float64), np.empty(num_games, dtype=np.bool_))
    for _ in range(num_plies):
        play(games, weights, params, updates)
        learn(indices[:, :, :num_lookups], updates.errors, weights, memory, mirrored, step_size)
        for game in range(num_games):
            totals[0] += updates.ended[game]
            for update in range(2):
                totals[1] += abs(updates.errors[game, update])
                totals[2] += updates.errors[game, update] != 0
