from __future__ import annotations

from pathlib import Path

import pytest

from agents import Agent, AgentSpecError, agent_specs, make_agent
from tests.agents.ntuple.test_network import network_of


def test_specs_make_the_agents_they_name(tmp_path: Path) -> None:
    network_of(8).save(tmp_path / "net.safetensors")
    names = {
        "random": "random",
        "greedy": "greedy",
        "positional": "positional:table=swh",
        "positional:table=bench": "positional:table=bench",
        f"ntuple:{tmp_path / 'net.safetensors'}": "ntuple:net.safetensors",
        f"ntuple:file={tmp_path / 'net.safetensors'}": "ntuple:net.safetensors",
    }
    assert {spec: make_agent(spec).name for spec in names} == names


def test_every_spec_is_described() -> None:
    assert agent_specs() == [
        "random",
        "greedy",
        "positional:table=swh|heur|bench",
        "beginner",
        "heuristics",
        "ntuple:[FILE]",
        "policy_value:[FILE],simulations=INT,device=cpu|cuda|auto,precision=float32|bfloat16|auto",
        "league:FILE,view=mover|black",
        "alpha_beta:[FILE],evaluation=swh|heur|bench|heuristics|ntuple,depth=INT,seconds=FLOAT,nodes=INT,solver=INT,solver_seconds=FLOAT,hash_mb=INT",
        "mcts:[FILE],simulations=INT,method=puct|gumbel,rollouts=INT",
        "factory:FUNCTION",
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "",
            "no agent ''; the agents are random, greedy, positional:table=swh|heur|bench, beginner, heuristics, ntuple:[FILE], ",
        ),
        ("Random", "no agent 'Random'; the agents are"),
        ("alpha", "no agent 'alpha'"),
        ("random:3", "'3' is no parameter of it, or comes twice; expected random"),
        ("positional:bench", "'bench' is no parameter of it"),
        ("positional:table=best", "table=best; expected one of swh, heur, bench"),
        ("positional:table=swh,table=swh", "'table=swh' is no parameter of it, or comes twice"),
        ("positional:depth=3", "'depth=3' is no parameter of it, or comes twice; expected positional:table=swh|heur|bench"),
        ("league", "file is missing; expected league:FILE"),
        ("league:", "file is missing"),
        ("ntuple:/does/not/exist", "'/does/not/exist': no such file"),
        ("league:/does/not/exist", "no such file: '/does/not/exist'"),
        ("league:/not/a\nfile", "no such file"),
        ("ntuple:/not/a\nfile", "no such file"),
        ("league:a,view=mover,view=mover", "'view=mover' is no parameter of it, or comes twice"),
        ("league:a,view=white", "view=white; expected one of mover, black"),
    ],
)
def test_a_wrong_spec_is_refused_in_one_line_that_says_what_is_allowed(spec: str, message: str) -> None:
    with pytest.raises(AgentSpecError) as caught:
        make_agent(spec)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_player(tmp_path: Path) -> None:
    for name in ("ntuple", "league"):
        with pytest.raises(AgentSpecError, match=tmp_path.name):
            make_agent(f"{name}:{tmp_path}")


@pytest.mark.parametrize("name", ["a,b", "a=b", "a,b=c,d", "view", "with space", "file=x"])
def test_names_of_files_may_hold_commas_and_equals_signs(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("1\n1 1\n0\n0 0 1\n")
    assert make_agent(f"league:{tmp_path / name}").name == f"league:{name},view=mover"
    assert make_agent(f"league:{tmp_path / name},view=black").name == f"league:{name},view=black"
    assert make_agent(f"league:view=black,file={tmp_path / name}").name == f"league:{name},view=black"


def own_agent() -> Agent:
    return make_agent("greedy")


def test_an_agent_of_ones_own_is_made_by_its_function() -> None:
    assert make_agent("factory:tests.agents.test_registry:own_agent").name == "greedy"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("factory", "function is missing; expected factory:FUNCTION"),
        ("factory:tests.agents.test_registry", "as factory:module:name"),
        ("factory:no_such_module:make", "No module named 'no_such_module'"),
        ("factory:tests.agents.test_registry:nothing", "has no attribute 'nothing'"),
    ],
)
def test_a_function_that_is_none_is_refused(spec: str, message: str) -> None:
    with pytest.raises(AgentSpecError, match=message):
        make_agent(spec)
