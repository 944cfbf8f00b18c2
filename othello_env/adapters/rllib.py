"""RLlib adapter: the AEC environment in the observation format of RLlib's masking example.

RLlib's `PettingZooEnv` takes a PettingZoo environment, and its action-masking module reads
"observations" (plural) and "action_mask" as float32. Ray itself is not imported.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo.utils import BaseWrapper

from othello_env import othello_v0

_RENAMED = {"observation": "observations", "action_mask": "action_mask"}


class RLlibOthello(BaseWrapper[str, dict[str, npt.NDArray[np.float32]], int]):
    """`othello_v0.env(**options)` for `ray.rllib.env.wrappers.pettingzoo_env.PettingZooEnv`.

    Observation: {"observations": planes, "action_mask": (A,)}, both float32; with `flat=True` the
    planes are one vector. Everything else is as in `othello_v0`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(othello_v0.env(**{**options, "dtype": "float32"}))
        self.observation_spaces = {agent: self._convert_space(self.env.observation_space(agent)) for agent in self.possible_agents}

    @staticmethod
    def _convert_space(space: spaces.Dict) -> spaces.Dict:
        boxes: dict[str, gymnasium.Space[Any]] = {new: spaces.Box(0, 1, space[old].shape, np.float32) for old, new in _RENAMED.items()}
        return spaces.Dict(boxes)

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return the space of the renamed observations; the same object on every call."""
        return self.observation_spaces[agent]

    def observe(self, agent: str) -> dict[str, npt.NDArray[np.float32]]:
        """Return the observation of an agent with the renamed keys, as float32."""
        observation = self.env.observe(agent)
        return {new: observation[old].astype(np.float32) for old, new in _RENAMED.items()}
