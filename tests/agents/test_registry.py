from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents import Agent, AgentSpecError, agent_specs, make_agent
from tests.agents.ntuple.test_network import network_of
from tests.conftest import REPOSITORY


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
        "alpha_beta:[FILE],evaluation=swh|heur|bench|heuristics|ntuple,depth=INT,seconds=FLOAT,nodes=INT,solver=INT,"
        "solver_seconds=FLOAT,hash_mb=INT",
        "mcts:[FILE],simulations=INT,method=puct|gumbel,rollouts=INT",
        "factory:FUNCTION",
        "gtp:COMMAND,movetime=FLOAT,timeout=FLOAT",
        "nboard:COMMAND,depth=INT,timeout=FLOAT",
    ]


ALL = "random, greedy, positional, beginner, heuristics, ntuple, policy_value, league, alpha_beta, mcts, factory, gtp, nboard"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", f"no agent ''; expected one of {ALL}"),
        ("nobody:depth=3", f"no agent 'nobody'; expected one of {ALL}"),
        ("Random", "no agent 'Random'; did you mean 'random'?"),
        ("alpha", "no agent 'alpha'; did you mean 'alpha_beta'?"),
        ("alpha-beta:depth=3", "no agent 'alpha-beta'; did you mean 'alpha_beta'?"),
        ("positonal", "no agent 'positonal'; did you mean 'positional'?"),
        ("mcst", "no agent 'mcst'; did you mean 'mcts'?"),
        ("random:3", "'3' is not parameter=value; expected random"),
        ("positional:bench", "'bench' is not parameter=value; did you mean 'table=bench'?"),
        ("positional:bech", "'bech' is not parameter=value; did you mean 'table=bench'?"),
        ("positional:table=best", "table=best; expected one of swh, heur, bench"),
        ("positional:table=bech", "table=bech; expected one of swh, heur, bench; did you mean 'bench'?"),
        ("positional:table=", "table=; expected one of swh, heur, bench"),
        ("positional:table=swh,table=swh", "table is given twice; expected positional:table=swh|heur|bench"),
        ("positional:depth=3", "no parameter 'depth'; expected positional:table=swh|heur|bench"),
        ("positional:tabel=swh", "no parameter 'tabel'; did you mean 'table'?"),
        ("alpha_beta:dept=3", "no parameter 'dept'; did you mean 'depth'?"),
        ("alpha_beta:Depth=3", "no parameter 'Depth'; did you mean 'depth'?"),
        ("alpha_beta:hash-mb=3", "no parameter 'hash-mb'; did you mean 'hash_mb'?"),
        ("alpha_beta:depth=3,sec=1", "no parameter 'sec'; did you mean 'seconds'?"),
        ("alpha_beta:net.safetensors,dept=3", "no file 'net.safetensors,dept=3', and no parameter 'dept'; did you mean 'depth'?"),
        ("alpha_beta:depth=three", "depth=three; expected an integer"),
        ("alpha_beta:seconds=one", "seconds=one; expected a number"),
        ("mcts:method=pucts", "method=pucts; expected one of puct, gumbel; did you mean 'puct'?"),
        ("league", "file is missing; expected league:FILE"),
        ("league:", "file is missing"),
        ("ntuple:/does/not/exist", "'/does/not/exist': no such file"),
        ("league:/does/not/exist", "no such file: '/does/not/exist'"),
        ("league:/not/a\nfile", "no such file"),
        ("ntuple:/not/a\nfile", "no such file"),
        (f"league:{'a' * 5000}", "a" * 100),
        ("league:a\0b", "null"),
        ("league:a,view=mover,view=mover", "view is given twice"),
        ("league:a,view=white", "view=white; expected one of mover, black"),
    ],
)
def test_a_wrong_spec_is_refused_in_one_line_that_says_what_is_meant_or_allowed(spec: str, message: str) -> None:
    with pytest.raises(AgentSpecError) as caught:
        make_agent(spec)
    text = str(caught.value)
    assert text.startswith(f"{spec!r}: ")
    assert message in text
    assert "\n" not in text
    if "did you mean" in message:
        assert text.endswith(message)  # and no list of everything


@pytest.mark.parametrize(
    ("spec", "library", "extra"),
    [
        ("policy_value", "torch", "torch"),
        ("policy_value:no_such_file,simulations=4", "torch", "torch"),
        ("alpha_beta", "numba", "fast"),
        ("mcts", "numba", "fast"),
        ("ntuple", "safetensors", "train"),
        ("alpha_beta:evaluation=ntuple", "safetensors", "train"),
    ],
)
def test_a_missing_library_is_named_with_its_extra_in_one_line(spec: str, library: str, extra: str) -> None:
    code = f"import sys; sys.modules[{library!r}] = None\nfrom agents.play.__main__ import main\nmain([{spec!r}])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert (run.returncode, run.stdout) == (2, "")
    expected = rf"play: {re.escape(repr(spec))}: [a-z ]+ needs {library}; in a clone: pip install -e \"\.\[{extra}\]\"\n"
    assert re.fullmatch(expected, run.stderr)


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


def test_a_factory_makes_the_agent_that_its_function_returns() -> None:
    assert make_agent("factory:tests.agents.test_registry:own_agent").name == "greedy"


OWN_MODULE = """
import sys
from agents import make_agent

class Agent:
    name = "mine"
    def select_moves(self, positions, rng):
        return positions.sample_moves(rng)
    @classmethod
    def new(cls):
        return cls()

class Nameless(Agent):
    name = None

class Empty(Agent):
    name = ""

class TwoLines(Agent):
    name = "a\\nb"

class Moveless:
    name = "moveless"

class Shy(Agent):
    @property
    def name(self):
        raise RuntimeError("no\\nname")

class Odd(BaseException): pass

def make(): return make_agent("random")
def with_argument(size): return Agent()
def nothing(): pass
def raising(): raise KeyError("a\\nb")
def odd(): raise Odd("odd")
def leaving(): sys.exit("bye")
def of_agents(): return Agent
def misspelt(): return make_agent("rndom")
number = 3
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the current folder, which is not on Python's path."""
    name = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(OWN_MODULE, encoding="utf-8")
    (tmp_path / f"{name}_torch.py").write_text("raise ModuleNotFoundError('No module named torch', name='torch')", encoding="utf-8")
    (tmp_path / f"{name}_lacking.py").write_text("import no_such_library", encoding="utf-8")
    (tmp_path / f"{name}_wrong.py").write_text("x = (", encoding="utf-8")
    (tmp_path / f"{name}_leaving.py").write_text("import sys; sys.exit(3)", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    return name


@pytest.mark.parametrize("function", ["Agent", "Agent.new", "make"])
def test_a_factory_is_found_in_the_current_folder(function: str, own_module: str) -> None:
    assert make_agent(f"factory:{own_module}:{function}").name in ("mine", "random")


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("", "expected a function that makes the agent, as factory:module:name"),
        (":", "as factory:module:name"),
        (":a b", "as factory:module:name"),
        (":make:x", "as factory:module:name"),
        ("_none:make", r"no module '\S+_none' in the current folder, \S+, and Python's path"),
        ("_none.sub:make", r"no module '\S+_none' in the current folder"),
        (".sub:make", r"no module 'own_\w+\.sub' in the current folder"),
        ("_torch:make", r"module '\S+' cannot be imported: this needs torch; in a clone: pip install -e \"\.\[torch\]\"$"),
        ("_lacking:make", "module '.*' cannot be imported: No module named 'no_such_library'"),
        ("_wrong:make", r"module '.*' cannot be imported: SyntaxError: .*_wrong\.py, line 1"),
        ("_leaving:make", "module '.*' cannot be imported: SystemExit: 3"),
        (":mke", r"module '\S+' \(\S+\.py\) has no 'mke'; did you mean 'make'\?$"),
        (":Agent.nw", r"has no 'Agent\.nw'"),
        (":number", ":number is 3; expected a function"),
        (":with_argument", "failed: TypeError: with_argument.* missing 1 required positional argument"),
        (":raising", "failed: KeyError: "),
        (":odd", "failed: Odd: odd"),
        (":leaving", "failed: SystemExit: bye"),
        (":nothing", "returned NoneType, which has no select_moves; expected an agent, with a name and select_moves"),
        (":Moveless", "returned Moveless, which has no select_moves"),
        (":of_agents", "returned the class Agent; expected an agent"),
        (":Nameless", "returned Nameless, whose name is None and not a line of text"),
        (":Empty", "returned Empty, whose name is ''"),
        (":TwoLines", r"returned TwoLines, whose name is 'a\\nb'"),
        (":Shy", "failed: RuntimeError: no name"),
        (":misspelt", "'rndom': no agent 'rndom'; did you mean 'random'"),
    ],
)
def test_a_factory_that_makes_no_agent_is_refused_in_one_line(rest: str, message: str, own_module: str) -> None:
    with pytest.raises(AgentSpecError, match=message) as caught:
        make_agent(f"factory:{own_module}{rest}")
    assert str(caught.value).startswith(f"'factory:{own_module}{rest}': ")
    assert "\n" not in str(caught.value)


def test_a_factory_needs_its_function() -> None:
    with pytest.raises(AgentSpecError, match="function is missing; expected factory:FUNCTION"):
        make_agent("factory")


def test_ctrl_c_in_a_factory_is_no_fault_of_the_factory(own_module: str, tmp_path: Path) -> None:
    (tmp_path / f"{own_module}_interrupted.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        make_agent(f"factory:{own_module}_interrupted:make")


def test_a_factory_is_found_in_the_current_folder_by_commands_and_their_workers(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN_MODULE, encoding="utf-8")
    code = (
        "import multiprocessing\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "from agents import make_agent\n"
        "if __name__ == '__main__':\n"
        "    with ProcessPoolExecutor(1, multiprocessing.get_context('spawn')) as pool:\n"
        "        print(pool.submit(make_agent, 'factory:own:make').result().name)\n"
    )
    # Safe path: Python does not put the current folder on its path.
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONSAFEPATH": "1"}
    options: dict[str, Any] = {"capture_output": True, "text": True, "cwd": tmp_path, "env": environment, "check": False}
    worker = subprocess.run([sys.executable, "-c", code], **options)
    assert worker.stdout == "random\n", worker.stderr
    play = subprocess.run([sys.executable, "-m", "agents.play", "factory:own:Agent"], input="quit\n", **options)
    assert (play.returncode, play.stderr) == (0, "")
