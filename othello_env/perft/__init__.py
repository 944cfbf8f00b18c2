"""Perft: the number of move sequences of a given length, the standard test of a move generator.

`python -m othello_env.perft 9` counts from the start position. Published counts differ in how they
count passes: `passes="ply"` counts a forced pass as one ply (aartbik, Egaroucid mode 1),
`passes="free"` does not count it (Egaroucid mode 2). In both, a game that ends before the full
depth counts as one sequence.
"""

from __future__ import annotations

from typing import Any, Final, Literal, get_args

import numpy as np

from othello_env import backend
from othello_env.batch import PositionBatch
from othello_env.bitboard import popcount
from othello_env.position import Position

Passes = Literal["ply", "free"]

# Largest depth for which compiled code is not loaded.
_SHALLOW: Final = 6
# Largest depth of one call of compiled code, which takes tenths of a second: Ctrl-C cannot
# interrupt it.
_COMPILED: Final = 9

# Positions expanded at once. The limit keeps memory constant: each level has about 10 times as many
# positions as the one before.
_WIDTH = 16384


def perft(position: Position, depth: int, passes: Passes = "ply") -> int:
    """Return the number of move sequences of `depth` plies from `position`.

    Raises `ValueError` for a negative depth or an unknown convention.
    """
    if depth < 0:
        raise ValueError(f"depth {depth}: must not be negative")
    if passes not in get_args(Passes):
        raise ValueError(f"passes {passes!r}: expected one of {', '.join(get_args(Passes))}")
    compiled = backend.compiled(backend.WORTHWHILE) if depth > _SHALLOW else None
    return _count(PositionBatch.from_positions([position], auto_pass=passes == "free"), depth, compiled)


def _count(batch: PositionBatch, depth: int, compiled: Any) -> int:
    if depth == 0:
        return len(batch)
    if compiled is not None and depth <= _COMPILED:
        words = compiled.GEOMETRY[batch.board_size]
        return sum(compiled.perft(own, opp, depth, not batch.auto_pass, words) for own, opp in zip(batch.own, batch.opp, strict=True))
    if depth == 1:  # where nothing can be placed, the pass or the end of the game is the one sequence
        return int(np.maximum(popcount(batch.legal_moves), 1).sum(dtype=np.int64))
    over = int(batch.is_over.sum())
    children = batch.children()
    rows = np.arange(len(children))
    return over + sum(_count(children.take(rows[start : start + _WIDTH]), depth - 1, compiled) for start in range(0, len(rows), _WIDTH))
