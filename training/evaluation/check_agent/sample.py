"""Sample positions of all kinds that an agent may be asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from othello_env.batch import PositionBatch
from othello_env.bitboard import popcount
from othello_env.game import Game
from othello_env.position import Position

# Moves that lead to a position with 33 legal moves, the maximum in a game.
_MOST_MOVES: Final = "f5d6c4f3c5b4b3e6c6g5f6c7c3d2c2b2f4g4g3g7g6e7d3g2h3b6"


@dataclass(frozen=True, slots=True)
class RandomGames:
    """Positions of random games.

    running: neither over nor a pass. after_pass: the side to move has just moved. over: finished.
    without_auto_pass: all positions of games in which passes are moves, including finished ones.
    """

    running: PositionBatch
    after_pass: PositionBatch
    over: PositionBatch
    without_auto_pass: PositionBatch


def random_games(board_size: int, num_games: int, rng: np.random.Generator) -> RandomGames:
    """Play random games and return their positions."""
    games = PositionBatch.start(num_games, board_size, auto_pass=False)
    stages = [games.copy()]
    passed = [np.zeros(num_games, dtype=np.bool_)]
    while not games.is_over.all():
        passed.append((games.legal_moves == 0) & ~games.is_over)
        games.step(games.sample_moves(rng))
        stages.append(games.copy())
    everything = _concatenate(stages, auto_pass=False)
    resolved = _concatenate(stages, auto_pass=True)
    running_mask = ~resolved.is_over & (everything.legal_moves != 0)
    after_pass = resolved.take(np.concatenate(passed) & ~resolved.is_over)
    return RandomGames(resolved.take(running_mask), after_pass, resolved.take(resolved.is_over), everything)


def _concatenate(batches: Sequence[PositionBatch], *, auto_pass: bool) -> PositionBatch:
    arrays = (np.concatenate([getattr(batch, name) for batch in batches]) for name in ("own", "opp", "side_to_move"))
    return PositionBatch(*arrays, board_size=batches[0].board_size, auto_pass=auto_pass)


def kinds_of_positions(games: RandomGames, board_size: int) -> dict[str, PositionBatch]:
    """Return the positions of each kind by its name; kinds without a position are left out."""
    running, raw = games.running, games.without_auto_pass
    squares = board_size * board_size
    last_disc = [Position.parse(f"-OX{'-' * (squares - 3)}X"), Position.parse(f"{'-' * (squares - 3)}OX-O")]
    wiped_out = [Position.parse(f"{'X' * 5}{'-' * (squares - 5)}{side}") for side in "XO"]
    full = [Position.parse(f"{'X' * squares}{side}") for side in "XO"]
    kinds = {
        "positions of all stages": running,
        "positions with a single move": running.take(popcount(running.legal_moves) == 1),
        "positions after a pass, in which a side moves twice": games.after_pass,
        "finished games": games.over,
        "positions in which the side to move must pass (auto_pass=False)": raw.take((raw.legal_moves == 0) & ~raw.is_over),
        "finished games (auto_pass=False)": raw.take(raw.is_over),
        "positions in which a move flips the last disc": PositionBatch.from_positions(last_disc),
        "boards with discs of one side only": PositionBatch.from_positions(wiped_out),
        "full boards": PositionBatch.from_positions(full),
    }
    if board_size == 8:
        kinds["a position with 33 moves"] = PositionBatch.from_positions([Game.parse(_MOST_MOVES).final])
    return {about: positions for about, positions in kinds.items() if len(positions)}


def spread(length: int, most: int) -> npt.NDArray[np.int64]:
    """Return at most `most` indices below a length, evenly spaced."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).astype(np.int64)) if length else np.zeros(0, dtype=np.int64)
