from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

import pytest

from agents.external.process import EngineError, EngineProcess, split_command
from tests.agents.external.fakes import all_gone, fake_command, is_alive
from tests.conftest import REPOSITORY


def soon(seconds: float = 30) -> float:
    return time.monotonic() + seconds


def read_all(engine: EngineProcess, waiting_for: str, *, seconds: float = 30) -> NoReturn:
    """Read until it raises."""
    deadline = soon(seconds)
    while True:
        engine.read_line(deadline, waiting_for)


def start(dialect: str, trap: str = "") -> tuple[EngineProcess, list[int]]:
    """A GTP engine, and the ids of all its processes."""
    engine = EngineProcess(fake_command(dialect, trap))
    engine.send("name")
    _, _, *processes = engine.read_line(soon(), "").split()
    return engine, [engine.pid, *map(int, processes)]


def test_a_command_is_split_as_a_shell_does() -> None:
    assert split_command(f"{sys.executable} -c 'a b' --x=1,y") == (sys.executable, "-c", "a b", "--x=1,y")


@pytest.mark.parametrize(
    ("command", "message"), [("", "is empty"), ("no_such_program -l 1", "no program 'no_such_program'"), ("a 'b", "No closing quotation")]
)
def test_a_command_without_a_program_is_refused(command: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        split_command(command)


def test_an_engine_that_is_closed_exits() -> None:
    engine, processes = start("grhino")
    assert all(map(is_alive, processes))
    with engine:
        pass
    assert all_gone(processes)
    engine.close()
    engine.send("name")
    with pytest.raises(EngineError, match="to 'name'"):
        read_all(engine, "in answer to 'name'")


def test_an_engine_that_does_not_exit_is_killed_with_its_children() -> None:
    engine, processes = start("grhino", "deaf")
    assert len(processes) == 3  # guard, engine, child
    engine.send("quit")  # it falls asleep
    engine.close()
    assert all_gone(processes)


def test_an_engine_ends_with_its_object() -> None:
    engine, processes = start("grhino", "deaf")
    del engine
    gc.collect()
    assert all_gone(processes)


OWNER = """
import sys, time
from tests.agents.external.test_process import start
engine, processes = start("grhino", "deaf")
engine.send("genmove b")
print(*processes, flush=True)
if sys.argv[1] == "wait":
    time.sleep(600)
"""


@pytest.mark.parametrize("end", ["SIGTERM", *(pytest.param(end, marks=pytest.mark.slow) for end in ("exit", "SIGKILL", "SIGINT"))])
def test_an_engine_deep_in_thought_ends_with_the_python_process(end: str) -> None:
    code = [sys.executable, "-c", OWNER, "exit" if end == "exit" else "wait"]
    with subprocess.Popen(code, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as owner:
        assert owner.stdout is not None
        processes = [int(word) for word in owner.stdout.readline().split()]
        assert len(processes) == 3
        if end != "exit":
            assert all(map(is_alive, processes))
            owner.send_signal(getattr(signal, end, signal.SIGTERM))
        assert owner.wait(30) is not None
    assert all_gone(processes)


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_what_a_wrapper_script_leaves_running_ends_too(tmp_path: Path) -> None:
    script = tmp_path / "engine"
    script.write_text("#!/bin/sh\nsleep 600 &\necho $!\n")
    script.chmod(0o755)
    engine = EngineProcess([str(script)])
    child = int(engine.read_line(soon(), ""))
    with pytest.raises(EngineError, match=r"engine exited with code 0 .* in answer"):
        engine.read_line(soon(), "in answer")
    assert all_gone([child, engine.pid])


def test_a_crash_is_described_by_exit_code_and_last_words() -> None:
    engine, processes = start("grhino", "crash")
    engine.send("genmove b")
    with pytest.raises(EngineError, match=r"exited with code 7 \(segmentation fault in thread 3\) in answer to 'genmove b'"):
        read_all(engine, "in answer to 'genmove b'")
    assert all_gone(processes)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals")
def test_a_signal_that_ends_an_engine_is_in_its_exit_code() -> None:
    engine, (_, process) = start("grhino")
    assert engine.read_line(soon(), "") == ""
    os.kill(process, signal.SIGSEGV)
    with pytest.raises(EngineError, match="exited with code 139"):
        engine.read_line(soon(), "")


def test_a_program_that_is_none_is_an_error(tmp_path: Path) -> None:
    engine = EngineProcess([str(tmp_path / "missing")])
    with pytest.raises(EngineError, match=r"missing exited with code 127 \(.*No such file"):
        engine.read_line(soon(), "")


def test_an_engine_that_is_late_is_killed() -> None:
    engine, processes = start("grhino", "hang")
    assert engine.read_line(soon(), "") == ""
    engine.send("genmove b")
    with pytest.raises(EngineError, match="gave no answer in time in answer to 'genmove b'; its last line was '= fake"):
        engine.read_line(soon(0.1), "in answer to 'genmove b'")
    assert all_gone(processes)


def test_an_engine_that_writes_without_end_is_late_too() -> None:
    engine, processes = start("grhino", "endless")
    engine.send("genmove b")
    with pytest.raises(EngineError, match=r"no answer in time .*info depth 3"):
        read_all(engine, "", seconds=0.3)
    assert all_gone(processes)


def test_an_engine_that_writes_faster_than_it_is_read_has_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.external.process._MAX_UNREAD_LINES", 10)
    engine, processes = start("grhino", "endless")
    engine.send("genmove b")
    time.sleep(0.2)  # far more than ten lines
    assert engine._lines.qsize() <= 10
    for _ in range(100):
        assert engine.read_line(soon(), "") in ("info depth 3", "")
    with pytest.raises(EngineError, match=r"no answer in time .*info depth 3"):
        read_all(engine, "", seconds=0.3)
    assert all_gone(processes)


def test_bytes_that_are_no_text_and_long_lines_are_read() -> None:
    code = "import os; os.write(1, b'\\xff\\xfe ok\\r\\n' + b'x' * 70000 + b'\\n')"
    with EngineProcess([sys.executable, "-c", code]) as engine:
        assert engine.read_line(soon(), "").endswith("ok")
        assert engine.read_line(soon(), "") == "x" * 65536
