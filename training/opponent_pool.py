"""Pool of past network snapshots as opponents.

A learner that plays only against its newest version may forget how to beat older ones.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.networks import PolicyValueNetwork, from_arrays, to_arrays


class OpponentPool:
    """Pool of the last `capacity` snapshots of a network; a new one replaces the oldest.

    added: number of snapshots ever added. Raises `ValueError` for a capacity below 1.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity {capacity}: must be at least 1")
        self.capacity = capacity
        self.added = 0
        self._snapshots: list[PolicyValueNetwork] = []

    def __len__(self) -> int:
        return len(self._snapshots)

    def add(self, network: PolicyValueNetwork) -> None:
        """Add a copy of the network."""
        snapshot = copy.deepcopy(network)
        if len(self) < self.capacity:
            self._snapshots.append(snapshot)
        else:
            self._snapshots[self.added % self.capacity] = snapshot
        self.added += 1

    def draw(self, rng: np.random.Generator) -> PolicyValueNetwork:
        """Return a snapshot, drawn uniformly; the caller must not modify it.

        Raises `ValueError` for an empty pool.
        """
        if not len(self):
            raise ValueError("the pool of opponents is empty")
        return self._snapshots[rng.integers(len(self))]

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the weights of all snapshots, for a checkpoint."""
        return {f"{place}.{name}": array for place, each in enumerate(self._snapshots) for name, array in to_arrays(each).items()}

    def restore(self, arrays: dict[str, npt.NDArray[Any]], added: int, *, like: PolicyValueNetwork) -> None:
        """Restore the result of `state`. like: a network of the same architecture.

        Raises `ValueError` for arrays that do not fit.
        """
        weights: list[dict[str, npt.NDArray[Any]]] = [{} for _ in range(min(added, self.capacity))]
        for key, array in arrays.items():
            place, _, name = key.partition(".")
            if not 0 <= int(place) < len(weights):
                raise ValueError(f"opponent {place}: expected {len(weights)} of them")
            weights[int(place)][name] = array
        snapshots = [copy.deepcopy(like) for _ in weights]
        for snapshot, found in zip(snapshots, weights, strict=True):
            from_arrays(snapshot, found)
        self._snapshots, self.added = snapshots, added
