"""Analysis of a position by an agent that searches: moves with scores and principal variations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from othello_env.agent import AgentError, describe_error
from othello_env.position import Position
from othello_env.squares import format_square, pass_square


class SearchReport(Protocol):
    """Result of a search, see `agents.search.alpha_beta.SearchReport`."""

    @property
    def score(self) -> float: ...  # noqa: D102
    @property
    def decided(self) -> bool: ...  # noqa: D102
    @property
    def exact(self) -> bool: ...  # noqa: D102
    @property
    def depth(self) -> int: ...  # noqa: D102
    @property
    def pv(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def nodes(self) -> int: ...  # noqa: D102
    @property
    def seconds(self) -> float: ...  # noqa: D102


@runtime_checkable
class Searcher(Protocol):
    """An agent that says what it thinks of a position, such as alpha_beta."""

    @property
    def name(self) -> str: ...  # noqa: D102

    def search(self, position: Position) -> SearchReport:
        """Search a position in which the side to move has a legal square."""
        ...


@dataclass(frozen=True, slots=True)
class Line:
    """A move and what the agent expects after it.

    pv: the move and the following ones, passes included. score: for the side to move, in the units
    of the agent's evaluation; the final score if `decided`, empty squares counted for the winner.
    depth: number of placed discs. decided: the outcome is proven. exact: the score is proven too.
    nodes, seconds: of the search.
    """

    pv: tuple[int, ...]
    score: float
    depth: int
    decided: bool
    exact: bool
    nodes: int
    seconds: float


def analyze(agent: Searcher, position: Position, num_moves: int = 1) -> list[Line]:
    """Return the best moves with their scores, best first; nothing if the game is over.

    One move costs one search. For more, the positions after all legal moves are searched, each
    within the agent's limits. Raises `AgentError` if the agent fails.
    """
    if position.is_over:
        return []
    if position.must_pass:
        line = analyze(agent, position.resolve_pass())[0]
        return [replace(line, pv=(pass_square(position.board_size), *line.pv), score=0.0 - line.score)]
    if num_moves <= 1:
        report = _search(agent, position)
        return [_line(report, position, report.pv)]
    lines = [_line_after(agent, position, square) for square in position.legal_squares()]
    return sorted(lines, key=lambda line: -line.score)[:num_moves]


def _search(agent: Searcher, position: Position) -> SearchReport:
    try:
        return agent.search(position)
    except Exception as error:  # whatever an agent raises
        raise AgentError(agent.name, "error", describe_error(error)) from error


def _line_after(agent: Searcher, position: Position, square: int) -> Line:
    """The line that begins with a move."""
    after = position.play(square)
    same_side = after.side_to_move == position.side_to_move
    if after.is_over:
        score = after.score("empties_to_winner") * (1 if position.side_to_move == 0 else -1)
        return Line((square,), score, 1, decided=True, exact=True, nodes=1, seconds=0.0)
    report = _search(agent, after)
    line = _line(report, position, (square, *report.pv))
    return replace(line, score=line.score if same_side else 0.0 - line.score, depth=line.depth + 1)


def _line(report: SearchReport, position: Position, squares: Iterable[int]) -> Line:
    """A line for the score of a report. squares: the moves from `position` on without passes."""
    moves: list[int] = []
    for square in squares:
        if position.must_pass:
            moves.append(pass_square(position.board_size))
            position = position.resolve_pass()
        moves.append(square)
        position = position.play(square, auto_pass=False)
    return Line(tuple(moves), report.score, report.depth, report.decided, report.exact, report.nodes, report.seconds)


def format_pv(pv: Iterable[int], board_size: int) -> str:
    """The moves in one word, such as "D3c5D6"; "PA" is a pass."""
    n = board_size
    return "".join("PA" if square == pass_square(n) else format_square(square, n).upper() for square in pv)
