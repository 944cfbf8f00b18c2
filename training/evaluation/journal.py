"""Journals: files with one line of JSON per game, written as soon as the game ends.

There are two kinds of lines: `{"session": {...}}`, one for each start or resumption of a
tournament, with its settings and the versions of the software, and `{"game": 17, "black": ...,
...}`, see `GameRecord`. Lines are only ever appended. A process that is killed leaves at most an
incomplete last line; opening the journal again removes it.

`python -m training.evaluation.journal DIR` prints the games as transcripts, one per line.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, get_args

from othello_env.agent import AgentFault
from othello_env.command import Parser, command
from othello_env.errors import RecordFormatError
from othello_env.game import Game
from othello_env.position import Position, Scoring, check_scoring
from othello_env.squares import BOARD_SIZES

JOURNAL: Final = "games.jsonl"
"""Name of the journal in the folder of a tournament or match."""

FORMAT: Final = 2
"""Format that is written. Format 1 has another name for one reason; it can be read."""
_READ_FORMATS: Final = (1, FORMAT)
# Reasons with another name in format 1.
_EARLIER_REASONS: Final = {"rubbish": "invalid output"}

# A journal with more games, more seconds or more bytes in a line than this is taken to be damaged.
_MAX_GAMES: Final = 1 << 27
_MAX_SECONDS: Final = 1e9
_MAX_LINE: Final = 1 << 24

Reason = Literal["played out", AgentFault, "timeout", "died"]
"""Reason why a game ended: it was played out, or one side lost it by a fault of its agent: an
`AgentFault`, a move that did not come in time ("timeout"), or the end of its process ("died")."""
_REASONS: Final = get_args(Reason)

# Longest time between two calls of fsync, in seconds; each line is flushed to the operating system
# at once.
_SYNC_SECONDS: Final = 1.0

_VERSIONS_OF: Final = ("othello-env", "numpy", "numba", "torch")

_OPENING: Final = re.compile("|".join(f"[XO-]{{{n * n}}} [XO]" for n in BOARD_SIZES))
_MOVES: Final = {n: re.compile(f"(?:[a-{chr(ord('a') + n - 1)}][1-{n}])*") for n in BOARD_SIZES}
_TIME: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One finished game.

    game: its number in the schedule; the games of pair p have the numbers 2p and 2p + 1, the same
    opening with colors swapped. black, white: the players. opening: the position in which the game
    began, as text (`str` of a `Position`). moves: the transcript from there, without passes.
    black_score: 1, 0.5 or 0. disc_difference: Black's discs minus White's at the end. reason: why
    the game ended. detail: more about a game that was not played out. seed: of all randomness in
    the game. seconds: time taken by each side, (black, white). ended: time of the end, in UTC.
    prefix: the transcript that leads to the opening from the start position; "" if unknown.
    """

    game: int
    black: str
    white: str
    opening: str
    moves: str
    black_score: float
    disc_difference: int
    reason: Reason
    detail: str
    seed: tuple[int, ...]
    seconds: tuple[float, float]
    ended: str
    prefix: str = ""

    @property
    def transcript(self) -> str | None:
        """Moves from the start position; None if those that lead to the opening are unknown."""
        start = Position.parse(self.opening)
        if self.prefix or start == Position.start(start.board_size):
            return self.prefix + self.moves
        return None

    @property
    def board_size(self) -> int:
        """Squares per side of the board."""
        return math.isqrt(len(self.opening))

    @property
    def num_moves(self) -> int:
        """Number of moves from the opening."""
        return len(self.moves) // 2

    @property
    def discs(self) -> tuple[int, int]:
        """Numbers of discs at the end, (black, white)."""
        total = _count_discs(self.opening) + self.num_moves
        return (total + self.disc_difference) // 2, (total - self.disc_difference) // 2

    def score(self, scoring: Scoring) -> int:
        """Return Black's discs minus White's at the end. scoring: as in `Position.score`."""
        check_scoring(scoring)
        difference, empties = self.disc_difference, self.board_size**2 - sum(self.discs)
        if scoring == "empties_to_winner" and difference:
            return difference + (empties if difference > 0 else -empties)
        return difference

    def replayed(self) -> Game:
        """Return the game with its moves.

        Raises `RecordFormatError` or `IllegalMoveError` if they do not fit the opening.
        """
        return Game.parse(self.moves, Position.parse(self.opening))


def find_journal(path: Path) -> Path:
    """Return the journal of a tournament or match. path: the journal, or a folder that has one."""
    return path / JOURNAL if path.is_dir() else path


def count_lines(path: Path) -> int:
    """Return the number of lines of a file, for the progress of `read_journal`."""
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def software_versions() -> dict[str, str]:
    """Return the versions of Python, the machine and the packages on which games may depend."""
    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for name in _VERSIONS_OF:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def read_journal(path: Path) -> Iterator[dict[str, Any] | GameRecord]:
    """Yield the sessions, as dicts, and the games of a journal in their order.

    An incomplete last line is ignored. Raises `RecordFormatError` with the line for any other
    invalid line, for a game that occurs twice or is not the second game of its pair, and for a
    player that the sessions do not name; `OSError` if the file cannot be read.
    """
    seen = bytearray()
    first_of_pair: dict[int, GameRecord] = {}
    players: set[str] = set()
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE), b""), 1):
            place = f"{path}, line {number}"
            if len(line) == _MAX_LINE:
                raise RecordFormatError(f"{place}: {_MAX_LINE} bytes or more")
            if not line.endswith(b"\n"):
                return
            entry = _parse_line(line, place)
            if isinstance(entry, GameRecord):
                seen.extend(bytes(max(0, entry.game + 1 - len(seen))))
                if seen[entry.game]:
                    raise RecordFormatError(f"{place}: game {entry.game} for the second time")
                seen[entry.game] = 1
                unknown = [name for name in (entry.black, entry.white) if players and name not in players]
                if unknown:
                    raise RecordFormatError(f"{place}: player {unknown[0]!r} is not among those of the sessions before")
                other = first_of_pair.pop(entry.game ^ 1, None)
                if other is None:
                    first_of_pair[entry.game] = entry
                elif (entry.black, entry.white, entry.opening) != (other.white, other.black, other.opening):
                    raise RecordFormatError(f"{place}: game {entry.game} is not game {other.game} with colors swapped")
            else:
                players.update(_players_of(entry))
            yield entry


def _players_of(session: dict[str, Any]) -> list[str]:
    settings = session.get("settings")
    players = settings.get("players") if isinstance(settings, dict) else None
    return [name for name in players if isinstance(name, str)] if isinstance(players, list) else []


def _parse_line(line: bytes, place: str) -> dict[str, Any] | GameRecord:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RecordFormatError(f"{place}: no JSON ({error})") from None
    if not isinstance(values, dict):
        raise RecordFormatError(f"{place}: {type(values).__name__} where a session or a game is expected")
    if "session" in values:
        session = values["session"]
        found = session.get("format") if isinstance(session, dict) else session
        if not isinstance(session, dict) or type(found) is not int or found not in _READ_FORMATS:
            formats = " and ".join(map(str, _READ_FORMATS))
            raise RecordFormatError(f"{place}: a session of format {_short(found)}; this version reads formats {formats}")
        return session
    names = [field.name for field in fields(GameRecord)]
    values.setdefault("prefix", "")
    if values.keys() != set(names):
        raise RecordFormatError(f"{place}: has {', '.join(values)}; expected {', '.join(names)}")
    problem = _find_type_problem(values)
    if problem is None:
        reason = _EARLIER_REASONS.get(values["reason"], values["reason"])
        record = GameRecord(**{**values, "reason": reason, "seed": tuple(values["seed"]), "seconds": tuple(values["seconds"])})
        problem = _find_problem(record)
        if problem is None:
            return record
    raise RecordFormatError(f"{place}: {problem}")


def _find_type_problem(values: dict[str, Any]) -> str | None:
    """Return a text about the first value of a wrong type; None if all types are right."""
    for name in ("black", "white", "opening", "moves", "reason", "detail", "ended", "prefix"):
        if not isinstance(values[name], str):
            return f"{name} {_short(values[name])}: expected text"
    # Not `isinstance`: True is an integer for Python.
    for name in ("game", "disc_difference"):
        if type(values[name]) is not int:
            return f"{name} {_short(values[name])}: expected an integer"
    if type(values["black_score"]) not in (int, float):
        return f"black_score {_short(values['black_score'])}: expected 1, 0.5 or 0"
    for name, kinds, what in (("seed", (int,), "integers"), ("seconds", (int, float), "two numbers")):
        if not isinstance(values[name], list) or not all(type(part) in kinds for part in values[name]):
            return f"{name} {_short(values[name])}: expected {what}"
    return None


def _find_problem(record: GameRecord) -> str | None:
    """Return a text about the first value that is out of range or contradicts others, or None.

    The moves are not played: that would take forty times as long as everything else.
    """
    if not 0 <= record.game < _MAX_GAMES:
        return f"game {_short(record.game)}: expected 0 to {_MAX_GAMES - 1}"
    if not record.black or not record.white or record.black == record.white:
        return f"players {_short(record.black)} and {_short(record.white)}: expected two names"
    if not _OPENING.fullmatch(record.opening):
        return f"opening {_short(record.opening)}: expected a position of X, O and -, then the side to move"
    n = record.board_size
    for name, moves in (("moves", record.moves), ("prefix", record.prefix)):
        if not _MOVES[n].fullmatch(moves):
            return f"{name} {_short(moves)}: expected squares of an {n}x{n} board"
    discs = _count_discs(record.opening)
    if record.prefix and len(record.prefix) // 2 + 4 != discs:
        return f"prefix of {len(record.prefix) // 2} moves, but the opening has {discs} discs"
    total = discs + record.num_moves
    if total > n * n:
        return f"{record.num_moves} moves, but the opening has {n * n - discs} empty squares"
    if abs(record.disc_difference) > total or (record.disc_difference - total) % 2:
        return f"disc_difference {_short(record.disc_difference)} with {total} discs"
    if record.reason not in _REASONS:
        return f"reason {_short(record.reason)}: expected one of {', '.join(_REASONS)}"
    difference = record.disc_difference
    outcome = (1.0 if difference > 0 else 0.5 if difference == 0 else 0.0) if record.reason == "played out" else None
    if record.black_score not in (0, 0.5, 1) or (record.black_score == 0.5 if outcome is None else record.black_score != outcome):
        return f"black_score {record.black_score} with disc_difference {difference} and reason {record.reason!r}"
    if len(record.seconds) != 2 or not all(0 <= seconds <= _MAX_SECONDS for seconds in record.seconds):
        return f"seconds {_short(list(record.seconds))}: expected two numbers from 0 to {_MAX_SECONDS:g}"
    if any(part < 0 for part in record.seed):
        return f"seed {_short(list(record.seed))}: expected integers from 0"
    if not _TIME.fullmatch(record.ended):
        return f"ended {_short(record.ended)}: expected a time such as 2031-10-30T12:00:00Z"
    return None


def _count_discs(opening: str) -> int:
    return opening[:-2].count("X") + opening[:-2].count("O")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


class Journal:
    """Journal to which games are appended; a context manager, for one process at a time."""

    def __init__(self, path: Path) -> None:
        """Open or create a journal; an incomplete or damaged last line is removed."""
        self._file = path.open("a+b")
        self._remove_incomplete_line()
        self._synced = time.monotonic()

    def _remove_incomplete_line(self) -> None:
        end = self._file.seek(0, os.SEEK_END)
        tail, start = b"", end
        while start > 0 and b"\n" not in tail:
            start = max(0, start - 65536)
            self._file.seek(start)
            tail = self._file.read(min(65536, end - start)) + tail
        whole = tail[: tail.rfind(b"\n") + 1]
        last = whole[whole.rfind(b"\n", 0, -1) + 1 :]
        if last and not _is_json(last) and (start == 0 or len(last) < len(whole)):
            whole = whole[: -len(last)]  # a complete line, but not what was written
        if start + len(whole) < end:
            self._file.truncate(start + len(whole))

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            self._sync()
        finally:
            self._file.close()

    def begin_session(self, settings: dict[str, Any]) -> None:
        """Append a session: the start or resumption of a tournament or match.

        settings: further entries of the session.
        """
        self._write({"session": {"format": FORMAT, "started": now(), "versions": software_versions(), **settings}})

    def append(self, record: GameRecord) -> None:
        """Append a game. Raises `OSError` if the disk is full."""
        self._write(asdict(record))

    def _write(self, values: dict[str, Any]) -> None:
        self._file.write(json.dumps(values, separators=(",", ":")).encode("ascii") + b"\n")
        self._file.flush()
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            self._sync()

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()


def format_transcript(record: GameRecord) -> str | None:
    """Return a line for a file of transcripts, with the players and the result after a `#`.

    Returns None if the record has no transcript from the start position.
    """
    transcript = record.transcript
    if transcript is None:
        return None
    return f"{transcript}  # game {record.game}: {record.black} - {record.white} {_format_result(record)}"


def _format_result(record: GameRecord) -> str:
    """Return the result of a game as text.

    For a game that was played out, the discs, Black's first, and the score with the empty squares
    counted for the winner if it differs. Otherwise the side that forfeited, and the reason.
    """
    if record.reason != "played out":
        return f"{'black' if record.black_score == 0 else 'white'} forfeits ({record.reason})"
    black, white = record.discs
    difference, n = record.score("empties_to_winner"), record.board_size
    if difference == record.disc_difference:
        return f"{black}-{white}"
    total = n * n
    full = f"{(total + difference) // 2}-{(total - difference) // 2}"
    return f"{black}-{white} by discs, {full} with the empties to the winner"


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line. argv: its arguments, by default those of the process."""
    parser = Parser(
        prog="python -m training.evaluation.journal",
        description="Print the games of a tournament or match as transcripts, one per line, with the numbers of discs, black first.",
    )
    parser.add_argument("source", type=Path, metavar="DIR|FILE", help=f"folder with a {JOURNAL}, or a journal")
    arguments = parser.parse_args(argv)
    with command("journal"):
        skipped = 0
        for entry in read_journal(find_journal(arguments.source)):
            line = format_transcript(entry) if isinstance(entry, GameRecord) else ""
            if line:
                print(line)
            skipped += line is None
        sys.stdout.flush()
        if skipped:
            print(f"{skipped} games begin in positions to which no moves are known, and are left out", file=sys.stderr)


if __name__ == "__main__":
    main()
