"""Weights on disk: safetensors files whose header says what they are. Nothing is unpickled."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

FORMAT_VERSION: Final = 1


class CheckpointError(ValueError):
    """A weights file or checkpoint that is missing, damaged, or of another kind or version. The message names the file."""


def write_weights(path: Path, kind: str, tensors: dict[str, npt.NDArray[Any]], about: dict[str, Any]) -> None:
    """Write tensors and a description, which must be JSON, so that a reader sees the old file or the whole new one.

    kind: what the file holds, for `read_weights` to check.
    """
    from safetensors.numpy import save

    header = {"kind": kind, "format_version": FORMAT_VERSION, **about}
    temporary = path.with_name(path.name + ".partial")
    with temporary.open("wb") as file:
        file.write(save({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, {"about": json.dumps(header)}))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_weights(path: Path, kind: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Read what `write_weights` wrote: the tensors and the description.

    Raises `CheckpointError` for a file that is missing, damaged, or holds another kind or a later version.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise CheckpointError(f"{path}: no such file")
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads(file.metadata()["about"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: not a weights file of this project, or damaged ({error})") from None
    found, version = about.get("kind"), about.get("format_version")
    if found != kind or version != FORMAT_VERSION:
        raise CheckpointError(f"{path}: holds {found!r} in format version {version}; expected {kind!r} in version {FORMAT_VERSION}")
    return tensors, about
