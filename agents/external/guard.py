"""Guard process of an engine: starts it, forwards its input, and kills it when the input ends.

`EngineProcess` runs this file as a script. The input ends when the owner closes it or is killed; an
engine that hangs or is searching would not notice either. SIGTERM kills the engine at once. The
engine writes to the owner directly.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any, Final

# Time limit for the exit of an engine after its input has ended, in seconds.
EXIT_SECONDS: Final = 1.0
NOT_STARTED: Final = 127
_CHUNK: Final = 1 << 16


def own_group() -> dict[str, Any]:
    """Return `subprocess.Popen` options for a process in its own group, for `kill_tree`.

    Such a process does not receive Ctrl-C from the terminal.
    """
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def kill_tree(process: int) -> None:
    """Kill a process that was started with `own_group`, and all its descendants."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process)], capture_output=True, check=False)
        return
    with suppress(ProcessLookupError, PermissionError):  # macOS refuses for a group of zombies
        os.killpg(process, signal.SIGKILL)


class _Guard:
    """Starts, feeds and kills the engine of this guard process."""

    def __init__(self) -> None:
        self._engine: subprocess.Popen[bytes] | None = None
        self._is_killed = False

    def run(self, command: list[str]) -> int:
        """Run a command until it exits or the input ends; return its exit code.

        The exit code is 128 + N after signal N.
        """
        signal.signal(signal.SIGTERM, lambda *_: self._kill())
        try:
            self._engine = subprocess.Popen(command, stdin=subprocess.PIPE, bufsize=0, **own_group())
        except OSError as error:
            sys.stderr.write(f"{command[0]}: {error.strerror}\n")
            return NOT_STARTED
        if self._is_killed:  # while it was started
            self._kill()
        threading.Thread(target=self._pass_on, args=(self._engine,), daemon=True).start()
        code = self._engine.wait()
        self._kill()  # what a wrapper script has left running
        return code if code >= 0 else 128 - code

    def _kill(self) -> None:
        self._is_killed = True
        if self._engine is not None:
            kill_tree(self._engine.pid)

    def _pass_on(self, engine: subprocess.Popen[bytes]) -> None:
        """Forward the input until it ends, then kill the engine if it does not exit in time."""
        assert engine.stdin is not None
        with suppress(OSError):  # the engine has exited: the main thread notices
            while chunk := os.read(0, _CHUNK):
                engine.stdin.write(chunk)
            engine.stdin.close()
        try:
            engine.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()


if __name__ == "__main__":
    status = _Guard().run(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)  # without waiting for the thread that reads
