"""The one protocol of all agents, and the agent that looks one move ahead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from othello_env.batch import Afterstates, PositionBatch

Moves = npt.NDArray[np.int64]
Values = npt.NDArray[np.floating]

# Values that differ by less are equal: the published league protocol's tolerance, and above the rounding of float32 sums.
TIE: Final = 1e-6


class Agent(Protocol):
    """Whatever chooses moves. One protocol for one game and for thousands: a single game is a batch of one."""

    @property
    def name(self) -> str:
        """What tables and records call the agent."""
        ...

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        """A legal move for each position: [B] int64 squares; the pass where nothing else is legal.

        Must leave `positions` as they are, and take all randomness from `rng`.
        """
        ...


def best_moves(afterstates: Afterstates, values: Values, positions: PositionBatch, rng: np.random.Generator) -> Moves:
    """For each position the move with the highest value, ties broken at random; the pass where there is no afterstate.

    values: [N], one an afterstate, from the view of the side that made the move.
    """
    moves = np.full(len(positions), positions.pass_square, dtype=np.int64)
    if len(afterstates):
        best = best_afterstates(afterstates.rows, values, rng)
        moves[afterstates.rows[best]] = afterstates.squares[best]
    return moves


def best_afterstates(rows: npt.NDArray[np.int64], values: Values, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The index of the highest value among the entries of each row, ties broken at random.

    rows: [N] ascending, N > 0. values: [N]. Returns one index for each distinct row, in the rows' order.
    """
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    highest = np.repeat(np.maximum.reduceat(values, first), np.diff(first, append=len(rows)))
    tied = np.flatnonzero(values >= highest - TIE)
    first_tied = np.flatnonzero(np.diff(rows[tied], prepend=-1))
    num_tied = np.diff(first_tied, append=len(tied))
    best: npt.NDArray[np.int64] = tied[first_tied + (rng.random(len(first)) * num_tied).astype(np.int64)]
    return best


@dataclass(frozen=True, slots=True)
class AfterstateAgent:
    """Looks one move ahead: plays the move whose afterstate has the highest value, ties broken at random.

    evaluate: gives each afterstate a value, [N], from the view of the side that made the move.
    """

    name: str
    evaluate: Callable[[Afterstates], Values]

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        """See `Agent`."""
        afterstates = positions.afterstates()
        return best_moves(afterstates, self.evaluate(afterstates), positions, rng)
