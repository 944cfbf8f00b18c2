"""Videos by the wrappers of Gymnasium and PettingZoo; they need moviepy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pettingzoo.utils.wrappers
import pytest

from othello_env import othello_v0

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore")]


def test_gymnasium_records_a_game(tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    env: Any = gymnasium.wrappers.RecordVideo(gymnasium.make("othello_env/Othello-v0", render_mode="rgb_array"), str(tmp_path))
    observation, _ = env.reset(seed=0)
    rng = np.random.default_rng(0)
    terminated = False
    while not terminated:
        observation, _, terminated, _, _ = env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
    env.close()
    assert [path.stat().st_size > 5000 for path in tmp_path.glob("*.mp4")] == [True]


def test_pettingzoo_records_a_game(tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    if not hasattr(pettingzoo.utils.wrappers, "RecordVideo"):
        pytest.skip("PettingZoo has RecordVideo since 1.27")
    env = pettingzoo.utils.wrappers.RecordVideo(othello_v0.env(render_mode="rgb_array"), str(tmp_path))
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in env.agent_iter():
        observation, _, termination, truncation, _ = env.last()
        env.step(None if termination or truncation else int(rng.choice(np.flatnonzero(observation["action_mask"]))))
    env.close()
    assert [path.stat().st_size > 5000 for path in tmp_path.rglob("*.mp4")] == [True]
