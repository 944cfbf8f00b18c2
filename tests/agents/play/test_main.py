from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import agent_specs, make_agent
from agents.play.__main__ import main
from agents.play.levels import LEVELS, level_spec
from othello_env import Game, Position, PositionBatch
from tests.agents.ntuple.test_network import network_of
from tests.agents.test_league import PLAYER
from tests.conftest import REPOSITORY


@dataclass
class Failing:
    """Plays the first legal move twice, and then does what it is told."""

    fail: Callable[[], Any]
    name: str = "failing"
    num_moves: int = 0

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
        self.num_moves += 1
        return np.array([positions[0].legal_squares()[0]]) if self.num_moves <= 2 else self.fail()


def test_the_help_is_shown_on_every_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    output = capsys.readouterr().out
    assert stopped.value.code == 0
    assert output.isascii()
    assert all(f"  {spec}\n" in output for spec in agent_specs())


def play(*arguments: str, answers: bytes = b"", variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, every warning an error."""
    command = [sys.executable, "-W", "error", "-m", "agents.play", *arguments]
    return subprocess.run(command, input=answers, capture_output=True, cwd=REPOSITORY, env={**os.environ, **(variables or {})}, check=False)


def transcript(output: str) -> Game:
    return Game.parse(output.splitlines()[-1].removeprefix("Transcript: "))


def test_two_agents_can_be_watched(capsys: pytest.CaptureFixture[str]) -> None:
    main(["greedy", "random", "--board-size", "4", "--seed", "1"])
    output = capsys.readouterr().out
    assert "black (greedy) plays" in output
    assert "white (random) plays" in output
    assert "or help" not in output
    assert Game.parse(output.splitlines()[-1].removeprefix("Transcript: "), Position.start(4)).final.is_over


def test_two_people_share_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("d3\nc5\nundo\nquit\n"))
    main(["--two-players", "--no-dots"])
    output = capsys.readouterr().out
    assert str(transcript(output)) == "d3"
    assert "White's move" in output
    assert "\u00b7" not in output


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("board_size", ["6", "8"])
def test_every_level_answers(level: str, board_size: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    main(["--level", level, "--color", "white", "--board-size", board_size])
    assert f"black ({make_agent(level_spec(level, int(board_size))).name}) plays" in capsys.readouterr().out


def test_a_game_is_continued_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "my game.sgf"
    monkeypatch.setattr("sys.stdin", io.StringIO(f"d6\nsave {file}\nsave '{file}'\nsave\nsave x.png\n"))
    main(["--two-players", "--start", "f5"])
    output = capsys.readouterr().out
    assert output.count("saved in") == 1
    assert output.count("not saved") == 2
    assert "save needs the name of a file" in output
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    main(["--two-players", "--start", str(file)])
    assert str(transcript(capsys.readouterr().out)) == "f5d6"


def test_the_command_plays_a_whole_game(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # The person tries every square in turn until the game is over.
    names = [f"{column}{row}" for row in range(1, 5) for column in "abcd"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(names * 20)))
    main(["greedy", "--board-size", "4", "--color", "white", "--seed", "1"])
    output = capsys.readouterr().out
    assert "black (greedy) plays" in output
    assert Game.parse(output.splitlines()[-1].removeprefix("Transcript: "), Position.start(4)).final.is_over


@pytest.mark.parametrize("answers", ["d3\n", "d3\nquit\n"])
def test_the_command_shows_the_transcript_when_the_person_quits(
    answers: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answers))
    main(["random"])
    output, messages = capsys.readouterr()
    assert len(transcript(output).moves) in (2, 3)
    assert messages == ""


def test_ctrl_c_shows_the_transcript() -> None:
    command = [sys.executable, "-W", "error", "-m", "agents.play", "random", "--seed", "1"]
    process = subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("d3\n")
        process.stdin.flush()
        while "white (random) plays" not in process.stdout.readline():
            pass
        time.sleep(0.3)  # until the next question
        process.send_signal(signal.SIGINT)
        output, messages = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, messages) == (130, "play: interrupted\n")
    assert len(transcript(output).moves) in (2, 3)


TERMINALS = {
    "cp932": {"PYTHONIOENCODING": "cp932"},
    "cp874": {"PYTHONIOENCODING": "cp874"},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "utf-8": {"PYTHONIOENCODING": "utf-8"},
    "C": {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""},
    "C with UTF-8": {"LC_ALL": "C", "PYTHONIOENCODING": ""},
}
QUICK = ("cp932", "utf-8", "C")


@pytest.mark.parametrize("terminal", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in TERMINALS])
def test_text_that_the_terminal_cannot_show_is_replaced(terminal: str) -> None:
    answers = b"d3\n\xe9\xff\x81\n\xc2\xb7\nquit\n"
    run = play("random", answers=answers, variables=TERMINALS[terminal])
    assert (run.returncode, run.stderr) == (0, b"")
    mark = b"\xc2\xb7" if "utf" in terminal.lower() else b"."
    assert b"4 - - " + mark + b" O X - - - 4" in run.stdout.splitlines()
    run = play("rändom·", variables=TERMINALS[terminal])
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr.startswith(b"play: 'r")
    assert run.stderr.count(b"\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize("terminal", ["cp932", "ascii", "C"])
def test_a_terminal_may_have_any_encoding(terminal: str) -> None:
    import pty

    parent, child = pty.openpty()
    command = [sys.executable, "-W", "error", "-m", "agents.play", "random", "--seed", "1"]
    environment = {**os.environ, "TERM": "dumb", **TERMINALS[terminal]}
    process = subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdin=child, stdout=child, stderr=child)
    os.close(child)
    shown = b""
    try:
        os.write(parent, b"d3\n\xe9\nquit\n")
        while chunk := _read(parent):
            shown += chunk
    finally:
        os.close(parent)  # which ends a process that still asks
        process.wait(30)
    assert process.returncode == 0, shown
    assert b"Transcript: d3" in shown
    assert b"\x1b" not in shown


def _read(terminal: int) -> bytes:
    """What a pseudo-terminal shows next; nothing when its process has ended."""
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux
        return b""


def own_agent() -> Any:
    agent: Any = Failing(lambda: None)
    agent.board_size = 8
    return agent


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("ntuple:{}/net", "ntuple:net"),
        ("alpha_beta:{}/net,depth=2", "alpha_beta:net,depth=2"),
        ("mcts:{}/net,simulations=2", "mcts:net,simulations=2"),
        ("league:{}/player.txt", "league:player.txt,view=mover"),
        ("alpha_beta:{}/player.txt,depth=2", "alpha_beta:player.txt,depth=2"),
        ("factory:tests.agents.play.test_main:own_agent", "failing"),
    ],
)
def test_an_agent_that_cannot_play_the_board_size_is_refused_before_the_first_question(
    spec: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network_of(8).save(tmp_path / "net")
    (tmp_path / "player.txt").write_text(PLAYER)
    for color in ("black", "white"):
        with pytest.raises(SystemExit) as stopped:
            main([spec.format(tmp_path), "--board-size", "6", "--color", color])
        output, message = capsys.readouterr()
        assert (stopped.value.code, output) == (2, "")
        assert message == f"play: {name} plays on board_size 8, not 6\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "'nobody': no agent 'nobody'; expected one of random, "),
        (["positonal"], "did you mean 'positional'?"),
        (["--seed", "-1"], "argument --seed: '-1': expected an integer from 0"),
        (["--seed", "x"], "argument --seed: 'x': expected an integer from 0"),
        (["--board-size", "7"], "argument --board-size: invalid choice"),
        (["--color", "red"], "argument --color: invalid choice"),
        (["random", "greedy", "random"], "expected one AGENT, two to watch, --level or --two-players"),
        (["random", "--level", "easy"], "expected one AGENT, two to watch, --level or --two-players"),
        (["--two-players", "--level", "easy"], "argument --level: not allowed with argument --two-players"),
        (["--level", "master"], "argument --level: invalid choice: 'master'"),
        (["--start", "a1"], "move 1: a1"),
        (["--start", "no/such.ggf"], "No such file"),
        (["--start", "f5", "--board-size", "4"], "the game is on 8x8, but board_size is 4"),
        (["--clock", "0"], "clock 0.0: expected a positive number of seconds"),
        (["ntuple:/does/not/exist"], "no such file"),
        (["factory:nowhere:make"], "no module 'nowhere' in the current folder"),
    ],
)
def test_bad_input_gives_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    output, messages = capsys.readouterr()
    assert (stopped.value.code, output) == (2, "")
    assert messages.startswith("play: ")
    assert message in messages
    assert messages.count("\n") == 1


def test_an_agent_that_fails_gives_one_line_after_the_transcript(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "sys.stdin", io.StringIO("".join(f"{column}{row}\n" for _ in range(9) for row in range(1, 9) for column in "abcdefgh"))
    )
    with pytest.raises(SystemExit) as stopped:
        main(["factory:tests.agents.play.test_main:own_agent"])
    output, messages = capsys.readouterr()
    assert stopped.value.code == 2
    assert messages.startswith("play: failing: invalid output: ")
    assert messages.count("\n") == 1
    assert len(transcript(output).moves) >= 5
