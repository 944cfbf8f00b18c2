"""Compiled functions of tests, kept on disk until a source file that may have gone into them changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from othello_env import compiled
from tests.conftest import REPOSITORY

Function = TypeVar("Function", bound=Callable[..., object])


def kept_kernel(function: Function) -> Function:
    """Compile a function of a test that calls compiled functions of `othello_env` and `agents`."""
    return compiled.kernel(function, REPOSITORY / "agents")
