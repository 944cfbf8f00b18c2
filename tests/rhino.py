"""The engine GRhino (Debian package grhino), spoken to over GTP: an Othello program that shares nothing with this one."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from othello_env import Position
from othello_env.position import BLACK
from othello_env.squares import parse_square, pass_square

RHINO = Path("/usr/games/gtp-rhino")


class Rhino:
    """A running engine; use it in a `with`, at whose end it is gone.

    level: 1 to 5. exact_empties, win_empties: from so many empties on it searches for the best score, and for a win. seconds: the
    longest that it may take for an answer; after that it is killed and `TimeoutError` raised. It only knows 8x8.
    """

    def __init__(self, *, level: int = 3, exact_empties: int = 16, win_empties: int = 16, seconds: float = 60) -> None:
        command = [str(RHINO), "-l", str(level), "-b", "0", "-e", str(exact_empties), "-w", str(win_empties)]
        self._seconds = seconds
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def __enter__(self) -> Rhino:
        self.ask("boardsize 8")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.process.kill()
        self.process.communicate()

    def solve_move(self, position: Position) -> int:
        """The square that it plays, the pass where that is forced."""
        if position.must_pass:
            return pass_square(position.board_size)
        self.ask(f"grhino-setup_board {position}")
        answer = self.ask(f"genmove {'b' if position.side_to_move == BLACK else 'w'}")
        return parse_square(answer.lower(), position.board_size)

    def ask(self, command: str) -> str:
        """The answer to a GTP command. Raises `ValueError` where the engine refuses it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        lines: list[str] = []
        with self._killed_when_late() as was_late:
            try:
                self.process.stdin.write(command + "\n")
                self.process.stdin.flush()
            except BrokenPipeError:
                pass  # it is gone: nothing to read
            for line in self.process.stdout:
                if not line.strip() and lines:
                    break
                lines.extend([line.strip()] if line.strip() else [])
        if was_late.is_set():
            raise TimeoutError(f"{RHINO.name} gave no answer to {command!r} in {self._seconds} s")
        answer = "\n".join(lines)
        if not answer.startswith("="):
            raise ValueError(f"{RHINO.name} answered {answer!r} to {command!r}")
        return answer[1:].strip()

    @contextmanager
    def _killed_when_late(self) -> Iterator[threading.Event]:
        late = threading.Event()

        def kill() -> None:
            late.set()
            self.process.kill()

        timer = threading.Timer(self._seconds, kill)
        timer.start()
        try:
            yield late
        finally:
            timer.cancel()
