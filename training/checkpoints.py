"""Checkpoints: the complete state of a training run in one safetensors file.

A run that is resumed from a checkpoint continues exactly where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.weight_file import CheckpointError, read_weights, write_weights
from othello_env.command import CommandError

Arrays = dict[str, npt.NDArray[Any]]


class TrainingDivergedError(CommandError, ValueError):
    """Raised when weights, losses or gradients are no longer finite."""


def write_checkpoint(path: Path, kind: str, *, parts: dict[str, Arrays], about: dict[str, Any]) -> None:
    """Write named parts of arrays and a JSON-serializable description.

    `path` keeps the old file until the new one is complete.
    """
    tensors = {f"{part}/{name}": array for part, arrays in parts.items() for name, array in arrays.items()}
    write_weights(path, kind, tensors=tensors, about=about)


def read_checkpoint(path: Path, kind: str) -> tuple[dict[str, Arrays], dict[str, Any]]:
    """Read a file written by `write_checkpoint`.

    Raises `CheckpointError` if the file is missing, damaged or of another kind.
    """
    tensors, about = read_weights(path, kind)
    parts: dict[str, Arrays] = {}
    for key, array in tensors.items():
        part, _, name = key.partition("/")
        parts.setdefault(part, {})[name] = array
    return parts, about


@contextmanager
def checkpoint(path: Path, kind: str) -> Iterator[tuple[dict[str, Arrays], dict[str, Any]]]:
    """Read a checkpoint to resume from.

    Errors in the body of the `with` that come from invalid content are raised as `CheckpointError`.
    """
    parts, about = read_checkpoint(path, kind)
    try:
        yield parts, about
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CheckpointError(f"{str(path)!r}: not a checkpoint to resume from ({type(error).__name__}: {error})") from None


def check_fits(name: str, array: npt.NDArray[Any], like: npt.NDArray[Any]) -> None:
    """Raise `ValueError` unless an array of a checkpoint has the shape and dtype of `like`."""
    if array.shape != like.shape or array.dtype != like.dtype:
        raise ValueError(f"{name}: {array.dtype} of shape {array.shape}; expected {like.dtype} of shape {like.shape}")


def read_counter(about: dict[str, Any], name: str) -> int:
    """Return a counter from a checkpoint's description.

    Raises `ValueError` unless it is a non-negative integer, `KeyError` if it is missing.
    """
    value = about[name]
    if type(value) is not int or value < 0:
        raise ValueError(f"{name} {value!r}: expected an integer from 0")
    return value


def read_sums(about: dict[str, Any], name: str, count: int) -> npt.NDArray[np.float64]:
    """Return sums from a checkpoint's description, the last one a number of summands.

    Returns [count] float64. Raises `ValueError` unless there are `count` finite numbers, the last
    one a non-negative integer.
    """
    sums = np.array(about[name], dtype=np.float64)
    if sums.shape != (count,) or not np.isfinite(sums).all() or sums[-1] < 0 or sums[-1] % 1:
        raise ValueError(f"{name} {about[name]!r}: expected {count} finite numbers, the last one a count")
    return sums


def check_game_counts(*, games_done: int, plies_done: int, num_running: int, board_size: int) -> None:
    """Raise `ValueError` for numbers of games and plies that contradict each other.

    A finished game has at least one ply, and at most as many as the start position has empty
    squares. num_running: number of running games; their plies count too.
    """
    longest = board_size**2 - 4
    if not games_done <= plies_done <= (games_done + num_running) * longest:
        raise ValueError(
            f"{games_done} games with {plies_done} plies: a game has 1 to {longest} plies, and {num_running} games are still running"
        )
