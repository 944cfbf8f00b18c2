"""The agent that plays at random: the floor of every comparison."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.base import Moves
from othello_env.batch import PositionBatch


@dataclass(frozen=True, slots=True)
class RandomAgent:
    """Plays each legal move with the same chance."""

    name: str = "random"

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        """See `Agent`."""
        return positions.sample_moves(rng)
