"""Results of two players: counts of color-swapped game pairs, scores and 95% intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Z_95: Final = 1.959964

# [3, 3] the first player's share of the points of a pair, for each outcome of the pair.
_SHARES: Final = np.add.outer(np.arange(3), np.arange(3)) / 4


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """Numbers of game pairs of two players by outcome.

    A pair is an opening played twice, with colors swapped. counts: [3, 3] int64, rows: the first
    player's outcome with Black, columns: with White; 0 a loss, 1 a draw, 2 a win, all from the
    first player's perspective. Raises `ValueError` for any other array.
    """

    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros((3, 3), dtype=np.int64))

    def __post_init__(self) -> None:
        if self.counts.shape != (3, 3) or not np.issubdtype(self.counts.dtype, np.integer) or (self.counts < 0).any():
            raise ValueError(f"pair counts {self.counts.tolist()}: expected [3, 3] integers from 0")

    @classmethod
    def from_scores(cls, scores: npt.NDArray[np.float64]) -> PairCounts:
        """Count pairs.

        scores: [pairs, 2], 1, 0.5 or 0 for the first player with Black and with White.
        """
        counts = np.zeros((3, 3), dtype=np.int64)
        np.add.at(counts, tuple(np.rint(2 * scores).astype(np.int64).T), 1)
        return cls(counts)

    def add(self, with_black: int, with_white: int) -> None:
        """Count one pair by the first player's outcomes: 0 a loss, 1 a draw, 2 a win.

        Raises `ValueError` for other outcomes.
        """
        if not (0 <= with_black <= 2 and 0 <= with_white <= 2):
            raise ValueError(f"outcomes {with_black}, {with_white}: expected 0, 1 or 2")
        self.counts[with_black, with_white] += 1

    def swapped(self) -> PairCounts:
        """Return the same pairs from the second player's perspective."""
        # The second player's outcome with Black is the first player's with White, with wins and
        # losses exchanged.
        return PairCounts(self.counts[::-1, ::-1].T)

    @property
    def num_pairs(self) -> int:
        """Number of pairs."""
        return int(self.counts.sum())

    @property
    def games(self) -> int:
        """Number of games."""
        return 2 * self.num_pairs

    @property
    def wins(self) -> int:
        """Number of games that the first player won."""
        return self._games_with(2)

    @property
    def draws(self) -> int:
        """Number of drawn games."""
        return self._games_with(1)

    @property
    def losses(self) -> int:
        """Number of games that the first player lost."""
        return self._games_with(0)

    def _games_with(self, outcome: int) -> int:
        return int(self.counts[outcome].sum() + self.counts[:, outcome].sum())

    @property
    def score(self) -> float:
        """Share of the points that the first player got, 1/2 for a draw; NaN without games."""
        return float((self.counts * _SHARES).sum() / self.num_pairs) if self.num_pairs else math.nan

    def interval(self, *, distinct_pairs: int | None = None) -> tuple[float, float]:
        """Return the 95% interval of the score, see `score_interval`; (0, 1) without games."""
        if not self.num_pairs:
            return 0.0, 1.0
        return score_interval(np.repeat(_SHARES.ravel(), self.counts.ravel()), distinct_pairs=distinct_pairs)

    @property
    def pentanomial(self) -> npt.NDArray[np.int64]:
        """Numbers of pairs in which the first player got 0, 1/2, 1, 3/2, 2 points: [5] int64."""
        flipped = self.counts[:, ::-1]
        return np.array([flipped.trace(offset) for offset in (2, 1, 0, -1, -2)], dtype=np.int64)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the counts, so that NumPy functions accept the object."""
        return np.array(self.counts, dtype=dtype) if copy or dtype is not None else self.counts


@dataclass(frozen=True, slots=True, eq=False)
class MatchResult:
    """Result of a match, from the first agent's perspective.

    agents: the names. disc_differences: [pairs, 2] int64, own discs minus the opponent's at the end
    of the game with Black and of the game with White. distinct_pairs: number of pairs without
    copies; a copy has the same opening and the same final boards.
    """

    agents: tuple[str, str]
    disc_differences: npt.NDArray[np.int64]
    distinct_pairs: int

    @property
    def scores(self) -> npt.NDArray[np.float64]:
        """Points of the first agent with Black and with White: [pairs, 2] float64, 1, 0.5 or 0."""
        return (np.sign(self.disc_differences) + 1) / 2

    @property
    def pairs(self) -> PairCounts:
        """Pairs by outcome."""
        return PairCounts.from_scores(self.scores)

    @property
    def games(self) -> int:
        """Number of games."""
        return self.disc_differences.size

    @property
    def wins(self) -> int:
        """Number of games that the first agent won."""
        return self.pairs.wins

    @property
    def draws(self) -> int:
        """Number of drawn games."""
        return self.pairs.draws

    @property
    def losses(self) -> int:
        """Number of games that the first agent lost."""
        return self.pairs.losses

    @property
    def score(self) -> float:
        """Share of the points that the first agent got, 1/2 for a draw; NaN without games."""
        return self.pairs.score

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the score; pairs that are copies of each other are one observation."""
        return self.pairs.interval(distinct_pairs=self.distinct_pairs)


def score_interval(pair_scores: npt.NDArray[np.float64], *, distinct_pairs: int | None = None) -> tuple[float, float]:
    """Return the 95% interval for the mean of independent observations between 0 and 1.

    pair_scores: [pairs], the mean score of each pair of games. distinct_pairs: the number of
    independent observations, by default all. The interval is Wilson's (1927), for the number of
    yes/no trials that would vary like the observations. It stays inside [0, 1] and does not shrink
    to a point if all observations are equal, because one observation of the largest possible
    variance is added to the estimate.
    """
    mean = float(pair_scores.mean())
    trials = float(len(pair_scores) if distinct_pairs is None else distinct_pairs)
    largest_variance = mean * (1 - mean)
    if largest_variance > 0:
        variance = float(((pair_scores - mean) ** 2).mean()) + largest_variance / trials
        trials = max(trials * largest_variance / variance, trials)
    center = (mean + Z_95**2 / (2 * trials)) / (1 + Z_95**2 / trials)
    half_width = Z_95 / (1 + Z_95**2 / trials) * math.sqrt(largest_variance / trials + Z_95**2 / (4 * trials**2))
    return max(0.0, center - half_width), min(1.0, center + half_width)
