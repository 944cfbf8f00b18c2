"""othello-env: Othello (Reversi) for reinforcement learning.

`Position`, `PositionBatch` and `Game` implement the rules; `othello_v0` is the PettingZoo
environment. `OthelloEnv` and `OthelloVectorEnv` are for one learner against an opponent,
`OthelloSelfPlayVectorEnv` is for self-play in batched games.
"""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version

from othello_env import othello_v0
from othello_env.agent import Agent, AgentError
from othello_env.backend import use_compiled, use_numpy
from othello_env.batch import PositionBatch
from othello_env.errors import IllegalMoveError, RecordFormatError
from othello_env.game import Game
from othello_env.gym_env import OthelloEnv
from othello_env.position import BLACK, WHITE, Position
from othello_env.registration import register
from othello_env.rendering import svg as _svg  # noqa: F401  (lets notebooks show positions and games)
from othello_env.squares import PASS
from othello_env.vector_env import OthelloSelfPlayVectorEnv, OthelloVectorEnv, sample_legal

__all__ = [
    "BLACK",
    "PASS",
    "WHITE",
    "Agent",
    "AgentError",
    "Game",
    "IllegalMoveError",
    "OthelloEnv",
    "OthelloSelfPlayVectorEnv",
    "OthelloVectorEnv",
    "Position",
    "PositionBatch",
    "RecordFormatError",
    "__version__",
    "othello_v0",
    "sample_legal",
    "use_compiled",
    "use_numpy",
]

try:
    __version__ = _version("othello-env")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0+unknown"

register()
