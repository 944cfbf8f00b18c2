"""Random number generator for compiled loops.

Each row has its own state, so the numbers do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from othello_env.compiled import Real, Word, inlined

_LOW_HALF: Final = np.uint64(32)
_MANTISSA: Final = np.uint64(11)  # bits of a word that do not fit into the mantissa of a float64


@inlined
def next_word(state: Word) -> Word:
    """Return the next state of Marsaglia's xorshift generator (2003), which is also its output.

    state: uint64, not 0.
    """
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@inlined
def mixed(word: Word) -> Word:
    """Return a hash of a word: the finalizer of SplitMix64 (Steele, Lea and Flood 2014).

    word: uint64.
    """
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@inlined
def below(word: Word, bound: Word) -> Word:
    """Map a random word to an integer in [0, bound). bound: uint64, less than 2**32."""
    return ((word >> _LOW_HALF) * bound) >> _LOW_HALF


@inlined
def uniform(word: Word) -> Real:
    """Map a random word to a float64 in [0, 1)."""
    return np.float64(word >> _MANTISSA) * (1.0 / (1 << 53))
