"""The compiled loops of `training.td_ntuple`: playing a move in many games, and learning from it.

Boards lie inside the 8x8 one, see `agents.search.board`.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.base import TIE
from agents.ntuple.kernel import sum_of
from agents.search.board import EMPTY, ONE, flips_at, moves_on
from agents.search.evaluation import Patterns, afterstate_indices, position_indices
from agents.xorshift import below, next_word, uniform
from othello_env.bitboard import BitboardArray
from othello_env.compiled import inlined, kernel, lowest_square, popcount
from othello_env.position import BLACK

# The value of a finished game is taken as no nearer to 1 than this, so that there is a sum of weights that has it.
_HIGHEST_VALUE: Final = 0.999

_MOST_MOVES: Final = 64

# The greedy side of a game that has none.
NOBODY: Final = 2

# Columns of the memory of a weight.
ERRORS: Final = 0
ABSOLUTE_ERRORS: Final = 1
_PENDING: Final = 2
_HITS: Final = 3
NUM_COLUMNS: Final = 4


class Games(NamedTuple):
    """G games of a network against itself, none of them over.

    own, opp: [G] uint64, side: [G] uint8: the positions. random_words: [G] uint64, not 0. random_plies: [G] int64, how many moves
    from now on are random. greedy_side: [G] uint8, the side that turns as many discs as it can, or NOBODY. previous: [G, K] int32,
    what the afterstate before looked up; previous_side: [G] uint8, who made it; has_previous: [G] bool.
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
    """How games are played.

    patterns: where the network looks. margin_share: how much of a result's value is the disc difference; the rest is who has won.
    epsilon: the chance of a random move. most_random_plies: a game begins with 0 to so many of them. greedy_share: the chance that
    one side of a game, either as often, is greedy. start_own, start_opp: the start position.
    """

    patterns: Patterns
    margin_share: float
    epsilon: float
    most_random_plies: int
    greedy_share: float
    start_own: np.uint64
    start_opp: np.uint64


class Lessons(NamedTuple):
    """What is to be learned of a move in each of G games: of up to two afterstates.

    lookups: [G, 2, K] int32, what they look up. errors: [G, 2] float64, those of their values, times the slope of tanh; 0 where there
    is nothing to learn. ended: [G] bool, whether the move ended the game.
    """

    lookups: npt.NDArray[np.int32]
    errors: npt.NDArray[np.float64]
    ended: npt.NDArray[np.bool_]


@kernel
def play(games: Any, weights: npt.NDArray[np.float32], params: Any, lessons: Any) -> None:
    """Choose and make one move in each game, and write what is to be learned of it; ended games begin again.

    games: `Games`. weights: [W], of the network. params: `Rules`. lessons: `Lessons`.
    """
    patterns = params.patterns
    own, opp, side, previous, previous_side = games.own, games.opp, games.side, games.previous, games.previous_side
    random_plies, lookups, errors = games.random_plies, lessons.lookups, lessons.errors
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
        moves = moves_on(mover, other, patterns.geometry.full)
        while moves != EMPTY:  # in the order of their values one move ahead, the best first
            square = lowest_square(moves)
            moves &= moves - ONE
            key = _one_move_ahead(mover, other, square, flips_at(mover, other, square), params, weights, here, after)
            place = num_moves
            while place > 0 and keys[place - 1] < key:
                keys[place], squares[place] = keys[place - 1], squares[place - 1]
                place -= 1
            keys[place], squares[place] = key, square
            num_moves += 1
        num_ties = np.int64(1)
        while num_ties < num_moves and keys[num_ties] > keys[0] - TIE:
            num_ties += 1
        value = math.tanh(keys[0])
        errors[game, 0] = 0.0
        errors[game, 1] = 0.0
        if games.has_previous[game]:  # what follows the best move counts, whichever move is made
            target = value if side[game] == previous_side[game] else -value
            errors[game, 0] = _error(target, math.tanh(sum_of(weights, previous[game])))
            for k in range(size):
                lookups[game, 0, k] = previous[game, k]

        state = next_word(state)
        choice = np.int64(below(state, np.uint64(num_moves if explores else num_ties)))
        if games.greedy_side[game] == side[game] and not explores:
            choice = _most_discs(mover, other, squares[:num_moves])
        square = squares[choice]
        flipped = flips_at(mover, other, square)
        after_own, after_opp = mover | flipped | (ONE << np.uint64(square)), other & ~flipped
        replies = moves_on(after_opp, after_own, patterns.geometry.full)
        afterstate_indices(square, flipped, after_own, after_opp, replies, patterns, here, chosen)
        ends = replies == EMPTY and moves_on(after_own, after_opp, patterns.geometry.full) == EMPTY
        for k in range(size):
            previous[game, k] = chosen[k]
        previous_side[game] = side[game]
        games.has_previous[game] = not ends
        lessons.ended[game] = ends
        if ends:
            errors[game, 1] = _error(_result(after_own, after_opp, params), math.tanh(sum_of(weights, chosen)))
            for k in range(size):
                lookups[game, 1, k] = chosen[k]
            own[game], opp[game] = params.start_own, params.start_opp
            side[game] = BLACK
            state = next_word(state)
            random_plies[game] = np.int64(below(state, np.uint64(params.most_random_plies + 1)))
            state = next_word(state)
            is_greedy = uniform(state) < params.greedy_share
            state = next_word(state)
            games.greedy_side[game] = below(state, np.uint64(2)) if is_greedy else NOBODY
        elif replies == EMPTY:
            own[game], opp[game] = after_own, after_opp
        else:
            own[game], opp[game] = after_opp, after_own
            side[game] ^= 1
        games.random_words[game] = state


@inlined
def _most_discs(own: Any, opp: Any, squares: Any) -> Any:
    """Which of the moves turns the most discs; the first of several."""
    best, most = np.int64(0), np.int64(0)
    for number in range(len(squares)):
        turned = popcount(flips_at(own, opp, squares[number]))
        if turned > most:
            best, most = np.int64(number), turned
    return best


@inlined
def _result(own: Any, opp: Any, params: Any) -> Any:
    """The value of a finished game, from -1 to 1, empty squares counted for the winner."""
    difference = popcount(own) - popcount(opp)
    outcome = np.int64(difference > 0) - np.int64(difference < 0)
    margin = difference + outcome * popcount(params.patterns.geometry.full & ~(own | opp))
    return (1 - params.margin_share) * outcome + params.margin_share * margin / params.patterns.num_squares


@inlined
def _sum_of_result(own: Any, opp: Any, params: Any) -> Any:
    """The sum of weights that would have the value of a finished game."""
    return math.atanh(min(max(_result(own, opp, params), -_HIGHEST_VALUE), _HIGHEST_VALUE))


@inlined
def _one_move_ahead(own: Any, opp: Any, square: Any, flipped: Any, params: Any, weights: Any, here: Any, after: Any) -> Any:
    """The sum for an afterstate, or what stands for its result. `here` is what is looked up before the move."""
    patterns = params.patterns
    after_own, after_opp = own | flipped | (ONE << np.uint64(square)), opp & ~flipped
    replies = moves_on(after_opp, after_own, patterns.geometry.full)
    if replies == EMPTY and moves_on(after_own, after_opp, patterns.geometry.full) == EMPTY:
        return _sum_of_result(after_own, after_opp, params)
    afterstate_indices(square, flipped, after_own, after_opp, replies, patterns, here, after)
    return np.float64(sum_of(weights, after))


@kernel
def _error(target: float, value: float) -> float:
    return (target - value) * (1 - value * value)


@inlined
def _mirror_image(weight: Any, mirrored: Any) -> Any:
    """The weight of the same stage that means the same pattern in a mirror. mirrored: see `learn`."""
    stage = weight // len(mirrored) * len(mirrored)
    return np.int64(stage + mirrored[weight - stage])


@kernel
def learn(
    lookups: npt.NDArray[np.int32],
    errors: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float32],
    memory: npt.NDArray[np.float64],
    mirrored: npt.NDArray[np.int32],
    step_size: float,
) -> None:
    """Move the weights that were looked up. What several games look up moves by the mean of what they ask for.

    lookups, errors: of `play`; only the look-ups that are no padding need be given. memory: [W, NUM_COLUMNS], of each weight the sum
    of its errors and of their sizes, and room. mirrored: [W / stages], for each weight of a stage the one that means the same
    pattern in a mirror. Of both the lower one has the memory. step_size: of a weight whose errors all have one sign.
    """
    for game in range(len(errors)):
        for update in range(2):
            error = errors[game, update]
            if error == 0:
                continue
            for column in range(lookups.shape[2]):
                weight = np.int64(lookups[game, update, column])
                lower = min(weight, _mirror_image(weight, mirrored))
                memory[lower, _PENDING] += error
                memory[lower, _HITS] += 1
    for game in range(len(errors)):
        for update in range(2):
            error = errors[game, update]
            if error == 0:
                continue
            for column in range(lookups.shape[2]):
                weight = np.int64(lookups[game, update, column])
                image = _mirror_image(weight, mirrored)
                lower = min(weight, image)
                hits = memory[lower, _HITS]
                if hits > 0:  # the first of the games that name it moves it
                    sizes = memory[lower, ABSOLUTE_ERRORS]
                    coherence = abs(memory[lower, ERRORS]) / sizes if sizes > 0 else 1.0
                    moved = np.float32(weights[lower] + step_size * coherence * memory[lower, _PENDING] / hits)
                    weights[weight], weights[image] = moved, moved
                    memory[lower, ERRORS] += memory[lower, _PENDING]
                    memory[lower, _PENDING] = 0.0
                    memory[lower, _HITS] = 0.0
                memory[lower, ABSOLUTE_ERRORS] += abs(error)


@kernel
def play_and_learn(
    num_plies: int,
    totals: npt.NDArray[np.float64],
    games: Any,
    params: Any,
    num_lookups: int,
    weights: npt.NDArray[np.float32],
    memory: npt.NDArray[np.float64],
    mirrored: npt.NDArray[np.int32],
    step_size: float,
) -> None:
    """Play so many moves in all games, and learn from each; see `play` and `learn`.

    totals: [3], to which are added: the games that ended, the sum of the sizes of the errors, and their number. num_lookups: how many
    of the look-ups are no padding.
    """
    num_games = len(games.own)
    lookups = np.empty((num_games, 2, len(params.patterns.empty_indices)), dtype=np.int32)
    lessons = Lessons(lookups, np.empty((num_games, 2), dtype=np.float64), np.empty(num_games, dtype=np.bool_))
    for _ in range(num_plies):
        play(games, weights, params, lessons)
        learn(lookups[:, :, :num_lookups], lessons.errors, weights, memory, mirrored, step_size)
        for game in range(num_games):
            totals[0] += lessons.ended[game]
            for update in range(2):
                totals[1] += abs(lessons.errors[game, update])
                totals[2] += lessons.errors[game, update] != 0
