"""Replay buffer of self-play positions."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from othello_env.bitboard import BitboardArray
from training.checkpoints import check_fits


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """N positions with their training targets, from the perspective of the side to move.

    own, opp, legal_moves: [N] uint64. policy: [N, A] float16, the improved policy of a search.
    policy_mask: [N] bool, True for full searches; only these train the policy. outcome: [N] int8,
    +1, 0, -1. root_value: [N] float32, the value of the search. final_own, final_opp: [N] uint64,
    the discs of both sides at the end of the game.
    """

    own: BitboardArray
    opp: BitboardArray
    legal_moves: BitboardArray
    policy: npt.NDArray[np.float16]
    policy_mask: npt.NDArray[np.bool_]
    outcome: npt.NDArray[np.int8]
    root_value: npt.NDArray[np.float32]
    final_own: BitboardArray
    final_opp: BitboardArray

    def __len__(self) -> int:
        return len(self.own)

    @classmethod
    def empty(cls, count: int, num_actions: int) -> Samples:
        """Return storage for `count` positions, filled with zeros."""
        words = (np.zeros(count, dtype=np.uint64) for _ in range(5))
        own, opp, legal_moves, final_own, final_opp = words
        policy = np.zeros((count, num_actions), dtype=np.float16)
        mask, outcome, value = np.zeros(count, np.bool_), np.zeros(count, np.int8), np.zeros(count, np.float32)
        return cls(own, opp, legal_moves, policy, mask, outcome, value, final_own, final_opp)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def take(self, rows: npt.NDArray[np.int64] | slice) -> Samples:
        """Return the given rows."""
        return Samples(**{name: array[rows] for name, array in self.arrays().items()})


class Replay:
    """Buffer of the last `capacity` positions, sampled uniformly.

    added: number of positions ever added. Raises `ValueError` for a capacity below 1.
    """

    def __init__(self, capacity: int, num_actions: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity {capacity}: must be at least 1")
        self.capacity = capacity
        self.added = 0
        self._samples = Samples.empty(capacity, num_actions)

    @property
    def size(self) -> int:
        """Number of positions in the buffer."""
        return min(self.added, self.capacity)

    def add(self, samples: Samples) -> None:
        """Add positions; the oldest ones are dropped when the buffer is full."""
        kept = samples.take(slice(max(0, len(samples) - self.capacity), None))
        rows = (self.added + len(samples) - len(kept) + np.arange(len(kept))) % self.capacity
        for name, array in kept.arrays().items():
            getattr(self._samples, name)[rows] = array
        self.added += len(samples)

    def draw(self, count: int, rng: np.random.Generator) -> Samples:
        """Return positions drawn uniformly with replacement.

        Raises `ValueError` for an empty buffer.
        """
        if not self.size:
            raise ValueError("the replay buffer is empty")
        return self._samples.take(rng.integers(self.size, size=count))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all positions, for a checkpoint."""
        return self._samples.take(slice(0, self.size)).arrays()

    def restore(self, arrays: dict[str, npt.NDArray[Any]], added: int) -> None:
        """Restore the result of `state`.

        Raises `ValueError` or `KeyError` for arrays that do not fit.
        """
        filled = self._samples.take(slice(0, min(added, self.capacity))).arrays()
        for name, array in filled.items():
            check_fits(f"replay {name}", arrays[name], array)
        for name, array in filled.items():
            array[:] = arrays[name]  # a view of the buffer
        self.added = added
