"""Where games start: random plies, balanced openings, or a file of transcripts or positions."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import cycle, islice
from pathlib import Path
from typing import Final

import numpy as np

from othello_env.errors import RecordFormatError
from othello_env.game import Game
from othello_env.position import Position

# What `training.evaluation.balanced_openings` found. The head of the file says how.
BALANCED_FILE: Final = Path(__file__).with_name("balanced-8-plies.txt")


def random_openings(num_openings: int, num_plies: int, *, rng: np.random.Generator, board_size: int = 8) -> list[Position]:
    """Positions after uniformly random plies from the start, none of them over. They may repeat where few plies allow few."""
    start = Position.start(board_size)
    return [Game.random(num_plies, rng, start).final for _ in range(num_openings)]


def load_openings(path: Path, *, board_size: int = 8) -> list[Position]:
    """The positions of a file of openings, see `load_opening_games`."""
    return [game.final for game in load_opening_games(path, board_size=board_size)]


def load_opening_games(path: Path, *, board_size: int = 8) -> list[Game]:
    """Read a file with one opening a line: a transcript ("f5d6c3") or a position ("---...--- X"), a game without moves then.

    Empty lines and what follows a `#` do not count. Raises `RecordFormatError` with the line for an opening that cannot be read,
    is over, or is of another board size, and for a file without openings; `OSError` for a file that cannot be read.
    """
    openings: list[Game] = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig", errors="replace").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        try:
            # A transcript has digits, a position has none.
            opening = Game.parse(text, Position.start(board_size)) if re.search("[0-9]", text) else Game((), Position.parse(text))
        except ValueError as error:
            raise RecordFormatError(f"{path}, line {number}: {error}") from None
        if opening.final.is_over or opening.final.board_size != board_size:
            raise RecordFormatError(f"{path}, line {number}: {text} is over, or not of board size {board_size}")
        openings.append(opening)
    if not openings:
        raise RecordFormatError(f"{path}: no openings in it")
    return openings


@lru_cache
def _all_balanced() -> tuple[Position, ...]:
    return tuple(load_openings(BALANCED_FILE))


def balanced_openings(num_openings: int, *, rng: np.random.Generator) -> list[Position]:
    """8x8 positions after 8 plies of which our own search finds neither side ahead, from `BALANCED_FILE`, in random order.

    num_openings: 0 for all of them. No two are the same, up to symmetry, as long as there are enough; then they come around again.
    """
    openings = _all_balanced()
    order = rng.permutation(len(openings))
    return [openings[index] for index in islice(cycle(order), num_openings or len(order))]


def parse_openings(source: str, num_games: int, *, seed: int, board_size: int = 8) -> list[Position]:
    """Openings as command lines name them, one for each pair of games.

    source: "start", "random:PLIES", "balanced" for `balanced_openings` in an order that the seed decides, or a file for
    `load_openings`, which is gone through from the top as often as needed. num_games: even; 0 plays every balanced opening, or
    every opening of a file, once. Raises `ValueError` or `OSError`.
    """
    if num_games < 0 or num_games % 2:
        raise ValueError(f"games {num_games}: every opening is played twice, so the number must be even, and not negative")
    random = re.fullmatch("random:([0-9]{1,2})", source)
    if source == "balanced":
        if board_size != 8:
            raise ValueError(f"openings {source!r} are of board_size 8, not {board_size}")
        return balanced_openings(num_games // 2, rng=np.random.default_rng(seed))
    if source != "start" and not random:
        if source.startswith("random:"):
            raise ValueError(f"openings {source!r}: expected a number of plies after random:")
        openings = load_openings(Path(source), board_size=board_size)
        return list(islice(cycle(openings), num_games // 2 or len(openings)))
    if not num_games:
        raise ValueError(f"openings {source!r} need a number of games")
    if random:
        return random_openings(num_games // 2, int(random[1]), rng=np.random.default_rng(seed), board_size=board_size)
    return [Position.start(board_size)] * (num_games // 2)
