"""Players of the Othello League in its text format: n-tuple networks that papers published.

The format: the number of groups; for each group the number of squares of a tuple and the number of tuples, the tuples, and the
weights. Squares are 0 to 63; the digits of an index are 0 for white, 1 for empty, 2 for black, the first square first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from agents.base import AfterstateAgent
from agents.ntuple import Group, NTupleNetwork
from othello_env.batch import Afterstates
from othello_env.errors import RecordFormatError
from othello_env.position import BLACK

View = Literal["mover", "black"]


def parse_league_player(text: str, source: str = "player") -> NTupleNetwork:
    """Read a network in the League format. Raises `RecordFormatError` with the line for anything that does not fit.

    source: the name that errors give the text.
    """
    words = _Words(text, source)
    groups: list[Group] = []
    weights: list[float] = []
    for _ in range(words.integer("the number of tuple groups", 1, 10_000)):
        length = words.integer("the number of squares of a tuple", 1, 12)
        tuples = words.integer("the number of tuples", 1, 10_000)
        groups.append(tuple(tuple(words.integer("a square", 0, 63) for _ in range(length)) for _ in range(tuples)))
        weights.extend(words.number("a weight") for _ in range(3**length))
    words.end()
    return NTupleNetwork(tuple(groups), np.array(weights))


def league_agent(file: Path, *, view: View = "mover") -> AfterstateAgent:
    """Plays a published League player one move ahead, ties broken at random. 8x8 only.

    view: "mover" shows the network every position as if the side that moved were black; "black" shows it the colours as they
    are, and White then plays for the lowest value. Raises `FileNotFoundError` or `RecordFormatError`.
    """
    network = parse_league_player(file.read_text(encoding="ascii", errors="replace"), str(file))

    def evaluate(afterstates: Afterstates) -> npt.NDArray[np.floating]:
        if afterstates.board_size != 8:
            raise ValueError(f"{file} plays on 8x8, not on {afterstates.board_size}x{afterstates.board_size}")
        if view == "mover":
            return network.values(afterstates.own, afterstates.opp)
        is_black = afterstates.side == BLACK
        black = np.where(is_black, afterstates.own, afterstates.opp)
        white = np.where(is_black, afterstates.opp, afterstates.own)
        values: npt.NDArray[np.floating] = np.where(is_black, 1, -1) * network.values(black, white)
        return values

    return AfterstateAgent(f"league:{file.name},view={view}", evaluate)


class _Words:
    """The words of a text one by one, each with its line."""

    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._words: Iterator[tuple[int, str]] = (
            (number, word) for number, line in enumerate(text.splitlines(), 1) for word in line.split()
        )
        self._line = 1

    def _next(self, what: str) -> str:
        entry = next(self._words, None)
        if entry is None:
            raise RecordFormatError(f"{self._source}, line {self._line}: ends where {what} belongs")
        self._line, word = entry
        return word

    def integer(self, what: str, low: int, high: int) -> int:
        word = self._next(what)
        if not word.isascii() or not word.isdigit() or not low <= int(word) <= high:
            raise RecordFormatError(f"{self._source}, line {self._line}: {word!r} where {what} belongs, an integer from {low} to {high}")
        return int(word)

    def number(self, what: str) -> float:
        word = self._next(what)
        try:
            value = float(word)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise RecordFormatError(f"{self._source}, line {self._line}: {word!r} where {what} belongs, a number")
        return value

    def end(self) -> None:
        entry = next(self._words, None)
        if entry is not None:
            raise RecordFormatError(f"{self._source}, line {entry[0]}: {entry[1]!r} after the last group")
