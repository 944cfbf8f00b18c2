"""Games as arrays and token sequences.

Random games, exact labels for every prefix, a strict referee, tokenizers, and files. Games are
arrays of moves [N, T] uint8: squares (0 to `n*n - 1`), written passes (`n*n`) and `PADDING` (255)
after the last move. Only NumPy is needed; with numba (extra `[fast]`) the loops are compiled, with
the same results.
"""

from othello_env.sequences.illegal_reason import IllegalReason
from othello_env.sequences.labeling import Labels, Perspective, label_games
from othello_env.sequences.move_array import PADDING, Moves, pad_games
from othello_env.sequences.passes import omit_passes, write_passes
from othello_env.sequences.random_play import random_games, stream_random_games
from othello_env.sequences.referee import Verdicts, find_illegal_moves
from othello_env.sequences.storage import read_games, write_games
from othello_env.sequences.tokenizer import Orientation, Tokenizer, TokenizerName, make_tokenizer

__all__ = [
    "PADDING",
    "IllegalReason",
    "Labels",
    "Moves",
    "Orientation",
    "Perspective",
    "Tokenizer",
    "TokenizerName",
    "Verdicts",
    "find_illegal_moves",
    "label_games",
    "make_tokenizer",
    "omit_passes",
    "pad_games",
    "random_games",
    "read_games",
    "stream_random_games",
    "write_games",
    "write_passes",
]
