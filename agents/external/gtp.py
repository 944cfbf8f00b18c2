"""Engines that speak the Go Text Protocol (GTP), version 2, such as GRhino, Edax and Egaroucid.

Squares have Othello names, with a1 at the top left; in Go, rows count from the bottom. A forced
pass is sent only if the engine refuses the next move without it, because GRhino refuses passes.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

from agents.external.agent import ANSWER_SECONDS, START_SECONDS, EngineAgent, check_seconds
from agents.external.history import Game, History
from agents.external.process import EngineError, EngineProcess, shortened, split_command
from othello_env.errors import RecordFormatError
from othello_env.position import BLACK, Position
from othello_env.squares import format_square, parse_square, pass_square

# Commands that set up a position in the format of `str(position)`.
SET_UP_COMMANDS: Final = ("grhino-setup_board", "setup_board")
_COLORS: Final = ("b", "w")
_REPLY: Final = re.compile(r"([=?])(\d*)\s*(.*)")
# GTP has whole seconds only: 0.1 s per move is sent as 1 s for 10 moves.
_MAX_MOVES_PER_PERIOD: Final = 100


@dataclass(frozen=True, slots=True)
class GtpOptions:
    """Command line and time limits of a GTP engine; see `gtp_agent`."""

    command: tuple[str, ...]
    movetime: float | None = None
    timeout: float = ANSWER_SECONDS

    def start(self) -> GtpEngine:
        """Start the engine. Raises `EngineError`."""
        return GtpEngine(self.command, movetime=self.movetime, timeout=self.timeout)


class GtpEngine(EngineProcess):
    """A running GTP engine. Raises `EngineError`.

    Use it as a context manager, or call `close`. For the arguments see `gtp_agent`.
    """

    def __init__(self, command: Sequence[str], *, movetime: float | None = None, timeout: float = ANSWER_SECONDS) -> None:
        super().__init__(command)
        self._timeout = timeout
        self._board_size = 0
        self._history = History()
        self._on_board: Game | None = None  # the moves that the engine knows; None after a position was set up
        self._period: tuple[int, int] | None = None
        try:
            answer = self.ask("list_commands", seconds=max(timeout, START_SECONDS))
            # Some versions of Egaroucid write a "=" before every line.
            self._commands = {line.lstrip("= ").strip() for line in answer.splitlines()}
            self._set_up_command = next((name for name in SET_UP_COMMANDS if name in self._commands), None)
            if movetime is not None:
                self._set_time(movetime)
        except BaseException:
            self.kill()
            raise

    def ask(self, command: str, *, seconds: float | None = None) -> str:
        """Send a command and return the answer, without the "=".

        Lines between answers, such as a banner, are skipped. seconds: time limit, by default the
        engine's `timeout`. Raises `EngineError` if the engine refuses the command or does not
        answer in time.
        """
        waiting_for = f"in answer to {command!r}"
        deadline = time.monotonic() + (self._timeout if seconds is None else seconds)
        self.send(command)
        while True:
            reply = _REPLY.fullmatch(self.read_line(deadline, waiting_for))
            if reply:
                break
        lines = [reply[3]]
        while line := self.read_line(deadline, waiting_for):
            lines.append(line)
        answer = "\n".join(lines).strip()
        if reply[1] == "?":
            raise EngineError(f"{self.name} refused {command!r}: {shortened(answer)}")
        return answer

    def choose(self, position: Position) -> str:
        """See `agents.external.agent.Engine`."""
        if position.board_size != self._board_size:
            self.ask(f"boardsize {position.board_size}")
            self._board_size, self._on_board = position.board_size, None
        game = self._set_up(position)
        color = position.side_to_move
        if self._period is not None and "time_left" in self._commands:
            seconds, moves = self._period
            self.ask(f"time_left {_COLORS[color]} {seconds} {moves}")
        answer = self._ask_after(game, color, f"genmove {_COLORS[color]}")
        if game is not None:
            self._on_board = (*game, (color, _square(answer, position.board_size)))
        return answer

    def _set_time(self, movetime: float) -> None:
        if "time_settings" not in self._commands:
            raise EngineError(f"{self.name} has no time_settings: leave movetime out and limit it by its options")
        share = Fraction(max(movetime, 1 / _MAX_MOVES_PER_PERIOD)).limit_denominator(_MAX_MOVES_PER_PERIOD)
        self._period = share.numerator, share.denominator
        self.ask(f"time_settings 0 {self._period[0]} {self._period[1]}")

    def _set_up(self, position: Position) -> Game | None:
        """Set up a position on the engine's board; return the moves if they were played, else None.

        Uses the first method that is available: a command that sets up positions, the moves that
        lead to the position, or an SGF file. Raises `EngineError` if none is.
        """
        if self._set_up_command is not None:
            self.ask(f"{self._set_up_command} {position}")
            return None
        game = self._history.find(position)
        if game is not None:
            self._replay(game, position.board_size)
        elif "loadsgf" in self._commands:
            self._on_board = None
            self._load_sgf(position)
        else:
            raise EngineError(f"{self.name} has no command that sets up a position, and the moves that lead to {position} are not known")
        return game

    def _replay(self, game: Game, board_size: int) -> None:
        """Play the moves of a game on the engine's board, except those already played there."""
        on_board, self._on_board = self._on_board, None
        if on_board is None or game[: len(on_board)] != on_board:
            self.ask("clear_board")
            on_board = ()
        for number in range(len(on_board), len(game)):
            color, square = game[number]
            self._ask_after(game[:number], color, f"play {_COLORS[color]} {format_square(square, board_size)}")

    def _ask_after(self, game: Game | None, color: int, command: str) -> str:
        """Send a command about the next move; if refused after a forced pass, send the pass first.

        color: the color that moves. Most engines pass automatically, and GRhino refuses passes;
        others, such as neural-reversi, must be sent the pass.
        """
        try:
            return self.ask(command)
        except EngineError:
            if not game or game[-1][0] != color or not self.is_running:
                raise
            self.ask(f"play {_COLORS[1 - color]} pass")
            return self.ask(command)

    def _load_sgf(self, position: Position) -> None:
        squares = {side: _sgf_points(discs, position.board_size) for side, discs in (("AB", position.black), ("AW", position.white))}
        stones = "".join(f"{side}{points}" for side, points in squares.items() if points)
        text = f"(;FF[4]GM[2]SZ[{position.board_size}]{stones}PL[{'B' if position.side_to_move == BLACK else 'W'}])\n"
        with tempfile.TemporaryDirectory(prefix="othello_env_") as folder:
            file = Path(folder) / "position.sgf"
            file.write_text(text, encoding="ascii")
            self.ask(f"loadsgf {file}")


def _square(answer: str, board_size: int) -> int:
    """Return the square of an answer; the pass, which no `Game` contains, if it is not a square."""
    try:
        return parse_square(answer, board_size)
    except RecordFormatError:
        return pass_square(board_size)


def _sgf_points(discs: int, board_size: int) -> str:
    """Return the squares of a bitboard as Edax writes them in SGF: [e4][d5]."""
    return "".join(f"[{format_square(square, board_size)}]" for square in range(board_size**2) if discs >> square & 1)


def gtp_agent(command: str, *, movetime: float | None = None, timeout: float = ANSWER_SECONDS) -> EngineAgent:
    """Return the agent that plays the moves of a GTP engine.

    command: command line of the engine, such as "gtp-rhino -l 2". movetime: time per move in
    seconds, sent to the engine with `time_settings`, less than `timeout` (default: the engine's own
    options decide). timeout: time in seconds after which an engine that has not answered is killed.
    Raises `ValueError` if the program does not exist or a limit is invalid.
    """
    words = split_command(command)
    check_seconds(movetime=movetime, timeout=timeout)
    if movetime is not None and movetime >= timeout:
        raise ValueError(f"movetime={movetime}: expected less than the timeout, {timeout:g} seconds")
    suffix = "" if movetime is None else f",movetime={movetime:g}"
    return EngineAgent(f"gtp:{command}{suffix}", GtpOptions(words, movetime, timeout))
