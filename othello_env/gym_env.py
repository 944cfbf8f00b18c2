"""One learner against an opponent, as a Gymnasium environment."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils.seeding import np_random

from othello_env.observation import Observation, ObservationFormat, ObservationOptions
from othello_env.opponent import Opponent, check_opponent, choose_move
from othello_env.options import (
    START_OPTIONS,
    Color,
    Illegal,
    check_arguments,
    check_choice,
    check_reset_options,
    check_switch,
    start_position,
)
from othello_env.position import BLACK, WHITE, Position, Scoring
from othello_env.rendering.modes import FRAMES_PER_SECOND, RENDER_MODES, Renderer
from othello_env.rendering.pixels import Frame
from othello_env.rewards import Reward, RewardFunction, illegal_move_reward, reward_function
from othello_env.squares import check_board_size, read_action
from othello_env.state import check_state, copy_generator, restore_generator

if TYPE_CHECKING:
    from typing_extensions import Unpack


class OthelloEnv(gymnasium.Env[Any, Any]):
    """One learner against an opponent.

    The learner only sees positions in which it is to act, and final positions. The opponent's moves
    and all automatic passes happen inside `step` and `reset`, so a side that moves twice in a row
    needs no special handling. If the opponent's move ends the game, the learner is rewarded in that
    same step.

    Arguments:
        render_mode: None, "ansi", "rgb_array" or "human".
        opponent: "random" (the default); an agent, an object with `select_moves(positions, rng)`,
            which gets the position as a `PositionBatch` of one; or a function (observation, mask,
            rng) -> action, which gets the observation from its own side. An opponent that raises or
            chooses an illegal action causes an `AgentError`.
        color: the learner's side: "black", "white", or "random" for a new draw in each game.
        illegal: effect of an illegal action of the learner: "terminate" the game with -1 (-(n * n)
            with "disc_difference"), "raise" an `IllegalMoveError`, or play a legal one at "random".
        board_size, auto_pass, reward, scoring, channels, dtype, legal_plane, flat: as in
            `othello_v0`.

    Observation: {"observation": (n, n, 2) int8, "action_mask": (n * n + 1,) int8}, own discs and
    the opponent's; the layout of the planes follows the options. Action: `Discrete(n * n + 1)`,
    squares row by row, then the pass; an array or tensor with one integer element is accepted, too.
    At the end of a game the only 1 in the mask is the pass.

    Reward: the learner's, 0.0 until the game ends; then 1.0, -1.0 or 0.0 with "outcome", own discs
    minus the opponent's with "disc_difference".

    Termination: as soon as neither side can move. The rules never truncate.

    Infos: "action_mask", as in the observation; "color", the learner's side, 0 black or 1 white;
    "ply", number of discs placed since the start position; "illegal", True if the action was
    illegal. `action_masks()` gives the mask as bool, for Stable-Baselines3.

    Reset options: those of `othello_v0`, and "color" to override the argument for one game. An
    unknown key is ignored with a warning. If the game is over in the start position or before the
    learner's first turn, `reset` raises `ValueError`: in Gymnasium it cannot return a finished
    episode.

    An exception in `step`, `reset` or `set_state`, including Ctrl-C, leaves the environment and its
    generator unchanged.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": FRAMES_PER_SECOND}  # noqa: RUF012  (Gymnasium's attribute)

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        opponent: Opponent | None = "random",
        color: Color = "random",
        illegal: Illegal = "terminate",
        board_size: int = 8,
        auto_pass: bool = True,
        reward: Reward | RewardFunction = "outcome",
        scoring: Scoring = "discs",
        **observation_options: Unpack[ObservationOptions],
    ) -> None:
        check_arguments(type(self).__name__, OthelloEnv, observation_options, ObservationOptions)
        check_choice("color", color, get_args(Color))
        check_choice("illegal", illegal, get_args(Illegal))
        self._renderer = Renderer(render_mode)
        self.render_mode = render_mode
        self.board_size = check_board_size(board_size)
        self.auto_pass = check_switch("auto_pass", auto_pass)
        self._opponent = check_opponent(opponent, self.board_size)
        self._color: Color = color
        self._illegal: Illegal = illegal
        self._reward = reward_function(reward, scoring)
        self._illegal_reward = illegal_move_reward(reward, self.board_size)
        self._format = ObservationFormat(self.board_size, **observation_options)
        self.observation_space = self._format.observation_space()
        self.action_space = self._format.action_space()
        self._game = _State(Position.start(self.board_size), BLACK, None, 0, over=True)
        self._started = False

    @property
    def position(self) -> Position:
        """The current position."""
        return self._game.position

    @property
    def opponent(self) -> Opponent:
        """The opponent; it can be replaced at any time."""
        return self._opponent

    @opponent.setter
    def opponent(self, opponent: Opponent | None) -> None:
        self._opponent = check_opponent(opponent, self.board_size)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Start a game and play up to the learner's first turn.

        seed: seed for the color, the random plies and the opponent. options: see the class.
        """
        checked = check_reset_options(type(self).__name__, options, (*START_OPTIONS, "color"))
        color = checked.get("color", self._color)
        check_choice("option color", color, get_args(Color))
        if seed is None and self._np_random is not None:
            rng, rng_seed = copy_generator(self._np_random), self._np_random_seed
        else:
            rng, rng_seed = np_random(seed)
        start = start_position(checked, rng, board_size=self.board_size, auto_pass=self.auto_pass)
        side = int(rng.integers(2)) if color == "random" else (BLACK if color == "black" else WHITE)
        game = self._let_opponent_move(_State(start, side, None, 0, over=False), rng)
        if game.over:
            raise ValueError(f"the game is over before the learner's first turn in {game.position}")
        return self._enter(game, illegal=False, _np_random=rng, _np_random_seed=rng_seed)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play the learner's action, then the opponent's moves until the learner is to move again.

        Raises `ValueError` after the end of a game, `TypeError` for an action that is not an
        integer, `IllegalMoveError` with `illegal="raise"`, and `AgentError` if the opponent fails;
        the environment is then unchanged.
        """
        game = self._game
        if game.over:
            raise ValueError("step() after the end of a game, or before the first reset(): call reset()")
        move = read_action(action)
        legal = game.position.legal_squares()
        illegal = move not in legal
        if illegal and self._illegal == "terminate":
            observation, info = self._enter(replace(game, over=True), illegal=True)
            return observation, self._illegal_reward, True, False, info
        rng = copy_generator(self.np_random)
        if illegal and self._illegal == "random":
            move = legal[rng.integers(len(legal))]
        after = self._let_opponent_move(self._play(game, move), rng)
        reward = 0.0
        if after.over:
            black = float(self._reward(after.position))
            reward = black if after.side == BLACK else 0.0 - black  # not -0.0 for a draw
        observation, info = self._enter(after, illegal=illegal, _np_random=rng)
        return observation, reward, after.over, False, info

    def _play(self, game: _State, move: int) -> _State:
        position = game.position.play(move, auto_pass=self.auto_pass)
        placed = move != self.board_size**2
        return _State(position, game.side, move, game.ply + placed, over=position.is_over)

    def _let_opponent_move(self, game: _State, rng: np.random.Generator) -> _State:
        """Play the opponent's moves until the learner is to move or the game is over."""
        game = replace(game, over=game.position.is_over)
        while not game.over and game.position.side_to_move != game.side:
            game = self._play(game, choose_move(self._opponent, game.position, rng, layout=self._format, auto_pass=self.auto_pass))
        return game

    def _enter(self, game: _State, *, illegal: bool, **changes: Any) -> tuple[Observation, dict[str, Any]]:
        """Set a new game and return the learner's observation and infos.

        changes: new values of further attributes. All attributes change at once, in one call that
        Ctrl-C cannot interrupt, after everything that may fail.
        """
        observation = self._observe(game)
        info = {"action_mask": observation["action_mask"].copy(), "color": game.side, "ply": game.ply, "illegal": illegal}
        if self.render_mode == "human":
            self._renderer.render(game.position, game.last_move)
        self.__dict__.update(changes, _game=game, _started=True)
        return observation, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the legal actions for Stable-Baselines3's MaskablePPO: (n * n + 1,) bool."""
        return self._observe(self._game)["action_mask"].astype(np.bool_)

    def _observe(self, game: _State) -> Observation:
        return self._format.observe(game.position, game.side, to_act=True, over=game.over)

    def get_state(self) -> dict[str, Any]:
        """Return the game and the state of the generator, for `set_state`.

        Later steps do not change the returned dict, and it can be pickled. Raises `ValueError`
        before the first `reset`.
        """
        if not self._started:
            raise ValueError("get_state() before the first reset()")
        return self._settings() | {"game": self._game, "rng": self.np_random.bit_generator.state}

    def _settings(self) -> dict[str, Any]:
        """The settings of the environment that a state must match."""
        return {"environment": OthelloEnv.__name__, "board_size": self.board_size, "auto_pass": self.auto_pass}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state of an environment with the same settings; it counts as a reset.

        Raises `ValueError` for anything else, without changing anything.
        """
        checked = check_state(state, self._settings(), ("game", "rng"))
        game = checked["game"]
        if not isinstance(game, _State) or game.position.board_size != self.board_size:
            raise ValueError(f"state with game {game!r}: no game of this environment")
        rng = restore_generator(checked["rng"], self._np_random)
        self.__dict__.update(_game=game, _started=True, _np_random=rng, _np_random_seed=-1)  # -1: not known, as Gymnasium has it

    def clone(self) -> OthelloEnv:
        """Return an independent environment in the same state; the opponent is shared."""
        twin = copy.copy(self)
        twin._renderer = copy.copy(self._renderer)
        twin._np_random = copy.deepcopy(self._np_random)
        twin.observation_space, twin.action_space = copy.deepcopy((self.observation_space, self.action_space))
        return twin

    def render(self) -> str | Frame | None:
        """Render the board according to `render_mode`.

        Returns the text or the frame; None with "human", and None with a warning without a render
        mode.
        """
        return self._renderer.render(self._game.position, self._game.last_move)

    def close(self) -> None:
        """Close the window, if one is open."""
        self._renderer.close()


@dataclass(frozen=True, slots=True)
class _State:
    """A game of the learner.

    side: the learner's side. ply: number of discs placed. over: True after the end by the rules or
    by an illegal action.
    """

    position: Position
    side: int
    last_move: int | None
    ply: int
    over: bool
