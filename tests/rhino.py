"""The engine GRhino (Debian package grhino): an Othello program that shares nothing with this one."""

from __future__ import annotations

from pathlib import Path

import pytest

RHINO = Path("/usr/games/gtp-rhino")

needs_rhino = pytest.mark.skipif(not RHINO.exists(), reason=f"{RHINO} does not exist: apt-get install grhino")


def rhino_command(*, level: int = 3, exact_empties: int | None = None) -> tuple[str, ...]:
    """The command line without the opening book. exact_empties: with at most this many empty squares it plays perfectly."""
    solver = () if exact_empties is None else ("-e", str(exact_empties), "-w", str(exact_empties))
    return (str(RHINO), "-l", str(level), "-b", "0", *solver)


def rhino_spec(level: int) -> str:
    """The spec of an agent that plays as the engine does at a level, 1 to 5."""
    return f"gtp:{RHINO} -l {level} -b 0"
