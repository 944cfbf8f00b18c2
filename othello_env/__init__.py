"""othello-env: Othello (Reversi) for reinforcement learning.

`Position`, `PositionBatch` and `Game` are the rules; `othello_v0` is the PettingZoo environment. `OthelloEnv` and
`OthelloVsOpponentVectorEnv` give one learner an opponent, `OthelloVectorEnv` is self-play in many games at once.
"""

from othello_env import othello_v0
from othello_env.backend import use_compiled, use_numpy
from othello_env.batch import PositionBatch
from othello_env.errors import IllegalMoveError, OpponentError, RecordFormatError
from othello_env.game import Game
from othello_env.gym_env import OthelloEnv
from othello_env.perft import perft
from othello_env.position import BLACK, WHITE, Position
from othello_env.registration import register
from othello_env.squares import PASS
from othello_env.vector_env import OthelloVectorEnv, OthelloVsOpponentVectorEnv, sample_legal

__all__ = [
    "BLACK",
    "PASS",
    "WHITE",
    "Game",
    "IllegalMoveError",
    "OpponentError",
    "OthelloEnv",
    "OthelloVectorEnv",
    "OthelloVsOpponentVectorEnv",
    "Position",
    "PositionBatch",
    "RecordFormatError",
    "othello_v0",
    "perft",
    "sample_legal",
    "use_compiled",
    "use_numpy",
]

register()
