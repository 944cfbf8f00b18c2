"""Players of the Othello League in its text format: n-tuple networks that papers published.

The format: the number of groups; for each group the number of squares of a tuple and the number of tuples, the tuples, and the
weights. Squares are 0 to 63; the digits of an index are 0 for white, 1 for empty, 2 for black, the first square first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from agents.base import AfterstateAgent
from agents.ntuple.layout import Group, Layout
from agents.ntuple.network import NTupleNetwork
from othello_env.batch import Afterstates
from othello_env.errors import RecordFormatError
from othello_env.position import BLACK

View = Literal["mover", "black"]

_LARGEST_WEIGHT: Final = 1e100  # sums of these are finite


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
        groups.append(tuple(words.squares(length) for _ in range(tuples)))
        weights.extend(words.number("a weight") for _ in range(3**length))
    words.end()
    return NTupleNetwork(Layout(tuple(groups)), np.array(weights))


def league_agent(file: Path, *, view: View = "mover") -> AfterstateAgent:
    """Plays a published League player one move ahead, ties broken at random. 8x8 only.

    view: "mover" shows the network every position as if the side that moved were black; "black" shows it the colours as they
    are, and White then plays for the lowest value. Raises `FileNotFoundError` or `RecordFormatError`.
    """
    network = parse_league_player(file.read_text(encoding="ascii", errors="replace"), str(file))
    return AfterstateAgent(f"league:{file.name},view={view}", LeagueEvaluator(network, view), board_size=8, sees_colors=view == "black")


@dataclass(frozen=True, slots=True)
class LeagueEvaluator:
    """A network's values, from the view that it was made for."""

    network: NTupleNetwork
    view: View

    def __call__(self, afterstates: Afterstates) -> npt.NDArray[np.floating]:
        """See `AfterstateAgent`."""
        if self.view == "mover":
            return self.network.values(afterstates.own, afterstates.opp)
        is_black = afterstates.side == BLACK
        black = np.where(is_black, afterstates.own, afterstates.opp)
        white = np.where(is_black, afterstates.opp, afterstates.own)
        values: npt.NDArray[np.floating] = np.where(is_black, 1, -1) * self.network.values(black, white)
        return values


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
        if not re.fullmatch("[0-9]{1,9}", word) or not low <= int(word) <= high:
            raise RecordFormatError(f"{self._source}, line {self._line}: {word!r} where {what} belongs, an integer from {low} to {high}")
        return int(word)

    def squares(self, length: int) -> tuple[int, ...]:
        squares = tuple(self.integer("a square", 0, 63) for _ in range(length))
        if len(set(squares)) < length:
            raise RecordFormatError(f"{self._source}, line {self._line}: the tuple {' '.join(map(str, squares))} has a square twice")
        return squares

    def number(self, what: str) -> float:
        word = self._next(what)
        value = float(word) if re.fullmatch(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]{1,3})?", word) else np.inf
        if abs(value) > _LARGEST_WEIGHT:
            raise RecordFormatError(f"{self._source}, line {self._line}: {word!r} where {what} belongs, a number")
        return value

    def end(self) -> None:
        entry = next(self._words, None)
        if entry is not None:
            raise RecordFormatError(f"{self._source}, line {entry[0]}: {entry[1]!r} after the last group")
