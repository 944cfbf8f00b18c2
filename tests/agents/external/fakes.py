from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agents.external.agent import EngineAgent
from agents.external.gtp import gtp_agent
from agents.external.nboard import nboard_agent
from othello_env.command import format_command

FAKE = Path(__file__).with_name("fake_engine.py")
NBOARD = ("ntest", "edax_nboard")


def fake_command(dialect: str, trap: str = "") -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", str(FAKE), dialect, *([trap] if trap else []))


@contextmanager
def fake_agent(dialect: str, trap: str = "", *, timeout: float = 30) -> Iterator[EngineAgent]:
    command = format_command(*fake_command(dialect, trap))
    agent = nboard_agent(command, timeout=timeout) if dialect in NBOARD else gtp_agent(command, timeout=timeout)
    try:
        yield agent
    finally:
        agent.close()


def is_alive(process: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has waited for does not."""
    stat = Path(f"/proc/{process}/stat")
    if Path("/proc/self/stat").exists():
        try:
            return stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def all_gone(processes: list[int], *, seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while any(map(is_alive, processes)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(is_alive, processes))
