"""Openings: the start position, random plies, balanced openings, or a file.

A file has one transcript or position per line.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import cycle, islice
from pathlib import Path
from typing import Final

import numpy as np

from othello_env.errors import RecordFormatError
from othello_env.game import Game
from othello_env.opening import parse_game, parse_opening
from othello_env.position import Position

# Written by `training.evaluation.balanced_openings`; the comment at its top says how.
BALANCED_FILE: Final = Path(__file__).with_name("balanced-8-plies.txt")
BALANCED_BOARD_SIZE: Final = 8

SOURCES: Final = "start, random:PLIES, balanced, or a file with a transcript or position per line"
"""Sources of openings on the command line, for help texts."""


def random_openings(num_openings: int, num_plies: int, *, rng: np.random.Generator, board_size: int = 8) -> list[Position]:
    """Return positions after uniformly random plies from the start; none of them is over.

    Positions may repeat if only few exist.
    """
    start = Position.start(board_size)
    return [Game.random(num_plies, rng, start).final for _ in range(num_openings)]


def load_openings(path: Path, *, board_size: int = 8) -> list[Game]:
    """Read a file with one opening per line, see `parse_opening`.

    Empty lines and comments, from `#` to the end of the line, are ignored. Raises
    `RecordFormatError` with the line for an opening that cannot be read, is over, or is of another
    board size, and for a file without openings; `OSError` for a file that cannot be read.
    """
    return _parse_lines(path.read_bytes(), path, lambda text: parse_opening(text, board_size=board_size), what="openings")


def load_games(path: Path, *, board_size: int = 8) -> list[Game]:
    """Read a file with one game per line, finished or not, in the format of `load_openings`.

    Raises the same errors.
    """
    return _parse_lines(path.read_bytes(), path, lambda text: parse_game(text, board_size=board_size), what="games")


def _parse_lines(content: bytes, path: Path, parse: Callable[[str], Game], *, what: str) -> list[Game]:
    games: list[Game] = []
    # Not `splitlines`, which also splits at characters that editors do not show as line ends, such
    # as U+2028.
    for number, line in enumerate(content.decode("utf-8-sig", errors="replace").split("\n"), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        try:
            games.append(parse(text))
        except ValueError as error:
            raise RecordFormatError(f"{path}, line {number}: {error}") from None
    if not games:
        raise RecordFormatError(f"{path}: no {what} in it")
    return games


@lru_cache
def _balanced_openings() -> tuple[Game, ...]:
    return tuple(load_openings(BALANCED_FILE, board_size=BALANCED_BOARD_SIZE))


class OpeningBook:
    """Numbered openings from a source, without an upper limit, each with the moves that lead to it.

    source: "start"; "random:PLIES", where each opening depends only on the seed and its number;
    "balanced", 8x8 openings of 8 plies in which this project's own search finds neither side ahead,
    distinct up to symmetry, in an order that depends on the seed; or a file for `load_openings`, in
    its order. Lists start again after their last opening. Raises `ValueError` for any other source,
    `OSError` for a file that cannot be read.
    """

    def __init__(self, source: str, *, seed: int = 0, board_size: int = 8) -> None:
        self._source, self._seed = source, seed
        self._start = Position.start(board_size)
        self._num_plies: int | None = None
        self._list: Sequence[Game] = ()
        self.digest = ""
        """SHA-256 of the file, which may have changed since an earlier use; "" for other
        sources."""
        path = Path(source)
        if source == "start":
            self._list = [Game((), self._start)]
        elif source == "balanced":
            if board_size != BALANCED_BOARD_SIZE:
                raise ValueError(f"openings {source!r} are of board_size {BALANCED_BOARD_SIZE}, not {board_size}")
            balanced = _balanced_openings()
            self._list = [balanced[index] for index in np.random.default_rng(seed).permutation(len(balanced))]
        elif random := re.fullmatch("random:([0-9]{1,2})", source):
            self._num_plies = int(random[1])
            self[0]  # raises where all games are over before that
        elif path.exists() and not path.is_dir():
            content = path.read_bytes()
            self.digest = hashlib.sha256(content).hexdigest()
            self._list = _parse_lines(content, path, lambda text: parse_opening(text, board_size=board_size), what="openings")
        else:
            raise ValueError(f"openings {source!r}: expected {SOURCES}")

    def __getitem__(self, number: int) -> Game:
        """Return an opening. number: from 0."""
        if self._num_plies is None:
            return self._list[number % len(self._list)]
        return Game.random(self._num_plies, np.random.default_rng([self._seed, number]), self._start)

    def take(self, num_games: int) -> list[Game]:
        """Return one opening for each pair of games.

        num_games: even; 0 returns every opening of a list, "balanced" or a file, once. Raises
        `ValueError` for any other number.
        """
        if num_games < 0 or num_games % 2:
            raise ValueError(f"games {num_games}: every opening is played twice, so the number must be even, and not negative")
        is_list = self._num_plies is None and self._source != "start"
        if not num_games and not is_list:
            raise ValueError(f"openings {self._source!r} need a number of games")
        if is_list:
            return list(islice(cycle(self._list), num_games // 2 or len(self._list)))
        return [self[number] for number in range(num_games // 2)]


def parse_openings(source: str, num_games: int, *, seed: int, board_size: int = 8) -> list[Game]:
    """Return the openings that a command line names, one for each pair of games.

    See `OpeningBook` and `OpeningBook.take`.
    """
    return OpeningBook(source, seed=seed, board_size=board_size).take(num_games)
