"""Returns of two-player games from the perspective of the side to move.

Signs change where the side to move changes; because of passes, that is not at every ply.
"""

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
    """Return the lambda-returns of T plies of N zero-sum games, [T, N] float32.

    Each return is from the perspective of the side that moved: what follows a ply changes sign
    where the other side is to move next. The returns minus `values` are the generalized advantage
    estimates (Schulman et al. 2016).

    rewards, values: [T, N] float32, the reward of the ply and the value estimate of the position
    before it, both from the perspective of the side that moved. sides: [T, N], the side that moved.
    ended: [T, N] bool, True if the ply ended its game; the next ply then belongs to another game.
    last_values: [N] float32 and last_sides: [N], of the positions after the last ply. discount: per
    ply. gae_lambda: 0 = one-step TD, 1 = Monte Carlo.

    learned_mask: [T, N] bool, by default all True; False for plies of an opponent. These are part
    of the environment: the return of the learned ply before them continues through them to the next
    learned ply, or to the end of the game, as a single step, and their values are ignored. Their
    own returns are those of what follows them.
    """
    returns = np.empty_like(rewards)
    learned = np.ones_like(ended) if learned_mask is None else learned_mask
    # The target for the previous ply: a mixture of the value estimate and the return.
    following, following_sides = last_values, last_sides
    for ply in reversed(range(len(rewards))):
        sign = np.where(sides[ply] == following_sides, 1, -1)
        returns[ply] = rewards[ply] + discount * np.where(ended[ply], 0, sign * following)
        mixed = (1 - gae_lambda) * values[ply] + gae_lambda * returns[ply]
        following, following_sides = np.where(learned[ply], mixed, returns[ply]), sides[ply]
    return returns
