"""One learner against an opponent, as a Gymnasium environment."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, SupportsIndex, get_args

import gymnasium
import numpy as np
import numpy.typing as npt

from othello_env.errors import IllegalMoveError, OpponentError
from othello_env.observation import Observation, ObservationFormat
from othello_env.options import Color, Illegal, check_choice, check_options, check_switch
from othello_env.position import BLACK, WHITE, Position, Scoring
from othello_env.rendering.modes import FRAMES_PER_SECOND, RENDER_MODES, Renderer
from othello_env.rendering.pixels import Frame
from othello_env.reset_options import start_position
from othello_env.rewards import Reward, RewardFunction, illegal_move_reward, reward_function
from othello_env.squares import check_board_size

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from othello_env.observation import ObservationOptions

Opponent = Callable[[npt.NDArray[Any], npt.NDArray[np.int8], np.random.Generator], SupportsIndex]
"""Chooses in one game: (observation, mask [A], rng) -> action."""


def random_opponent(_observation: npt.NDArray[Any], mask: npt.NDArray[np.int8], rng: np.random.Generator) -> int:
    """The default opponent: any legal action, all equally likely."""
    return int(rng.choice(np.flatnonzero(mask)))


class OthelloEnv(gymnasium.Env[Any, Any]):
    """One learner against an opponent: the learner only ever sees positions in which it is to act, and ends of games.

    The opponent's moves and everybody's automatic passes happen inside `step` and `reset`, so a side that moves twice in a row
    needs no attention. A game that the opponent's move ends gives the learner its loss in that same step.

    Arguments:
        render_mode: None, "ansi", "rgb_array" or "human".
        opponent: (observation, mask, rng) -> legal action, called where the opponent is to move; it sees what the learner would
            see in its place. None for a random one. One that raises, or chooses an illegal action, gives an `OpponentError`, and
            the environment is as before the call.
        color: the learner's side: "black", "white", or "random" for one drawn anew for each game.
        illegal: what an illegal action of the learner does: "terminate" the game with -1 (-(n * n) with "disc_difference"),
            "raise" an `IllegalMoveError` before anything has changed, or give way to a legal one at "random".
        board_size, auto_pass, reward, scoring, channels, dtype, legal_plane, flat: as in `othello_v0`.

    Observation: {"observation": (n, n, 2) int8, "action_mask": (n * n + 1,) int8}, own discs and the opponent's; the layout of
    the planes follows the options. Action: `Discrete(n * n + 1)`, squares row by row, then the pass. At the end of a game the
    mask has its one 1 at the pass.

    Reward: of the learner. With "outcome" 1.0, -1.0 or 0.0 at the end, with "disc_difference" own discs minus the other's.
    Termination: as soon as neither side can move. Nothing is truncated.

    Infos: "action_mask", as in the observation; "color", the learner's side, 0 black or 1 white; "ply", the discs placed since the
    start position; "illegal", whether the action was. `action_masks()` gives the mask as bool, for Stable-Baselines3.

    Reset options: those of `othello_v0`, and "color" to override the argument for one game. A start position that is over, or
    whose game ends before the learner's turn, raises `ValueError`: Gymnasium has no way to say so.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": FRAMES_PER_SECOND}  # noqa: RUF012  (Gymnasium's attribute)

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        opponent: Opponent | None = None,
        color: Color = "random",
        illegal: Illegal = "terminate",
        board_size: int = 8,
        auto_pass: bool = True,
        reward: Reward | RewardFunction = "outcome",
        scoring: Scoring = "discs",
        **observation_options: Unpack[ObservationOptions],
    ) -> None:
        check_choice("color", color, get_args(Color))
        check_choice("illegal", illegal, get_args(Illegal))
        if opponent is not None and not callable(opponent):
            raise ValueError(f"opponent {opponent!r}: expected a callable (observation, mask, rng) -> action, or None")
        self._renderer = Renderer(render_mode)
        self.render_mode = render_mode
        self.board_size = check_board_size(board_size)
        self.auto_pass = check_switch("auto_pass", auto_pass)
        self.opponent: Opponent = opponent or random_opponent
        self._color: Color = color
        self._illegal: Illegal = illegal
        self._reward = reward_function(reward, scoring)
        self._illegal_reward = illegal_move_reward(reward, self.board_size)
        self._format = ObservationFormat(self.board_size, **observation_options)
        self.observation_space = self._format.observation_space()
        self.action_space = self._format.action_space()
        self._game = _State(Position.start(self.board_size), BLACK, None, 0, over=True)

    @property
    def position(self) -> Position:
        """The current position."""
        return self._game.position

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Start a game, up to the learner's first turn. seed: of the color, random plies and the opponent. options: see the class."""
        options = dict(check_options(options))
        color = options.get("color", self._color)
        check_choice("option color", color, get_args(Color))
        with self._undone_by_an_error():
            super().reset(seed=seed)
            start = start_position(options, self.np_random, board_size=self.board_size, auto_pass=self.auto_pass)
            side = int(self.np_random.integers(2)) if color == "random" else (BLACK if color == "black" else WHITE)
            game = self._let_opponent_move(_State(start, side, None, 0, over=False))
            if game.over:
                raise ValueError(f"the game is over before the learner's first turn in {game.position}")
        return self._show(game, illegal=False)

    def step(self, action: SupportsIndex) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play the learner's action, and the opponent's until the learner is to move again.

        Raises `ValueError` after the end of a game, `TypeError` for an action that is no integer, `IllegalMoveError` as `illegal`
        says, `OpponentError`; the environment is as before then.
        """
        game = self._game
        if game.over:
            raise ValueError("step() after the end of a game, or before the first reset(): call reset()")
        move = operator.index(action)
        legal = game.position.legal_squares()
        illegal = move not in legal
        if illegal and self._illegal == "terminate":
            observation, info = self._show(replace(game, over=True), illegal=True)
            return observation, self._illegal_reward, True, False, info
        with self._undone_by_an_error():
            if illegal and self._illegal == "random":
                move = int(self.np_random.choice(legal))
            after = self._let_opponent_move(self._play(game, move))
            reward = 0.0
            if after.over:
                black = float(self._reward(after.position))
                reward = black if after.side == BLACK else 0.0 - black  # not -0.0 for a draw
        observation, info = self._show(after, illegal=illegal)
        return observation, reward, after.over, False, info

    @contextmanager
    def _undone_by_an_error(self) -> Iterator[None]:
        """Put the random generator back as it was where an error, or an interruption, leaves the block."""
        rng, seed = self._np_random, self._np_random_seed
        state: Any = None if rng is None else rng.bit_generator.state
        try:
            yield
        except BaseException:
            self._np_random, self._np_random_seed = rng, seed
            if rng is not None:
                rng.bit_generator.state = state
            raise

    def _play(self, game: _State, move: int) -> _State:
        position = game.position.play(move, auto_pass=self.auto_pass)
        placed = move != self.board_size**2
        return _State(position, game.side, move, game.ply + placed, over=position.is_over)

    def _let_opponent_move(self, game: _State) -> _State:
        """The game when the learner is to move, or it has ended."""
        game = replace(game, over=game.position.is_over)
        while not game.over and game.position.side_to_move != game.side:
            seen = self._format.observe(game.position, game.position.side_to_move, to_act=True)
            try:
                move = operator.index(self.opponent(seen["observation"], seen["action_mask"], self.np_random))
            except Exception as error:
                raise OpponentError(f"the opponent raised {type(error).__name__}: {' '.join(str(error).split())}") from error
            try:
                game = self._play(game, move)
            except IllegalMoveError as error:
                raise OpponentError(f"the opponent's move: {error}") from None
        return game

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The legal actions as a bool mask, (n * n + 1,), for Stable-Baselines3's MaskablePPO."""
        return self._observe()["action_mask"].astype(np.bool_)

    def _observe(self) -> Observation:
        return self._format.observe(self._game.position, self._game.side, to_act=True, over=self._game.over)

    def _show(self, game: _State, *, illegal: bool) -> tuple[Observation, dict[str, Any]]:
        """Take over a game, show it in the window, if there is one, and say what the learner gets to see."""
        self._game = game
        if self.render_mode == "human":
            self.render()
        observation = self._observe()
        info = {"action_mask": observation["action_mask"].copy(), "color": game.side, "ply": game.ply, "illegal": illegal}
        return observation, info

    def get_state(self) -> dict[str, Any]:
        """The game and the random generator, for `set_state`; it does not change when the environment goes on."""
        return {"game": self._game, "rng": self.np_random.bit_generator.state}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to a state of this environment, or of one made alike."""
        game: _State = state["game"]
        if game.position.board_size != self.board_size:
            raise ValueError(f"a state of board_size {game.position.board_size} does not fit {self.board_size}")
        self._game = game
        self.np_random.bit_generator.state = state["rng"]

    def clone(self) -> OthelloEnv:
        """An independent environment in the same state; the opponent is shared."""
        twin = copy.copy(self)
        twin._renderer = copy.copy(self._renderer)
        twin._np_random = copy.deepcopy(self.np_random)
        twin.observation_space, twin.action_space = copy.deepcopy((self.observation_space, self.action_space))
        return twin

    def render(self) -> str | Frame | None:
        """The board as `render_mode` asks for it; None in a window, and, with a warning, without a render mode."""
        return self._renderer.render(self._game.position, self._game.last_move)

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()


@dataclass(frozen=True, slots=True)
class _State:
    """A game as the learner is in it: side, the learner's; ply, discs placed; over, by the rules or by an illegal action."""

    position: Position
    side: int
    last_move: int | None
    ply: int
    over: bool
