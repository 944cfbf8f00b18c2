from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agents.external.agent import EngineAgent
from agents.external.gtp import GtpOptions
from agents.search.endgame import Solver
from othello_env import PositionBatch
from tests.agents.search.test_endgame import ffo_suite
from tests.rhino import needs_rhino, rhino_command

pytestmark = [pytest.mark.engine, needs_rhino]


def test_the_engine_plays_a_best_move_in_every_position_that_both_solve(shared_data: Path, rng: np.random.Generator) -> None:
    solver = Solver()
    problems = ffo_suite(shared_data)[:20]
    rhino = EngineAgent("rhino", GtpOptions(rhino_command(exact_empties=16)))
    moves = rhino.select_moves(PositionBatch.from_positions([problem.position for problem in problems]), rng)
    rhino.close()
    for problem, move in zip(problems, moves.tolist(), strict=True):
        scores = solver.move_scores(problem.position)
        assert scores[move] == max(scores.values()) == problem.best_score, problem.number
