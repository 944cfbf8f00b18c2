"""Batched self-play games with search, for AlphaZero.

Each call of the network evaluates leaves of all games. A game whose search has ended plays its move
and begins the next search at once, without waiting for the other games, so batches are always full.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.greedy import NOBODY, greedy_agent
from agents.search.leaf import Evaluator
from agents.search.mcts import Searches, SearchSettings
from othello_env import PositionBatch
from othello_env.position import BLACK
from training.replay import Samples

_SEARCH: Final = "search."
_BATCH_ARRAYS: Final = ("own", "opp", "side_to_move")
# Arrays that are recorded at each ply of a game.
_HISTORY: Final = ("own", "opp", "legal_moves", "side", "policy", "policy_mask", "root_value")


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """Budgets of searches with playout cap randomization (Wu 2019).

    full, quick: simulations of a full and of a quick search. full_share: probability of a full
    search. Learning values needs many games, learning policies needs deep searches; only full
    searches give policy targets.
    """

    full: int
    quick: int
    full_share: float


class SelfPlay:
    """Self-play games that search for their moves.

    The first games begin with different numbers of random moves, so that all stages of the game are
    always present.

    In some games one side is greedy: it maximizes flips instead of searching. Players that only
    meet themselves learn to hold few discs, which is strong, and forget about wipe-outs, because no
    opponent tries for one.

    games_done, plies_done: numbers of finished games and of searched plies since the start.
    """

    def __init__(
        self,
        num_games: int,
        board_size: int,
        *,
        search: SearchSettings,
        random_plies: int,
        greedy_share: float = 0.0,
        rng: np.random.Generator,
    ) -> None:
        """Start the games.

        search: settings of the searches, with the maximum number of simulations. random_plies: each
        game begins with 0 to `random_plies` random moves. greedy_share: probability that one side
        of a game, Black or White equally often, is greedy; only the positions of the other side
        become samples.
        """
        self._random_plies = random_plies
        self._greedy_share = greedy_share
        self._greedy_agent = greedy_agent()
        self.games_done = 0
        self.plies_done = 0
        self._num_actions = board_size**2 + 1
        self._longest = board_size**2 - 4
        shape = (num_games, self._longest)
        self._length = np.zeros(num_games, dtype=np.int64)
        self._history: dict[str, npt.NDArray[Any]] = {
            "own": np.zeros(shape, dtype=np.uint64),
            "opp": np.zeros(shape, dtype=np.uint64),
            "legal_moves": np.zeros(shape, dtype=np.uint64),
            "side": np.zeros(shape, dtype=np.uint8),
            "policy": np.zeros((*shape, self._num_actions), dtype=np.float16),
            "policy_mask": np.zeros(shape, dtype=np.bool_),
            "root_value": np.zeros(shape, dtype=np.float32),
        }
        self._games = PositionBatch.start(num_games, board_size)
        self._greedy_side = np.full(num_games, NOBODY, dtype=np.uint8)
        self._searches = Searches(num_games, search, board_size=board_size, empties=self._longest)
        self._begin(np.arange(num_games), np.arange(num_games) * self._longest // num_games, rng)

    def _begin(self, rows: npt.NDArray[np.int64], plies: npt.NDArray[np.int64], rng: np.random.Generator) -> None:
        """Start games in some rows.

        plies: number of random moves of each; if they would end the game, it starts without them.
        """
        games = PositionBatch.start(len(rows), self._games.board_size)
        for ply in range(int(plies.max(initial=0))):
            moving = np.flatnonzero((plies > ply) & ~games.is_over)
            games.step(games.take(moving).sample_moves(rng), rows=moving)
        games.reset(games.is_over)
        self._games.reset(rows, games)
        self._length[rows] = 0
        greedy_mask = rng.random(len(rows)) < self._greedy_share
        self._greedy_side[rows] = np.where(greedy_mask, rng.integers(2, size=len(rows)), NOBODY)
        self._play_greedily(rows, rng)
        over = rows[self._games.is_over[rows]]
        self._greedy_side[over] = NOBODY
        self._games.reset(over)

    def _play_greedily(self, rows: npt.NDArray[np.int64], rng: np.random.Generator) -> None:
        """Play the moves of greedy sides until the other side is to move or the game is over."""
        games = self._games
        while True:
            rows = rows[(games.side_to_move[rows] == self._greedy_side[rows]) & ~games.is_over[rows]]
            if not len(rows):
                return
            games.step(self._greedy_agent.select_moves(games.take(rows), rng), rows=rows)

    def advance(self, evaluator: Evaluator, plan: SearchPlan, *, rng: np.random.Generator) -> Samples:
        """Advance all searches by one call of the evaluator, and play the moves of those that end.

        Returns the samples of the games that end: the positions that were searched.
        """
        self._begin_searches(self._searches.idle, plan, rng)
        rows = self._searches.advance(evaluator, rng)
        found, ply = self._searches.results(rows), self._length[rows]
        self._history["policy"][rows, ply] = found.policy
        self._history["root_value"][rows, ply] = found.root_values
        games = self._games
        games.step(found.moves, rows=rows)
        self._length[rows] += 1
        self._play_greedily(rows, rng)
        self.plies_done += len(rows)
        ended = rows[games.is_over[rows]]
        samples = self._samples(ended)
        self._begin(ended, rng.integers(self._random_plies + 1, size=len(ended)), rng)
        self.games_done += len(ended)
        return samples

    def _begin_searches(self, rows: npt.NDArray[np.int64], plan: SearchPlan, rng: np.random.Generator) -> None:
        """Begin a search in some games, and record their positions."""
        positions, ply = self._games.take(rows), self._length[rows]
        full_mask = rng.random(len(rows)) < plan.full_share
        for name in ("own", "opp", "legal_moves"):
            self._history[name][rows, ply] = getattr(positions, name)
        self._history["side"][rows, ply] = positions.side_to_move
        self._history["policy_mask"][rows, ply] = full_mask
        self._searches.begin(rows, positions, simulations=np.where(full_mask, plan.full, plan.quick))

    def _samples(self, ended: npt.NDArray[np.int64]) -> Samples:
        """Return the samples of finished games, each from the perspective of the side to move."""
        games = self._games
        lengths = self._length[ended]
        entry, ply = np.nonzero(np.arange(self._longest) < lengths[:, None])
        row = ended[entry]
        side = self._history["side"][row, ply]
        own_at_end = games.side_to_move[row] == side
        black_outcome = games.outcome[row].astype(np.int8)
        remembered = {name: self._history[name][row, ply] for name in _HISTORY if name != "side"}
        return Samples(
            **remembered,
            outcome=np.where(side == BLACK, black_outcome, -black_outcome).astype(np.int8),
            final_own=np.where(own_at_end, games.own[row], games.opp[row]),
            final_opp=np.where(own_at_end, games.opp[row], games.own[row]),
        )

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the running games and searches, for a checkpoint."""
        games = {name: getattr(self._games, name) for name in _BATCH_ARRAYS}
        searches = {f"{_SEARCH}{name}": array for name, array in self._searches.state().items()}
        return {**self._history_arrays(), **searches, **games, "length": self._length, "greedy_side": self._greedy_side}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Restore the result of `state`.

        Raises `ValueError` or `KeyError` for arrays that do not fit.
        """
        rooms = {name: array for name, array in self.state().items() if not name.startswith(_SEARCH)}
        for name, room in rooms.items():
            if arrays[name].shape != room.shape or arrays[name].dtype != room.dtype:
                raise ValueError(f"{name}: {arrays[name].dtype} of shape {arrays[name].shape} does not fit")
        own, opp, side = (arrays[name] for name in _BATCH_ARRAYS)
        games, length = PositionBatch(own, opp, side, board_size=self._games.board_size), arrays["length"]
        greedy_side = arrays["greedy_side"]
        if games.is_over.any() or (length < 0).any() or (length + games.empties > self._longest).any():
            raise ValueError("its games are no running games")
        if (greedy_side == games.side_to_move).any():
            raise ValueError("its games wait for a greedy side")
        self._games, self._length, self._greedy_side = games, length.copy(), greedy_side.copy()
        self._history = {name: arrays[f"history.{name}"].copy() for name in self._history}
        self._searches.restore({name.removeprefix(_SEARCH): array for name, array in arrays.items() if name.startswith(_SEARCH)}, games)

    def _history_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {f"history.{name}": array for name, array in self._history.items()}
