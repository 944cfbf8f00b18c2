from __future__ import annotations

import pytest

from othello_env import Game, Position
from othello_env.rewards import reward_function


@pytest.mark.parametrize(
    ("reward", "scoring", "expected"),
    [
        ("outcome", "discs", 1.0),
        ("outcome", "empties_to_winner", 1.0),
        ("disc_difference", "discs", 13.0),
        ("disc_difference", "empties_to_winner", 64.0),
    ],
)
def test_rewards_are_those_of_black(reward: str, scoring: str, expected: float) -> None:
    final = Game.parse("f5f4c3c6c5d6f3c4c7").final
    value = reward_function(reward, scoring)(final)  # type: ignore[arg-type]
    assert value == expected
    assert type(value) is float


def test_a_running_game_has_no_outcome() -> None:
    with pytest.raises(ValueError, match="not over"):
        reward_function("outcome", "discs")(Position.start())
