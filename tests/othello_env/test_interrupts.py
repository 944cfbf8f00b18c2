"""Ctrl-C before any instruction of `step`, `reset` and `set_state` leaves the state as before the call, or as after it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.vector import AutoresetMode

from othello_env import AgentError, IllegalMoveError
from othello_env.rendering import modes
from othello_env.rendering.window import Window
from tests.conftest import REPOSITORY
from tests.othello_env.environments import C7, MAKERS, VECTORS, WON_BY_C7, first_legal, play, prepared, snapshot

# The code that is interrupted: the environments and the libraries under them. The rules and the
# array code hold no state.
_MODULES = ("aec_env", "gym_env", "vector_env", "options", "opponent", "state", "agent", "rendering/modes")
_FILES = {*(str(REPOSITORY / "othello_env" / f"{module}.py") for module in _MODULES), first_legal.__code__.co_filename}
_LIBRARIES = tuple(str(Path(str(library.__file__)).parent) + os.sep for library in (gymnasium, pettingzoo))


class Interruption:
    """Trace function that raises `KeyboardInterrupt` before the instruction with a number, from 1; with 0 it only counts."""

    def __init__(self, number: int) -> None:
        self.number, self.count = number, 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        if file not in _FILES and not file.startswith(_LIBRARIES):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.count += 1
            if self.count == self.number:
                raise KeyboardInterrupt
        return self


def interrupt(call: Callable[[], Any], number: int) -> tuple[int, type[BaseException] | None]:
    """Interrupt a call at an instruction. Returns the number of instructions executed and the type of what was raised."""
    interruption, raised = Interruption(number), None
    before = sys.gettrace()
    sys.settrace(interruption)
    try:
        call()
    except BaseException as error:
        raised = type(error)
    finally:
        sys.settrace(before)
    return interruption.count, raised


def broken(observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> Any:
    rng.random()
    raise RuntimeError("broken")


@dataclass(frozen=True)
class Case:
    """One operation on an environment.

    moves: played before by `reset`; None for a new environment. actions: played then by `step`.
    opponent: set then. error: what the operation raises by itself.
    """

    kind: str
    operate: Callable[[Any], Any]
    moves: str | None = "f5"
    actions: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    opponent: Any = None
    error: type[Exception] | None = None

    def prepare(self) -> Any:
        """The environment before the operation."""
        openings = {"openings": [self.moves]} if self.moves and self.kind in VECTORS else {}
        env = MAKERS[self.kind](**openings, **self.options)
        if hasattr(env.unwrapped, "_rng") and self.kind == "env":
            env.unwrapped._rng = np.random.default_rng(7)  # a new one has another state each time
        if self.moves is not None:
            env.reset(seed=5, options=None if openings else {"moves": self.moves})
        for action in self.actions:
            play(env, action)
        if self.opponent is not None:
            env.opponent = self.opponent
        return env


STATES = {kind: prepared(kind).get_state() for kind in MAKERS}
D6, B4 = 43, 25  # legal after f5, and where c7 is
FIRST = {"moves": "f5", "random_plies": 2}
WINDOW, WHITE = {"render_mode": "human"}, {"color": "white"}


def set_state(env: Any) -> None:
    env.set_state(STATES.get(type(env).__name__, STATES["env"]))


def reset_one(env: Any) -> None:
    env.reset(options={"reset_mask": np.array([True, False])})


CASES = {
    "aec step": Case("env", lambda env: env.step(D6)),
    "aec last step": Case("env", lambda env: env.step(C7), WON_BY_C7),
    "aec illegal step": Case("env", lambda env: env.step(0)),
    "aec dead step": Case("env", lambda env: env.step(None), WON_BY_C7, (C7,)),
    "aec last dead step": Case("env", lambda env: env.step(None), WON_BY_C7, (C7, None)),
    "aec step in a window": Case("env", lambda env: env.step(D6), options=WINDOW),
    "aec first reset": Case("env", lambda env: env.reset(seed=1, options=FIRST), None),
    "aec reset": Case("env", lambda env: env.reset(options=FIRST)),
    "aec reset to an end": Case("env", lambda env: env.reset(options={"position": "X" * 64 + "O"})),
    "aec refused reset": Case("env", lambda env: env.reset(seed=1, options={"moves": "f5f5"}), error=IllegalMoveError),
    "aec set_state": Case("env", set_state),
    "aec first set_state": Case("env", set_state, None),
    "gymnasium step": Case("OthelloEnv", lambda env: env.step(D6), options=WHITE),
    "gymnasium step at random": Case("OthelloEnv", lambda env: env.step(0), options=WHITE | {"illegal": "random", "opponent": "random"}),
    "gymnasium last step": Case("OthelloEnv", lambda env: env.step(C7), WON_BY_C7),
    "gymnasium illegal step": Case("OthelloEnv", lambda env: env.step(0), options=WHITE),
    "gymnasium refused step": Case("OthelloEnv", lambda env: env.step(0), options={"illegal": "raise"}, error=IllegalMoveError),
    "gymnasium broken opponent": Case("OthelloEnv", lambda env: env.step(D6), options=WHITE, opponent=broken, error=AgentError),
    "gymnasium step in a window": Case("OthelloEnv", lambda env: env.step(D6), options=WHITE | WINDOW),
    "gymnasium first reset": Case("OthelloEnv", lambda env: env.reset(seed=1, options=FIRST), None),
    "gymnasium reset": Case("OthelloEnv", lambda env: env.reset(options=FIRST | {"color": "random"})),
    "gymnasium set_state": Case("OthelloEnv", set_state),
    "gymnasium first set_state": Case("OthelloEnv", set_state, None),
    "vector broken opponent": Case("OthelloVectorEnv", lambda env: env.step([D6, D6]), options=WHITE, opponent=broken, error=AgentError),
}
for _kind in VECTORS:
    _white = WHITE if _kind == "OthelloVectorEnv" else {}
    for _mode in AutoresetMode:
        _options = {"autoreset_mode": _mode}
        CASES[f"{_kind}, {_mode.value}, step"] = Case(_kind, lambda env: env.step([D6, 0]), options=_white | _options)
        CASES[f"{_kind}, {_mode.value}, last step"] = Case(_kind, lambda env: env.step([C7, B4]), WON_BY_C7, options=_options)
    CASES[f"{_kind}, new games"] = Case(_kind, lambda env: env.step([C7, B4]), WON_BY_C7, (C7,))
    CASES[f"{_kind}, step at random"] = Case(_kind, lambda env: env.step([0, 0]), options=_white | {"illegal": "random"})
    CASES[f"{_kind}, refused step"] = Case(_kind, lambda env: env.step([0, 0]), options={"illegal": "raise"}, error=IllegalMoveError)
    CASES[f"{_kind}, first reset"] = Case(_kind, lambda env: env.reset(seed=1), None, options={"random_plies": 2})
    CASES[f"{_kind}, reset"] = Case(_kind, lambda env: env.reset(seed=[1, 2]), options={"random_plies": 2})
    CASES[f"{_kind}, reset of one"] = Case(_kind, reset_one, options={"random_plies": 2})
    CASES[f"{_kind}, set_state"] = Case(_kind, set_state)
    CASES[f"{_kind}, first set_state"] = Case(_kind, set_state, None)


# Environments of Gymnasium 1.1 have a `__del__`, and Python goes on where that is interrupted.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("stride", [23, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_interruption_leaves_the_state_before_or_after(case: Case, stride: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries one instruction in `stride`, and each of the last ones, among which is the change."""
    monkeypatch.setattr(modes, "draw_board", lambda position, last_move: None)
    monkeypatch.setattr(Window, "__init__", lambda self, title: None)
    monkeypatch.setattr(Window, "show", lambda self, frame, rate: None)
    env = case.prepare()
    before = snapshot(env)
    total, raised = interrupt(lambda: case.operate(env), 0)
    after = snapshot(env)
    assert raised is case.error
    assert (after == before) == (case.error is not None)
    changed: list[bool] = []
    for number in (*range(1, total - 40, stride), *range(max(1, total - 40), total + 1)):
        if number == 1 or changed[-1]:
            env = case.prepare()
        _, raised = interrupt(lambda: case.operate(env), number)  # noqa: B023
        assert raised in (KeyboardInterrupt, case.error)
        state = snapshot(env)
        assert state in (before, after), f"interrupted at {number} of {total}"
        changed.append(state != before)
    # There is one moment at which everything changes, and Ctrl-C may come before it and after it.
    assert changed == sorted(changed)
    assert set(changed) == ({False, True} if case.error is None else {False})
