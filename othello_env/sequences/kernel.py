"""Loops over games compiled with numba, with the same results as the NumPy code."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from othello_env.bitboard import BitboardArray
from othello_env.compiled import advance, flips, kernel, legal_moves, register_jitable, sample, unpacked
from othello_env.sequences import splitmix64
from othello_env.sequences.illegal_reason import IllegalReason
from othello_env.sequences.move_array import PADDING, Moves

# Games per block: few enough that their boards and moves stay in a core's cache.
_BLOCK: Final = 1024

register_jitable(splitmix64.output)

_ONE: Final = np.uint64(1)
_LAST: Final = np.uint64(63)
_PADDING: Final = np.uint64(PADDING)

_OCCUPIED: Final = int(IllegalReason.OCCUPIED)
_NO_FLIPS: Final = int(IllegalReason.NO_FLIPS)
_OTHER_SIDE: Final = int(IllegalReason.OTHER_SIDE)
_AFTER_END: Final = int(IllegalReason.AFTER_END)
_PASS: Final = int(IllegalReason.PASS)
_NO_SQUARE: Final = int(IllegalReason.NO_SQUARE)
_AFTER_PADDING: Final = int(IllegalReason.AFTER_PADDING)


@kernel
def play_random_games(
    states: BitboardArray,
    moves: Moves,
    black: int,
    white: int,
    pass_square: int,
    words: BitboardArray,
) -> None:
    """Write random games into `moves` [N, T].

    states: [N] uint64, states of the random generator for each game's first move. black, white:
    uint64, discs of the start position. words: an array of `compiled.GEOMETRY`.
    """
    own, opp, legal = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64)
    side, over = np.empty(_BLOCK, np.uint8), np.empty(_BLOCK, np.bool_)
    random, squares = np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.int64)
    start_moves = legal_moves(np.uint64(black), np.uint64(white), unpacked(words))
    for first in range(0, len(moves), _BLOCK):
        size = min(_BLOCK, len(moves) - first)
        own[:], opp[:], legal[:], side[:], over[:] = np.uint64(black), np.uint64(white), start_moves, np.uint8(0), False
        block = states[first : first + size].copy()
        for column in range(moves.shape[1]):
            for row in range(size):
                random[row] = np.uint32(splitmix64.output(block[row]) >> np.uint64(32))
            for row in range(size):
                block[row] += splitmix64.INCREMENT
            sample(legal[:size], random[:size], squares[:size], pass_square)
            for row in range(size):
                moves[first + row, column] = PADDING if over[row] else squares[row]
            advance(own[:size], opp[:size], side[:size], legal[:size], over[:size], squares[:size], words, True)


@kernel
def replay(
    moves: Moves,
    own: BitboardArray,
    opp: BitboardArray,
    side: npt.NDArray[np.uint8],
    legal: BitboardArray,
    flipped: BitboardArray,
    lengths: npt.NDArray[np.int64],
    first_illegal: npt.NDArray[np.int64],
    reasons: npt.NDArray[np.uint8],
    black: int,
    white: int,
    pass_square: int,
    words: BitboardArray,
    auto_pass: bool,
) -> None:
    """Write the arrays of `replay.Replay`.

    black, white: uint64, discs of the start position. words: an array of `compiled.GEOMETRY`.
    """
    geometry = unpacked(words)
    num_columns = moves.shape[1]
    for row in range(len(moves)):
        mine, theirs, mover = np.uint64(black), np.uint64(white), np.uint8(0)
        choices = legal_moves(mine, theirs, geometry)
        over, passed = False, False
        length, illegal, reason = num_columns, -1, 0
        for column in range(num_columns):
            own[row, column], opp[row, column] = mine, theirs
            side[row, column], legal[row, column] = mover, choices
            square = np.uint64(moves[row, column])
            if square == _PADDING:
                length = column
                for later in range(column + 1, num_columns):
                    if moves[row, later] != PADDING:
                        illegal, reason = later, _AFTER_PADDING
                        break
                break
            is_square = square < np.uint64(pass_square)
            move = _ONE << (square & _LAST) if is_square else np.uint64(0)
            if choices & move:
                discs = flips(mine, theirs, move, geometry)
                flipped[row, column] = discs
                mine, theirs = theirs ^ discs, mine | move | discs
                mover ^= np.uint8(1)
                choices = legal_moves(mine, theirs, geometry)
                passed = False
                if choices == 0:
                    replies = legal_moves(theirs, mine, geometry)
                    over = replies == 0
                    if auto_pass and not over:
                        mine, theirs, choices = theirs, mine, replies
                        mover ^= np.uint8(1)
                        passed = True
                continue
            flipped[row, column] = np.uint64(0)
            if square == np.uint64(pass_square) and not over and (passed or choices == 0):
                passed = False
                if not auto_pass:
                    mine, theirs = theirs, mine
                    mover ^= np.uint8(1)
                    choices = legal_moves(mine, theirs, geometry)
                continue
            length, illegal = column, column
            if square > np.uint64(pass_square):
                reason = _NO_SQUARE
            elif over:
                reason = _AFTER_END
            elif not is_square:
                reason = _PASS
            elif (mine | theirs) & move:
                reason = _OCCUPIED
            elif legal_moves(theirs, mine, geometry) & move:
                reason = _OTHER_SIDE
            else:
                reason = _NO_FLIPS
            break
        if length == num_columns:
            own[row, length], opp[row, length] = mine, theirs
            side[row, length], legal[row, length] = mover, choices
        for column in range(length + 1, num_columns + 1):
            own[row, column], opp[row, column] = np.uint64(0), np.uint64(0)
            side[row, column], legal[row, column] = np.uint8(0), np.uint64(0)
        for column in range(length, num_columns):
            flipped[row, column] = np.uint64(0)
        lengths[row], first_illegal[row], reasons[row] = length, illegal, reason
