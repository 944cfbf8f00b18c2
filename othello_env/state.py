"""Saved states of environments: checks, and saving and restoring of random generators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def check_state(state: object, settings: Mapping[str, Any], keys: Iterable[str]) -> Mapping[str, Any]:
    """Return a saved state that has all `keys` and matches the settings, or raise `ValueError`.

    settings: values that the state must have, by key.
    """
    if not isinstance(state, Mapping):
        raise ValueError(f"state {' '.join(repr(state).split())}: expected a state from get_state()")
    for name, value in settings.items():
        found = state.get(name, value)
        if type(found) is not type(value) or found != value:
            raise ValueError(f"state with {name} {found!r} does not fit an environment with {name} {value!r}")
    missing = [name for name in (*settings, *keys) if name not in state]
    if missing:
        raise ValueError(f"state without {', '.join(missing)}: expected a state from get_state()")
    return state


def copy_generator(rng: np.random.Generator) -> np.random.Generator:
    """Return an independent generator in the same state, much faster than `copy.deepcopy`."""
    return _generator(type(rng.bit_generator), rng.bit_generator.state, rng)


def restore_generator(state: Any, replaced: np.random.Generator | None) -> np.random.Generator:
    """Return a new generator in a saved `bit_generator.state`, or raise `ValueError`.

    replaced: the generator that it replaces, if any; `spawn` continues from that one's seed
    sequence.
    """
    try:
        kinds = {kind.__name__: kind for kind in np.random.BitGenerator.__subclasses__()}
        return _generator(kinds[state["bit_generator"]], state, replaced)
    except Exception as error:  # NumPy has no single error for values that do not fit
        raise ValueError(f"state of the random generator: {type(error).__name__}: {error}") from None


def _generator(kind: type[np.random.BitGenerator], state: Any, seeded: np.random.Generator | None) -> np.random.Generator:
    seeds: Any = None if seeded is None else seeded.bit_generator.seed_seq
    bits = kind(seeds)
    bits.state = state
    return np.random.Generator(bits)
