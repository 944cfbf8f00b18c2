"""Scores between players and in openings, and statistics of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from training.evaluation.results import score_interval
from training.evaluation.standings import Standings


@dataclass(frozen=True, slots=True)
class Score:
    """Score of a player against another, over complete pairs of games.

    share: of the points, with its 95% interval.
    """

    games: int
    wins: int
    draws: int
    losses: int
    share: float
    interval: tuple[float, float]


def score_between(standings: Standings, first: str, second: str) -> Score | None:
    """Return the score of the first player against the second; None without a complete pair."""
    counts = standings.pair_counts(first, second)
    if not counts.games:
        return None
    return Score(counts.games, counts.wins, counts.draws, counts.losses, counts.score, counts.interval())


@dataclass(frozen=True, slots=True)
class OpeningScore:
    """Score of Black in an opening. share: of the points, with its 95% interval."""

    opening: str
    games: int
    share: float
    interval: tuple[float, float]


def lopsided_openings(standings: Standings, limit: int) -> list[OpeningScore]:
    """Return at most `limit` openings with uneven scores, the clearest first.

    They are ordered by the distance from an even score in standard deviations.
    """
    openings, counts = list(standings.openings), np.array(list(standings.openings.values()), dtype=np.int64).reshape(-1, 3)
    games = counts.sum(axis=1)
    points = counts @ np.array([0.0, 0.5, 1.0])
    clearness = np.abs(points - games / 2) / np.sqrt(np.maximum(games, 1))
    scores = []
    for index in np.argsort(-clearness, kind="stable")[:limit]:
        interval = score_interval(np.repeat([0.0, 0.5, 1.0], counts[index]))
        scores.append(OpeningScore(openings[index], int(games[index]), float(points[index] / games[index]), interval))
    return [score for score in scores if score.share != 0.5]


def quantile(counts: dict[int, int], share: float) -> int:
    """Return the smallest value that is not exceeded by at least this share of all values.

    counts: number of occurrences of each value, not empty.
    """
    wanted, so_far = share * sum(counts.values()), 0
    for value in sorted(counts):
        so_far += counts[value]
        if so_far >= wanted:
            return value
    return max(counts)


def histogram(values: Sequence[float], weights: Sequence[float], edges: Sequence[float]) -> list[float]:
    """Return the share of the weight in each bin; the last bin includes its upper edge."""
    counted, _ = np.histogram(values, bins=np.asarray(edges, dtype=np.float64), weights=np.asarray(weights, dtype=np.float64))
    total = float(sum(weights))
    return [float(count) / total for count in counted]
