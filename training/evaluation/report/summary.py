"""Summary of a tournament from one pass over its journal.

Its memory does not grow with the number of games.
"""

from __future__ import annotations

import heapq
from bisect import insort
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final
from zlib import crc32

from training.evaluation.journal import GameRecord
from training.evaluation.standings import Standings

# Number of sessions that are kept besides the first: a tournament that is killed again and again
# has thousands.
_SESSIONS: Final = 19
# Maximum numbers of games lost by faults that are kept: per player and reason, and in all.
_FAULTS_PER_KIND: Final = 10
_FAULTS: Final = 100


def is_fault(record: GameRecord) -> bool:
    """Return True if a side lost the game by a fault, such as an illegal move or a timeout."""
    return record.reason != "played out"


def loser(record: GameRecord) -> str:
    """Return the player who lost the game. For games that were lost by a fault."""
    return record.black if record.black_score == 0 else record.white


class GameSample:
    """Sample of games, as even as possible over the pairings.

    The sample does not depend on the order in which games are added; the two games of a pair follow
    each other. It has at most `2 * limit` games.
    """

    def __init__(self, limit: int) -> None:
        self._bound = 2 * limit
        self._count = 0
        self._kept: dict[tuple[str, str], list[tuple[int, int, GameRecord]]] = {}
        self._cut: set[tuple[str, str]] = set()  # pairings that lost a game: only games that precede the others can enter

    def add(self, record: GameRecord) -> None:
        """Consider a game for the sample."""
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
        """Return at most `limit` games in the order of their numbers."""
        ranked = [(rank // 2, *entry) for kept in self._kept.values() for rank, entry in enumerate(kept)]
        ranked.sort(key=lambda one: one[:3])
        return sorted((record for *_, record in ranked[:limit]), key=lambda record: record.game)


class DistinctCount:
    """Number of distinct texts.

    It is exact below `size`, then an estimate with a relative error of about `1 / sqrt(size)`. The
    smallest hashes are kept, whose density gives the number (Bar-Yossef et al., Counting distinct
    elements in a data stream, 2002).
    """

    def __init__(self, size: int = 1 << 14) -> None:
        self._size = size
        self._negated: list[int] = []  # heap with the largest hash on top
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
        """True if the number is exact."""
        return len(self._negated) < self._size

    @property
    def estimate(self) -> int:
        """Number of distinct texts."""
        return len(self._negated) if self.is_exact else round((self._size - 1) / (-self._negated[0] / 2.0**64))


@dataclass(slots=True)
class Summary:
    """Results of a tournament, and further facts for its report.

    sample_limit: number of games that `sample` can return. sessions: the first and the last ones;
    num_sessions: number of all sessions. first_ended, last_ended: times when the first and the last
    game ended. differences, differences_with_empties: for each player the number of games by disc
    difference, own minus opponent's; by discs, and with the empty squares of finished games counted
    for the winner. plies: number of moves of both sides in each player's games. slowest: for each
    player the longest time that it took for a game, in seconds, and the number of that game.
    prefixes: transcripts that lead to openings. faults: some of the games that were lost by faults.
    """

    sample_limit: int
    standings: Standings = field(default_factory=Standings)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    num_sessions: int = 0
    first_ended: str = ""
    last_ended: str = ""
    differences: dict[str, dict[int, int]] = field(default_factory=dict)
    differences_with_empties: dict[str, dict[int, int]] = field(default_factory=dict)
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
        for name, sign, seconds in ((record.black, 1, record.seconds[0]), (record.white, -1, record.seconds[1])):
            _count(self.differences, name, sign * record.disc_difference)
            # A game that was lost by a fault is not over, so its empty squares do not count for a
            # winner.
            _count(self.differences_with_empties, name, sign * record.score("discs" if is_fault(record) else "empties_to_winner"))
            self.plies[name] = self.plies.get(name, 0) + record.num_moves
            if seconds > self.slowest.get(name, (-1.0, 0))[0]:
                self.slowest[name] = (seconds, record.game)
        if record.prefix and record.opening in self.standings.openings:
            self.prefixes.setdefault(record.opening, record.prefix)
        if is_fault(record):
            alike = sum(loser(one) == loser(record) and one.reason == record.reason for one in self.faults)
            if alike < _FAULTS_PER_KIND and len(self.faults) < _FAULTS:
                self.faults.append(record)
        self.distinct.add(f"{record.black}\0{record.white}\0{record.opening}\0{record.moves}")
        self.sample.add(record)

    def seconds_per_move(self, name: str) -> float | None:
        """Return the mean time of a player per move, in seconds; None without moves.

        Half of the moves of its games count as its own.
        """
        plies = self.plies.get(name, 0)
        return 2 * self.standings.totals[name].seconds / plies if plies else None


def _count(counts: dict[str, dict[int, int]], name: str, value: int) -> None:
    own = counts.setdefault(name, {})
    own[value] = own.get(value, 0) + 1
