"""Review of a whole game: the value of each move, what it cost, and where the game was decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agents.analysis import Line, Searcher, analyze, analyze_move
from othello_env.game import Game
from othello_env.position import BLACK, Position

# A move that costs at least this many discs and changes who is ahead is a turning point.
_TURNING_DISCS: Final = 4.0


@dataclass(frozen=True, slots=True)
class MoveReview:
    """A move of a game, compared with the best one.

    Scores are in discs, from the mover's perspective.

    number: from 1. color: of the side that moved. square: the move. played: the line that begins
    with it. best: the line of the best move, which is `played` if that is the best one. loss:
    discs that the move costs, at least 0; proven if `exact`, otherwise an estimate.
    is_turning_point: the move changes who is ahead, or a proven result.
    """

    number: int
    color: int
    square: int
    played: Line
    best: Line
    loss: float
    exact: bool
    is_turning_point: bool

    @property
    def black_score(self) -> float:
        """Score after the move, from Black's perspective."""
        return self.played.score if self.color == BLACK else 0.0 - self.played.score


@dataclass(frozen=True, slots=True)
class GameReview:
    """The moves of a game, reviewed one by one."""

    game: Game
    agent: str
    moves: tuple[MoveReview, ...]

    def total_loss(self, color: int) -> float:
        """Return the discs that the moves of a color cost altogether."""
        return sum(move.loss for move in self.moves if move.color == color)


def review_game(game: Game, agent: Searcher, *, progress: Callable[[int], object] = lambda _: None) -> GameReview:
    """Compare each move of a game with the agent's best move.

    progress: called with the number of moves done. Raises `AgentError` if the agent fails.
    """
    found: list[MoveReview] = []
    for number, (position, square) in enumerate(zip(game.positions(), game.moves, strict=False), 1):
        found.append(_review(agent, position, square, number))
        progress(number)
    return GameReview(game, agent.name, tuple(found))


def _review(agent: Searcher, position: Position, square: int, number: int) -> MoveReview:
    # Both moves are searched from the position that they lead to: searches of different depths are
    # not comparable.
    best = analyze_move(agent, position, analyze(agent, position)[0].pv[0])
    played = best if best.pv[0] == square else analyze_move(agent, position, square)
    if played.score >= best.score:  # estimates of different searches may contradict each other
        best = played
    exact = played.exact and best.exact
    loss = max(0.0, best.score - played.score)
    proven = played.decided and best.decided and _sign(played.score) != _sign(best.score)
    turning = proven or (loss >= _TURNING_DISCS and _sign(played.score) != _sign(best.score))
    return MoveReview(number, position.side_to_move, square, played, best, loss, exact, turning)


def _sign(score: float) -> int:
    return (score > 0) - (score < 0)
