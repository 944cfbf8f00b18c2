"""Returns of two-player games from the perspective of the side to move: they change sign with the side, never by ply parity."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def lambda_returns(
    rewards: npt.NDArray[np.float32],
    values: npt.NDArray[np.float32],
    *,
    sides: npt.NDArray[np.integer],
    ended: npt.NDArray[np.bool_],
    last_values: npt.NDArray[np.float32],
    last_sides: npt.NDArray[np.integer],
    learned_mask: npt.NDArray[np.bool_] | None = None,
    discount: float = 1.0,
    gae_lambda: float = 0.95,
) -> npt.NDArray[np.float32]:
    """The lambda-returns of T plies of N zero-sum games, from the perspective of the side to move.

    The returns minus `values` are the generalized advantage estimates (Schulman et al. 2016);
    everything after a ply changes sign where the other side is to move next.

    rewards, values: [T, N] float32, the reward of the ply and the estimate before it, both from the
    perspective of the side that moved. sides: [T, N], the side that moved. ended: [T, N] bool,
    whether the ply ended its game; the next ply is then of another game. last_values: [N] float32
    and last_sides: [N], of the positions after the last ply. learned_mask: [T, N] bool, by default
    all True; False for plies of an opponent. Those are part of the environment: the return before
    them runs through them to the next learned ply, or to the end of the game, as a single step, and
    their values are ignored. discount: per ply. gae_lambda: 0 = one-step TD, 1 = Monte Carlo.

    Returns [T, N] float32. The returns of plies outside `learned_mask` are those of what follows
    them.
    """
    returns = np.empty_like(rewards)
    learned = np.ones_like(ended) if learned_mask is None else learned_mask
    # The target for the ply before: a mixture of a position's estimate and its return.
    following, following_sides = last_values, last_sides
    for ply in reversed(range(len(rewards))):
        sign = np.where(sides[ply] == following_sides, 1, -1)
        returns[ply] = rewards[ply] + discount * np.where(ended[ply], 0, sign * following)
        mixed = (1 - gae_lambda) * values[ply] + gae_lambda * returns[ply]
        following, following_sides = np.where(learned[ply], mixed, returns[ply]), sides[ply]
    return returns
