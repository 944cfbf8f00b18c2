from __future__ import annotations

import ast
import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from othello_env.atomic_file import open_atomically, write_atomically
from tests.conftest import REPOSITORY


@pytest.fixture
def open_files(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The files that have been opened by their descriptors, so that a test can tell whether they are closed."""
    files: list[Any] = []
    fdopen = os.fdopen

    def recording(*arguments: Any, **options: Any) -> Any:
        files.append(fdopen(*arguments, **options))
        return files[-1]

    monkeypatch.setattr(os, "fdopen", recording)
    return files


def test_the_file_is_closed_before_it_is_renamed(tmp_path: Path, open_files: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows does not rename an open file, and here a rename fails in the same way."""
    replace = Path.replace

    def as_on_windows(path: Path, target: Path) -> Path:
        if not all(file.closed for file in open_files):
            raise PermissionError(errno.EACCES, "The process cannot access the file because it is being used by another process")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", as_on_windows)
    write_atomically(tmp_path / "new", b"content")
    write_atomically(tmp_path / "new", b"more content")
    assert len(open_files) == 2
    assert (tmp_path / "new").read_bytes() == b"more content"
    assert list(tmp_path.iterdir()) == [tmp_path / "new"]
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o644


def test_the_data_are_on_the_disk_before_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def recorded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            calls.append(name)
            return function(*arguments)

        return call

    monkeypatch.setattr(os, "fsync", recorded("fsync", fsync))
    monkeypatch.setattr(Path, "replace", recorded("replace", replace))
    write_atomically(tmp_path / "new", b"content")
    assert calls == ["fsync", "replace"]


class FullDisk:
    """A file on a full disk: the first bytes fit, the rest does not."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __enter__(self) -> FullDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        self._file.write(data[:3])
        self._file.flush()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_old_file_and_names_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old content")
    fdopen = os.fdopen
    monkeypatch.setattr(os, "fdopen", lambda *arguments, **_: FullDisk(fdopen(*arguments)))
    with pytest.raises(OSError, match="No space left on device") as raised:
        write_atomically(path, b"new content")
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(path))
    assert path.read_bytes() == b"old content"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["chmod", "replace"])
def test_an_interrupt_leaves_the_old_file_alone(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old content")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new content")
    assert path.read_bytes() == b"old content"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_does_not_exist_is_named_by_the_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        write_atomically(tmp_path / "nowhere" / "file", b"")
    assert raised.value.filename == str(tmp_path / "nowhere" / "file")


def test_text_is_streamed_and_an_error_in_between_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with open_atomically(path, "w", encoding="utf-8", newline="") as file:
        file.write("one\n")
        assert not path.exists()
        file.write("two \u25cf\n")
    assert path.read_bytes() == "one\ntwo \u25cf\n".encode()
    with pytest.raises(TypeError), open_atomically(path, "w", encoding="utf-8") as file:
        file.writelines(["three\n", 4])
    assert path.read_bytes() == "one\ntwo \u25cf\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def renames(path: Path) -> Iterator[int]:
    """The lines that rename a file: `path.replace(target)`, `os.replace(...)` and their siblings."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("replace", "rename", "renames"):
            is_module = isinstance(node.func.value, ast.Name) and node.func.value.id in ("os", "shutil")
            if is_module or (len(node.args) == 1 and not node.keywords):
                yield node.lineno


def test_no_other_module_renames_files() -> None:
    """A second function that replaces files would have to take the same care."""
    sources = [path for package in ("othello_env", "agents", "training") for path in (REPOSITORY / package).rglob("*.py")]
    found = {path.relative_to(REPOSITORY).as_posix() for path in sources if list(renames(path))}
    assert found == {"othello_env/atomic_file.py"}
