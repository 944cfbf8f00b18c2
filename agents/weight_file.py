"""Weights on disk: safetensors files whose header says what they are. Nothing is unpickled."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

FORMAT_VERSION: Final = 1


class CheckpointError(ValueError):
    """A weights file or checkpoint that is missing, damaged, or of another kind or version. The message names the file."""


def write_weights(path: Path, kind: str, *, tensors: dict[str, npt.NDArray[Any]], about: dict[str, Any]) -> None:
    """Write tensors and a description, which must be JSON, so that a reader sees the old file or the whole new one.

    kind: what the file holds, for `read_weights` to check.
    """
    from safetensors.numpy import save

    header = {"kind": kind, "format_version": FORMAT_VERSION, **about}
    data = save({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, {"about": json.dumps(header)})
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, suffix=".partial", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            temporary.chmod(0o644)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def read_weights(path: Path, kind: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Read what `write_weights` wrote: the tensors and the description.

    Raises `CheckpointError` for a file that is missing, damaged, or holds another kind or a later version.
    """
    from safetensors import SafetensorError, safe_open

    name = repr(str(path))
    if not path.is_file():
        raise CheckpointError(f"{name}: {'is a folder' if path.is_dir() else 'no such file'}")
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads(file.metadata()["about"])
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{name}: not a weights file of this project, or damaged ({' '.join(str(error).split())})") from None
    found, version = (about.get("kind"), about.get("format_version")) if isinstance(about, dict) else (None, None)
    if found != kind or version != FORMAT_VERSION:
        raise CheckpointError(f"{name}: holds {found!r} in format version {version}; expected {kind!r} in version {FORMAT_VERSION}")
    return tensors, about
