"""What a report tells of a tournament, from one pass over its journal, in memory that does not grow with the number of games."""

from __future__ import annotations

import heapq
import shlex
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np

from othello_env.errors import RecordFormatError
from othello_env.game import Game
from training.evaluation.accuracy import BandAccuracy
from training.evaluation.journal import GameRecord
from training.evaluation.ratings import Ratings
from training.evaluation.results import score_interval
from training.evaluation.standings import Standings
from training.evaluation.tournament import DEFAULT_MOVE_SECONDS, read_settings

# Sessions that are kept besides the first: one that is killed again and again has thousands.
_SESSIONS: Final = 19
# Games lost by faults that are kept: for each player and reason, and in all.
_FAULTS_OF_A_KIND: Final = 10
_FAULTS: Final = 100


def is_fault(record: GameRecord) -> bool:
    """Whether a side lost the game by a fault: an illegal move, an error, its time."""
    return record.reason != "played out"


def loser(record: GameRecord) -> str:
    """Who lost a game that was lost by a fault."""
    return record.black if record.black_score == 0 else record.white


class GameSample:
    """Games picked as evenly as possible over the pairings, always the same ones, in whatever order they come.

    Both games of a pair are picked one after the other. At most `2 * limit` games are held.
    """

    def __init__(self, limit: int) -> None:
        self._bound = 2 * limit
        self._count = 0
        self._kept: dict[tuple[str, str], list[tuple[int, int, GameRecord]]] = {}
        self._cut: set[tuple[str, str]] = set()  # pairings of which a game was let go: only what comes before the others can enter

    def add(self, record: GameRecord) -> None:
        """Offer a game."""
        pairing = (min(record.black, record.white), max(record.black, record.white))
        kept = self._kept.setdefault(pairing, [])
        entry = (crc32(b"%d" % (record.game // 2)), record.game, record)
        if pairing in self._cut and (not kept or entry[:2] > kept[-1][:2]):
            return
        insort(kept, entry, key=lambda one: one[:2])
        self._count += 1
        if self._count > self._bound:
            fullest = max(self._kept, key=lambda one: len(self._kept[one]))
            self._kept[fullest].pop()
            self._cut.add(fullest)
            self._count -= 1

    def games(self, limit: int) -> list[GameRecord]:
        """At most so many of them, in the order of their numbers."""
        ranked = [(rank // 2, *entry) for kept in self._kept.values() for rank, entry in enumerate(kept)]
        ranked.sort(key=lambda one: one[:3])
        return sorted((record for *_, record in ranked[:limit]), key=lambda record: record.game)


class DistinctCount:
    """How many different texts there were: exact for fewer than `size`, then an estimate that is off by about `1 / sqrt(size)`.

    Keeps the smallest hashes: how close they lie tells how many there are (Bar-Yossef et al., Counting distinct elements in a data
    stream, 2002).
    """

    def __init__(self, size: int = 1 << 14) -> None:
        self._size = size
        self._negated: list[int] = []  # a heap with the largest of the hashes on top
        self._hashes: set[int] = set()

    def add(self, text: str) -> None:
        """Count a text."""
        value = int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "big")
        if value in self._hashes:
            return
        if len(self._negated) < self._size:
            heapq.heappush(self._negated, -value)
            self._hashes.add(value)
        elif value < -self._negated[0]:
            self._hashes.remove(-heapq.heappushpop(self._negated, -value))
            self._hashes.add(value)

    @property
    def is_exact(self) -> bool:
        """Whether the estimate is no estimate."""
        return len(self._negated) < self._size

    @property
    def estimate(self) -> int:
        """The number of different texts."""
        return len(self._negated) if self.is_exact else round((self._size - 1) / (-self._negated[0] / 2.0**64))


@dataclass(slots=True)
class Summary:
    """A tournament's results and what else its report tells.

    sample_limit: how many games `sample` shall be good for. sessions: the first and the last ones; num_sessions: how many there
    were. first_ended, last_ended: when the first and the last game ended. differences: for each player how often each disc
    difference, from its own view, came about. plies: the moves of both sides in each player's games. slowest: for each player the
    most seconds that it took for a game, and which. prefixes: the transcripts that lead to openings. faults: some of the games that
    were lost by faults.
    """

    sample_limit: int
    standings: Standings = field(default_factory=Standings)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    num_sessions: int = 0
    first_ended: str = ""
    last_ended: str = ""
    differences: dict[str, dict[int, int]] = field(default_factory=dict)
    plies: dict[str, int] = field(default_factory=dict)
    slowest: dict[str, tuple[float, int]] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)
    faults: list[GameRecord] = field(default_factory=list)
    distinct: DistinctCount = field(default_factory=DistinctCount)
    sample: GameSample = field(init=False)

    def __post_init__(self) -> None:
        self.sample = GameSample(self.sample_limit)

    def add_session(self, session: dict[str, Any]) -> None:
        """Count a session."""
        self.num_sessions += 1
        self.sessions.append(session)
        if len(self.sessions) > _SESSIONS + 1:
            del self.sessions[1]
        settings = session.get("settings")
        players = settings.get("players") if isinstance(settings, dict) else None
        if isinstance(players, list):
            self.standings.add_players(name for name in players if isinstance(name, str))

    def add(self, record: GameRecord) -> None:
        """Count a game."""
        self.standings.add(record)
        self.first_ended = min(self.first_ended or record.ended, record.ended)
        self.last_ended = max(self.last_ended, record.ended)
        for name, own_difference, seconds in (
            (record.black, record.disc_difference, record.seconds[0]),
            (record.white, -record.disc_difference, record.seconds[1]),
        ):
            counts = self.differences.setdefault(name, {})
            counts[own_difference] = counts.get(own_difference, 0) + 1
            self.plies[name] = self.plies.get(name, 0) + len(record.moves) // 2
            if seconds > self.slowest.get(name, (-1.0, 0))[0]:
                self.slowest[name] = (seconds, record.game)
        if record.prefix and record.opening in self.standings.openings:
            self.prefixes.setdefault(record.opening, record.prefix)
        if is_fault(record):
            alike = sum(loser(one) == loser(record) and one.reason == record.reason for one in self.faults)
            if alike < _FAULTS_OF_A_KIND and len(self.faults) < _FAULTS:
                self.faults.append(record)
        self.distinct.add(f"{record.black}\0{record.white}\0{record.opening}\0{record.moves}")
        self.sample.add(record)

    def seconds_per_move(self, name: str) -> float | None:
        """What a player took for a move, on average; it is taken to have made half of the moves of its games. None without moves."""
        plies = self.plies.get(name, 0)
        return 2 * self.standings.totals[name].seconds / plies if plies else None


@dataclass(frozen=True, slots=True)
class Score:
    """The share of the points that a player got against another, with its 95% interval, over `games` games in pairs."""

    games: int
    share: float
    low: float
    high: float


def score_between(standings: Standings, first: str, second: str) -> Score | None:
    """The first player's score against the second; None where they have no complete pair of games."""
    counts = standings.pair_counts(first, second)
    return Score(counts.games, counts.score, *counts.interval()) if counts.games else None


@dataclass(frozen=True, slots=True)
class OpeningScore:
    """How an opening went: Black's share of the points, with its 95% interval."""

    opening: str
    games: int
    share: float
    low: float
    high: float


def lopsided_openings(standings: Standings, limit: int) -> list[OpeningScore]:
    """The openings that differ most from an even score, as far as their number of games tells; the clearest first."""
    openings, counts = list(standings.openings), np.array(list(standings.openings.values()), dtype=np.int64).reshape(-1, 3)
    games = counts.sum(axis=1)
    points = counts @ np.array([0.0, 0.5, 1.0])
    clearness = np.abs(points - games / 2) / np.sqrt(np.maximum(games, 1))
    scores = []
    for index in np.argsort(-clearness, kind="stable")[:limit]:
        low, high = score_interval(np.repeat([0.0, 0.5, 1.0], counts[index]))
        scores.append(OpeningScore(openings[index], int(games[index]), float(points[index] / games[index]), low, high))
    return [score for score in scores if score.share != 0.5]


def quantile(counts: dict[int, int], share: float) -> int:
    """The smallest value that at least this share of all values do not exceed. counts: how often each value came, not empty."""
    wanted, so_far = share * sum(counts.values()), 0
    for value in sorted(counts):
        so_far += counts[value]
        if so_far >= wanted:
            return value
    return max(counts)


def histogram(values: Sequence[float], weights: Sequence[float], edges: Sequence[float]) -> list[float]:
    """The share of the weight in each bin, the last one with its upper edge."""
    counted, _ = np.histogram(values, bins=np.asarray(edges, dtype=np.float64), weights=np.asarray(weights, dtype=np.float64))
    total = float(sum(weights))
    return [float(count) / total for count in counted]


@dataclass(frozen=True, slots=True)
class Report:
    """All that the page, the Markdown and the tables show.

    journal: the file's name. order: the players, best first. accuracy: for each player its endgame moves by bands of empties; empty
    where they were not judged. accuracy_note: a sentence on that. games, replays: the games that can be looked at, and each of them
    played through.
    """

    journal: str
    summary: Summary
    ratings: Ratings
    accuracy: dict[str, tuple[BandAccuracy, ...]]
    accuracy_note: str
    games: tuple[GameRecord, ...]
    replays: tuple[Game, ...]

    @property
    def order(self) -> list[str]:
        """The players, best first."""
        return [player.name for player in self.ratings.players]

    @property
    def notes(self) -> list[str]:
        """Sentences that a reader must know before the numbers."""
        standings, distinct = self.summary.standings, self.summary.distinct
        notes = [] if standings.games else ["No game has been played yet."]
        notes += self.ratings.notes
        if distinct.estimate < 0.95 * standings.games:
            share = f"{'' if distinct.is_exact else 'about '}{distinct.estimate:,} of the {standings.games:,} games"
            notes.append(f"Only {share} are no copies of another: the intervals are too narrow. Use more varied openings, or --epsilon.")
        if standings.games and standings.colors[1] == standings.games:
            notes.append("All games are draws.")
        return notes

    @property
    def command(self) -> str | None:
        """The command that plays this tournament again; None where the journal does not tell."""
        for session in self.summary.sessions:
            try:
                settings = read_settings(session, Path(self.journal))
            except RecordFormatError:
                continue
            schedule = {"round_robin": [], "gauntlet": ["--gauntlet"], "ladder": ["--ladder"]}[settings.schedule]
            options = {"--games": settings.games, "--openings": settings.openings, "--seed": settings.seed}
            if settings.epsilon:
                options["--epsilon"] = settings.epsilon
            if settings.board_size != 8:
                options["--board-size"] = settings.board_size
            if settings.move_seconds != DEFAULT_MOVE_SECONDS:
                options["--move-seconds"] = settings.move_seconds
            test = [] if settings.sprt is None else ["--sprt", *map(str, settings.sprt)]
            words = [*settings.players, *schedule, *test, *(str(word) for option in options.items() for word in option), "--out", "DIR"]
            return "python -m training.evaluation.tournament " + " ".join(shlex.quote(word) for word in words)
        return None
