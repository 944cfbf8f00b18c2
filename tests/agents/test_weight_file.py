from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest

from agents.weight_file import FORMAT_VERSION, CheckpointError, read_weights, write_weights
from othello_env import atomic_file


def test_tensors_and_description_come_back(tmp_path: Path) -> None:
    tensors = {"a": np.arange(6, dtype=np.float32).reshape(2, 3).T, "b": np.array([2**63], dtype=np.uint64), "c": np.zeros(0)}
    write_weights(tmp_path / "file", "net", tensors=tensors, about={"games": 3, "settings": {"seed": 1}})
    read, about = read_weights(tmp_path / "file", "net")
    assert about == {"kind": "net", "format_version": FORMAT_VERSION, "games": 3, "settings": {"seed": 1}}
    assert read.keys() == tensors.keys()
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(read[name], tensor)
        assert read[name].dtype == tensor.dtype


def test_files_are_written_atomically(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """See `tests/othello_env/test_atomic_file.py`."""
    write_weights(tmp_path / "file", "net", tensors={}, about={"games": 1})

    def fail(_path: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic_file, "open_atomically", fail)
    with pytest.raises(OSError, match="No space left on device"):
        write_weights(tmp_path / "file", "net", tensors={}, about={"games": 2})
    assert read_weights(tmp_path / "file", "net")[1]["games"] == 1


def with_header(path: Path, metadata: dict[str, str]) -> Path:
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(1)}, path, metadata)
    return path


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, "not a weights file of this project, or damaged"),
        ({"about": "{"}, "not a weights file of this project, or damaged"),
        ({"about": "[" * 200_000}, "not a weights file of this project, or damaged"),
        ({"about": "[]"}, "holds None in format version None; expected 'net' in version 1"),
        ({"about": json.dumps({"kind": "other", "format_version": 1})}, "holds 'other' in format version 1; expected 'net' in version 1"),
        ({"about": json.dumps({"kind": "net", "format_version": 2})}, "holds 'net' in format version 2; expected 'net' in version 1"),
    ],
)
def test_another_kind_of_file_is_refused_with_its_name(tmp_path: Path, metadata: dict[str, str], message: str) -> None:
    path = with_header(tmp_path / "file", metadata)
    with pytest.raises(CheckpointError, match=f"file': {message}"):
        read_weights(path, "net")


def test_a_file_that_is_missing_or_damaged_is_refused_with_its_name(tmp_path: Path) -> None:
    write_weights(tmp_path / "file", "net", tensors={"a": np.zeros(100)}, about={})
    whole = (tmp_path / "file").read_bytes()
    for data in (b"", b"noise", whole[:-1], whole[:20], b"\xff" * 8 + whole[8:]):
        (tmp_path / "file").write_bytes(data)
        with pytest.raises(CheckpointError, match=r"file': not a weights file of this project, or damaged \([^\n]*\)$"):
            read_weights(tmp_path / "file", "net")
    with pytest.raises(CheckpointError, match=r"nothing': no such file$"):
        read_weights(tmp_path / "nothing", "net")
    with pytest.raises(CheckpointError, match=r"is a folder$"):
        read_weights(tmp_path, "net")
