from __future__ import annotations

import errno
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from othello_env import command as shared
from othello_env.command import (
    EXTRA_OF,
    CommandError,
    MissingExtraError,
    Parser,
    Progress,
    command,
    format_command,
    missing_extra,
)
from tests.conftest import REPOSITORY


def run(code: str, *, folder: Path = REPOSITORY, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *code.split("\n")], capture_output=True, text=True, check=False, cwd=folder, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ValueError("bad\nvalue 3"), 2, "bad value 3"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "games.txt"), 2, "games.txt: No such file or directory"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "[Errno 28] No space left on device"),
        (MemoryError(), 1, "MemoryError"),
        (CommandError("training has\ndiverged"), 1, "training has diverged"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (
            ModuleNotFoundError("No module named 'torch'", name="torch"),
            2,
            'needs torch; in a clone: pip install -e ".[torch]"',
        ),
        (ModuleNotFoundError("No module named 'scipy.stats'", name="scipy.stats"), 2, 'pip install -e ".[train]"'),
        (missing_extra("numba", "the solver"), 2, 'the solver needs numba; in a clone: pip install -e ".[fast]"'),
    ],
)
def test_errors_of_users_are_one_line_and_an_exit_code(
    error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped, command("tool"):
        raise error
    assert stopped.value.code == code
    printed = capsys.readouterr().err
    assert printed.startswith("tool: ")
    assert line in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize(("error", "message"), [(ValueError("bad"), "bad"), (KeyboardInterrupt(), "interrupted")])
def test_a_note_of_the_moment_of_the_error_ends_the_message(error: BaseException, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    saved = []

    def fail() -> None:
        saved.append("a file")
        raise error

    with pytest.raises(SystemExit), command("tool", note=lambda: f"{len(saved)} files are saved"):
        fail()
    assert capsys.readouterr().err == f"tool: {message}; 1 files are saved\n"


@pytest.mark.parametrize("error", [TypeError("ours"), AssertionError(), ModuleNotFoundError("no", name="somebody_elses")])
def test_errors_of_the_program_keep_their_traceback(error: Exception) -> None:
    with pytest.raises(type(error)), command("tool"):
        raise error


def test_arguments_are_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    parser = Parser(prog="python -m training.evaluation.tool")
    parser.add_argument("--seed", type=shared.seed)
    for words, expected in ((["--seed", "-1"], "'-1': expected an integer from 0"), (["--sed", "1"], "unrecognized arguments")):
        with pytest.raises(SystemExit) as stopped:
            parser.parse_args(words)
        assert stopped.value.code == 2
        printed = capsys.readouterr().err
        assert printed.startswith("tool: ")
        assert expected in printed
        assert printed.count("\n") == 1
    assert parser.parse_args(["--seed", "7"]).seed == 7


def test_a_reader_that_leaves_ends_a_command_without_a_message() -> None:
    code = (
        "from othello_env.command import command\n"
        "with command('tool'):\n"
        "    for number in range(100_000): print(number)\n"
        "    raise AssertionError('not reached')"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=REPOSITORY)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().strip() == b"0"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


@pytest.mark.parametrize("encoding", ["ascii", "cp932", "cp874", "latin-1", "utf-8"])
def test_output_is_replaced_where_the_terminal_cannot_encode_it(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding=encoding))
    with command("tool"):
        sys.stdout.write("a · ● ± 囲 \U0001f600\n")
    text = buffer.getvalue().decode(encoding)
    if encoding == "utf-8":
        assert text == "a · ● ± 囲 \U0001f600\n"
    elif encoding == "ascii":
        assert text == "a . X +- ? ?\n"
    else:
        assert text.startswith("a ")


def test_a_package_explains_modules_that_cannot_be_imported(tmp_path: Path) -> None:
    package = tmp_path / "tools"
    package.mkdir()
    (package / "__init__.py").write_text("from othello_env.command import explain_import_errors\nexplain_import_errors()\n")
    for name, body in {
        "lacks_torch": "import sys; sys.modules['torch'] = None\nimport torch",
        "lacks_own": "import no_such_module_of_ours",
        "is_wrong": "raise ValueError('a fault')",
        "interrupted": "raise KeyboardInterrupt",
        "works": "print('fine')",
    }.items():
        (package / f"{name}.py").write_text(body)

    for name in ("package", "late_package"):
        (package / name).mkdir()
    (package / "package" / "__init__.py").write_text("import sys; sys.modules['scipy'] = None\nimport scipy")
    (package / "package" / "__main__.py").touch()
    (package / "late_package" / "__init__.py").touch()
    (package / "late_package" / "__main__.py").write_text("import sys; sys.modules['scipy'] = None\nimport scipy")

    def outcome(name: str) -> tuple[int, str]:
        found = run(f"-m\ntools.{name}", folder=tmp_path, env={**os.environ, "PYTHONPATH": str(REPOSITORY)})
        return found.returncode, found.stderr

    assert outcome("lacks_torch") == (2, 'lacks_torch: this needs torch; in a clone: pip install -e ".[torch]"\n')
    assert outcome("interrupted") == (130, "interrupted: interrupted\n")
    assert outcome("works") == (0, "")
    for name in ("package", "late_package"):
        assert outcome(name) == (2, f'{name}: this needs scipy; in a clone: pip install -e ".[train]"\n')
    for name in ("lacks_own", "is_wrong"):
        code, text = outcome(name)
        assert code == 1
        assert text.startswith("Traceback")
    assert "Traceback" in run("-c\nimport tools.lacks_torch", folder=tmp_path).stderr


@pytest.mark.parametrize(
    ("system", "expected"), [("posix", "python 'a b' 'it'\"'\"'s' --x=1"), ("nt", 'python "a b" it\'s --x=1')], ids=["posix", "windows"]
)
def test_printed_commands_are_quoted_for_the_shell(system: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "name", system)
    assert format_command("python", "a b", "it's", "--x=1") == expected


def test_every_library_of_an_extra_is_known_with_the_extra_that_installs_it() -> None:
    names = {"PIL": "pillow", "pygame": "pygame-ce"}
    lines = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    for library, extra in EXTRA_OF.items():
        listed = lines.split(f"\n{extra} = [", 1)[1].split("\n", 1)[0]
        assert f'"{names.get(library, library)}>=' in listed, library


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("with_tqdm", [True, False])
def test_progress_tells_what_is_done_and_what_is_left(with_tqdm: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not with_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(shared, "_PROGRESS_SECONDS", -1.0)
    with Progress(8, unit="games", initial=2, leave=True) as progress:
        progress.note("score 0.5")
        for _ in range(6):
            progress.update()
    assert progress.done == 8
    assert "games" in terminal.getvalue()
    assert "score 0.5" in terminal.getvalue()


@pytest.mark.parametrize("with_tqdm", [True, False])
def test_the_time_left_does_not_count_what_was_before_the_clock_was_restarted(with_tqdm: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler takes 50 seconds, and then a game takes one: 98 games take 98 seconds."""
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    if with_tqdm:
        pytest.importorskip("tqdm")
        monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    else:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress(100, unit="games", leave=True) as progress:
        progress.note("score 0.5")
        now[0] += 50
        progress.update()
        progress.restart_clock()
        before = terminal.getvalue()
        now[0] += 1.5
        progress.update(1.5)
        shown = terminal.getvalue().removeprefix(before)
    assert progress.done == 2.5
    assert ("01:37<" in shown or "<01:37" in shown) if with_tqdm else "98 s left" in shown
    assert "score 0.5" in shown


@pytest.mark.parametrize("with_tqdm", [True, False])
def test_progress_takes_a_total_that_becomes_known_later(with_tqdm: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not with_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(shared, "_PROGRESS_SECONDS", -1.0)
    with Progress(None, unit="moves", leave=True) as progress:
        progress.advance(3, 40)
        progress.advance(40, 40)
        assert progress.done == 40
    assert re.search("40/40|40 of 40", terminal.getvalue())


@pytest.mark.parametrize("with_tqdm", [True, False])
def test_progress_is_shown_in_the_output_of_a_notebook_cell(with_tqdm: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not with_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(shared, "_PROGRESS_SECONDS", -1.0)
    with Progress(3, unit="games", leave=True) as progress:
        progress.update(3)
    assert re.search("3/3|3 of 3", stream.getvalue())


@pytest.mark.parametrize("with_tqdm", [True, False])
def test_progress_is_silent_where_nobody_watches(with_tqdm: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not with_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress(3, unit="games") as progress:
        progress.update(3)
    assert stream.getvalue() == ""


def test_a_missing_extra_is_an_import_error() -> None:
    def reader() -> None:
        raise missing_extra("PIL", "a GIF")

    with pytest.raises(MissingExtraError, match="a GIF needs PIL") as raised:
        reader()
    assert isinstance(raised.value, ImportError)
    assert raised.value.name == "PIL"
