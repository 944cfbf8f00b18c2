"""Referee: plays games of two agents in batches, and decides games in which an agent fails.

`GameBatch` is the game loop of both matches and tournaments. In a match the first fault raises
`AgentError`. In a tournament an agent that makes an illegal move, raises, or returns invalid output
loses that game, and the other games continue. If a call for several games fails, the agent is asked
again for each of them separately, so that it loses only the games in which it fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from othello_env.agent import Agent, AgentError, Moves, ask_agent, describe_move
from othello_env.batch import PositionBatch
from othello_env.game import Game
from othello_env.position import BLACK, WHITE
from othello_env.squares import format_square
from training.evaluation.journal import GameRecord, Reason, now

# Maximum length of a fault's detail, in characters.
_MAX_DETAIL: Final = 300

Rows = npt.NDArray[np.int64]
Seed = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Fault by which an agent lost a game."""

    reason: Reason
    detail: str


class GameBatch:
    """Batched games of two agents. `step` plays one move in each game that is still running.

    agents: player 0 and player 1. positions: [G] positions in which the games begin. black: [G] the
    player with Black, 0 or 1. rng: source of all randomness in the games. epsilon: probability that
    a move of either player is replaced by a random legal one. forfeits: True if a fault loses the
    game; otherwise the first fault raises `AgentError`. move_seconds: longest time for a move; it
    is applied only to calls for a single game. asking: called with the player and the rows before
    each call of an agent. ended: called with the row of each game as soon as it ends.

    positions, seconds ([G, 2], taken by Black and White), running_mask ([G] bool) and faults (by
    row): the state of the games.
    """

    def __init__(
        self,
        agents: Sequence[Agent],
        positions: PositionBatch,
        black: npt.NDArray[np.int64],
        *,
        rng: np.random.Generator,
        epsilon: float = 0.0,
        forfeits: bool = False,
        move_seconds: float = float("inf"),
        asking: Callable[[int, Rows], object] = lambda _player, _rows: None,
        ended: Callable[[int], object] = lambda _row: None,
    ) -> None:
        self._agents, self._black = agents, black
        self._rng, self._epsilon = rng, epsilon
        self._forfeits, self._move_seconds = forfeits, move_seconds
        self._asking, self._ended = asking, ended
        self.positions = positions
        self.running_mask = np.ones(len(positions), dtype=np.bool_)
        self.seconds = np.zeros((len(positions), 2))
        self.faults: dict[int, Fault] = {}
        self._num_steps = 0
        self._num_moves = np.zeros(len(positions), dtype=np.int64)
        self._moves = np.zeros((positions.pass_square, len(positions)), dtype=np.int8)  # [T, G]

    def play(self) -> None:
        """Play all games to their ends."""
        while self.step():
            pass

    def step(self) -> bool:
        """Play one move in each running game. Return False, without a move, if there is none."""
        if not self._num_steps:
            self._end_finished()
        if not self.running_mask.any():
            return False
        moves = np.zeros(len(self.positions), dtype=np.int64)
        # The player to move. Agents are not asked about games that were forfeited before their
        # turn.
        player_to_move = np.where(self.positions.side_to_move == BLACK, self._black, 1 - self._black)
        for player in range(2):
            rows = np.flatnonzero(self.running_mask & (player_to_move == player))
            if len(rows):
                moves[rows] = self._select_moves(player, rows)
        rows = np.flatnonzero(self.running_mask)
        self.positions.step(moves[rows], None if len(rows) == len(moves) else rows)
        self._moves[self._num_steps, rows] = moves[rows]
        self._num_moves[rows] += 1
        self._num_steps += 1
        self._end_finished()
        return True

    def _end_finished(self) -> None:
        for row in np.flatnonzero(self.running_mask & self.positions.is_over).tolist():
            self.running_mask[row] = False
            self._ended(row)

    def _forfeit(self, row: int, fault: Fault) -> None:
        self.faults[row] = fault
        self.running_mask[row] = False
        self._ended(row)

    def _select_moves(self, player: int, rows: Rows) -> Moves:
        moves = self._ask(player, rows)
        if self._epsilon:
            random_mask = self._rng.random(len(rows)) < self._epsilon
            moves = np.where(random_mask, self.positions.take(rows).sample_moves(self._rng), moves)
        return moves

    def _ask(self, player: int, rows: Rows) -> Moves:
        """Return an agent's moves in some games.

        Games in which the agent fails are forfeited; the moves returned for them have no meaning.
        """
        self._asking(player, rows)
        start = time.perf_counter()
        try:
            moves = ask_agent(self._agents[player], self.positions.take(rows), self._rng)
        except AgentError as error:
            if not self._forfeits:
                raise
            fault: AgentError | None = error
        else:
            fault = None
        seconds = time.perf_counter() - start
        self.seconds[rows, self.positions.side_to_move[rows]] += seconds / len(rows)
        if fault is not None:
            return self._moves_despite(fault, player, rows)
        if len(rows) == 1 and seconds > self._move_seconds:
            self._forfeit(int(rows[0]), Fault("timeout", f"took {seconds:.1f} s for a move; the limit is {self._move_seconds:g} s"))
        return moves

    def _moves_despite(self, error: AgentError, player: int, rows: Rows) -> Moves:
        """Return the moves after a call that failed; games with a fault are forfeited."""
        if error.moves is not None:
            for index in error.rows:
                row = int(rows[index])
                detail = error.detail if index == error.rows[0] else describe_move(int(error.moves[index]), self.positions[row])
                self._forfeit(row, Fault(error.reason, detail))
            return error.moves
        if len(rows) > 1:
            return np.concatenate([self._ask(player, rows[index : index + 1]) for index in range(len(rows))])
        self._forfeit(int(rows[0]), Fault(error.reason, error.detail))
        return np.zeros(1, dtype=np.int64)

    def transcript(self, row: int) -> str:
        """Return the moves of a game from its opening."""
        moves: list[int] = self._moves[: self._num_moves[row], row].tolist()
        return "".join(format_square(move, self.positions.board_size) for move in moves)

    def record(self, row: int, *, game: int, names: tuple[str, str], opening: Game, seed: Seed) -> GameRecord:
        """Return the record of a game that has ended.

        game: its number. names: of player 0 and player 1.
        """
        position, fault = self.positions[row], self.faults.get(row)
        black = int(self._black[row])
        return GameRecord(
            game=game,
            black=names[black],
            white=names[1 - black],
            opening=str(opening.final),
            moves=self.transcript(row),
            black_score=(position.outcome + 1) / 2 if fault is None else float(position.side_to_move != BLACK),
            disc_difference=position.score("discs"),
            reason="played out" if fault is None else fault.reason,
            detail="" if fault is None else " ".join(fault.detail.split())[:_MAX_DETAIL],
            seed=seed,
            seconds=(round(float(self.seconds[row, BLACK]), 6), round(float(self.seconds[row, WHITE]), 6)),
            ended=now(),
            prefix=str(opening),
        )


@dataclass(frozen=True, slots=True)
class Asking:
    """Message that an agent is about to be asked.

    player: its name. num_positions: size of the batch. game, moves: the number of the game and its
    moves so far if the call is for a single game, else -1 and "".
    """

    player: str
    num_positions: int
    game: int
    moves: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """Game pairs to be played: every opening twice, with colors swapped.

    first_game: number of the first game; the first player has Black in games with even numbers.
    players: the names. openings: one per pair. seed: of all randomness in the games. epsilon:
    probability that a move of either player is replaced by a random legal one.
    """

    first_game: int
    players: tuple[str, str]
    openings: tuple[Game, ...]
    seed: Seed
    epsilon: float = 0.0

    @property
    def games(self) -> range:
        """Numbers of the games."""
        return range(self.first_game, self.first_game + 2 * len(self.openings))

    def opening(self, game: int) -> Game:
        """Return the opening of a game."""
        return self.openings[(game - self.first_game) // 2]

    def colors(self, game: int) -> tuple[str, str]:
        """Return the players of a game, Black first."""
        first, second = self.players
        return (first, second) if game % 2 == 0 else (second, first)


def play_pairs(
    pairs: Pairs,
    agents: Sequence[Agent],
    *,
    finished: Callable[[GameRecord], object],
    asking: Callable[[Asking], object] = lambda _: None,
    move_seconds: float = float("inf"),
) -> None:
    """Play all games in one batch; faults forfeit games.

    agents: the two players. finished: called with each game when it ends. asking: called before
    each call of an agent. move_seconds: longest time for a move; a game is lost if a call for that
    game alone takes longer.
    """
    _play(pairs, agents, pairs.games, seed=pairs.seed, finished=finished, asking=asking, move_seconds=move_seconds)


def play_alone(
    pairs: Pairs,
    agents: Sequence[Agent],
    games: Iterable[int],
    *,
    finished: Callable[[GameRecord], object],
    asking: Callable[[Asking], object] = lambda _: None,
    move_seconds: float = float("inf"),
) -> None:
    """Play some of the games one after the other, each with its own seed.

    games: their numbers. The other arguments are those of `play_pairs`.
    """
    for game in games:
        _play(pairs, agents, (game,), seed=(*pairs.seed, game), finished=finished, asking=asking, move_seconds=move_seconds)


def _play(
    pairs: Pairs,
    agents: Sequence[Agent],
    games: Sequence[int],
    *,
    seed: Seed,
    finished: Callable[[GameRecord], object],
    asking: Callable[[Asking], object],
    move_seconds: float,
) -> None:
    def ask(player: int, rows: Rows) -> None:
        row = int(rows[0])
        game, moves = (games[row], batch.transcript(row)) if len(rows) == 1 else (-1, "")
        asking(Asking(pairs.players[player], len(rows), game, moves))

    def end(row: int) -> None:
        game = games[row]
        finished(batch.record(row, game=game, names=pairs.players, opening=pairs.opening(game), seed=seed))

    batch = GameBatch(
        agents,
        PositionBatch.from_positions([pairs.opening(game).final for game in games]),
        np.array(games, dtype=np.int64) % 2,  # the first player has Black in games with even numbers
        rng=np.random.default_rng(seed),
        epsilon=pairs.epsilon,
        forfeits=True,
        move_seconds=move_seconds,
        asking=ask,
        ended=end,
    )
    batch.play()
