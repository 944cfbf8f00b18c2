from __future__ import annotations

from itertools import pairwise

import pytest

from agents.external.gtp import GtpEngine, gtp_agent
from agents.external.process import EngineError
from othello_env import Game, Position, PositionBatch
from othello_env.squares import format_square
from tests.agents.external.fakes import fake_agent, fake_command

DIALECTS = ("grhino", "edax", "egaroucid", "neural")
# Black passes 23 times (W. D. Smith).
PASSES = "f5d6c4g5d7c7h5d8b8b7b6a7b5a6a5b4b3c6e8f8c8a8e7a4b2a2c2d2d1e2f2c5c3a1a3e6d3f6f7f1g2h2e3f4b1g1c1e1g8g7f3h1h3h4h6"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_dialect_is_asked_about_every_position_of_a_game_with_many_passes(dialect: str) -> None:
    positions = [position for position in Game.parse(PASSES).positions() if not position.is_over]
    sides = [position.side_to_move for position in positions]
    assert sum(one == two for one, two in pairwise(sides)) == 23
    with GtpEngine(fake_command(dialect)) as engine:
        for position in positions:
            assert engine.choose(position).lower() == _first(position)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_whole_games_are_played_with_each_dialect(dialect: str) -> None:
    openings = ("", "f5d6c4d3c2b3b4b5") if dialect == "egaroucid" else ("f5f4g3g6f3g4e3e2",)
    games = PositionBatch.from_positions([Game.parse(moves).final for moves in openings])
    with fake_agent(dialect) as agent:
        while not games.is_over.all():
            games.step(agent.select_moves(games, rng=None))  # type: ignore[arg-type]


@pytest.mark.parametrize("trap", ["slow_start", "banner", "split", "crlf", "with_id", "upper"])
@pytest.mark.parametrize("dialect", ["grhino", "edax"])
def test_habits_of_engines_are_borne(dialect: str, trap: str) -> None:
    with GtpEngine(fake_command(dialect, trap)) as engine:
        for position in Game.parse("f5d6c3").positions():
            assert engine.choose(position).lower() == _first(position)


def _first(position: Position) -> str:
    return format_square(position.legal_squares()[0])


def test_rows_count_from_the_top() -> None:
    with GtpEngine(fake_command("grhino")) as engine:
        # Seen from the bottom, d3 would be illegal.
        assert engine.choose(Position.start()) == "D3"
        assert engine.choose(Position.start().play("d3")) == "C3"


def test_a_position_without_a_known_game_is_set_up_from_a_file() -> None:
    position = Position.parse("--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X")
    with GtpEngine(fake_command("edax")) as engine:
        assert engine.choose(position) == _first(position)


def test_a_position_that_cannot_be_set_up_is_an_error() -> None:
    position = Position.parse("--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X")
    with GtpEngine(fake_command("neural")) as engine, pytest.raises(EngineError, match="no command that sets up a position"):
        engine.choose(position)


@pytest.mark.parametrize(
    ("trap", "message"),
    [
        ("garbage", "answered 'zz9', which is not a move, in -"),
        ("empty", "answered '', which is not a move"),
        ("outside", "answered 'j9', which is not a move"),
        ("resign", "answered 'resign', which is not a move"),
        ("illegal", "answered 'a1', illegal for black in -"),
        ("pass", "answered 'pass', black has legal moves in -"),
        ("crash", r"exited with code 7 \(segmentation fault in thread 3\) in answer to 'genmove b'"),
        ("silent_exit", "exited with code 0 .*in answer to 'genmove b'"),
        ("hang", "gave no answer in time in answer to 'genmove b'"),
        ("endless", r"gave no answer in time .*info depth 3"),
    ],
)
def test_an_engine_that_fails_raises_and_plays_on_after_a_restart(trap: str, message: str) -> None:
    # It fails with 57 or fewer empty squares.
    early, late = (PositionBatch.from_positions([Game.parse(moves).final]) for moves in ("f5d6", "f5d6c3d3"))
    with fake_agent("grhino", f"{trap}@57", timeout=1.0) as agent:
        agent.select_moves(early, rng=None)  # type: ignore[arg-type]
        with pytest.raises(EngineError, match=message):
            agent.select_moves(late, rng=None)  # type: ignore[arg-type]
        agent.select_moves(early, rng=None)  # type: ignore[arg-type]


def test_a_refused_command_is_an_error_and_the_engine_goes_on() -> None:
    with GtpEngine(fake_command("grhino")) as engine:
        with pytest.raises(EngineError, match="refused 'boardsize 6': unacceptable size"):
            engine.choose(Position.start(6))
        assert engine.ask("protocol_version") == "2"


@pytest.mark.parametrize(("movetime", "per_move"), [(2.0, 2.0), (0.1, 0.1), (0.25, 0.25), (0.001, 0.01)])
def test_the_time_per_move_is_told_in_whole_seconds_for_some_moves(movetime: float, per_move: float) -> None:
    with GtpEngine(fake_command("edax"), movetime=movetime) as engine:
        engine.choose(Position.start())
        assert float(engine.ask("name").removeprefix("Edax ")) == per_move


def test_an_agent_refuses_limits_that_are_none() -> None:
    command = f"{fake_command('grhino')[0]} -V"
    for limits in ({"movetime": 0.0}, {"timeout": -1.0}, {"timeout": float("nan")}):
        with pytest.raises(ValueError, match="expected a positive number of seconds"):
            gtp_agent(command, **limits)
    with pytest.raises(ValueError, match="movetime=60.0: expected less than the timeout, 60 seconds"):
        gtp_agent(command, movetime=60.0)
    assert gtp_agent(command, movetime=0.5).name == f"gtp:{command},movetime=0.5"
