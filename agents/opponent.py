"""Agents as the opponents that the Gymnasium environments take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.base import Agent, Moves
from othello_env.batch import PositionBatch
from othello_env.bitboard import pack
from othello_env.position import BLACK


@dataclass(frozen=True, slots=True)
class AgentOpponent:
    """An agent as the `opponent` of `OthelloEnv` (one game) and of `OthelloVectorEnv` (many).

    It reads the position off the planes of the default layout, channels last, and calls the side to move black, since an
    observation does not say the colour. Raises `ValueError` for another layout, and for an agent that plays the colours
    differently, such as `league:FILE,view=black`.
    """

    agent: Agent

    def __post_init__(self) -> None:
        if getattr(self.agent, "sees_colors", False):
            raise ValueError(f"{self.agent.name} plays black and white differently, and an observation does not say which it is")

    def __call__(self, observation: npt.NDArray[Any], mask: npt.NDArray[np.int8], rng: np.random.Generator) -> Moves | int:
        """The agent's moves: one for a single observation (n, n, P), [K] for a batch [K, n, n, P]."""
        single = mask.ndim == 1
        planes = observation[None] if single else observation
        if planes.ndim != 4 or planes.shape[1] != planes.shape[2] or planes.shape[3] not in (2, 3):
            raise ValueError(f"observation of shape {observation.shape}: expected the default layout, planes (n, n, 2) with channels last")
        own, opp = (pack(planes[..., plane].reshape(len(planes), -1)) for plane in (0, 1))
        side = np.full(len(planes), BLACK, dtype=np.uint8)
        # Where the environment has no automatic passes an agent may be asked in a position in which it must pass.
        positions = PositionBatch(own, opp, side, board_size=planes.shape[1], auto_pass=False)
        moves = self.agent.select_moves(positions, rng)
        return int(moves[0]) if single else moves
