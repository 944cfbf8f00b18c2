"""othello-env: Othello (Reversi) for reinforcement learning.

`Position`, `PositionBatch` and `Game` are the rules; `othello_v0` is the PettingZoo environment.
"""

from othello_env import othello_v0
from othello_env.batch import PositionBatch
from othello_env.errors import IllegalMoveError, RecordFormatError
from othello_env.game import Game
from othello_env.perft import perft
from othello_env.position import BLACK, WHITE, Position
from othello_env.registration import register
from othello_env.squares import PASS

__all__ = ["BLACK", "PASS", "WHITE", "Game", "IllegalMoveError", "Position", "PositionBatch", "RecordFormatError", "othello_v0", "perft"]

register()
