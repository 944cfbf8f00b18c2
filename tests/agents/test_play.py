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
from agents.human import HumanAgent, QuitGame
from agents.play import main, play_game
from othello_env import Game, Position, PositionBatch
from othello_env.agent import AgentError
from othello_env.rendering.text import render_text
from othello_env.squares import format_square
from tests.agents.ntuple.test_network import network_of
from tests.agents.test_league import PLAYER
from tests.conftest import REPOSITORY


def typing(*answers: str) -> tuple[HumanAgent, list[str]]:
    """A person who types these answers, and what is shown to them."""
    left, shown = list(answers), []

    def read(question: str) -> str:
        if not left:
            raise EOFError
        shown.append(question)
        return left.pop(0)

    return HumanAgent(read, shown.append), shown


def test_a_person_is_asked_until_the_move_is_legal() -> None:
    human, shown = typing("z9", "", "a1", " D3 ")
    moves = human.select_moves(PositionBatch.start(1), np.random.default_rng(0))
    assert moves.tolist() == [19]
    assert any("'z9' names no square" in line for line in shown)
    assert "a1 is not legal; legal are d3 c4 f5 e6" in shown


@pytest.mark.parametrize("answers", [("quit",), ("Q",), ()])
def test_a_person_may_quit(answers: tuple[str, ...]) -> None:
    human, _ = typing(*answers)
    with pytest.raises(QuitGame):
        human.select_moves(PositionBatch.start(1), np.random.default_rng(0))


def test_a_game_is_told_with_its_passes_and_its_transcript() -> None:
    game = Game.parse("f5f6d3g5h5h4f7h6")
    black, _ = typing("f5", "d3", "h5", "f7")
    white, _ = typing("f6", "g5", "h4", "h6", "c5")
    told: list[str] = []
    played = play_game(black, white, Position.start(), rng=np.random.default_rng(0), write=told.append)
    assert played.moves[:8] == game.moves
    assert played.moves[8] == 34
    assert told[7:10] == ["white (human) plays h6", "black must pass", "white (human) plays c5"]
    assert told[-2:] == [render_text(played.final, last_move=34), f"Transcript: {played}"]


@dataclass
class Failing:
    """Plays the first legal move twice, and then does what it is told."""

    fail: Callable[[], Any]
    name: str = "failing"
    num_moves: int = 0

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
        self.num_moves += 1
        return np.array([positions[0].legal_squares()[0]]) if self.num_moves <= 2 else self.fail()


def raising(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize(
    ("fail", "error"),
    [
        (lambda: raising(KeyboardInterrupt()), KeyboardInterrupt),
        (lambda: raising(RuntimeError("tired")), AgentError),
        (lambda: np.array([0]), AgentError),
        (lambda: None, AgentError),
    ],
)
def test_the_position_and_the_transcript_are_shown_however_a_game_ends(fail: Callable[[], Any], error: type[BaseException]) -> None:
    told: list[str] = []
    with pytest.raises(error):
        play_game(make_agent("greedy"), Failing(fail), Position.start(), rng=np.random.default_rng(0), write=told.append)
    game = Game.parse(told[-1].removeprefix("Transcript: "))
    assert len(game.moves) == 5
    assert told[-2] == render_text(game.final, last_move=game.moves[-1])


def test_a_terminal_that_fails_is_no_fault_of_the_person() -> None:
    def read(question: str) -> str:
        raise BrokenPipeError

    told: list[str] = []
    with pytest.raises(BrokenPipeError):
        play_game(make_agent("greedy"), HumanAgent(read, told.append), Position.start(), rng=np.random.default_rng(0), write=told.append)
    assert told[-1].startswith("Transcript: ")


def test_both_scores_of_a_game_that_ends_with_empty_squares_are_shown() -> None:
    game = Game.parse("f5f4c3c6c5d6f3c4c7")  # White is wiped out
    answers: tuple[list[str], list[str]] = ([], [])
    for position, move in zip(game.positions(), game.moves, strict=False):
        answers[position.side_to_move].append(format_square(move))
    (black, _), (white, _) = typing(*answers[0]), typing(*answers[1])
    told: list[str] = []
    assert play_game(black, white, Position.start(), rng=np.random.default_rng(0), write=told.append) == game
    assert told[-2].endswith("X 13  O 0  Black wins (13-0 by discs, 64-0 with the empties to the winner), after c7")


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
        ("factory:tests.agents.test_play:own_agent", "failing"),
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
        (["random", "greedy"], "unrecognized arguments: greedy"),
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
        main(["factory:tests.agents.test_play:own_agent"])
    output, messages = capsys.readouterr()
    assert stopped.value.code == 2
    assert messages.startswith("play: failing: invalid output: ")
    assert messages.count("\n") == 1
    assert len(transcript(output).moves) >= 5
