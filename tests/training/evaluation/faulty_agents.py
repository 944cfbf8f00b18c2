"""Agents that fail, each in its own way; importable, so that worker processes can construct them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agents import Agent, make_agent
from othello_env.batch import PositionBatch

# Most of them fail on their turn with at most this number of empty squares.
EMPTIES = 20


@dataclass(frozen=True)
class Faulty:
    """Plays at random until a position with so few empty squares comes, and then fails."""

    name: str
    fail: Callable[[PositionBatch, np.ndarray[Any, Any]], Any]
    empties: int = EMPTIES

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
        moves = positions.sample_moves(rng)
        return self.fail(positions, moves) if (positions.empties <= self.empties).any() else moves


def illegal() -> Agent:
    def fail(positions: PositionBatch, moves: np.ndarray[Any, Any]) -> Any:
        return np.where(positions.empties <= EMPTIES, 27, moves)  # d4 is never empty

    return Faulty("illegal", fail)


def raising() -> Agent:
    def fail(_positions: PositionBatch, _moves: np.ndarray[Any, Any]) -> Any:
        raise RuntimeError("cannot think\nany more")

    return Faulty("raising", fail)


def invalid_output() -> Agent:
    return Faulty("invalid_output", lambda _positions, _moves: ["a1", None])


def wrong_shape() -> Agent:
    return Faulty("wrong_shape", lambda _positions, moves: np.append(moves, 3))


def floating() -> Agent:
    return Faulty("floating", lambda _positions, moves: moves.astype(float))


def huge() -> Agent:
    return Faulty("huge", lambda _positions, moves: np.full(len(moves), 2**64 - 1, dtype=np.uint64))


def hanging() -> Agent:
    def fail(_positions: PositionBatch, _moves: np.ndarray[Any, Any]) -> Any:
        time.sleep(3600)

    return Faulty("hanging", fail)


def dying() -> Agent:
    def fail(_positions: PositionBatch, _moves: np.ndarray[Any, Any]) -> Any:
        os._exit(7)

    return Faulty("dying", fail)


def vandal() -> Agent:
    def fail(positions: PositionBatch, moves: np.ndarray[Any, Any]) -> Any:
        positions.own[:] = 0
        positions.opp[:] = 0
        return moves

    return Faulty("vandal", fail)


def sound() -> Agent:
    return make_agent("greedy")


def impossible() -> Agent:
    raise RuntimeError("cannot be\nconstructed")


def leaving_construction() -> Agent:
    raise SystemExit("no licence")


def dying_construction() -> Agent:
    os._exit(9)


def hanging_construction() -> Agent:
    time.sleep(3600)
    raise AssertionError


def no_agent() -> Any:
    return "an agent"


class _FirstCall:
    """Fails in its first call, in the construction's name."""

    board_size = 8

    def __init__(self, fail: Callable[[], Any]) -> None:
        self._fail = fail

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
        self._fail()
        return positions.sample_moves(rng)


def dying_first_call() -> Any:
    return _FirstCall(lambda: os._exit(9))


def hanging_first_call() -> Any:
    return _FirstCall(lambda: time.sleep(3600))


def nameless() -> Any:
    """Plays at random, on 8x8 only, and has no name."""
    return _FirstCall(lambda: None)


class DyingOnce:
    """Ends the process that constructs it first, and no other: its cause is outside."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self) -> Agent:
        if not (self._folder / "died").exists():
            (self._folder / "died").touch()
            os._exit(9)
        return make_agent("greedy")


class ConstructedOnce:
    """Raises when it is called for the second time, in whatever process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self) -> Agent:
        try:
            (self._folder / "constructed").touch(exist_ok=False)
        except FileExistsError:
            raise RuntimeError("no second") from None
        return make_agent("greedy")


def ending_worker(*_: Any) -> None:
    """Stands for the main function of a worker process, and ends it before anything is asked."""
    os._exit(4)


class DyingImport:
    """Ends the process in which it is unpickled, as a module may in which a function is to be imported."""

    def __call__(self) -> Agent:
        raise AssertionError

    def __reduce__(self) -> Any:
        return os._exit, (9,)


class FailingImport(DyingImport):
    """Raises where it is unpickled."""

    def __reduce__(self) -> Any:
        return int, ("no module",)


class _NoWordsError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def speechless() -> Agent:
    def fail(_positions: PositionBatch, _moves: np.ndarray[Any, Any]) -> Any:
        raise _NoWordsError

    return Faulty("speechless", fail)


def leaving() -> Agent:
    def fail(_positions: PositionBatch, _moves: np.ndarray[Any, Any]) -> Any:
        raise SystemExit(3)

    return Faulty("leaving", fail)


def dying_later() -> Agent:
    """Its process ends a moment after it has answered."""

    def fail(_positions: PositionBatch, moves: np.ndarray[Any, Any]) -> Any:
        threading.Timer(0.3, lambda: os._exit(5)).start()
        return moves

    return Faulty("dying_later", fail)


def slow_construction() -> Agent:
    time.sleep(1.5)
    return make_agent("greedy")


def slow_at_first() -> Agent:
    return _SlowAtFirst()


class _SlowAtFirst:
    name = "slow_at_first"

    def __init__(self) -> None:
        self._is_first = True

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
        if self._is_first:
            time.sleep(1.2)
        self._is_first = False
        return positions.sample_moves(rng)


def with_a_child() -> Agent:
    """Starts a process that would outlive it, and names it in a file."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(os.environ["OTHELLO_TEST_CHILD"]).write_text(str(child.pid), encoding="utf-8")
    return make_agent("random")
