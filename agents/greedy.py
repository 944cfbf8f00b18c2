"""Agent that maximizes its discs one move ahead."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.base import AfterstateAgent
from othello_env.batch import Afterstates
from othello_env.bitboard import popcount

# The greedy side of a self-play game in which neither side is greedy.
NOBODY: Final = 2


def disc_difference(afterstates: Afterstates) -> npt.NDArray[np.float32]:
    """Return own discs minus the opponent's: [N] float32."""
    return popcount(afterstates.own).astype(np.float32) - popcount(afterstates.opp)


def greedy_agent() -> AfterstateAgent:
    """Return the agent that plays the move with the highest disc difference after it. All board sizes."""
    return AfterstateAgent("greedy", disc_difference)
