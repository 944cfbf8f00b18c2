"""Agent that maximizes its disc difference one move ahead."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.base import AfterstateAgent
from othello_env.batch import Afterstates
from othello_env.bitboard import popcount

# Stands for the greedy side in a self-play game in which neither side is greedy.
NOBODY: Final = 2


def disc_difference(afterstates: Afterstates) -> npt.NDArray[np.float32]:
    """Return the number of own discs minus the number of the opponent's: [N] float32."""
    return popcount(afterstates.own).astype(np.float32) - popcount(afterstates.opp)


def greedy_agent() -> AfterstateAgent:
    """Return the agent that plays the move with the highest resulting disc difference.

    Plays all board sizes.
    """
    return AfterstateAgent("greedy", disc_difference)
