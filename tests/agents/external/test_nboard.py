from __future__ import annotations

import pytest

from agents.external.nboard import NBoardEngine, nboard_agent
from agents.external.process import EngineError
from othello_env import Game, Position, PositionBatch
from othello_env.squares import parse_square
from tests.agents.external.fakes import NBOARD, fake_agent, fake_command
from tests.agents.external.test_gtp import PASSES


@pytest.mark.parametrize("dialect", NBOARD)
def test_each_dialect_is_asked_about_every_position_of_a_game_with_many_passes(dialect: str) -> None:
    with NBoardEngine(fake_command(dialect)) as engine:
        for position in Game.parse(PASSES).positions():
            if not position.is_over:
                assert parse_square(engine.choose(position)) == position.legal_squares()[0]


@pytest.mark.parametrize("trap", ["slow_start", "banner", "split", "crlf"])
def test_habits_of_engines_are_borne(trap: str) -> None:
    with NBoardEngine(fake_command("ntest", trap)) as engine:
        assert engine.choose(Position.start()) == "D3"


@pytest.mark.parametrize(
    ("trap", "message"),
    [
        ("garbage", "answered 'zz9', which is not a move, in -"),
        ("empty", "answered '-1.00', which is not a move"),
        ("illegal", "answered 'a1', illegal for white in -"),
        ("pass", "answered 'pass', white has legal moves in -"),
        ("crash", r"exited with code 7 \(segmentation fault in thread 3\) in answer to 'go'"),
        ("hang", "gave no answer in time in answer to 'go'; its last line was 'search D6 -1.27 0 4'"),
        pytest.param("endless", "gave no answer in time", marks=pytest.mark.slow),
    ],
)
def test_an_engine_that_fails_raises_and_plays_on_after_a_restart(trap: str, message: str) -> None:
    early, late = (PositionBatch.from_positions([Game.parse(moves).final]) for moves in ("f5d6", "f5d6c3"))
    with fake_agent("edax_nboard", f"{trap}@57", timeout=1.0) as agent:
        agent.select_moves(early, rng=None)  # type: ignore[arg-type]
        with pytest.raises(EngineError, match=message):
            agent.select_moves(late, rng=None)  # type: ignore[arg-type]
        agent.select_moves(early, rng=None)  # type: ignore[arg-type]


def test_analysis_lines_are_returned() -> None:
    with NBoardEngine(fake_command("edax_nboard")) as engine:
        assert engine.hint(Position.start(), 2) == ["status Analyzing", "search F5d6C3 1.00 0 4", "book    +1   d3", "status"]


def test_an_agent_refuses_limits_that_are_none() -> None:
    command = f"{fake_command('ntest')[0]} -V"
    with pytest.raises(ValueError, match="depth=0: expected 1 to 60"):
        nboard_agent(command, depth=0)
    with pytest.raises(ValueError, match="timeout=0"):
        nboard_agent(command, timeout=0)
    assert nboard_agent(command, depth=3).name == f"nboard:{command},depth=3"
