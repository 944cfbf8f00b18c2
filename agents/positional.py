"""Agents that evaluate by square weights, known as weighted piece counters.

The published tables are the classic opponents in the literature on learning Othello. They look one
move ahead and break ties at random. The tables are for the 8x8 board; smaller boards leave out its
middle rows and columns, so that corners and edges keep their weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from agents.base import AfterstateAgent
from othello_env.batch import Afterstates
from othello_env.bitboard import unpack_contents

Table = Literal["swh", "heur", "bench"]


def _mirrored(*quadrant: tuple[float, float, float, float]) -> npt.NDArray[np.float32]:
    """Return the full 8x8 table, [64] float32, from its top left quadrant."""
    top_left = np.array(quadrant, dtype=np.float32)
    top = np.hstack([top_left, top_left[:, ::-1]])
    return np.vstack([top, top[::-1]]).ravel()


TABLES: Final[dict[Table, npt.NDArray[np.float32]]] = {
    # The "standard weighted heuristic" of Yoshioka, Ishii and Ito (1999), the anchor of Lucas and
    # Runarsson's Othello League.
    "swh": _mirrored(
        (1.00, -0.25, 0.10, 0.05),
        (-0.25, -0.25, 0.01, 0.01),
        (0.10, 0.01, 0.05, 0.02),
        (0.05, 0.01, 0.02, 0.01),
    ),
    # HEUR of van der Ree and Wiering (2013): the same table times 100, slightly altered.
    "heur": _mirrored((100, -25, 10, 5), (-25, -25, 2, 2), (10, 2, 5, 1), (5, 2, 1, 2)),
    # BENCH of van der Ree and Wiering (2013): learned by Lucas and Runarsson (2006), scaled and
    # rounded; not symmetric.
    "bench": np.array(
        [
            [80, -26, 24, -1, -5, 28, -18, 76],
            [-23, -39, -18, -9, -6, -8, -39, -1],
            [46, -16, 4, 1, -3, 6, -20, 52],
            [-13, -5, 2, -1, 4, 3, -12, -2],
            [-5, -6, 1, -2, -3, 0, -9, -5],
            [48, -13, 12, 5, 0, 5, -24, 41],
            [-27, -53, -11, -1, -11, -16, -58, -15],
            [87, -25, 27, -1, 5, 36, -3, 100],
        ],
        dtype=np.float32,
    ).ravel(),
}


def square_weights(table: Table, board_size: int = 8) -> npt.NDArray[np.float32]:
    """Return the weights of a table for a board size: [n*n] float32.

    Smaller boards leave out the middle rows and columns.
    """
    half = board_size // 2
    kept = [*range(half), *range(8 - half, 8)]
    return TABLES[table].reshape(8, 8)[np.ix_(kept, kept)].ravel()


@dataclass(frozen=True, slots=True)
class PositionalEvaluator:
    """Sum of the weights of own discs minus the sum of the weights of the opponent's discs."""

    table: Table

    def __call__(self, afterstates: Afterstates) -> npt.NDArray[np.float32]:
        """See `AfterstateAgent`."""
        n = afterstates.board_size
        contents = unpack_contents(afterstates.own, afterstates.opp, n * n).astype(np.float32)
        values: npt.NDArray[np.float32] = contents @ square_weights(self.table, n)
        return values


def positional_agent(*, table: Table = "swh") -> AfterstateAgent:
    """Return the agent that plays by a published table of square weights, on all board sizes."""
    return AfterstateAgent(f"positional:table={table}", PositionalEvaluator(table))
