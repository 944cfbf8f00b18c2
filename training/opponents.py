"""Earlier versions of a network that learns, to play against: who plays its newest self alone may forget how to beat an older one."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.networks import PolicyValueNetwork, from_arrays, to_arrays


class OpponentPool:
    """The last `capacity` snapshots of a network; a new one takes the place of the oldest.

    added: how many there have ever been. Raises `ValueError` for a capacity below 1.
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
        """Take a copy of the network as it is now."""
        snapshot = copy.deepcopy(network)
        if len(self) < self.capacity:
            self._snapshots.append(snapshot)
        else:
            self._snapshots[self.added % self.capacity] = snapshot
        self.added += 1

    def draw(self, rng: np.random.Generator) -> PolicyValueNetwork:
        """One of the snapshots, all equally likely; not to be changed. Raises `ValueError` where there are none."""
        if not len(self):
            raise ValueError("the pool of opponents is empty")
        return self._snapshots[rng.integers(len(self))]

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The weights of all snapshots, for a checkpoint."""
        return {f"{place}.{name}": array for place, each in enumerate(self._snapshots) for name, array in to_arrays(each).items()}

    def restore(self, arrays: dict[str, npt.NDArray[Any]], added: int, *, like: PolicyValueNetwork) -> None:
        """Put back what `state` gave. like: a network of the same kind. Raises `ValueError` for arrays that do not fit."""
        snapshots: list[dict[str, npt.NDArray[Any]]] = [{} for _ in range(min(added, self.capacity))]
        for key, array in arrays.items():
            place, _, name = key.partition(".")
            if int(place) >= len(snapshots):
                raise ValueError(f"opponent {place}: expected {len(snapshots)} of them")
            snapshots[int(place)][name] = array
        self._snapshots = [copy.deepcopy(like) for _ in snapshots]
        for snapshot, weights in zip(self._snapshots, snapshots, strict=True):
            from_arrays(snapshot, weights)
        self.added = added
