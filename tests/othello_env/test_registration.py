from __future__ import annotations

import multiprocessing
import subprocess
import sys
import warnings
from functools import partial
from typing import Any

import gymnasium
import pettingzoo
import pytest
from gymnasium.vector import AsyncVectorEnv

from othello_env.registration import register
from tests.conftest import REPOSITORY

# The module before the colon is imported first: a worker process that is not forked has imported
# nothing.
WITH_MODULE = "othello_env:othello_env/Othello-v0"
START_METHODS = multiprocessing.get_all_start_methods()


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry since 1.27")
def test_pettingzoo_makes_the_environment_by_its_id() -> None:
    env = pettingzoo.make("aec", "othello_env/othello-v0", board_size=6)
    env.reset()
    assert env.metadata["name"] == "othello_v0"
    assert env.action_space("player_0").n == 37


def check_workers(env: Any) -> None:
    """Play in all workers of an `AsyncVectorEnv`."""
    try:
        observation, _ = env.reset(seed=0)
        for _ in range(3):
            observation, _, terminated, _, _ = env.step(observation["action_mask"].argmax(axis=1))
        assert observation["observation"].shape == (2, 8, 8, 2)
        assert (observation["observation"].sum(axis=(1, 2, 3)) > 7).all()
        assert not terminated.any()
    finally:
        env.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("start_method", START_METHODS)
def test_the_id_with_the_module_can_be_made_in_workers(start_method: str) -> None:
    check_workers(AsyncVectorEnv([partial(gymnasium.make, WITH_MODULE)] * 2, context=start_method))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("start_method", START_METHODS)
def test_gymnasium_makes_workers_of_either_id(start_method: str) -> None:
    options = {"vectorization_mode": "async", "vector_kwargs": {"context": start_method}, "num_envs": 2}
    check_workers(gymnasium.make_vec("othello_env/Othello-v0", **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "statement",
    [
        f"gymnasium.make('{WITH_MODULE}')",
        f"gymnasium.make_vec('{WITH_MODULE}')",
        "gymnasium.make_vec('othello_env:othello_env/OthelloSelfPlay-v0')",
    ],
)
def test_the_ids_with_the_module_need_no_import(statement: str) -> None:
    code = f"import gymnasium; env = {statement}; env.reset(seed=0); print(env.unwrapped.spec.id)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert run.stdout.strip() in ("othello_env/Othello-v0", "othello_env/OthelloSelfPlay-v0")


def test_registering_twice_changes_nothing() -> None:
    before = dict(gymnasium.registry)
    assert {"othello_env/Othello-v0", "othello_env/OthelloSelfPlay-v0"} <= set(before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register()
    assert dict(gymnasium.registry) == before
