"""Atomic writing of files that other programs may read at any moment."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def open_atomically(path: Path, mode: str = "wb", **options: Any) -> Iterator[Any]:
    """Open a file for writing that replaces `path` when the `with` block ends without an error.

    Until then the path keeps its old content. The data goes to a temporary file in the same folder,
    which is closed before it replaces the old one, because Windows cannot rename an open file. An
    error removes the temporary file. mode, options: as for `open`.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".partial")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that its path always holds the complete old or the complete new content.

    Raises `OSError` with the path.
    """
    try:
        with open_atomically(path) as file:
            file.write(data)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
