"""Guard process of an engine: starts it, passes its input on, and kills it when the input ends.

`EngineProcess` runs this file as a script. Its input ends when the owner closes it, and also when the owner is killed: an engine that
hangs or is deep in thought would not notice either. The engine writes to the owner directly.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Final

# An engine may take this long to exit after its input has ended, in seconds.
EXIT_SECONDS: Final = 1.0
NOT_STARTED: Final = 127
_CHUNK: Final = 1 << 16


def kill_tree(process: int) -> None:
    """Kill a guard, its engine and all that the engine has started. process: id of the guard."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process)], capture_output=True, check=False)
        return
    with suppress(ProcessLookupError, PermissionError):  # macOS refuses for a group of zombies
        os.killpg(process, signal.SIGKILL)


def _pass_on(engine: subprocess.Popen[bytes]) -> None:
    """Pass the guard's input on until it ends, and then see that the engine exits."""
    assert engine.stdin is not None
    with suppress(OSError):  # the engine has exited: the main thread notices
        while chunk := os.read(0, _CHUNK):
            engine.stdin.write(chunk)
        engine.stdin.close()
    try:
        engine.wait(EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        kill_tree(os.getpid())


def main(command: list[str]) -> int:
    """Run a command until it exits or the input ends; return its exit code, 128 + N after signal N."""
    try:
        engine = subprocess.Popen(command, stdin=subprocess.PIPE, bufsize=0)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return NOT_STARTED
    threading.Thread(target=_pass_on, args=(engine,), daemon=True).start()
    code = engine.wait()
    if sys.platform != "win32":  # what a wrapper script has left running
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)  # without waiting for the thread that reads
