from __future__ import annotations

import signal
from pathlib import Path

import pytest

from agents.search.endgame import Solver
from tests.agents.search.test_endgame import ffo_suite
from tests.rhino import RHINO, Rhino

pytestmark = [pytest.mark.engine, pytest.mark.skipif(not RHINO.exists(), reason=f"{RHINO} is not there: apt-get install grhino")]


def test_the_engine_plays_a_best_move_in_every_position_that_both_solve(shared_data: Path) -> None:
    solver = Solver()
    with Rhino(level=3, exact_empties=16, win_empties=16) as rhino:
        for problem in ffo_suite(shared_data)[:20]:
            scores = solver.move_scores(problem.position)
            assert scores[rhino.solve_move(problem.position)] == max(scores.values()) == problem.best_score, problem.number


def test_the_engine_is_gone_after_the_block() -> None:
    with Rhino() as rhino:
        assert rhino.ask("name") == "GTP GRhino"
        assert rhino.process.poll() is None
    assert rhino.process.poll() is not None
    with pytest.raises(ZeroDivisionError), Rhino() as rhino:
        1 / 0  # noqa: B018
    assert rhino.process.poll() is not None


def test_an_engine_that_gives_no_answer_is_killed() -> None:
    with Rhino(seconds=0.5) as rhino:
        rhino.process.send_signal(signal.SIGSTOP)
        with pytest.raises(TimeoutError, match="no answer to 'name' in 0.5 s"):
            rhino.ask("name")
    assert rhino.process.poll() is not None


def test_a_refused_command_is_an_error_and_the_engine_goes_on() -> None:
    with Rhino() as rhino:
        with pytest.raises(ValueError, match="unacceptable size"):
            rhino.ask("boardsize 6")
        assert rhino.ask("protocol_version") == "2"
