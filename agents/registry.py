"""Agents by their specs: `make_agent("positional:table=bench")`.

A spec is a name, then after a colon a file where the agent takes one, then `parameter=value` entries, with commas between:
`league:players/best.txt,view=black`. The file's name may hold commas and equals signs. The signature of an agent's builder is
the description of its spec. `factory:my_package.agents:make` is an agent of somebody's own.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from agents.base import Agent
from agents.greedy import greedy_agent
from agents.heuristics import beginner_agent, heuristics_agent
from agents.league import league_agent
from agents.ntuple.network import NTupleNetwork, ntuple_agent
from agents.positional import positional_agent
from agents.random_agent import RandomAgent

# Trained networks that come with the agents; beside each lies a card, `.json`, that says how it was made and how it plays.
WEIGHTS: Final = Path(__file__).parent / "weights"
SHIPPED_NTUPLE: Final = WEIGHTS / "ntuple.safetensors"
SHIPPED_POLICY_VALUE: Final = WEIGHTS / "policy_value.safetensors"


class AgentSpecError(ValueError):
    """A spec that names no agent, or an agent with parameters that it does not have. The message says what is allowed."""


def _ntuple(file: Path | None = None) -> Agent:
    return ntuple_agent(NTupleNetwork.load(file or SHIPPED_NTUPLE), f"ntuple:{file.name}" if file else "ntuple")


# Networks need PyTorch, and load it.
def _policy_value(
    file: Path | None = None,
    *,
    simulations: int = 32,
    device: Literal["cpu", "cuda", "auto"] = "cpu",
    precision: Literal["float32", "bfloat16", "auto"] = "float32",
) -> Agent:
    from agents.policy_value import load_policy_value_agent

    return load_policy_value_agent(file or SHIPPED_POLICY_VALUE, simulations=simulations, device=device, precision=precision)


def _factory(function: str) -> Agent:
    """What a function of somebody's own makes, called without arguments. function: "module:name"."""
    if function.count(":") != 1:
        raise ValueError("expected a function that makes the agent, as factory:module:name")
    try:
        agent: Agent = pkgutil.resolve_name(function)()
    except AttributeError as error:
        raise ValueError(str(error)) from error
    return agent


# The agents that search are compiled: their modules need numba, and load it.
def _alpha_beta(
    file: Path | None = None,
    *,
    evaluation: Literal["swh", "heur", "bench", "heuristics", "ntuple"] | None = None,
    depth: int | None = None,
    seconds: float | None = None,
    nodes: int | None = None,
    solver: int = 0,
    solver_seconds: float | None = None,
    hash_mb: int = 16,
) -> Agent:
    from agents.search.alpha_beta import alpha_beta_agent

    limits: dict[str, Any] = {"depth": depth, "seconds": seconds, "nodes": nodes, "solver": solver, "hash_mb": hash_mb}
    limits["solver_seconds"] = solver_seconds
    if evaluation == "ntuple":
        if file is not None:
            raise ValueError(f"a file and evaluation={evaluation}: expected one of them")
        return alpha_beta_agent(SHIPPED_NTUPLE, **limits)
    return alpha_beta_agent(file, evaluation=evaluation, **limits)


def _mcts(
    file: Path | None = None, *, simulations: int = 200, method: Literal["puct", "gumbel"] = "puct", rollouts: int | None = None
) -> Agent:
    from agents.search.mcts import mcts_agent

    return mcts_agent(file, simulations=simulations, method=method, rollouts=rollouts)


# Parameters whose name need not be given: what comes first in a spec.
_FIRST: Final = ("file", "function")

_BUILDERS: Final[dict[str, Callable[..., Agent]]] = {
    "random": RandomAgent,
    "greedy": greedy_agent,
    "positional": positional_agent,
    "beginner": beginner_agent,
    "heuristics": heuristics_agent,
    "ntuple": _ntuple,
    "policy_value": _policy_value,
    "league": league_agent,
    "alpha_beta": _alpha_beta,
    "mcts": _mcts,
    "factory": _factory,
}


def make_agent(spec: str) -> Agent:
    """Build the agent that a spec names, such as "random", "positional:table=bench", "ntuple:FILE", "league:FILE,view=mover".

    Raises `AgentSpecError` for an unknown name, parameter or value, and for a file that is missing or damaged; the message is
    one line and says what is allowed.
    """
    name, _, rest = spec.partition(":")
    builder = _BUILDERS.get(name)
    if builder is None:
        raise AgentSpecError(f"{spec!r}: no agent {name!r}; the agents are {', '.join(agent_specs())}")
    arguments = _parse_arguments(spec, name, rest)
    try:
        return builder(**arguments)
    except ImportError as error:
        raise AgentSpecError(f"{spec!r}: {error}") from error
    except (MemoryError, OverflowError) as error:
        raise AgentSpecError(f"{spec!r}: too large: {error}") from error
    except FileNotFoundError as error:
        raise AgentSpecError(f"{spec!r}: no such file: {str(error.filename)!r}") from None
    except (OSError, ValueError) as error:
        raise AgentSpecError(f"{spec!r}: {' '.join(str(error).split())}") from error


def agent_specs() -> list[str]:
    """The shape of every agent's spec, such as "league:FILE,view=mover|black"."""
    return [_describe(name) for name in _BUILDERS]


def _describe(name: str) -> str:
    entries = []
    for parameter in _parameters(name):
        comes_first, optional = parameter.name in _FIRST, parameter.default is not parameter.empty
        entry = parameter.name.upper() if comes_first else f"{parameter.name}={'|'.join(_choices(parameter))}"
        entries.append(f"[{entry}]" if comes_first and optional else entry)
    return f"{name}:{','.join(entries)}" if entries else name


def _parameters(name: str) -> list[inspect.Parameter]:
    parameters = inspect.signature(_BUILDERS[name], eval_str=True).parameters.values()
    return [parameter for parameter in parameters if parameter.name != "name"]


def _type_of(parameter: inspect.Parameter) -> Any:
    """The annotation, that of `X | None` being X: a spec cannot say None, only leave the parameter out."""
    if get_origin(parameter.annotation) in (UnionType, Union):
        return next(choice for choice in get_args(parameter.annotation) if choice is not NoneType)
    return parameter.annotation


def _choices(parameter: inspect.Parameter) -> list[str]:
    annotation = _type_of(parameter)
    return [str(choice) for choice in get_args(annotation)] if get_origin(annotation) is Literal else [annotation.__name__.upper()]


def _parse_arguments(spec: str, name: str, rest: str) -> dict[str, Any]:
    parameters = {parameter.name: parameter for parameter in _parameters(name)}
    names = "|".join(parameters)
    first = next((key for key in _FIRST if key in parameters), None)
    # An entry begins after a comma where a parameter of the agent does; what comes before the first one is the file.
    entries = [entry for entry in re.split(f",(?=(?:{names})=)" if first else ",", rest) if entry]
    arguments: dict[str, Any] = {}
    for entry in entries:
        key, equals, text = entry.partition("=")
        looks_like_parameter = re.fullmatch("[a-z_]+", key) and equals and not Path(entry).exists()
        if first and first not in arguments and key not in parameters and not looks_like_parameter:
            key, equals, text = first, "=", entry
        parameter = parameters.get(key)
        if parameter is None or not equals or key in arguments:
            raise AgentSpecError(f"{spec!r}: {entry!r} is no parameter of it, or comes twice; expected {_describe(name)}")
        arguments[key] = _convert(spec, name, parameter, text)
    missing = [key for key, parameter in parameters.items() if parameter.default is parameter.empty and key not in arguments]
    if missing:
        raise AgentSpecError(f"{spec!r}: {missing[0]} is missing; expected {_describe(name)}")
    return arguments


def _convert(spec: str, name: str, parameter: inspect.Parameter, text: str) -> Any:
    annotation = _type_of(parameter)
    if get_origin(annotation) is Literal:
        if text not in get_args(annotation):
            raise AgentSpecError(f"{spec!r}: {parameter.name}={text}; expected one of {', '.join(_choices(parameter))}")
        return text
    try:
        return annotation(text)
    except ValueError:
        raise AgentSpecError(f"{spec!r}: {parameter.name}={text}; expected {annotation.__name__} in {_describe(name)}") from None
