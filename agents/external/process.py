"""Engine processes: line-based input and output, time limits, and reliable termination."""

from __future__ import annotations

import os
import queue
import shlex
import shutil
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Final, TypeVar

from agents.external import guard

_MAX_LINE: Final = 1 << 16
_MAX_UNREAD_LINES: Final = 100_000
# Interval between checks of the number of unread lines, in seconds.
_FULL_SECONDS: Final = 0.005
_NUM_ERROR_LINES: Final = 3
_MAX_SHOWN: Final = 120
# Time after which an engine that was asked to quit is killed, in seconds. The guard usually kills
# it earlier.
_CLOSE_SECONDS: Final = 3 * guard.EXIT_SECONDS
# Maximum wait for the exit code and the last error lines after the output has ended, in seconds.
_DEATH_SECONDS: Final = 2.0


class EngineError(ValueError):
    """Raised when an engine fails.

    The engine could not start, hung, crashed, refused a command, or gave an invalid answer or an
    illegal move.
    """


def split_command(text: str) -> tuple[str, ...]:
    """Split a command line into words by the quoting rules of the shell.

    On Windows a backslash is an ordinary character. The first word is the program: a path, or a
    name to be found in PATH. Raises `ValueError` if it does not exist.
    """
    try:
        words = shlex.split(text, posix=os.name != "nt")
    except ValueError as error:
        raise ValueError(f"command {text!r}: {error}") from None
    if os.name == "nt":
        words = [word[1:-1] if len(word) > 1 and word[0] == word[-1] == '"' else word for word in words]
    if not words:
        raise ValueError("the command is empty: expected a program and its options, such as gtp-rhino -l 2")
    if shutil.which(words[0]) is None:
        raise ValueError(f"no program {words[0]!r} in PATH or at that path")
    return tuple(words)


def is_command(text: str) -> bool:
    """Return True if a command line begins with a program that exists."""
    try:
        return bool(split_command(text))
    except ValueError:
        return False


_Self = TypeVar("_Self", bound="EngineProcess")


class EngineProcess:
    """A running engine, independent of its protocol.

    Use it as a context manager, or call `close`. The engine cannot outlive this object or this
    Python process, even if the process is killed; see `agents.external.guard`. command: program and
    options. Raises `EngineError`.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.name = Path(command[0]).name
        words = [sys.executable, "-I", "-S", guard.__file__, *command]
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, **guard.own_group())
        except OSError as error:
            raise EngineError(f"{self.name} cannot be started: {error}") from error
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._errors: deque[str] = deque(maxlen=_NUM_ERROR_LINES)
        self._last_line = ""
        ended = threading.Event()
        threading.Thread(target=_read_lines, args=(self._process.stdout, self._lines, ended), daemon=True).start()
        self._error_reader = threading.Thread(target=_read_errors, args=(self._process.stderr, self._errors), daemon=True)
        self._error_reader.start()
        self._close = weakref.finalize(self, _end, self._process, ended)  # also at the exit of the interpreter

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Process id of the guard."""
        return int(self._process.pid)

    @property
    def is_running(self) -> bool:
        """True until the engine has exited."""
        return self._process.poll() is None

    def send(self, line: str) -> None:
        """Write a line to the engine. If it has exited, reading its answer raises the error."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    def read_line(self, deadline: float, waiting_for: str) -> str:
        """Return the next line, stripped of whitespace.

        deadline: time in seconds by `time.monotonic()`. waiting_for: the end of the error message,
        such as "in answer to 'go'". After the deadline, or if the engine has closed its output,
        kills the engine and raises `EngineError`.
        """
        # The deadline applies even if lines are available: an engine may write endlessly.
        seconds = deadline - time.monotonic()
        try:
            if seconds <= 0:
                raise queue.Empty
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            self.kill()
            last = f"; its last line was {shortened(self._last_line)!r}" if self._last_line else ""
            raise EngineError(f"{self.name} gave no answer in time {waiting_for}{last}") from None
        if line is None:
            self._lines.put(None)  # for the next call
            raise EngineError(f"{self.name} {self._describe_end()} {waiting_for}")
        self._last_line = line or self._last_line
        return line

    def _describe_end(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_DEATH_SECONDS)
        code = self._process.poll()
        self.kill()
        self._error_reader.join(_DEATH_SECONDS)
        words = shortened(" ".join(self._errors)) or shortened(self._last_line)
        ended = "closed its output" if code is None else f"exited with code {code}"
        return f"{ended} ({words})" if words else ended

    def kill(self) -> None:
        """Kill the engine at once."""
        _kill(self._process)
        self._close()

    def close(self) -> None:
        """Ask the engine to quit, and kill it if it does not. No effect if it has exited."""
        self.send("quit")
        self._close()


def shortened(text: str) -> str:
    """Return a text on one line, truncated after 120 characters, for messages."""
    text = " ".join(text.split())
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _read_lines(stream: IO[bytes], lines: queue.Queue[str | None], ended: threading.Event) -> None:
    """Put the lines of an engine into a queue, and None at the end of its output.

    A line that is too long is split. While too many lines are unread, no output is accepted, so
    that the engine has to wait. ended: set by `_end`.
    """
    with suppress(OSError, ValueError):  # closed by `_end`
        while line := stream.readline(_MAX_LINE):
            lines.put(line.decode(errors="replace").strip())
            while lines.qsize() >= _MAX_UNREAD_LINES and not ended.wait(_FULL_SECONDS):
                pass
            if lines.qsize() >= _MAX_UNREAD_LINES:
                break
    lines.put(None)


def _read_errors(stream: IO[bytes], errors: deque[str]) -> None:
    with suppress(OSError, ValueError):
        while line := stream.readline(_MAX_LINE):
            if line.strip():
                errors.append(line.decode(errors="replace").strip())


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the engine of a guard at once."""
    if sys.platform == "win32":
        guard.kill_tree(process.pid)
    else:
        process.terminate()


def _end(process: subprocess.Popen[bytes], ended: threading.Event) -> None:
    """Close the input of an engine so that it exits; kill it if it does not exit in time."""
    ended.set()
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_CLOSE_SECONDS)
    except subprocess.TimeoutExpired:
        _kill(process)
        process.wait()
