"""Positions of self-play to learn from: a buffer that forgets the oldest ones."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from othello_env.bitboard import BitboardArray


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """N positions with what is to be learned of them, each from the view of its side to move.

    own, opp, legal_moves: [N] uint64. policy: [N, A] float16, the improved policy of a search. policy_mask: [N] bool, whether the
    search was a full one, whose policy counts. outcome: [N] int8, +1, 0, -1. root_value: [N] float32, the search's value.
    final_own, final_opp: [N] uint64, the discs of both sides when the game was over.
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
        """Room for `count` positions."""
        words = (np.zeros(count, dtype=np.uint64) for _ in range(5))
        own, opp, legal_moves, final_own, final_opp = words
        policy = np.zeros((count, num_actions), dtype=np.float16)
        mask, outcome, value = np.zeros(count, np.bool_), np.zeros(count, np.int8), np.zeros(count, np.float32)
        return cls(own, opp, legal_moves, policy, mask, outcome, value, final_own, final_opp)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays by their names."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def take(self, rows: npt.NDArray[np.int64] | slice) -> Samples:
        """The given rows."""
        return Samples(**{name: array[rows] for name, array in self.arrays().items()})


class Replay:
    """The last `capacity` positions, of which each is as likely to be drawn as any other.

    size: how many there are now. added: how many there have ever been.
    """

    def __init__(self, capacity: int, num_actions: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity {capacity}: must be at least 1")
        self.capacity = capacity
        self.added = 0
        self._samples = Samples.empty(capacity, num_actions)

    @property
    def size(self) -> int:
        """How many positions there are."""
        return min(self.added, self.capacity)

    def add(self, samples: Samples) -> None:
        """Take positions in, the oldest ones going where there is no room."""
        kept = samples.take(slice(max(0, len(samples) - self.capacity), None))
        rows = (self.added + len(samples) - len(kept) + np.arange(len(kept))) % self.capacity
        for name, array in kept.arrays().items():
            getattr(self._samples, name)[rows] = array
        self.added += len(samples)

    def draw(self, count: int, rng: np.random.Generator) -> Samples:
        """Positions drawn with replacement, all equally likely. Raises `ValueError` where there are none."""
        if not self.size:
            raise ValueError("the replay buffer is empty")
        return self._samples.take(rng.integers(self.size, size=count))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """All positions, for a checkpoint."""
        return self._samples.take(slice(0, self.size)).arrays()

    def restore(self, arrays: dict[str, npt.NDArray[Any]], added: int) -> None:
        """Put back what `state` gave. Raises `ValueError` or `KeyError` for arrays that do not fit."""
        self.added = added
        for name, room in self._samples.arrays().items():
            if arrays[name].shape != (self.size, *room.shape[1:]) or arrays[name].dtype != room.dtype:
                raise ValueError(f"replay {name}: {arrays[name].dtype} of shape {arrays[name].shape} does not fit")
            room[: self.size] = arrays[name]
