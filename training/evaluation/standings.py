"""Standings of a tournament.

Their memory grows with the numbers of players and openings, not with the number of games.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from training.evaluation.journal import GameRecord
from training.evaluation.results import PairCounts

# Maximum number of openings that are counted separately; a million would fill the memory.
MAX_OPENINGS: Final = 20_000


@dataclass(slots=True)
class PlayerTotals:
    """Totals of one player.

    with_black, with_white: [3] numbers of losses, draws, wins. disc_difference: own discs minus the
    opponents'. seconds: thinking time. faults: numbers of games lost by faults, by reason.
    """

    with_black: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, dtype=np.int64))
    with_white: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, dtype=np.int64))
    disc_difference: int = 0
    seconds: float = 0.0
    faults: dict[str, int] = field(default_factory=dict)

    @property
    def games(self) -> int:
        """Number of games."""
        return int(self.with_black.sum() + self.with_white.sum())

    @property
    def points(self) -> float:
        """Number of wins, plus half the number of draws."""
        both = self.with_black + self.with_white
        return float(both[2] + both[1] / 2)


@dataclass(slots=True)
class Standings:
    """Results of a tournament so far.

    players: in the order of their first appearance. pairs: the complete game pairs of each two
    players that met; the key begins with the one that comes first in `players`. games: number of
    games. colors: [3] numbers of White's wins, draws, Black's wins. openings: the same three
    numbers for each of the first `MAX_OPENINGS` openings. incomplete: the games of pairs whose
    other game is missing. reasons: numbers of games by the reason why they ended.
    """

    players: list[str] = field(default_factory=list)
    pairs: dict[tuple[str, str], PairCounts] = field(default_factory=dict)
    totals: dict[str, PlayerTotals] = field(default_factory=dict)
    games: int = 0
    colors: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, dtype=np.int64))
    openings: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    incomplete: dict[int, GameRecord] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[dict[str, Any] | GameRecord]) -> Standings:
        """Return the results of a journal, as yielded by `read_journal`."""
        standings = cls()
        for entry in entries:
            if isinstance(entry, GameRecord):
                standings.add(entry)
        return standings

    def add_players(self, names: Iterable[str]) -> None:
        """Add players that have not been added yet, in this order."""
        for name in names:
            if name not in self.totals:
                self.players.append(name)
                self.totals[name] = PlayerTotals()

    def add(self, record: GameRecord) -> None:
        """Count a game."""
        self.add_players((record.black, record.white))
        black_result = round(2 * record.black_score)
        self.games += 1
        self.colors[black_result] += 1
        if record.opening in self.openings or len(self.openings) < MAX_OPENINGS:
            self.openings.setdefault(record.opening, np.zeros(3, dtype=np.int64))[black_result] += 1
        self.reasons[record.reason] = self.reasons.get(record.reason, 0) + 1
        black, white = self.totals[record.black], self.totals[record.white]
        black.with_black[black_result] += 1
        white.with_white[2 - black_result] += 1
        black.disc_difference += record.disc_difference
        white.disc_difference -= record.disc_difference
        black.seconds += record.seconds[0]
        white.seconds += record.seconds[1]
        if record.reason != "played out":
            loser = white if black_result == 2 else black
            loser.faults[record.reason] = loser.faults.get(record.reason, 0) + 1
        other = self.incomplete.pop(record.game ^ 1, None)
        if other is None:
            self.incomplete[record.game] = record
        else:
            self._add_pair(record, other)

    def _add_pair(self, one: GameRecord, other: GameRecord) -> None:
        first, second = sorted((one.black, one.white), key=self.players.index)
        with_black, with_white = (one, other) if one.black == first else (other, one)
        counts = self.pairs.setdefault((first, second), PairCounts())
        counts.add(round(2 * with_black.black_score), 2 - round(2 * with_white.black_score))

    def pair_counts(self, first: str, second: str) -> PairCounts:
        """Return the game pairs of two players from the first one's perspective.

        All counts are zero if the players have not met.
        """
        if (second, first) in self.pairs:
            return self.pairs[second, first].swapped()
        return self.pairs.get((first, second), PairCounts())
