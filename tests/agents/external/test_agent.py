from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from agents import AgentSpecError, make_agent
from agents.external.agent import EngineAgent
from othello_env import Position, PositionBatch
from othello_env.agent import AgentError, ask_agent
from othello_env.command import format_command
from tests.agents.external.fakes import all_gone, fake_agent, fake_command


def process_of(agent: EngineAgent) -> int:
    assert agent._engine is not None
    return int(agent._engine.pid)  # type: ignore[attr-defined]


def test_forced_passes_and_games_that_are_over_are_answered_without_the_engine(rng: np.random.Generator) -> None:
    must_pass = Position.parse("XO-------------------------------------------------------------- O")
    over = Position.parse("X--------------------------------------------------------------- O")
    assert must_pass.must_pass
    assert over.is_over
    with fake_agent("grhino") as agent:
        assert agent.select_moves(PositionBatch.from_positions([must_pass, over], auto_pass=False), rng).tolist() == [64, 64]
        assert agent._engine is None


def test_the_engine_starts_with_the_first_move_and_stays(rng: np.random.Generator) -> None:
    with fake_agent("grhino") as agent:
        assert agent._engine is None
        agent.select_moves(PositionBatch.start(2), rng)
        first = process_of(agent)
        agent.select_moves(PositionBatch.start(2), rng)
        assert process_of(agent) == first


def test_copies_and_pickles_start_an_engine_of_their_own(rng: np.random.Generator) -> None:
    with fake_agent("ntest") as agent:
        agent.select_moves(PositionBatch.start(1), rng)
        for copied in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
            assert copied.name == agent.name
            assert copied.select_moves(PositionBatch.start(1), rng).tolist() == [19]
            assert process_of(copied) != process_of(agent)
            copied.close()


def test_an_interrupted_answer_ends_the_engine(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_agent("grhino") as agent:
        agent.select_moves(PositionBatch.start(1), rng)
        process = process_of(agent)

        def interrupt(_position: Position) -> str:
            raise KeyboardInterrupt

        monkeypatch.setattr(type(agent._engine), "choose", lambda _self, position: interrupt(position))
        with pytest.raises(KeyboardInterrupt):
            agent.select_moves(PositionBatch.start(1), rng)
        assert agent._engine is None
        assert all_gone([process])


def test_a_failure_names_the_agent_and_the_reason(rng: np.random.Generator) -> None:
    with fake_agent("grhino", "illegal") as agent, pytest.raises(AgentError) as caught:
        ask_agent(agent, PositionBatch.start(1), rng)
    assert caught.value.reason == "error"
    assert str(caught.value).startswith(f"{agent.name}: error: EngineError: the engine answered 'a1', illegal for black in ---")


def test_specs_take_commands_with_spaces_commas_and_equals_signs(rng: np.random.Generator) -> None:
    command = format_command(*fake_command("grhino"), "--opening=a,b=c", "two words")
    for spec in (f"gtp:{command}", f"gtp:{command},movetime=0.5,timeout=20", f"gtp:movetime=0.5,command={command}"):
        agent = make_agent(spec)
        assert isinstance(agent, EngineAgent)
        assert agent._options.command == (*fake_command("grhino"), "--opening=a,b=c", "two words")  # type: ignore[attr-defined]
    agent = make_agent(f"nboard:{format_command(*fake_command('ntest'))},depth=3")
    assert agent.select_moves(PositionBatch.start(1), rng).tolist() == [19]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gtp", "command is missing; expected gtp:COMMAND,movetime=FLOAT,timeout=FLOAT"),
        ("gtp:no_such_program -l 2", "no program 'no_such_program' in PATH or at that path"),
        ("gtp:no_such_program,movtime=1", "no command 'no_such_program,movtime=1', and no parameter 'movtime'; did you mean 'movetime'?"),
        ("nboard:python,depth=100", "depth=100"),
    ],
)
def test_a_wrong_spec_is_refused_before_a_game(spec: str, message: str) -> None:
    with pytest.raises(AgentSpecError) as caught:
        make_agent(spec)
    assert message in str(caught.value) or "no program 'python'" in str(caught.value)
