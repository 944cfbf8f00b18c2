"""Version 0 of the environment: `env`, with the guards that PettingZoo's board games have, and `raw_env`, without them."""

from othello_env.aec_env import env, raw_env

__all__ = ["env", "raw_env"]
