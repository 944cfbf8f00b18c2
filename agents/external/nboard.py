"""Engines that speak the NBoard protocol, version 2: NTest, Edax and others."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agents.external.agent import ANSWER_SECONDS, START_SECONDS, EngineAgent, check_seconds
from agents.external.ggf import format_ggf
from agents.external.process import EngineProcess, split_command
from othello_env.position import Position

DEFAULT_DEPTH: Final = 8
_MAX_DEPTH: Final = 60
# "=== D6/-1.27/0.00" in the protocol, "=== d6 -1.00 0.0" from Edax.
_MOVE: Final = re.compile(r"===\s*([^\s/]*).*")


@dataclass(frozen=True, slots=True)
class NBoardOptions:
    """Command line and limits of an NBoard engine; see `nboard_agent`."""

    command: tuple[str, ...]
    depth: int = DEFAULT_DEPTH
    timeout: float = ANSWER_SECONDS

    def start(self) -> NBoardEngine:
        """Start the engine. Raises `EngineError`."""
        return NBoardEngine(self.command, depth=self.depth, timeout=self.timeout)


class NBoardEngine(EngineProcess):
    """A running NBoard engine. Raises `EngineError`.

    Use it as a context manager, or call `close`. For the arguments see `nboard_agent`.
    """

    def __init__(self, command: Sequence[str], *, depth: int = DEFAULT_DEPTH, timeout: float = ANSWER_SECONDS) -> None:
        super().__init__(command)
        self._timeout = timeout
        self._pings = itertools.count(1)
        try:
            self.send("nboard 2")
            self.send(f"set depth {depth}")
            self.synchronize(seconds=max(timeout, START_SECONDS))
        except BaseException:
            self.kill()
            raise

    def synchronize(self, *, seconds: float | None = None) -> list[str]:
        """Wait until the engine has processed all commands; return the lines that it has written.

        seconds: time limit, by default the engine's `timeout`. Raises `EngineError`.
        """
        number = next(self._pings)
        self.send(f"ping {number}")
        return self._read_until(re.compile(rf"pong\s+{number}"), f"in answer to 'ping {number}'", seconds)

    def choose(self, position: Position) -> str:
        """See `agents.external.agent.Engine`."""
        self.set_position(position)
        self.send("go")
        found = _MOVE.fullmatch(self._read_until(_MOVE, "in answer to 'go'")[-1])
        assert found is not None
        return found[1]

    def set_position(self, position: Position) -> None:
        """Set up a position on the engine's board."""
        self.send(f"set game {format_ggf(position)}")
        self.synchronize()  # lines about the position before must not be read as an answer

    def hint(self, position: Position, num_moves: int = 1) -> list[str]:
        """Return the engine's analysis of a position: lines like `search PV EVAL 0 DEPTH`."""
        self.set_position(position)
        self.send(f"hint {num_moves}")
        return self.synchronize()[:-1]

    def _read_until(self, pattern: re.Pattern[str], waiting_for: str, seconds: float | None = None) -> list[str]:
        deadline = time.monotonic() + (self._timeout if seconds is None else seconds)
        lines: list[str] = []
        while not lines or not pattern.fullmatch(lines[-1]):
            lines.append(self.read_line(deadline, waiting_for))
        return lines


def nboard_agent(command: str, *, depth: int = DEFAULT_DEPTH, timeout: float = ANSWER_SECONDS) -> EngineAgent:
    """Return the agent that plays the moves of an NBoard engine.

    command: command line of the engine, such as "ntest x". depth: search depth in the midgame, 1 to
    60, from which engines also derive their endgame depth. timeout: time in seconds after which an
    engine that has not answered is killed. Raises `ValueError` if the program does not exist or a
    limit is out of range.
    """
    words = split_command(command)
    if not 1 <= depth <= _MAX_DEPTH:
        raise ValueError(f"depth={depth}: expected 1 to {_MAX_DEPTH}")
    check_seconds(timeout=timeout)
    return EngineAgent(f"nboard:{command},depth={depth}", NBoardOptions(words, depth, timeout))
