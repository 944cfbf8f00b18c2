"""The journal of a tournament: one line of JSON for each game, written the moment it ends.

A file of lines `{"session": {...}}`, one for each time that the tournament was started or resumed, with its settings and the versions
of the software, and `{"game": 17, "black": ..., ...}`, see `GameRecord`. It is only ever appended to. A process that is killed leaves
at most a last line that is cut short; opening the journal again removes it.

`python -m training.evaluation.journal FILE` prints the games as transcripts, one a line.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, get_args

from othello_env.errors import RecordFormatError
from othello_env.game import Game
from othello_env.position import Position

FORMAT: Final = 1

# The journal in the folder of a run.
_FILE_NAME: Final = "games.jsonl"

# No tournament has so many games; a number beyond it is damage.
_MAX_GAMES: Final = 1 << 27

Reason = Literal["played out", "illegal move", "rubbish", "error", "timeout", "died"]
"""Why a game ended: by its rules; or for the side that lost it by a move that is not legal, an answer that is no move, an exception,
an answer that did not come in time, or the end of its process."""

# Lines reach the disk itself at least so often, in seconds; the operating system has them at once.
_SYNC_SECONDS: Final = 1.0

_VERSIONS_OF: Final = ("othello-env", "numpy", "numba", "torch")


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One finished game.

    game: its number in the tournament's schedule; those of a pair are 2p and 2p + 1, the same opening with colours swapped. black,
    white: the players. opening: the position it began in, as `Position.parse` reads it. moves: the transcript from there, without
    passes. black_score: 1, 0.5 or 0. disc_difference: Black's discs minus White's where it ended. reason: why it ended. detail: more
    about a game that was not played out. seed: of all randomness in it. seconds: what each side took, (black, white). ended: when,
    in UTC. prefix: the transcript that leads to the opening from the start position; "" where there is none.
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
        """The moves from the start position; None for a game whose opening is a position that nobody knows the moves to."""
        start = Position.parse(self.opening)
        if self.prefix or start == Position.start(start.board_size):
            return self.prefix + self.moves
        return None

    def replayed(self) -> Game:
        """The game, to be looked at again. Raises `RecordFormatError` or `IllegalMoveError` where its moves do not fit its opening."""
        return Game.parse(self.moves, Position.parse(self.opening))


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def software_versions() -> dict[str, str]:
    """What could make games differ: Python, the machine, and the packages that are installed."""
    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for name in _VERSIONS_OF:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def find_journal(path: Path) -> Path:
    """Return the journal file of a run: the path itself, or games.jsonl in a folder."""
    return path / _FILE_NAME if path.is_dir() else path


def count_lines(path: Path) -> int:
    """Return the number of lines of a file: what a progress bar of `read_journal` needs to know."""
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 16), b""))


def read_journal(path: Path) -> Iterator[dict[str, Any] | GameRecord]:
    """The sessions, as dicts, and the games of a journal, in their order. A last line without an end is left out.

    Raises `RecordFormatError` with the line for anything else that is no such line, and for a game that comes twice; `OSError` where
    the file cannot be read.
    """
    seen = bytearray()
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            entry = _parse_line(line, f"{path}, line {number}")
            if isinstance(entry, GameRecord):
                seen.extend(bytes(max(0, entry.game + 1 - len(seen))))
                if seen[entry.game]:
                    raise RecordFormatError(f"{path}, line {number}: game {entry.game} for the second time")
                seen[entry.game] = 1
            yield entry


def _parse_line(line: bytes, place: str) -> dict[str, Any] | GameRecord:
    try:
        values = json.loads(line)
    except ValueError as error:
        raise RecordFormatError(f"{place}: no JSON ({error})") from None
    if not isinstance(values, dict):
        raise RecordFormatError(f"{place}: {type(values).__name__} where a session or a game belongs")
    if "session" in values:
        session = values["session"]
        if not isinstance(session, dict) or session.get("format") != FORMAT:
            raise RecordFormatError(f"{place}: no session of format {FORMAT}")
        return session
    try:
        record = GameRecord(**values)
        record = GameRecord(**{**values, "seed": tuple(record.seed), "seconds": tuple(record.seconds)})
    except TypeError:
        expected = ", ".join(field.name for field in fields(GameRecord))
        raise RecordFormatError(f"{place}: has {', '.join(values)}; expected {expected}") from None
    texts = (record.black, record.white, record.opening, record.moves, record.detail, record.ended, record.prefix)
    numbers = (record.game, record.disc_difference, *record.seed)
    valid = all(isinstance(text, str) for text in texts) and all(isinstance(count, int) for count in numbers)
    valid = valid and len(record.seconds) == 2 and all(isinstance(part, (int, float)) and math.isfinite(part) for part in record.seconds)
    if not valid or record.black_score not in (0, 0.5, 1) or record.reason not in get_args(Reason) or not 0 <= record.game < _MAX_GAMES:
        raise RecordFormatError(f"{place}: no game: {line.decode(errors='replace').strip()[:200]}")
    return record


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


class Journal:
    """A journal that games are appended to; use it in a `with`. Not for several processes at once."""

    def __init__(self, path: Path) -> None:
        """Open, or begin, a journal; a last line that was cut short or damaged is removed."""
        self._file = path.open("a+b")
        self._remove_cut_line()
        self._synced = time.monotonic()

    def _remove_cut_line(self) -> None:
        end = self._file.seek(0, os.SEEK_END)
        tail, start = b"", end
        while start > 0 and b"\n" not in tail:
            start = max(0, start - 65536)
            self._file.seek(start)
            tail = self._file.read(min(65536, end - start)) + tail
        whole = tail[: tail.rfind(b"\n") + 1]
        last = whole[whole.rfind(b"\n", 0, -1) + 1 :]
        if last and not _is_json(last) and (start == 0 or len(last) < len(whole)):
            whole = whole[: -len(last)]  # a whole line, but not what was written
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
        """Note a start, or a resumption, of the tournament."""
        self._write({"session": {"format": FORMAT, "started": now(), "versions": software_versions(), **settings}})

    def append(self, record: GameRecord) -> None:
        """Note a game. Raises `OSError` where the disk is full."""
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
    """A game as a line of a file of transcripts, with who played and how it ended behind a `#`; None where there is no transcript."""
    if record.transcript is None:
        return None
    result = f"{record.disc_difference:+d}" if record.reason == "played out" else f"{record.black_score:g} ({record.reason})"
    return f"{record.transcript}  # game {record.game}: {record.black} - {record.white} {result}"


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluation.journal",
        description="Print the games of a tournament as transcripts, one a line; the numbers are Black's discs minus White's.",
    )
    parser.add_argument("journal", type=Path, help="the file games.jsonl of a tournament")
    skipped = 0
    try:
        for entry in read_journal(parser.parse_args(argv).journal):
            line = format_transcript(entry) if isinstance(entry, GameRecord) else ""
            if line:
                print(line)
            skipped += line is None
    except (OSError, ValueError) as error:
        sys.exit(f"journal: {' '.join(str(error).split())}")
    if skipped:
        print(f"{skipped} games begin in positions that no known moves lead to, and are left out", file=sys.stderr)


if __name__ == "__main__":
    main()
