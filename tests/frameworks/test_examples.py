"""The examples of docs/guides, run against the real libraries; those that are not installed skip."""

from __future__ import annotations

import multiprocessing
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from othello_env import OthelloSelfPlayVectorEnv, OthelloVectorEnv, othello_v0
from tests.conftest import REPOSITORY

pytestmark = pytest.mark.frameworks

GUIDES = sorted((REPOSITORY / "docs" / "guides").glob("*.md"))
# The one Python block of each guide that has one.
EXAMPLES = {
    path.stem: block for path in GUIDES for block in re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)
}


class Counts:
    """What happened in all environments while an example ran."""

    def __init__(self) -> None:
        self.steps = self.passes = self.illegal = 0
        self.rewards: list[tuple[float, float]] = []


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    counts = Counts()
    step, end = othello_v0.raw_env.step, othello_v0.raw_env.end_with_illegal_move
    vector_step = OthelloSelfPlayVectorEnv.step

    def counting_step(self: Any, action: Any) -> None:
        step(self, action)
        if action is None:
            return
        counts.steps += 1
        counts.passes += self.infos["player_0"]["passed"]
        if self.position.is_over:
            counts.rewards.append((self.rewards["player_0"], self.rewards["player_1"]))

    def counting_end(self: Any) -> None:
        end(self)
        counts.illegal += 1

    def counting_vector_step(self: Any, actions: Any) -> Any:
        result = vector_step(self, actions)
        infos = result[-1]
        counts.steps += self.num_envs
        counts.passes += int(infos["passed"].sum())
        counts.illegal += int(infos["illegal"].sum())
        counts.rewards += [tuple(both) for both in infos["rewards_both"][result[2]].tolist()]
        return result

    monkeypatch.setattr(othello_v0.raw_env, "step", counting_step)
    monkeypatch.setattr(othello_v0.raw_env, "end_with_illegal_move", counting_end)
    monkeypatch.setattr(OthelloSelfPlayVectorEnv, "step", counting_vector_step)
    return counts


def run(name: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(EXAMPLES[name], f"docs/guides/{name}.md", "exec"), namespace)
    return namespace


def check(counts: Counts, steps: int) -> None:
    """Thousands of steps, passes among them, no illegal move, games won and lost with rewards that add up to zero."""
    assert counts.steps >= steps
    assert counts.passes > 0
    assert counts.illegal == 0
    assert {sum(rewards) for rewards in counts.rewards} == {0.0}
    assert {rewards[0] for rewards in counts.rewards} >= {1.0, -1.0}


def test_every_example_is_run_by_a_test() -> None:
    assert sorted(EXAMPLES) == ["pytorch", "rllib", "stable-baselines3", "tianshou", "torchrl", "workers"]


def test_plain_pytorch_plays_many_games(counts: Counts) -> None:
    pytest.importorskip("torch")
    run("pytorch")
    check(counts, 25_000)


def test_tianshou_collects_games(counts: Counts) -> None:
    pytest.importorskip("tianshou")
    collected = run("tianshou")["collected"]
    assert collected.n_collected_steps > 3000
    assert np.abs(collected.returns.sum(axis=1)).max() == 0
    assert set(collected.returns[:, 0].tolist()) >= {1.0, -1.0}
    check(counts, 3000)


@pytest.mark.filterwarnings("ignore")
def test_torchrl_rolls_out_a_masked_policy_and_accepts_the_specs(counts: Counts) -> None:
    torchrl_envs = pytest.importorskip("torchrl.envs")
    namespace = run("torchrl")
    rewards = namespace["rollout"]["next", "agents", "reward"][..., 0]
    assert (rewards.sum(dim=1) == 0).all()
    check(counts, 3000)
    for auto_pass in (True, False):
        env = othello_v0.env(auto_pass=auto_pass)
        torchrl_envs.check_env_specs(torchrl_envs.PettingZooWrapper(env, use_mask=True, return_state=True))


@pytest.mark.filterwarnings("ignore")
def test_rllib_trains_one_policy_for_both(counts: Counts) -> None:
    pytest.importorskip("ray.rllib")
    namespace = run("rllib")
    results = namespace["result"]["env_runners"]
    namespace["algorithm"].stop()
    assert results["num_env_steps_sampled"] >= 2000
    returns = results["agent_episode_returns_mean"]
    assert returns["player_0"] + returns["player_1"] == pytest.approx(0)
    check(counts, 2000)


def share_won(model: Any, color: Any, games: int) -> float:
    """Of the first game in each place, against the random opponent; an illegal move raises."""
    env = OthelloVectorEnv(games, color=color, autoreset_mode="SameStep", flat=True, dtype="float32", legal_plane=True, illegal="raise")
    observation, _ = env.reset(seed=7)
    results = np.full(games, np.nan)
    while np.isnan(results).any():
        actions, _ = model.predict(observation["observation"], action_masks=observation["action_mask"] == 1, deterministic=True)
        observation, rewards, terminated, _, _ = env.step(actions)
        first = terminated & np.isnan(results)
        results[first] = rewards[first]
    return float((results == 1).mean())


def test_sb3_learns_to_beat_the_random_opponent_with_both_colours(capsys: pytest.CaptureFixture[str]) -> None:
    contrib = pytest.importorskip("sb3_contrib")
    namespace = run("stable-baselines3")
    model = namespace["model"]
    assert model.num_timesteps >= 200_000
    logged = [float(value) for value in re.findall(r"ep_rew_mean +\| (\S+)", capsys.readouterr().out)]
    assert len(logged) > 50
    assert logged[-1] > logged[0] + 0.3
    assert {episode["r"] for episode in model.ep_info_buffer} <= {-1.0, 0.0, 1.0}
    untrained = contrib.MaskablePPO("MlpPolicy", model.get_env(), policy_kwargs={"net_arch": [512, 512]}, seed=0)
    scores = [share_won(model, color, 200) for color in ("black", "white")]
    assert np.mean(scores) >= 0.75
    assert np.mean(scores) > np.mean([share_won(untrained, color, 200) for color in ("black", "white")]) + 0.2


def test_the_sb3_adapter_does_what_a_vec_env_must() -> None:
    pytest.importorskip("stable_baselines3")
    from othello_env.adapters.sb3 import OthelloVecEnv

    games = OthelloVectorEnv(8, autoreset_mode="SameStep", board_size=4)
    env = OthelloVecEnv(games)
    with pytest.raises(ValueError, match="'NextStep': SB3 needs 'SameStep'"):
        OthelloVecEnv(OthelloVectorEnv(2))
    with pytest.raises(ValueError, match="OthelloSelfPlayVectorEnv: SB3 knows one agent"):
        OthelloVecEnv(OthelloSelfPlayVectorEnv(2, autoreset_mode="SameStep"))  # type: ignore[arg-type]
    env.seed(3)
    first = env.reset()
    env.seed(3)
    np.testing.assert_array_equal(env.reset(), first)
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(30):
        masks = np.stack(env.env_method("action_masks"))
        np.testing.assert_array_equal(masks, env.action_masks())
        np.testing.assert_array_equal(masks, [mask() for mask in env.get_attr("action_masks")])
        observation, rewards, dones, infos = env.step(np.array([rng.choice(np.flatnonzero(mask)) for mask in masks]))
        assert observation.shape == (8, 4, 4, 2)
        for row in np.flatnonzero(dones):
            terminal = infos[row]["terminal_observation"]
            assert terminal.sum() > observation[row].sum()
            assert abs(rewards[row]) in (0, 1)
            ends += 1
        assert (rewards[~dones] == 0).all()
    assert ends > 10
    assert env.has_attr("action_masks")
    assert len(env.env_method("action_masks", indices=[1, 2])) == 2
    with pytest.raises(AttributeError, match="'fly'"):
        env.env_method("fly")
    env.action_masks()[:] = False
    assert env.action_masks().any()


def test_sb3_starts_workers() -> None:
    pytest.importorskip("stable_baselines3")
    assert run("workers")["observation"]["observation"].shape == (4, 8, 8, 2)


@pytest.mark.filterwarnings("ignore")
def test_sb3s_own_tools_work_with_the_adapter(tmp_path: Path) -> None:
    contrib = pytest.importorskip("sb3_contrib")
    from sb3_contrib.common.maskable.evaluation import evaluate_policy
    from stable_baselines3.common.vec_env import VecMonitor

    from othello_env.adapters.sb3 import OthelloVecEnv

    games = OthelloVectorEnv(8, autoreset_mode="SameStep", board_size=4, flat=True, dtype="float32", illegal="raise")
    env = VecMonitor(OthelloVecEnv(games))
    model = contrib.MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, seed=0)
    model.learn(1000)
    model.save(tmp_path / "model")
    loaded = contrib.MaskablePPO.load(tmp_path / "model", env=env)
    returns, lengths = evaluate_policy(loaded, env, n_eval_episodes=20, return_episode_rewards=True)
    assert set(returns) <= {-1.0, 0.0, 1.0}
    assert all(1 <= length <= 12 for length in lengths)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start_method", multiprocessing.get_all_start_methods())
def test_sb3s_workers_make_the_registered_environment(start_method: str) -> None:
    pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import SubprocVecEnv

    options = {"start_method": start_method}
    env = make_vec_env("othello_env:othello_env/Othello-v0", n_envs=2, seed=0, vec_env_cls=SubprocVecEnv, vec_env_kwargs=options)
    try:
        env.reset()
        for _ in range(3):
            masks = np.stack(env.env_method("action_masks"))
            observation, _, dones, _ = env.step(masks.argmax(axis=1))
        assert observation["observation"].shape == (2, 8, 8, 2)
        assert not dones.any()
    finally:
        env.close()


def test_the_rllib_adapter_renames_and_converts() -> None:
    from othello_env.adapters.rllib import RLlibOthello

    env = RLlibOthello(board_size=6, flat=True, dtype="int8")
    assert list(env.observation_spaces["player_0"]) == ["action_mask", "observations"]
    env.reset(seed=0)
    observation, *_ = env.last()
    assert observation is not None
    assert list(observation) == ["observations", "action_mask"]
    assert all(array.dtype == np.float32 for array in observation.values())
    assert env.observation_space("player_0").contains(observation)
    assert env.observation_space("player_0") is env.observation_space("player_0")
    env.step(int(np.flatnonzero(observation["action_mask"])[0]))
    assert env.agent_selection == "player_1"
