"""Server for the NBoard protocol, version 2: an agent as an engine for NBoard.

Unknown commands are ignored, as the protocol demands; a `status` line reports invalid moves and
games. `ping` does not interrupt a search: the answer to the search comes before the `pong`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from agents.analysis import Line, Searcher, analyze, format_pv
from agents.base import Agent
from agents.external.ggf import parse_ggf, play_written
from othello_env.agent import ask_agent
from othello_env.batch import PositionBatch
from othello_env.position import Position
from othello_env.squares import PASS_TOKENS, format_square, parse_square


class NBoardServer:
    """State of an NBoard session, which answers commands.

    agent: chooses the moves until the other program sets a search depth. make: returns the agent
    for a search depth. rng: the source of the agent's randomness.
    """

    def __init__(self, agent: Agent, make: Callable[[int], Agent], *, rng: np.random.Generator) -> None:
        self._agent, self._make, self._rng = agent, make, rng
        self._positions = [Position.start()]
        self.has_quit = False

    @property
    def _position(self) -> Position:
        return self._positions[-1]

    def answers(self, line: str) -> Iterator[str]:
        """Yield the lines of the answer to a line."""
        command, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        try:
            if command == "set":
                name, _, value = rest.partition(" ")
                yield from self._set(name, value.strip())
            elif command == "move":
                play_written(self._positions, rest.partition("/")[0])
            elif command == "go":
                yield from self._go()
            elif command == "hint":
                yield from self._hint(int(rest or 1))
            elif command == "ping":
                yield f"pong {rest}"
            elif command == "learn":
                yield "learned"
            elif command == "analyze":
                yield from self._analyze()
            elif command == "quit":
                self.has_quit = True
            elif _is_move(command, self._position.board_size):  # version 1 of the protocol
                play_written(self._positions, command)
        except ValueError as error:  # an illegal move, a game that cannot be read, an agent that fails
            yield f"status {' '.join(str(error).split())}"

    def _set(self, name: str, value: str) -> Iterator[str]:
        if name == "game":
            self._positions = parse_ggf(value)
        elif name == "depth":
            self._agent = self._make(int(value))
            yield f"set myname {'_'.join(self._agent.name.split())}"

    def _go(self) -> Iterator[str]:
        position = self._position
        if not position.legal_moves:
            yield "=== PA//0.00"
            return
        yield f"status {self._agent.name} is thinking"
        start = time.perf_counter()
        try:
            if isinstance(self._agent, Searcher):
                line = analyze(self._agent, position)[0]
                yield _search_line(line, position.board_size)
                move, score = line.pv[0], f"{line.score:.2f}"
            else:
                move, score = int(ask_agent(self._agent, PositionBatch.from_positions([position]), self._rng)[0]), ""
        finally:
            yield "status"
        yield f"=== {format_square(move, position.board_size).upper()}/{score}/{time.perf_counter() - start:.2f}"

    def _hint(self, num_moves: int) -> Iterator[str]:
        if not isinstance(self._agent, Searcher):
            yield f"status {self._agent.name} gives no scores"
            return
        yield f"status {self._agent.name} is analyzing"
        lines = analyze(self._agent, self._position, num_moves)
        for line in lines:
            yield _search_line(line, self._position.board_size)
        yield f"nodestats {sum(line.nodes for line in lines)} {sum(line.seconds for line in lines):.2f}"
        yield "status"

    def _analyze(self) -> Iterator[str]:
        """Yield the score of each position of the game for its side to move, the last one first."""
        if not isinstance(self._agent, Searcher):
            yield f"status {self._agent.name} gives no scores"
            return
        for number, position in reversed(list(enumerate(self._positions))):
            for line in analyze(self._agent, position):
                yield f"analysis {number} {line.score:.2f}"


def _search_line(line: Line, board_size: int) -> str:
    depth = "100%" if line.exact else "100%W" if line.decided else str(line.depth)
    return f"search {format_pv(line.pv, board_size)} {line.score:.2f} 0 {depth}"


def _is_move(text: str, board_size: int) -> bool:
    try:
        parse_square(text, board_size)
    except ValueError:
        return False
    return text.lower() not in PASS_TOKENS or len(text) == 2
