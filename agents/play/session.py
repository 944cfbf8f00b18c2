"""A game in progress: players, moves, undo and redo.

The terminal and the web board are views of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from operator import index
from typing import Final, Literal

import numpy as np

from othello_env.agent import Agent, ask_agent, check_board_size
from othello_env.batch import PositionBatch
from othello_env.errors import IllegalMoveError
from othello_env.game import Game
from othello_env.position import BLACK, COLOR_NAMES, WHITE, Position
from othello_env.rendering.text import format_result
from othello_env.squares import format_square, parse_square

Players = tuple[Agent | None, Agent | None]
"""The players of black and white; None is a person."""

EndReason = Literal["no moves left", "resignation", "time"]

TWO_PEOPLE: Final[Players] = (None, None)


@dataclass(frozen=True, slots=True)
class Turn:
    """A move that was played.

    color: of the side that moved. square: where the disc was placed. flipped: bitboard of the discs
    that it flipped. passes: True if the other side then had to pass, so that the same side moves
    again.
    """

    color: int
    square: int
    flipped: int
    passes: bool


@dataclass(frozen=True, slots=True)
class Result:
    """The end of a game.

    winner: BLACK, WHITE, or None for a draw. reason: why the game ended. text: one line for a
    person, such as "Black wins (39-3 by discs, 61-3 with the empties to the winner)".
    """

    winner: int | None
    reason: EndReason
    text: str


class GameSession:
    """A game that people and agents play, and that can be taken back.

    players: of black and white, see `Players`. game: start position and moves played so far; by
    default a new game. rng: randomness of the agents. clock: thinking time of each side for the
    whole game, in seconds; None for no limit. now: clock to read, in seconds.

    Every change builds the new state first and then replaces the old one, so an error or Ctrl-C
    leaves the session unchanged. Raises `ValueError` for an agent that cannot play on the board.
    """

    def __init__(
        self,
        players: Players = TWO_PEOPLE,
        game: Game | None = None,
        *,
        rng: np.random.Generator | None = None,
        clock: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.players = players
        self.game = game or Game()
        self.revision = 0
        """Number of changes so far; it tells whether a game has moved on while an agent thought."""
        for agent in players:
            if agent is not None:
                check_board_size(agent, self.game.start.board_size)
        if clock is not None and not clock > 0:
            raise ValueError(f"clock {clock}: expected a positive number of seconds")
        self._rng = rng or np.random.default_rng()
        self._redo: tuple[int, ...] = ()
        self._resigned: int | None = None
        self._clock, self._now = clock, now
        self._used = (0.0, 0.0)
        self._since = now()

    @property
    def board_size(self) -> int:
        """Squares along one side of the board."""
        return self.game.start.board_size

    @property
    def position(self) -> Position:
        """The current position, with forced passes played."""
        return self.game.final

    @property
    def player(self) -> Agent | None:
        """The player to move; None is a person."""
        return self.players[self.position.side_to_move]

    @property
    def player_names(self) -> tuple[str, str]:
        """The names of black and white, for tables and records; "Person" for people."""
        black, white = ("Person" if agent is None else agent.name for agent in self.players)
        return black, white

    @property
    def is_over(self) -> bool:
        """True once the game has ended, by the rules, resignation or time."""
        return self.result is not None

    @property
    def result(self) -> Result | None:
        """The result of a game that has ended; None before."""
        if self._resigned is not None:
            return _lost_by(self._resigned, "resignation", "resigned")
        if self.position.is_over:
            outcome = self.position.outcome
            return Result({1: BLACK, -1: WHITE}.get(outcome), "no moves left", format_result(self.position))
        for color in (BLACK, WHITE):
            if self._clock is not None and self.seconds_left[color] <= 0:
                return _lost_by(color, "time", "ran out of time")
        return None

    @property
    def seconds_left(self) -> tuple[float, float]:
        """Thinking time left to black and white, in seconds; infinite without a clock."""
        if self._clock is None:
            return float("inf"), float("inf")
        used = list(self._used)
        if self._resigned is None and not self.position.is_over:
            used[self.position.side_to_move] += self._now() - self._since
        return max(0.0, self._clock - used[0]), max(0.0, self._clock - used[1])

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The moves played so far."""
        game = self.game
        sides = [position.side_to_move for position in game.positions()]
        passes = [after == before for before, after in pairwise(sides)]
        if passes and game.final.is_over:
            passes[-1] = False
        return tuple(map(Turn, sides, game.moves, game.flips(), passes))

    def play(self, move: int | str) -> Turn:
        """Play a move for the side to move, by number or by name, and forget the moves taken back.

        Raises `IllegalMoveError` for an illegal move and after the end of the game.
        """
        if self.is_over:
            raise IllegalMoveError("the game is over")
        square = parse_square(move, self.board_size) if isinstance(move, str) else index(move)
        self._replace(Game((*self.game.moves, square), self.game.start), redo=())
        return self.turns[-1]

    def load(self, game: Game) -> None:
        """Replace the game by another one of the same board size, with fresh clocks.

        Raises `ValueError` for another board size.
        """
        size = game.start.board_size
        if size != self.board_size:
            raise ValueError(f"a {size}x{size} board, but board_size is {self.board_size}")
        self._change(game=game, redo=(), resigned=None, used=(0.0, 0.0), since=self._now())

    def think(self) -> int:
        """Ask the agent to move for its move, without playing it; see `play`.

        Raises `ValueError` if a person is to move or the game is over, and `AgentError` if the
        agent fails.
        """
        agent = self.player
        if agent is None or self.is_over:
            raise ValueError("no agent is to move")
        return int(ask_agent(agent, PositionBatch.from_positions([self.position]), self._rng)[0])

    def undo(self) -> int:
        """Take back moves up to the previous decision of a person, and return their number.

        With agents on both sides, or people, this is one move. The number is 0 if there is nothing
        to take back.
        """
        if self._resigned is not None:
            self._change(resigned=None)
            return 0
        moves = self.game.moves
        for keep in range(len(moves) - 1, -1, -1):
            side = self.game.positions()[keep].side_to_move
            if self.players[side] is None or self.players.count(None) == 0:
                self._replace(Game(moves[:keep], self.game.start), redo=(*moves[keep:], *self._redo))
                return len(moves) - keep
        return 0

    def redo(self) -> int:
        """Play moves again that were taken back, up to the next decision of a person.

        Returns the number of moves, 0 if there are none.
        """
        moves, left = self.game.moves, self._redo
        for count in range(1, len(left) + 1):
            game = Game((*moves, *left[:count]), self.game.start)
            if count == len(left) or self.players[game.final.side_to_move] is None or self.players.count(None) == 0:
                self._replace(game, redo=left[count:])
                return count
        return 0

    @property
    def can_undo(self) -> bool:
        """True if `undo` has an effect."""
        played = self.game.positions()[:-1]
        anybody = self.players.count(None) == 0
        return self._resigned is not None or any(anybody or self.players[position.side_to_move] is None for position in played)

    @property
    def can_redo(self) -> bool:
        """True if `redo` has an effect."""
        return bool(self._redo)

    def resign(self, color: int | None = None) -> None:
        """End the game as lost for a color, by default the side to move.

        Raises `ValueError` if the game is over.
        """
        if self.is_over:
            raise ValueError("the game is over")
        self._change(resigned=self.position.side_to_move if color is None else color)

    def describe(self, turn: Turn) -> str:
        """Return a line for a person: who moved where, what was flipped, and a forced pass."""
        agent = self.players[turn.color]
        who = COLOR_NAMES[turn.color] + (f" ({agent.name})" if agent else "")
        discs = turn.flipped.bit_count()
        line = f"{who} plays {format_square(turn.square, self.board_size)} and flips {discs} {'disc' if discs == 1 else 'discs'}"
        return f"{line}; {COLOR_NAMES[1 - turn.color]} must pass" if turn.passes else line

    def _replace(self, game: Game, *, redo: tuple[int, ...]) -> None:
        used = list(self._used)
        used[self.position.side_to_move] += self._now() - self._since
        self._change(game=game, redo=redo, used=(used[0], used[1]), since=self._now())

    def _change(self, **values: object) -> None:
        public = {name if name == "game" else f"_{name}": value for name, value in values.items()}
        self.__dict__.update(public, revision=self.revision + 1)


def _lost_by(color: int, reason: EndReason, text: str) -> Result:
    winner = 1 - color
    return Result(winner, reason, f"{COLOR_NAMES[winner].capitalize()} wins: {COLOR_NAMES[color]} {text}")
