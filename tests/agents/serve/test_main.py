from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest

from agents import make_agent
from agents.external.gtp import GtpEngine
from agents.external.nboard import NBoardEngine
from agents.serve.__main__ import main
from othello_env import Position, PositionBatch
from othello_env.command import format_command
from tests.conftest import REPOSITORY


def serve(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "agents.serve", *arguments]


@pytest.mark.parametrize("protocol", ["gtp", "nboard"])
def test_our_client_drives_our_server_through_whole_games(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    agent = make_agent(f"{protocol}:{format_command(*serve('--protocol', protocol, '--agent', 'greedy', '--seed', '3'))}")
    sizes = (8, 6) if protocol == "gtp" else (8,)
    for board_size in sizes:
        games = PositionBatch.start(3, board_size)
        rng = np.random.default_rng(4)
        while not games.is_over.all():
            moves = agent.select_moves(games, rng)
            assert games.is_legal(moves).all()
            games.step(moves)
    agent.close()  # type: ignore[attr-defined]


def test_a_failing_agent_is_an_error_for_the_client_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    agent = "factory:tests.agents.serve.test_main:make_failing"
    with GtpEngine(serve("--protocol", "gtp", "--agent", agent)) as engine:
        with pytest.raises(ValueError, match="refused 'genmove b': failing: error: RuntimeError: cannot think"):
            engine.choose(Position.start())
        assert engine.ask("protocol_version") == "2"


@pytest.mark.slow
def test_a_failing_agent_is_told_over_nboard_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    command = serve("--protocol", "nboard", "--agent", "factory:tests.agents.serve.test_main:make_failing")
    with NBoardEngine(command, timeout=3) as board, pytest.raises(ValueError, match="no answer in time .*RuntimeError: cannot think"):
        board.choose(Position.start())


class FailingAgent:
    name = "failing"

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        raise RuntimeError("cannot think")


def make_failing() -> FailingAgent:
    return FailingAgent()


def test_the_depth_that_nboard_sets_reaches_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    with NBoardEngine(serve("--protocol", "nboard", "--agent", "mcts:simulations={depth}"), depth=5) as engine:
        engine.send("set depth 7")
        assert engine.synchronize()[0].startswith("set myname mcts:")


def test_the_end_of_the_input_ends_the_server() -> None:
    run = subprocess.run(
        serve("--protocol", "gtp", "--agent", "random"), input="name\n\xff", capture_output=True, text=True, cwd=REPOSITORY
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "= othello-env random\n\n? unknown command\n\n", "")


def test_ctrl_c_ends_it_without_a_traceback() -> None:
    command = serve("--protocol", "nboard", "--agent", "random")
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True, cwd=REPOSITORY) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("ping 1\n")
        server.stdin.flush()
        assert server.stdout.readline() == "pong 1\n"
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=30)
    assert (server.returncode, errors) == (130, "serve: interrupted\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--agent", "random"], "the following arguments are required: --protocol"),
        (["--protocol", "uci"], "invalid choice: 'uci'"),
        (["--protocol", "gtp", "--agent", "nobody"], "no agent 'nobody'"),
        (["--protocol", "gtp", "--agent", "alpha_beta:evaluation=ntuple,depth=1", "--board-size", "6"], "board_size 8, not 6"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("serve: ")
    assert message in error
    assert error.count("\n") == 1
