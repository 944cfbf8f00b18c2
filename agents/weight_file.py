"""Weight files: safetensors with a JSON description in the header.

Reading a file never executes code (no pickle).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from othello_env.atomic_file import write_atomically

FORMAT_VERSION: Final = 1


class CheckpointError(ValueError):
    """Raised when a weight file or checkpoint is missing, damaged, or of another kind or version.

    The message names the file.
    """


def write_weights(path: Path, kind: str, *, tensors: dict[str, npt.NDArray[Any]], about: dict[str, Any]) -> None:
    """Write tensors and a JSON-serializable description atomically.

    `path` keeps the old file until the new one is complete. kind: type of the content, checked by
    `read_weights`.
    """
    from safetensors.numpy import save

    header = {"kind": kind, "format_version": FORMAT_VERSION, **about}
    data = save({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, {"about": json.dumps(header)})
    write_atomically(path, data)


def read_weights(path: Path, kind: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Return the tensors and the description that `write_weights` wrote.

    Raises `CheckpointError` if the file is missing, damaged, or holds another kind or format
    version.
    """
    from safetensors import SafetensorError, safe_open

    name = repr(str(path))
    if not path.is_file():
        raise CheckpointError(f"{name}: {'is a folder' if path.is_dir() else 'no such file'}")
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads(file.metadata()["about"])
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise CheckpointError(f"{name}: not a weights file of this project, or damaged ({' '.join(str(error).split())})") from None
    found, version = (about.get("kind"), about.get("format_version")) if isinstance(about, dict) else (None, None)
    if found != kind or version != FORMAT_VERSION:
        raise CheckpointError(f"{name}: holds {found!r} in format version {version}; expected {kind!r} in version {FORMAT_VERSION}")
    return tensors, about
