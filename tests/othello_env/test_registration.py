from __future__ import annotations

import pettingzoo
import pytest

import othello_env  # noqa: F401  (registers)


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry since 1.27")
def test_pettingzoo_makes_the_environment_by_its_id() -> None:
    env = pettingzoo.make("aec", "othello_env/othello-v0", board_size=6)
    env.reset()
    assert env.metadata["name"] == "othello_v0"
    assert env.action_space("player_0").n == 37
