"""Rewards of finished games, from Black's view; White gets the negative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from othello_env.batch import PositionBatch
from othello_env.position import Position, Scoring, check_scoring

Reward = Literal["outcome", "disc_difference"]
RewardFunction = Callable[[Position], float]


def outcome(position: Position) -> float:
    """+1.0 if Black has won, -1.0 if White has won, 0.0 for a draw."""
    return float(position.outcome)


def disc_difference_by_discs(position: Position) -> float:
    """Black's discs minus White's."""
    return float(position.score("discs"))


def disc_difference_by_empties_to_winner(position: Position) -> float:
    """Black's discs minus White's, with the empty squares counted for the winner."""
    return float(position.score("empties_to_winner"))


_DISC_DIFFERENCE: Final[dict[str, RewardFunction]] = {
    "discs": disc_difference_by_discs,
    "empties_to_winner": disc_difference_by_empties_to_winner,
}


def reward_function(reward: Reward | RewardFunction, scoring: Scoring) -> RewardFunction:
    """Return the reward function for the two option values, or raise `ValueError`."""
    check_scoring(scoring)
    if callable(reward):
        return reward
    if reward not in get_args(Reward):
        raise ValueError(f"reward {reward!r}: expected a function, or one of {', '.join(get_args(Reward))}")
    return outcome if reward == "outcome" else _DISC_DIFFERENCE[scoring]


def illegal_move_reward(reward: Reward | RewardFunction, board_size: int) -> float:
    """Return the reward of an illegal move that ends the game.

    It is that of the worst loss: -(n * n) with "disc_difference", otherwise -1.0 as in PettingZoo's
    board games, also with a custom reward function.
    """
    return -float(board_size**2) if reward == "disc_difference" else -1.0


def batch_rewards(positions: PositionBatch, reward: Reward | RewardFunction, scoring: Scoring) -> npt.NDArray[np.float32]:
    """Black's rewards in finished games: [B] float32.

    reward, scoring: as the environments take them.
    """
    if callable(reward):
        return np.array([reward(position) for position in positions], dtype=np.float32)
    return positions.outcome if reward == "outcome" else positions.score(scoring).astype(np.float32)
