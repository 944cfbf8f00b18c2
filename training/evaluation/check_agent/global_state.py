"""Global state: the random number generators that an agent must leave alone, and memory."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np


@contextmanager
def watch_global_randomness() -> Iterator[Callable[[], bool]]:
    """Yield a function that detects the use of global random numbers in the block.

    Called after the block, it returns True if they were used or seeded.
    """
    before = _random_state()
    after: list[bytes] = []
    yield lambda: after[0] != before
    after.append(_random_state())


def _random_state() -> bytes:
    return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002 (watched, not used)


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Seed the global random number generators, and restore their state afterwards."""
    state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 (agents may use them, wrongly)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(state)
        np.random.set_state(numpy_state)  # noqa: NPY002


def resident_bytes() -> int | None:
    """Return the resident memory of this process; None if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None
