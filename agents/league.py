"""Players of the Othello League: published n-tuple networks in the League's text format.

A file contains the number of groups and, for each group, the number of squares per tuple, the
number of tuples, the tuples, and the weights, which all tuples of the group share. Squares are
numbered 0 to 63. The index of a weight is a base-3 number with one digit per square of the tuple,
most significant first: 0 for white, 1 for empty, 2 for black. Braces around the file, groups,
tuples and weights are optional.
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
_LONGEST_SHOWN: Final = 40  # characters of a word in an error message


def load_league_player(file: Path) -> NTupleNetwork:
    """Read a network from a file in the League format. Raises `OSError` or `RecordFormatError`."""
    return parse_league_player(file.read_text(encoding="utf-8-sig", errors="replace"), str(file))


def parse_league_player(text: str, source: str = "player") -> NTupleNetwork:
    """Parse a network in the League format.

    source: name of the text in error messages. Raises `RecordFormatError` with line and column for
    invalid text.
    """
    words = _Words(text, source)
    groups: list[Group] = []
    weights: list[float] = []
    words.skip_braces()
    for _ in range(words.integer("the number of tuple groups", 1, 10_000)):
        words.skip_braces()
        length = words.integer("the number of squares of a tuple", 1, 12)
        num_tuples = words.integer("the number of tuples", 1, 10_000)
        groups.append(tuple(words.squares(length) for _ in range(num_tuples)))
        words.skip_braces()
        weights.extend(words.number("a weight") for _ in range(3**length))
    words.end()
    return NTupleNetwork(Layout(tuple(groups)), np.array(weights))


def league_agent(file: Path, *, view: View = "mover") -> AfterstateAgent:
    """Return the agent that plays a published League player one move ahead, 8x8 only.

    Ties are broken at random. view: "mover" presents every position to the network as if the side
    that moved were black; "black" presents the actual colors, and White minimizes the value. Raises
    `OSError` or `RecordFormatError`.
    """
    name = f"league:{file.name},view={view}"
    return AfterstateAgent(name, LeagueEvaluator(load_league_player(file), view), board_size=8, sees_colors=view == "black")


@dataclass(frozen=True, slots=True)
class LeagueEvaluator:
    """Values of a network with the view for which it was trained; see `league_agent`."""

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
    """Reads the words of a text one by one; braces are words of their own."""

    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._words: Iterator[tuple[str, str]] = (
            (match[0], f"line {number}, column {match.start() + 1}")
            for number, line in enumerate(text.split("\n"), 1)
            for match in re.finditer(r"[{}]|[^\s{}]+", line)
        )
        self._word, self._place = "", "line 1"
        self._open_braces: list[str] = []  # their places
        self._advance()

    def _advance(self) -> None:
        """Move to the next word, or to an empty word at the end of the text."""
        self._word, self._place = next(self._words, ("", self._place))

    def _error(self, message: str) -> RecordFormatError:
        return RecordFormatError(f"{self._source}, {self._place}: {message}")

    def _misplaced(self, expected: str, allowed: str) -> RecordFormatError:
        shown = self._word if len(self._word) <= _LONGEST_SHOWN else f"{self._word[:_LONGEST_SHOWN]}..."
        return self._error(f"{repr(shown) if shown else 'the text ends'} where {expected} belongs, {allowed}")

    def skip_braces(self) -> None:
        """Skip braces between two items. They are optional but must be balanced."""
        while self._word in ("{", "}"):
            if self._word == "{":
                self._open_braces.append(self._place)
            elif self._open_braces:
                self._open_braces.pop()
            else:
                raise self._error("'}' without a '{' before it")
            self._advance()

    def integer(self, name: str, low: int, high: int) -> int:
        word = self._word
        if not re.fullmatch("[0-9]{1,9}", word) or not low <= int(word) <= high:
            raise self._misplaced(name, f"an integer from {low} to {high}")
        self._advance()
        return int(word)

    def squares(self, length: int) -> tuple[int, ...]:
        self.skip_braces()
        place = self._place
        squares = tuple(self.integer("a square", 0, 63) for _ in range(length))
        if len(set(squares)) < length:
            self._place = place
            raise self._error(f"the tuple {' '.join(map(str, squares))} has a square twice")
        return squares

    def number(self, name: str) -> float:
        word = self._word
        value = float(word) if re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?", word) else np.inf
        if abs(value) > _LARGEST_WEIGHT:
            raise self._misplaced(name, "a number")
        self._advance()
        return value

    def end(self) -> None:
        self.skip_braces()
        if self._word:
            raise self._misplaced("the end", "after the last group")
        if self._open_braces:
            raise self._error(f"the text ends without the '}}' for the '{{' in {self._open_braces[-1]}")
