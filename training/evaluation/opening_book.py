"""Openings by number, each with the moves that lead to it: what a tournament needs to be cut into blocks."""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from pathlib import Path

import numpy as np

from othello_env.game import Game
from othello_env.position import Position
from training.evaluation.openings import BALANCED_FILE, load_opening_games


class OpeningBook:
    """The openings that a source names: as many as are asked for.

    source: "start", "random:PLIES", "balanced", or a file of transcripts or positions, which is gone through from the top as often as
    needed. seed: of random ones, and of the order of the balanced ones. Raises `ValueError` or `OSError` for what is no such source.
    """

    def __init__(self, source: str, *, seed: int = 0, board_size: int = 8) -> None:
        self._source, self._seed = source, seed
        self._start = Position.start(board_size)
        self._random_plies: int | None = None
        if random := re.fullmatch("random:([0-9]{1,2})", source):
            self._random_plies = int(random[1])
            self.game(0)  # raises where games are over before that
        elif source.startswith("random:"):
            raise ValueError(f"openings {source!r}: expected a number of plies after random:")
        else:
            _ = self._games

    @cached_property
    def _games(self) -> list[Game]:
        if self._source == "start":
            return [Game((), self._start)]
        if self._source == "balanced":
            if self._start.board_size != 8:
                raise ValueError(f"openings {self._source!r} are of board_size 8, not {self._start.board_size}")
            games = load_opening_games(BALANCED_FILE)
            return [games[index] for index in np.random.default_rng(self._seed).permutation(len(games))]
        return load_opening_games(Path(self._source), board_size=self._start.board_size)

    @property
    def digest(self) -> str:
        """What tells openings of one source from those it had before: "" where it never changes, else a SHA-256."""
        path = Path(self._source)
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""

    def game(self, number: int) -> Game:
        """The moves to an opening, from the start position where they are known."""
        if self._random_plies is None:
            return self._games[number % len(self._games)]
        return Game.random(self._random_plies, np.random.default_rng([self._seed, number]), self._start)
