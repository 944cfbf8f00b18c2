"""Stable-Baselines3 adapter: a vector environment as `VecEnv`, with batched action masks.

SB3 does not take Gymnasium vector environments, and asks for masks one environment at a time; this
adapter returns all masks in one array. Needs `stable-baselines3`; MaskablePPO is in `sb3-contrib`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

from othello_env.observation import Observation
from othello_env.vector_env import OthelloVectorEnv


class OthelloVecEnv(VecEnv):
    """`OthelloVectorEnv` as a `VecEnv` for MaskablePPO and other SB3 algorithms.

    env: an environment with `autoreset_mode="SameStep"`, as SB3 expects; `ValueError` otherwise.
    The observation consists of the planes only, which suits "MlpPolicy", best with `flat=True` and
    `dtype="float32"`; MaskablePPO gets the mask from `action_masks()`. When a game has ended,
    `infos[i]["terminal_observation"]` holds the last observation. Wrap the environment in SB3's
    `VecMonitor` to log episode rewards.
    """

    def __init__(self, env: OthelloVectorEnv) -> None:
        if not isinstance(env, OthelloVectorEnv):
            raise ValueError(f"{type(env).__name__}: SB3 knows one agent, so it needs OthelloVectorEnv")
        if env.autoreset_mode != AutoresetMode.SAME_STEP:
            raise ValueError(f"autoreset_mode {env.autoreset_mode.value!r}: SB3 needs {AutoresetMode.SAME_STEP.value!r}")
        self.env = env
        self.render_mode = None  # SB3 would have the games render one by one
        self._mask: npt.NDArray[np.bool_] = np.zeros((env.num_envs, env.board_size**2 + 1), dtype=np.bool_)
        self._actions: npt.NDArray[Any] = np.zeros(env.num_envs, dtype=np.int64)
        super().__init__(env.num_envs, env.planes_space, env.single_action_space)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the legal actions of all games: [N, A] bool; all False before the first reset."""
        return np.array(self._mask)

    def _take(self, observation: Observation) -> npt.NDArray[Any]:
        self._mask = observation["action_mask"].astype(np.bool_)
        return observation["observation"]

    def reset(self) -> VecEnvObs:
        """Start new games in all environments, with the seed given to `seed`, if any."""
        seeds = self._seeds
        seed = None if seeds[0] is None else [int(s) for s in seeds if s is not None]
        observation, _ = self.env.reset(seed=seed)
        self._reset_seeds()
        self._reset_options()
        return self._take(observation)

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Store the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Play the stored actions."""
        observation, rewards, terminated, _, infos = self.env.step(self._actions)
        each: list[dict[str, Any]] = [{"TimeLimit.truncated": False} for _ in range(self.num_envs)]
        for row in np.flatnonzero(terminated):
            each[row]["terminal_observation"] = infos["final_obs"]["observation"][row]
        return self._take(observation), rewards, terminated, each

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def has_attr(self, attr_name: str) -> bool:
        """Return whether the games have an attribute; all have `action_masks`."""
        return attr_name == "action_masks" or hasattr(self.env, attr_name)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of the environment, once per requested game.

        "action_masks" is returned as a method of each game.
        """
        if attr_name == "action_masks":
            return [partial(self._mask_of, index) for index in self._get_indices(indices)]
        return [getattr(self.env, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of the environment, which all games share."""
        if len(list(self._get_indices(indices))) != self.num_envs:
            raise ValueError(f"{attr_name}: the games share their attributes, indices must name all of them")
        setattr(self.env, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        """Return the mask of each requested game; single games have only "action_masks"."""
        if method_name != "action_masks" or args or kwargs:
            raise AttributeError(f"env_method {method_name!r}: only 'action_masks' is one, without arguments")
        return [self._mask_of(index) for index in self._get_indices(indices)]

    def _mask_of(self, index: int) -> npt.NDArray[np.bool_]:
        return np.array(self._mask[index])

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:
        """Return False for each game: single games have no wrappers."""
        del wrapper_class
        return [False] * len(list(self._get_indices(indices)))

    def get_images(self) -> Sequence[npt.NDArray[Any] | None]:
        """Return None for each game; render single games with `OthelloEnv`."""
        return [None] * self.num_envs
