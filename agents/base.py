"""Agents that look one move ahead, and the choice among afterstates. The protocol of all agents is `othello_env.agent.Agent`."""

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

# Values that differ by at most this much are tied: the tolerance of the published League protocol.
TIE: Final = 1e-6

# A won game has this value plus its disc difference, which is more than any evaluation of a running
# game.
WON: Final = 1e4


def set_results(values: Values, afterstates: Afterstates) -> None:
    """Replace the values of afterstates that end the game by the result, see `WON`. values: [N], one per afterstate."""
    ends, differences = afterstates.results()
    values[ends] = np.sign(differences) * WON + differences


def best_moves(afterstates: Afterstates, values: Values, *, positions: PositionBatch, rng: np.random.Generator) -> Moves:
    """Return the move with the highest value for each position, ties broken at random; the pass where there is no afterstate.

    values: [N], one per afterstate, from the view of the side that made the move. Raises
    `ValueError` if one is not finite.
    """
    moves = np.full(len(positions), positions.pass_square, dtype=np.int64)
    if len(afterstates):
        best = best_afterstates(afterstates.rows, values, rng=rng)
        moves[afterstates.rows[best]] = afterstates.squares[best]
    return moves


def best_afterstates(rows: npt.NDArray[np.int64], values: Values, *, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the index of the highest value in each group of equal rows, ties broken at random.

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
    """Return the start and the length of each group of equal rows. rows: [N] ascending, not negative."""
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    return first, np.diff(first, append=len(rows))


@dataclass(frozen=True, slots=True)
class AfterstateAgent:
    """Plays the move whose afterstate has the highest value, ties broken at random.

    evaluate: returns the values of N afterstates, [N], from the view of the side that made the
    move. board_size: the only size that it can evaluate, or None for all; `select_moves` raises
    `ValueError` for another. sees_colors: whether it plays black and white differently.
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
