from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from training.returns import lambda_returns


def column(*numbers: float) -> npt.NDArray[np.float32]:
    """One game, [T, 1]."""
    return np.array(numbers, dtype=np.float32)[:, np.newaxis]


def returns_of(
    *,
    rewards: list[float],
    values: list[float],
    sides: list[int],
    ended: list[int],
    last_value: float = 0.0,
    last_side: int = 0,
    learned: list[int] | None = None,
    **options: float,
) -> list[float]:
    """The returns of one game."""
    found = lambda_returns(
        column(*rewards),
        column(*values),
        sides=np.array(sides)[:, np.newaxis],
        ended=np.array(ended, dtype=np.bool_)[:, np.newaxis],
        last_values=np.array([last_value], dtype=np.float32),
        last_sides=np.array([last_side]),
        learned_mask=None if learned is None else np.array(learned, dtype=np.bool_)[:, np.newaxis],
        **options,
    )
    assert found.dtype == np.float32
    numbers: list[float] = found[:, 0].tolist()
    return numbers


def test_the_sign_changes_where_the_side_changes_and_not_after_a_pass() -> None:
    # Black moves, white moves, black passes, white moves and wins.
    found = returns_of(rewards=[0, 0, 1], values=[0.5, 0.2, 0.4], sides=[0, 1, 1], ended=[0, 0, 1], gae_lambda=0.5)
    # The last one is worth 1. Before it white, who is to move again, has 0.5 * 0.4 + 0.5 * 1 = 0.7.
    # Before that black has the opposite of what white then has, 0.5 * 0.2 + 0.5 * 0.7 = 0.45.
    assert found == pytest.approx([-0.45, 0.7, 1.0])


def test_without_traces_a_return_is_the_value_of_the_next_position() -> None:
    found = returns_of(
        rewards=[0, 0, 0], values=[0.5, 0.2, 0.4], sides=[0, 1, 1], ended=[0, 0, 0], last_value=0.3, last_side=0, gae_lambda=0.0
    )
    assert found == pytest.approx([-0.2, 0.4, -0.3])


def test_with_full_traces_a_return_is_what_came_of_the_game() -> None:
    found = returns_of(rewards=[0, 0, 0, -1], values=[9, 9, 9, 9], sides=[0, 1, 0, 0], ended=[0, 0, 0, 1], gae_lambda=1.0)
    assert found == pytest.approx([-1, 1, -1, -1])


def test_discount_counts_plies() -> None:
    found = returns_of(rewards=[0, 0, 1], values=[9, 9, 9], sides=[0, 0, 0], ended=[0, 0, 1], gae_lambda=1.0, discount=0.5)
    assert found == pytest.approx([0.25, 0.5, 1.0])


def test_lambda_is_by_default_that_of_the_ppo_paper_and_nothing_is_discounted() -> None:
    game: dict[str, Any] = {"rewards": [0, 0, 1], "values": [0.5, 0.2, 0.4], "sides": [0, 0, 0], "ended": [0, 0, 1]}
    # 0.05 * 0.4 + 0.95 * 1 = 0.97, and 0.05 * 0.2 + 0.95 * 0.97 = 0.9315.
    assert returns_of(**game) == pytest.approx([0.9315, 0.97, 1.0])
    assert returns_of(**game) == returns_of(**game, gae_lambda=0.95, discount=1.0)


def test_nothing_comes_over_from_the_next_game() -> None:
    found = returns_of(rewards=[1, 0], values=[0, 0.8], sides=[1, 0], ended=[1, 0], last_value=0.6, last_side=0, gae_lambda=0.5)
    assert found == pytest.approx([1.0, 0.6])


def test_plies_of_an_opponent_are_gone_through_as_if_they_were_one_step() -> None:
    # Black learns; white answers twice, the second time after black had to pass. What is expected
    # at white's plies is not used.
    found = returns_of(
        rewards=[0, 0, 0, 1],
        values=[0.5, float("nan"), float("nan"), 0.4],
        sides=[0, 1, 1, 0],
        ended=[0, 0, 0, 1],
        learned=[1, 0, 0, 1],
        gae_lambda=0.5,
    )
    assert found[0] == pytest.approx(0.5 * 0.4 + 0.5 * 1.0)
    assert found[3] == 1.0
    # White's last move wins: black's move before it has lost, whatever lambda is.
    found = returns_of(rewards=[0, 1], values=[0.5, 0.3], sides=[0, 1], ended=[0, 1], learned=[1, 0], gae_lambda=0.1)
    assert found[0] == -1.0


def random_games(rng: np.random.Generator) -> dict[str, Any]:
    """Plies of games with passes and ends in any place."""
    num_games = int(rng.integers(1, 6))
    shape = int(rng.integers(1, 30)), num_games
    return {
        "rewards": rng.uniform(-1, 1, size=shape).astype(np.float32),
        "values": rng.uniform(-1, 1, size=shape).astype(np.float32),
        "sides": rng.integers(2, size=shape),
        "ended": rng.random(shape) < 0.15,
        "last_values": rng.uniform(-1, 1, size=num_games).astype(np.float32),
        "last_sides": rng.integers(2, size=num_games),
        "discount": float(rng.choice([1.0, 0.9])),
        "gae_lambda": float(rng.choice([0.0, 0.6, 0.95, 1.0])),
    }


def slow_advantages(games: dict[str, Any], learned: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """The sums of temporal differences, game by game and all from black's view, over the plies that are learned from alone."""
    rewards, values, sides, ended = (games[name] for name in ("rewards", "values", "sides", "ended"))
    discount, gae_lambda = games["discount"], games["gae_lambda"]
    num_plies, num_games = rewards.shape
    found = np.zeros(rewards.shape)
    for game in range(num_games):
        view = [1 if side == 0 else -1 for side in [*sides[:, game], games["last_sides"][game]]]
        expected = [*values[:, game], games["last_values"][game]]
        plies = [ply for ply in range(num_plies) if learned[ply, game]]
        for first in plies:
            advantage, weight, ply = 0.0, 1.0, first
            while True:
                # One step of the learner: its own ply, and others' plies up to its next one.
                difference, factor, following = -view[ply] * expected[ply], 1.0, ply
                while True:
                    difference += factor * view[following] * rewards[following, game]
                    factor *= discount
                    over = ended[following, game]
                    following += 1
                    if over or following == num_plies or learned[following, game]:
                        break
                if not over:
                    difference += factor * view[following] * expected[following]
                advantage += weight * difference
                weight *= factor * gae_lambda
                ply = following
                if over or following == num_plies:
                    break
            found[first, game] = view[first] * advantage
    return found


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_returns_minus_values_are_the_generalized_advantages(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    games = random_games(rng)
    learned = rng.random(games["ended"].shape) < share
    advantages = lambda_returns(**games, learned_mask=learned) - games["values"]
    np.testing.assert_allclose(advantages[learned], slow_advantages(games, learned)[learned], atol=1e-5)
    if share == 1:
        np.testing.assert_array_equal(lambda_returns(**games), lambda_returns(**games, learned_mask=learned))
