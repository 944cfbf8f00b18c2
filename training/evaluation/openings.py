"""Where games start: random plies, or a file of transcripts or positions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from othello_env.errors import RecordFormatError
from othello_env.game import Game
from othello_env.position import Position
from othello_env.squares import BOARD_SIZES


def random_openings(num_openings: int, num_plies: int, rng: np.random.Generator, *, board_size: int = 8) -> list[Position]:
    """Positions after uniformly random plies from the start, none of them over. They may repeat where few plies allow few."""
    start = Position.start(board_size)
    return [Game.random(num_plies, rng, start).final for _ in range(num_openings)]


def load_openings(path: Path) -> list[Position]:
    """Read a file with one opening a line: a transcript ("f5d6c3") or a position ("---...--- X").

    Empty lines and what follows a `#` do not count. Raises `RecordFormatError` with the line for an opening that cannot be read,
    is over, or differs in board size from those before, and for a file without openings.
    """
    openings: list[Position] = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        try:
            openings.append(_parse_opening(text))
        except ValueError as error:
            raise RecordFormatError(f"{path}, line {number}: {error}") from None
        if openings[-1].is_over or openings[-1].board_size != openings[0].board_size:
            raise RecordFormatError(f"{path}, line {number}: the game is over, or the board size differs, in {text}")
    if not openings:
        raise RecordFormatError(f"{path}: no openings in it")
    return openings


def _parse_opening(text: str) -> Position:
    squares, *side = text.split()
    if len(side) == 1 and len(squares) in {n * n for n in BOARD_SIZES}:
        return Position.parse(text)
    return Game.parse(text).final
