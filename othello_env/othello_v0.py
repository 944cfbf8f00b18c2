"""Version 0 of the environment.

`env` has the checks of PettingZoo's board games; `raw_env` is without them.
"""

from othello_env.aec_env import env, raw_env

__all__ = ["env", "raw_env"]
