"""Returns of two-player games, seen by the side that is to move: they change sign where the side changes, never by ply parity."""

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
    """The lambda-returns of T plies of N zero-sum games, from the view of the side to move. Minus `values` they are the advantages.

    That difference is the generalized advantage estimate (Schulman et al. 2016), with the sign of all that follows a ply turned
    where the other side is to move after it.

    rewards, values: [T, N] float32, what the ply earned and what was expected before it, both from the view of the side that was
    to move. sides: [T, N], who that was. ended: [T, N] bool, whether the ply ended its game; what stands behind it then is another
    game. last_values: [N] float32 and last_sides: [N], of the positions after the last ply, which are yet to be played.
    learned_mask: [T, N] bool, by default all; False where somebody else moved. Such plies belong to the surroundings: the return
    before them runs through them to the next ply that is learned from, or the end of the game, as if it were one step, and their
    values count for nothing. discount: of a ply. gae_lambda: lambda, 0 for the next value alone, 1 for what came of the game.

    Returns [T, N] float32. Those of plies that are not learned from are what followed them.
    """
    returns = np.empty_like(rewards)
    learned = np.ones_like(ended) if learned_mask is None else learned_mask
    # What the ply before leads to: a mixture of what is expected of a position and of what came of it.
    following, following_sides = last_values, last_sides
    for ply in reversed(range(len(rewards))):
        sign = np.where(sides[ply] == following_sides, 1, -1)
        returns[ply] = rewards[ply] + discount * np.where(ended[ply], 0, sign * following)
        mixed = (1 - gae_lambda) * values[ply] + gae_lambda * returns[ply]
        following, following_sides = np.where(learned[ply], mixed, returns[ply]), sides[ply]
    return returns
