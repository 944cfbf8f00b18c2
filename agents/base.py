"""Agents that look one move ahead, and the choice among afterstates.

The protocol of all agents is `othello_env.agent.Agent`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from othello_env.agent import Agent as Agent
from othello_env.agent import Moves as Moves
from othello_env.agent import check_board_size as check_board_size
from othello_env.batch import Afterstates, PositionBatch

Values = npt.NDArray[np.floating]

# Values that differ by at most this much are tied; the tolerance of the published League protocol.
TIE: Final = 1e-6

# Value of a won game, to which the disc difference is added. It exceeds every evaluation of an
# unfinished game.
WON: Final = 1e4


def set_results(values: Values, afterstates: Afterstates) -> None:
    """Overwrite the values of afterstates that end the game with the result, in place; see `WON`.

    values: [N], one per afterstate.
    """
    ends, differences = afterstates.results()
    values[ends] = np.sign(differences) * WON + differences


def best_moves(afterstates: Afterstates, values: Values, *, positions: PositionBatch, rng: np.random.Generator) -> Moves:
    """Return the move with the highest value for each position, breaking ties at random.

    Positions without afterstates get the pass. values: [N], one per afterstate, from the
    perspective of the side that made the move. Raises `ValueError` if a value is not finite.
    """
    moves = np.full(len(positions), positions.pass_square, dtype=np.int64)
    if len(afterstates):
        best = best_afterstates(afterstates.rows, values, rng=rng)
        moves[afterstates.rows[best]] = afterstates.squares[best]
    return moves


def best_afterstates(rows: npt.NDArray[np.int64], values: Values, *, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the index of the highest value in each group of equal rows, breaking ties at random.

    rows: [N] ascending, N > 0. values: [N]. Returns one index per group. Raises `ValueError` if a
    value is not finite.
    """
    if not np.isfinite(values).all():
        raise ValueError(f"{int((~np.isfinite(values)).sum())} of {len(values)} values are not finite numbers")
    first, counts = groups_of(rows)
    highest = np.repeat(np.maximum.reduceat(values, first), counts)
    tied = np.flatnonzero(values >= highest - TIE)
    first_tied, num_tied = groups_of(rows[tied])
    best: npt.NDArray[np.int64] = tied[first_tied + (rng.random(len(first)) * num_tied).astype(np.int64)]
    return best


def groups_of(rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the start and the length of each group of equal rows.

    rows: [N] ascending, non-negative.
    """
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    return first, np.diff(first, append=len(rows))


@dataclass(frozen=True, slots=True)
class AfterstateAgent:
    """Plays the move whose afterstate has the highest value, breaking ties at random.

    evaluate: returns the values of N afterstates, [N], from the perspective of the side that made
    the move. board_size: the only board size that it can evaluate, or None for all; `select_moves`
    raises `ValueError` for any other. sees_colors: True if it plays black and white differently.
    """

    name: str
    evaluate: Callable[[Afterstates], Values]
    board_size: int | None = None
    sees_colors: bool = False

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        """See `Agent`."""
        check_board_size(self, positions.board_size)
        afterstates = positions.afterstates()
        return best_moves(afterstates, self.evaluate(afterstates), positions=positions, rng=rng)
