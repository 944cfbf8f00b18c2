"""The SplitMix64 generator (Steele, Lea & Flood 2014).

It consists of operators only, so the same lines serve NumPy and compiled code.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

INCREMENT: Final = np.uint64(0x9E3779B97F4A7C15)
"""Difference between two states of the generator."""


def output(state: Any) -> Any:
    """Return the output for a state: uint64, a scalar in compiled code, an array elsewhere.

    The result has the same type.
    """
    mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
