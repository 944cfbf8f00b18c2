"""The referee: plays games of two agents in lockstep, and decides those in which an agent fails.

An agent that makes an illegal move, raises, or answers with something that is no move loses that game, and the others go on. Where
a whole batch fails, its positions are asked about one by one, so that only the games lose in which the agent really fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents import Agent
from othello_env.batch import PositionBatch
from othello_env.game import Game
from othello_env.position import BLACK, WHITE
from othello_env.squares import format_square
from training.evaluation.journal import GameRecord, Reason, now

# What is kept of an error's text.
_MAX_DETAIL: Final = 300

Seed = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Asking:
    """An agent is about to be asked: which, about how many positions, and, where it is one, in which game and after which moves."""

    player: str
    num_positions: int
    game: int
    moves: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of games to be played: every opening twice, with colours swapped.

    first_game: the number of the first of them; the first player has Black in those with even numbers. openings: one a pair; moves
    to the position in which the game begins. seed: of all randomness in the games. epsilon: the chance that a move of either side
    is replaced by a random legal one.
    """

    first_game: int
    players: tuple[str, str]
    openings: tuple[Game, ...]
    seed: Seed
    epsilon: float = 0.0


def play_pairs(
    pairs: Pairs,
    agents: Sequence[Agent],
    *,
    finished: Callable[[GameRecord], object],
    asking: Callable[[Asking], object] = lambda _: None,
    move_seconds: float = float("inf"),
) -> None:
    """Play all games in lockstep. agents: the two players. finished: told of each game when it ends. asking: told before each call.

    move_seconds: where one position is asked about and the answer takes longer, the game is lost.
    """
    _Table(pairs, agents, finished=finished, asking=asking, move_seconds=move_seconds).play()


def play_alone(
    pairs: Pairs,
    agents: Sequence[Agent],
    games: Sequence[int],
    *,
    finished: Callable[[GameRecord], object],
    asking: Callable[[Asking], object] = lambda _: None,
    move_seconds: float = float("inf"),
) -> None:
    """Play some of the games one after the other, each with randomness of its own. games: their numbers."""
    for game in games:
        pair = (game - pairs.first_game) // 2
        single = Pairs(game - game % 2, pairs.players, pairs.openings[pair : pair + 1], (*pairs.seed, game), pairs.epsilon)
        _Table(single, agents, finished=finished, asking=asking, move_seconds=move_seconds, only=game).play()


class _Table:
    """The games of one call, side by side."""

    def __init__(
        self,
        pairs: Pairs,
        agents: Sequence[Agent],
        *,
        finished: Callable[[GameRecord], object],
        asking: Callable[[Asking], object],
        move_seconds: float,
        only: int | None = None,
    ) -> None:
        self._pairs, self._agents = pairs, agents
        self._finished, self._asking, self._move_seconds = finished, asking, move_seconds
        numbers = np.arange(pairs.first_game, pairs.first_game + 2 * len(pairs.openings))
        self._numbers = numbers if only is None else numbers[numbers == only]
        self._openings = [pairs.openings[(number - pairs.first_game) // 2] for number in self._numbers]
        self._games = PositionBatch.from_positions([opening.final for opening in self._openings])
        self._rng = np.random.default_rng(pairs.seed)
        self._moves: list[list[int]] = [[] for _ in self._numbers]
        self._seconds = np.zeros((len(self._numbers), 2))
        self._playing = np.ones(len(self._numbers), dtype=np.bool_)

    def play(self) -> None:
        """Play until all games have ended."""
        self._record_ends()
        while self._playing.any():
            moves = np.full(len(self._games), self._games.pass_square, dtype=np.int64)
            sides = self._games.side_to_move.copy()
            for player in range(2):
                # With an even number the first player has Black.
                color_of_player = (self._numbers + player) % 2
                turns = np.flatnonzero(self._playing & (sides == color_of_player))
                if len(turns):
                    moves[turns] = self._ask(player, turns)
            rows = np.flatnonzero(self._playing)
            self._games.step(moves[rows], rows)
            for row in rows.tolist():
                self._moves[row].append(int(moves[row]))
            self._record_ends()

    def _record_ends(self) -> None:
        for row in np.flatnonzero(self._playing & self._games.is_over).tolist():
            outcome = self._games[row].outcome
            self._record(row, (outcome + 1) / 2, "played out", "")

    def _record(self, row: int, black_score: float, reason: Reason, detail: str) -> None:
        self._playing[row] = False
        number = int(self._numbers[row])
        black, white = self._pairs.players[:: 1 if number % 2 == 0 else -1]
        self._finished(
            GameRecord(
                game=number,
                black=black,
                white=white,
                opening=str(self._openings[row].final),
                moves=self._transcript(row),
                black_score=black_score,
                disc_difference=self._games[row].score("discs"),
                reason=reason,
                detail=" ".join(detail.split())[:_MAX_DETAIL],
                seed=self._pairs.seed,
                seconds=(round(float(self._seconds[row, BLACK]), 6), round(float(self._seconds[row, WHITE]), 6)),
                ended=now(),
                prefix=str(self._openings[row]),
            )
        )

    def _transcript(self, row: int) -> str:
        return "".join(format_square(move, self._games.board_size) for move in self._moves[row])

    def _ask(self, player: int, turns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """An agent's moves in some games; those in which it fails are recorded as lost, and get any move."""
        answer = self._answer(player, turns)
        if isinstance(answer, _Fault) and len(turns) > 1:
            alone = [self._answer(player, turn) for turn in turns[:, None]]
        else:
            alone = [answer] if isinstance(answer, _Fault) else []
        moves = self._games.take(turns).sample_moves(np.random.default_rng(0))  # stand in for the moves of lost games
        for index, result in enumerate(alone):
            if isinstance(result, _Fault):
                self._forfeit(int(turns[index]), result)
            else:
                moves[index] = result[0]
        if not isinstance(answer, _Fault):
            moves = answer
        illegal_mask = self._playing[turns] & ~self._games.is_legal(moves, turns)
        for index in np.flatnonzero(illegal_mask).tolist():
            row = int(turns[index])
            self._forfeit(row, _Fault("illegal move", f"square {moves[index]} in {self._games[row]}"))
        if self._pairs.epsilon:
            random_mask = self._rng.random(len(turns)) < self._pairs.epsilon
            moves = np.where(random_mask, self._games.take(turns).sample_moves(self._rng), moves)
        return moves

    def _forfeit(self, row: int, fault: _Fault) -> None:
        black_loses = self._games.side_to_move[row] == BLACK
        self._record(row, 0.0 if black_loses else 1.0, fault.reason, fault.detail)

    def _answer(self, player: int, turns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64] | _Fault:
        """What the agent says, as int64 [len(turns)]. It gets copies, so that it cannot change the games."""
        agent, name = self._agents[player], self._pairs.players[player]
        alone = len(turns) == 1
        row = int(turns[0])
        self._asking(Asking(name, len(turns), int(self._numbers[row]) if alone else -1, self._transcript(row) if alone else ""))
        start = time.perf_counter()
        try:
            answer: Any = agent.select_moves(self._games.take(turns), self._rng)
        except (Exception, SystemExit) as error:  # whatever an agent raises costs it the game, not us the tournament
            return _Fault("error", described(error))
        finally:
            taken = time.perf_counter() - start
            self._seconds[turns, self._games.side_to_move[turns]] += taken / len(turns)
        if alone and taken > self._move_seconds:
            return _Fault("timeout", f"took {taken:.1f} s for a move; {self._move_seconds:g} s were allowed")
        return _read(answer, len(turns))


@dataclass(frozen=True, slots=True)
class _Fault:
    reason: Reason
    detail: str


def described(error: BaseException) -> str:
    """An exception in words, also where it cannot be asked for them."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _read(answer: Any, count: int) -> npt.NDArray[np.int64] | _Fault:
    """An agent's answer as moves."""
    try:
        moves = np.asarray(answer)
    except Exception as error:  # objects can fail in any way when they are made an array
        return _Fault("rubbish", f"an answer that is no array: {described(error)}")
    if moves.shape != (count,) or not np.issubdtype(moves.dtype, np.integer):
        return _Fault("rubbish", f"{moves.dtype} of shape {moves.shape} for {count} positions")
    # Numbers beyond int64 are no squares, nor is what they would wrap to.
    return np.where((moves >= 0) & (moves <= 64), moves, -1).astype(np.int64)
