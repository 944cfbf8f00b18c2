"""Uniformly random agent, the lowest baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.base import Moves
from othello_env.batch import PositionBatch


@dataclass(frozen=True, slots=True)
class RandomAgent:
    """Plays a legal move drawn uniformly at random."""

    name: str = "random"

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        """See `Agent`."""
        return positions.sample_moves(rng)
