"""Construction of agents from specs: `make_agent("positional:table=bench")`.

A spec is the name of an agent, optionally followed by a colon, its file (if it takes one) and
`parameter=value` entries, separated by commas: `league:players/best.txt,view=black`. The file name
may contain commas and equals signs. The signature of an agent's builder defines its parameters.
`factory:my_package.agents:make` calls a user-defined function; see `_factory`. `gtp:COMMAND` and
`nboard:COMMAND` start an external engine; see `agents.external`.
"""

from __future__ import annotations

import difflib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from agents.base import Agent
from agents.external.gtp import gtp_agent
from agents.external.nboard import nboard_agent
from agents.external.process import is_command
from agents.greedy import greedy_agent
from agents.heuristics import beginner_agent, heuristics_agent
from agents.league import league_agent
from agents.ntuple.network import NTupleNetwork, ntuple_agent
from agents.positional import positional_agent
from agents.random_agent import RandomAgent
from othello_env.agent import describe_error
from othello_env.command import one_line

# Trained networks in the repository. The model card beside each (`.json`) documents its training
# and its strength.
WEIGHTS: Final = Path(__file__).parent / "weights"
SHIPPED_NTUPLE: Final = WEIGHTS / "ntuple.safetensors"
SHIPPED_POLICY_VALUE: Final = WEIGHTS / "policy_value.safetensors"


class AgentSpecError(ValueError):
    """Raised when a spec is invalid or its agent cannot be built.

    The message is one line: the spec, the error, and what is allowed.
    """


def _ntuple(file: Path | None = None) -> Agent:
    return ntuple_agent(NTupleNetwork.load(file or SHIPPED_NTUPLE), f"ntuple:{file.name}" if file else "ntuple")


# PyTorch is imported only for the agents that use it.
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
    """Return the agent that a user-defined function returns.

    function: "module:name", called without arguments. The module is imported from Python's path, to
    which the current folder is added. Raises `ValueError` for every failure of the user's code.
    """
    module_name, _, name = function.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), *name.split("."))):
        raise ValueError("expected a function that makes the agent, as factory:module:name")
    module = _import_module(module_name)
    made: Any = module
    try:
        for part in name.split("."):
            if not hasattr(made, part):
                where = f"module {module_name!r} ({getattr(module, '__file__', None) or 'built in'})"
                raise AgentSpecError(f"{where} has no {name!r}{_suggestion(part, dir(made))}")
            made = getattr(made, part)
        if not callable(made):
            raise AgentSpecError(f"{function} is {made!r}; expected a function that makes the agent")
        agent: Agent = made()
        fault = _fault(agent)
    except (AgentSpecError, KeyboardInterrupt):
        raise
    except BaseException as error:  # whatever the user's code raises
        raise ValueError(f"{function} failed: {describe_error(error)}") from error
    if fault:
        raise ValueError(f"{function} returned {fault}; expected an agent, with a name and select_moves(positions, rng)")
    return agent


def _import_module(name: str) -> ModuleType:
    folder = str(Path.cwd())
    if folder not in sys.path:  # `python -m` puts it there, other ways to start Python do not
        sys.path.append(folder)
    try:
        module: ModuleType = pkgutil.resolve_name(f"{name}:")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the user's code raises
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            searched = f"the current folder, {folder}, and Python's path: PYTHONPATH and the installed packages"
            raise ValueError(f"no module {error.name!r} in {searched}") from error
        reason = one_line(error) if isinstance(error, ImportError) else describe_error(error)
        raise ValueError(f"module {name!r} cannot be imported: {reason}") from error
    return module


def _fault(agent: Any) -> str:
    """Return why an object is not an agent, as a phrase to follow "returned"; "" for an agent."""
    kind = type(agent).__name__
    if isinstance(agent, type):
        return f"the class {agent.__name__}"
    if not callable(getattr(agent, "select_moves", None)):
        return f"{kind}, which has no select_moves"
    name = getattr(agent, "name", None)
    if not isinstance(name, str) or not name or not name.isprintable():
        return f"{kind}, whose name is {name!r} and not a line of text"
    return ""


# The searches are compiled; numba is imported only for them.
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


# Parameters that come first in a spec and whose name may be omitted there.
_FIRST: Final = ("file", "function", "command")

# Minimum difflib similarity ratio of a suggestion to the misspelt word ("gpu" and "cpu" have 0.67).
_SIMILAR: Final = 0.7

_TYPE_NAMES: Final = {int: "an integer", float: "a number"}

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
    "gtp": gtp_agent,
    "nboard": nboard_agent,
}


def make_agent(spec: str) -> Agent:
    """Build the agent of a spec, such as "random", "positional:table=bench" or "ntuple:FILE".

    Raises `AgentSpecError` for an unknown name, parameter or value, a missing or damaged file, a
    missing library, and a factory that fails.
    """
    name, _, rest = spec.partition(":")
    try:
        if name not in _BUILDERS:
            nearest = _suggestion(name, _BUILDERS)
            raise ValueError(f"no agent {name!r}{nearest or '; expected one of ' + ', '.join(_BUILDERS)}")
        return _BUILDERS[name](**_parse_arguments(name, rest))
    except (MemoryError, OverflowError) as error:
        raise AgentSpecError(f"{spec!r}: too large: {error}") from error
    except FileNotFoundError as error:
        raise AgentSpecError(f"{spec!r}: no such file: {str(error.filename)!r}") from error
    except (ImportError, OSError, ValueError) as error:
        raise AgentSpecError(f"{spec!r}: {one_line(error)}") from error


def agent_specs() -> list[str]:
    """Return the syntax of every agent's spec, such as "league:FILE,view=mover|black"."""
    return [_describe(name) for name in _BUILDERS]


def agents_help() -> str:
    """Return the list of agents at the end of a command's help, one form of a spec per line."""
    return "\n  ".join(["agents:", *agent_specs()])


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
    """Return the annotation of a parameter, X for `X | None`: a spec cannot express None."""
    if get_origin(parameter.annotation) in (UnionType, Union):
        return next(choice for choice in get_args(parameter.annotation) if choice is not NoneType)
    return parameter.annotation


def _choices(parameter: inspect.Parameter) -> list[str]:
    annotation = _type_of(parameter)
    return [str(choice) for choice in get_args(annotation)] if get_origin(annotation) is Literal else [annotation.__name__.upper()]


def _parse_arguments(name: str, rest: str) -> dict[str, Any]:
    """Parse the part of a spec after the name. Raises `ValueError`."""
    parameters = {parameter.name: parameter for parameter in _parameters(name)}
    first = next((key for key in _FIRST if key in parameters), None)
    arguments: dict[str, Any] = {}
    for entry in _split(rest, parameters, first):
        key, equals, text = entry.partition("=")
        if first and first not in arguments and key not in parameters:
            misspelt = (
                None if Path(entry).exists() or (first == "command" and is_command(entry)) else re.search("(?:^|,)([A-Za-z_-]+)=", entry)
            )
            if misspelt and misspelt.start():
                raise ValueError(f"no {first} {entry!r}, and {_unknown_parameter(misspelt[1], name)}")
            if not misspelt:
                key, equals, text = first, "=", entry
        if not equals:
            settings = {value: f"{key}={value}" for key, parameter in parameters.items() for value in _choices(parameter)}
            nearest = _most_similar(entry, settings)
            hint = f"did you mean {settings[nearest]!r}?" if nearest else f"expected {_describe(name)}"
            raise ValueError(f"{entry!r} is not parameter=value; {hint}")
        if key not in parameters:
            raise ValueError(_unknown_parameter(key, name))
        if key in arguments:
            raise ValueError(f"{key} is given twice; expected {_describe(name)}")
        arguments[key] = _convert(parameters[key], text)
    missing = [key for key, parameter in parameters.items() if parameter.default is parameter.empty and key not in arguments]
    if missing:
        raise ValueError(f"{missing[0]} is missing; expected {_describe(name)}")
    return arguments


def _split(rest: str, parameters: Iterable[str], first: str | None) -> list[str]:
    """Split the entries of a spec at commas; in a file name only at a comma before `parameter=`."""
    entries: list[str] = []
    for part in re.split(f",(?=(?:{'|'.join(parameters)})=)", rest):
        is_file = first and part.partition("=")[0] not in {*parameters} - {first}
        entries += [part] if is_file else part.split(",")
    return [entry for entry in entries if entry]


def _unknown_parameter(key: str, name: str) -> str:
    nearest = _suggestion(key, [parameter.name for parameter in _parameters(name)])
    return f"no parameter {key!r}{nearest or f'; expected {_describe(name)}'}"


def _suggestion(text: str, choices: Iterable[str]) -> str:
    """Return a "did you mean" ending for an error message, or "" if no choice is similar."""
    nearest = _most_similar(text, choices)
    return f"; did you mean {nearest!r}?" if nearest else ""


def _most_similar(text: str, choices: Iterable[str]) -> str | None:
    """Return the choice that begins with the text, else the most similar one, else None."""
    text, choices = text.lower(), list(choices)
    begun = [choice for choice in choices if len(text) > 1 and choice.startswith(text)]
    return next(iter(begun or difflib.get_close_matches(text, choices, n=1, cutoff=_SIMILAR)), None)


def _convert(parameter: inspect.Parameter, text: str) -> Any:
    annotation, setting = _type_of(parameter), f"{parameter.name}={text}"
    if get_origin(annotation) is Literal:
        choices = _choices(parameter)
        if text not in choices:
            raise ValueError(f"{setting}; expected one of {', '.join(choices)}{_suggestion(text, choices)}")
        return text
    try:
        return annotation(text)
    except ValueError:
        raise ValueError(f"{setting}; expected {_TYPE_NAMES[annotation]}") from None
