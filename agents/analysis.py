"""Analysis of a position by a searching agent: moves with scores and principal variations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from othello_env.agent import AgentError, describe_error
from othello_env.position import Position
from othello_env.squares import format_square, pass_square


class SearchReport(Protocol):
    """Result of a search; see `agents.search.alpha_beta.SearchReport`."""

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
    """Agent that reports the result of its search, such as alpha_beta."""

    @property
    def name(self) -> str: ...  # noqa: D102

    def search(self, position: Position) -> SearchReport:
        """Search a position in which the side to move has a legal square."""
        ...


@dataclass(frozen=True, slots=True)
class Line:
    """A move with its score and principal variation.

    pv: principal variation, starting with the move, passes included. score: from the perspective of
    the side to move, in discs if the agent converts them (`discs_per_unit`), otherwise in the units
    of its evaluation; if `decided`, the final score with empty squares counted for the
    winner. depth: search depth, in placed discs. decided: the outcome is proven. exact: the score
    is proven too. nodes: number of positions visited by the search. seconds: time taken by the
    search.
    """

    pv: tuple[int, ...]
    score: float
    depth: int
    decided: bool
    exact: bool
    nodes: int
    seconds: float


def analyze(agent: Searcher, position: Position, num_moves: int = 1) -> list[Line]:
    """Return the best `num_moves` moves, best first; an empty list if the game is over.

    A single move takes one search of the position. For more moves, the position after each legal
    move is searched within the agent's limits. Raises `AgentError` if the agent fails.
    """
    if position.is_over:
        return []
    if position.must_pass:
        line = analyze(agent, position.resolve_pass())[0]
        return [replace(line, pv=(pass_square(position.board_size), *line.pv), score=0.0 - line.score)]
    if num_moves <= 1:
        report = _search(agent, position)
        return [_line(agent, report, position, report.pv)]
    lines = [analyze_move(agent, position, square) for square in position.legal_squares()]
    return sorted(lines, key=lambda line: -line.score)[:num_moves]


def _search(agent: Searcher, position: Position) -> SearchReport:
    try:
        return agent.search(position)
    except Exception as error:  # whatever an agent raises
        raise AgentError(agent.name, "error", describe_error(error)) from error


def analyze_move(agent: Searcher, position: Position, square: int) -> Line:
    """Return the line that begins with a legal move. Raises `AgentError` if the agent fails."""
    after = position.play(square)
    same_side = after.side_to_move == position.side_to_move
    if after.is_over:
        score = after.score("empties_to_winner") * (1 if position.side_to_move == 0 else -1)
        return Line((square,), score, 1, decided=True, exact=True, nodes=1, seconds=0.0)
    report = _search(agent, after)
    line = _line(agent, report, position, (square, *report.pv))
    return replace(line, score=line.score if same_side else 0.0 - line.score, depth=line.depth + 1)


def _line(agent: Searcher, report: SearchReport, position: Position, squares: Iterable[int]) -> Line:
    """Return the line of a report. squares: the moves from `position` on, without passes."""
    scale = 1.0 if report.decided else getattr(agent, "discs_per_unit", 1.0)
    moves: list[int] = []
    for square in squares:
        if position.must_pass:
            moves.append(pass_square(position.board_size))
            position = position.resolve_pass()
        moves.append(square)
        position = position.play(square, auto_pass=False)
    return Line(tuple(moves), scale * report.score, report.depth, report.decided, report.exact, report.nodes, report.seconds)


def format_pv(pv: Iterable[int], board_size: int) -> str:
    """Return the moves as one word, such as "D3C5D6"; a pass is "PA"."""
    n = board_size
    return "".join("PA" if square == pass_square(n) else format_square(square, n).upper() for square in pv)


def format_score(line: Line) -> str:
    """Return the score of a line: a whole number such as "+12" if proven, otherwise "+3.4"."""
    digits = 0 if line.exact else 1
    return f"{round(line.score, digits) + 0.0:+.{digits}f}"  # adding 0.0 turns -0.0 into 0.0
