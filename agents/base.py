"""The agent that looks one move ahead. The protocol of all agents is `othello_env.agent.Agent`."""

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

# Values that differ by less are equal: the published league protocol's tolerance.
TIE: Final = 1e-6

# A finished game counts for more than any other value, and for more the higher it is won.
WON: Final = 1e4


def set_results(values: Values, afterstates: Afterstates) -> None:
    """Put the results of games that have ended in the place of their values. values: [N], one an afterstate."""
    ends, differences = afterstates.results()
    values[ends] = np.sign(differences) * WON + differences


def best_moves(afterstates: Afterstates, values: Values, *, positions: PositionBatch, rng: np.random.Generator) -> Moves:
    """For each position the move with the highest value, ties broken at random; the pass where there is no afterstate.

    values: [N], one an afterstate, from the view of the side that made the move. Raises `ValueError` where one is not finite.
    """
    moves = np.full(len(positions), positions.pass_square, dtype=np.int64)
    if len(afterstates):
        best = best_afterstates(afterstates.rows, values, rng=rng)
        moves[afterstates.rows[best]] = afterstates.squares[best]
    return moves


def best_afterstates(rows: npt.NDArray[np.int64], values: Values, *, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The index of the highest value among the entries of each row, ties broken at random.

    rows: [N] ascending, N > 0. values: [N], finite. Returns one index for each distinct row, in the rows' order.
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
    """Where the entries of each row begin, and how many they are. rows: [N] ascending, not negative."""
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    return first, np.diff(first, append=len(rows))


@dataclass(frozen=True, slots=True)
class AfterstateAgent:
    """Looks one move ahead: plays the move whose afterstate has the highest value, ties broken at random.

    evaluate: gives each afterstate a value, [N], from the view of the side that made the move. board_size: the only one that it
    can evaluate, or None for any; `select_moves` raises `ValueError` for another. sees_colors: whether it plays black and white
    differently.
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
