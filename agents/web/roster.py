"""Agents that the page offers: the levels and the specs of the command line.

All games share them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final, cast

import numpy as np

from agents.analysis import Line, Searcher, analyze
from agents.base import Agent, Moves, check_board_size
from agents.play.levels import LEVELS, analyst_spec, level_spec
from agents.registry import AgentSpecError, make_agent
from othello_env.agent import AgentError, ask_agent, describe_error
from othello_env.batch import PositionBatch
from othello_env.position import Position
from othello_env.squares import BOARD_SIZES

_HINT: Final = "hint"


class SharedAgent:
    """Agent that several threads may ask at once: each call borrows an instance, or builds one.

    Agents are not thread-safe. The number of instances is at most the number of threads that ask.
    name: shown to people. make: builds an instance. built: the first instance, if it exists.
    """

    def __init__(self, name: str, make: Callable[[], Agent], *, board_size: int | None = None, built: Agent | None = None) -> None:
        self.name, self.board_size = name, board_size
        self._make = make
        self._idle: list[Agent] = [] if built is None else [built]
        self._lock = threading.Lock()

    @contextmanager
    def borrowed(self) -> Iterator[Agent]:
        """Lend an instance to one thread. An instance that fails is not used again."""
        with self._lock:
            agent = self._idle.pop() if self._idle else None
        agent = agent or self._make()
        yield agent
        with self._lock:
            self._idle.append(agent)

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        """See `Agent`."""
        with self.borrowed() as agent:
            return agent.select_moves(positions, rng)


@dataclass(frozen=True, slots=True)
class Choice:
    """A player on the page's list.

    key: its name in requests. board_sizes: the boards that it plays on.
    """

    key: str
    title: str
    board_sizes: tuple[int, ...]


@dataclass(slots=True)
class Preparation:
    """Progress of the compilation at server start. failures: a line for each agent that failed."""

    done: int = 0
    total: int = 0
    current: str = ""
    failures: list[str] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        """True once every agent has been asked once."""
        return self.done >= self.total


class Roster:
    """The agents of a server. Only these can be named in requests.

    specs: agents besides the levels. Raises `AgentSpecError` for an invalid one.
    """

    def __init__(self, specs: Sequence[str] = ()) -> None:
        self._agents: dict[tuple[str, int], SharedAgent] = {}
        self._hints: dict[int, SharedAgent] = {}
        self.choices: list[Choice] = [Choice(level, level.capitalize(), BOARD_SIZES) for level in LEVELS]
        for size in BOARD_SIZES:
            for level in LEVELS:
                self._agents[level, size] = _shared(level.capitalize(), level_spec(level, size), size)
            self._hints[size] = _shared(_HINT, analyst_spec(size, is_quick=True), size)
        for spec in dict.fromkeys(specs):
            agent = make_agent(spec)
            sizes = tuple(size for size in BOARD_SIZES if _plays_on(agent, size))
            self.choices.append(Choice(spec, agent.name, sizes))
            shared = SharedAgent(agent.name, partial(make_agent, spec), board_size=getattr(agent, "board_size", None), built=agent)
            self._agents |= {(spec, size): shared for size in sizes}
        self.preparation = Preparation(total=len(self._agents) + len(self._hints))

    def agent(self, key: str, board_size: int) -> SharedAgent:
        """Return the agent of a choice. Raises `ValueError` for an unknown one."""
        if (key, board_size) not in self._agents:
            known = [choice.key for choice in self.choices if board_size in choice.board_sizes]
            raise ValueError(f"player {key[:40]!r}: expected one of person, {', '.join(known)} on this board")
        return self._agents[key, board_size]

    def rate_moves(self, position: Position) -> list[Line]:
        """Return all legal moves with their values, best first. Raises `AgentError`."""
        try:
            with self._hints[position.board_size].borrowed() as agent:
                return analyze(cast("Searcher", agent), position, len(position.legal_squares()) + 1)
        except AgentSpecError as error:  # a library is missing
            raise AgentError(_HINT, "error", str(error)) from error

    def prepare(self) -> None:
        """Ask each agent for one move, so that everything is compiled and loaded; 8x8 first."""
        rng = np.random.default_rng(0)
        state = self.preparation
        for size in sorted(BOARD_SIZES, reverse=True):
            position = Position.start(size)
            shared = [agent for (_, board_size), agent in self._agents.items() if board_size == size]
            for agent in (*shared, None):
                state.current = f"{agent.name if agent else 'hints'} on {size}x{size}"
                try:
                    if agent is None:
                        self.rate_moves(position)
                    else:
                        ask_agent(agent, PositionBatch.from_positions([position]), rng)
                except Exception as error:  # whatever an agent raises
                    state.failures.append(f"{state.current}: {describe_error(error)}")
                state.done += 1
        state.current = ""

    def prepare_in_background(self) -> None:
        """Start `prepare` in a thread that does not keep the process alive."""
        threading.Thread(target=self.prepare, name="prepare", daemon=True).start()


def _shared(name: str, spec: str, board_size: int) -> SharedAgent:
    return SharedAgent(name, partial(make_agent, spec), board_size=board_size)


def _plays_on(agent: Agent, board_size: int) -> bool:
    try:
        check_board_size(agent, board_size)
    except ValueError:
        return False
    return True
