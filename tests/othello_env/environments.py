"""All environments in one form, for tests of what they share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import gymnasium
import numpy as np

from othello_env import OthelloEnv, OthelloSelfPlayVectorEnv, OthelloVectorEnv, Position, PositionBatch, othello_v0
from othello_env.rendering.modes import Renderer


def first_legal(observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> Any:
    """Opponent that plays the first legal square, in one game or in each of many, and draws from the generator."""
    rng.random()
    return mask.argmax(axis=-1)


# Two games in the vector environments. The learner, where there is one, has black.
MAKERS: Final[dict[str, Callable[..., Any]]] = {
    "env": othello_v0.env,
    "raw_env": othello_v0.raw_env,
    "OthelloEnv": partial(OthelloEnv, color="black", opponent=first_legal),
    "OthelloSelfPlayVectorEnv": partial(OthelloSelfPlayVectorEnv, 2),
    "OthelloVectorEnv": partial(OthelloVectorEnv, 2, color="black", opponent=first_legal),
}
KINDS: Final = list(MAKERS)
VECTORS: Final = [kind for kind in KINDS if kind.endswith("VectorEnv")]
SINGLES: Final = [kind for kind in KINDS if kind not in VECTORS]
# The name of each environment in messages.
NAMES: Final = {kind: "othello_v0" if kind in ("env", "raw_env") else kind for kind in KINDS}

# Black passes after these eight moves; after the other eight it wins with c7, which takes the last
# disc.
PASS_AFTER_EIGHT: Final = "f5f6d3g5h5h4f7h6"
WON_BY_C7: Final = "f5f4c3c6c5d6f3c4"
C7: Final = 50


def play(env: Any, action: Any) -> Any:
    """Play an action; in all games of a vector environment."""
    return env.step([action] * env.num_envs if hasattr(env, "num_envs") else action)


def position_of(env: Any) -> Position:
    """The position of the game; of all games, which must be the same, in a vector environment."""
    positions = set(env.positions) if hasattr(env, "positions") else {env.position}
    assert len(positions) == 1
    position: Position = positions.pop()
    return position


def prepared(kind: str, **options: Any) -> Any:
    """An environment in the middle of a game."""
    env = MAKERS[kind](**options)
    env.reset(seed=3)
    for _ in range(2):
        play(env, position_of(env).legal_squares()[0])
    return env


def _plain(value: Any) -> str:
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, PositionBatch):
        return repr([getattr(value, name).tolist() for name in ("own", "opp", "side_to_move", "legal_moves", "is_over")])
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)


def snapshot(env: Any) -> dict[str, str]:
    """The attributes of an environment that may change, in a form that is equal for equal states."""
    fixed = (gymnasium.Space, Renderer, type(gymnasium.spaces))
    kept = {name: value for name, value in vars(env.unwrapped).items() if not (isinstance(value, fixed) or name.endswith("_spaces"))}
    return {name: _plain(value) for name, value in kept.items() if not callable(value)}
