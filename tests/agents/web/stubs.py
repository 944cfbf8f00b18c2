"""Agents for the tests of the server, built by `factory:` specs."""

from __future__ import annotations

import threading

import numpy as np

from agents.base import Moves
from agents.registry import make_agent
from othello_env import PositionBatch


class WaitingAgent:
    """Plays at random, but only after `released` is set; sets `started` before."""

    name = "waiting"
    started = threading.Event()
    released = threading.Event()

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        self.started.set()
        assert self.released.wait(10)
        return make_agent("random").select_moves(positions, rng)


class FailingAgent:
    name = "failing"

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        raise RuntimeError("out of ideas")


WAITING = f"factory:{__name__}:WaitingAgent"
FAILING = f"factory:{__name__}:FailingAgent"
