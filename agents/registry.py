"""Agents by their specs: `make_agent("positional:table=bench")`.

A spec is a name, then after a colon a file where the agent takes one, then `parameter=value` entries, with commas between:
`league:players/best.txt,view=black`. The file's name may hold commas and equals signs. The signature of an agent's builder is
the description of its spec.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from agents.base import Agent
from agents.greedy import greedy_agent
from agents.league import league_agent
from agents.ntuple import NTupleNetwork, ntuple_agent
from agents.positional import positional_agent
from agents.random_agent import RandomAgent


class AgentSpecError(ValueError):
    """A spec that names no agent, or an agent with parameters that it does not have. The message says what is allowed."""


def _ntuple(file: Path) -> Agent:
    return ntuple_agent(NTupleNetwork.load(file), f"ntuple:{file.name}")


_BUILDERS: Final[dict[str, Callable[..., Agent]]] = {
    "random": RandomAgent,
    "greedy": greedy_agent,
    "positional": positional_agent,
    "ntuple": _ntuple,
    "league": league_agent,
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
    except FileNotFoundError as error:
        raise AgentSpecError(f"{spec!r}: no such file: {str(error.filename)!r}") from None
    except (OSError, ValueError) as error:
        raise AgentSpecError(f"{spec!r}: {' '.join(str(error).split())}") from error


def agent_specs() -> list[str]:
    """The shape of every agent's spec, such as "league:FILE,view=mover|black"."""
    return [_describe(name) for name in _BUILDERS]


def _describe(name: str) -> str:
    entries = [
        parameter.name.upper() if parameter.annotation is Path else f"{parameter.name}={'|'.join(_choices(parameter))}"
        for parameter in _parameters(name)
    ]
    return f"{name}:{','.join(entries)}" if entries else name


def _parameters(name: str) -> list[inspect.Parameter]:
    parameters = inspect.signature(_BUILDERS[name], eval_str=True).parameters.values()
    return [parameter for parameter in parameters if parameter.name != "name"]


def _choices(parameter: inspect.Parameter) -> list[str]:
    if get_origin(parameter.annotation) is Literal:
        return [str(choice) for choice in get_args(parameter.annotation)]
    return [f"{parameter.annotation.__name__.upper()}"]


def _parse_arguments(spec: str, name: str, rest: str) -> dict[str, Any]:
    parameters = {parameter.name: parameter for parameter in _parameters(name)}
    names = "|".join(parameters)
    # An entry begins after a comma where a parameter of the agent does; what comes before the first one is the file.
    entries = [entry for entry in re.split(f",(?=(?:{names})=)" if "file" in parameters else ",", rest) if entry]
    arguments: dict[str, Any] = {}
    for entry in entries:
        key, equals, text = entry.partition("=")
        if "file" in parameters and "file" not in arguments and key not in parameters:
            key, equals, text = "file", "=", entry
        parameter = parameters.get(key)
        if parameter is None or not equals or key in arguments:
            raise AgentSpecError(f"{spec!r}: {entry!r} is no parameter of it, or comes twice; expected {_describe(name)}")
        arguments[key] = _convert(spec, parameter, text)
    missing = [key for key, parameter in parameters.items() if parameter.default is parameter.empty and key not in arguments]
    if missing:
        raise AgentSpecError(f"{spec!r}: {missing[0]} is missing; expected {_describe(name)}")
    return arguments


def _convert(spec: str, parameter: inspect.Parameter, text: str) -> Any:
    if get_origin(parameter.annotation) is Literal:
        if text not in get_args(parameter.annotation):
            raise AgentSpecError(f"{spec!r}: {parameter.name}={text}; expected one of {', '.join(_choices(parameter))}")
        return text
    try:
        return parameter.annotation(text)
    except ValueError:
        raise AgentSpecError(f"{spec!r}: {parameter.name}={text}; expected {parameter.annotation.__name__}") from None
