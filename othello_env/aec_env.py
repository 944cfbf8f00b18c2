"""The PettingZoo environment: a translation of `Position` into agents, observations and rewards. No rules in here."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, Final, Literal, overload

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from othello_env.errors import IllegalMoveError
from othello_env.game import Game
from othello_env.observation import Observation, action_space, observation_space, observe, state_planes, state_space
from othello_env.position import Position, Scoring
from othello_env.rendering.text import render_text
from othello_env.rewards import Reward, RewardFunction, reward_function
from othello_env.squares import check_board_size, pass_square

AGENTS: Final = ("player_0", "player_1")  # black, white: the agent of a side is AGENTS[side]
_SIDES: Final = {agent: side for side, agent in enumerate(AGENTS)}
ILLEGAL_REWARD: Final = -1.0


class ActionOutOfBoundsError(ValueError, AssertionError):
    """An action that is not in the action space. An `AssertionError` too, as PettingZoo's own wrapper raises."""


class raw_env(AECEnv[str, Observation, int]):  # noqa: N801  (PettingZoo's name)
    """Othello for two agents: "player_0" plays black and moves first, "player_1" plays white.

    Arguments:
        render_mode: None, or "ansi" for `render()` to return the board as text.
        board_size: 4, 6 or 8 squares along a side (n below).
        auto_pass: True: an agent that cannot move is skipped, so that the other may act several times in a row. False: agents
            alternate strictly, and one that cannot move has the pass as its only action.
        reward: "outcome" or "disc_difference", or a function from the final `Position` to Black's reward.
        scoring: what "disc_difference" counts: "discs" on the board, or also the "empties_to_winner".

    Observation, of any agent at any time: {"observation": (n, n, 2) int8, "action_mask": (n * n + 1,) int8}. Plane 0 holds the
    observing agent's discs and plane 1 the other's; row 0 is rank 1, column 0 is file a. The mask is 1 for the actions that the
    agent may choose now; it is all zero for an agent whose turn it is not. Once the game is over the mask of the agent selected
    has its one 1 at the pass, so a masked softmax is never over nothing.

    Action: `Discrete(n * n + 1)`, the square row by row (a1 = 0, h8 = 63), then the pass (64). A pass is legal only without
    `auto_pass`, where no square is. An illegal action raises `IllegalMoveError` here and leaves the state as it is; `env()` ends
    the game instead.

    Reward: 0.0 until the game ends, then for both agents in the same step, adding up to zero: with "outcome" 1.0 for the winner,
    -1.0 for the loser, 0.0 for a draw; with "disc_difference" own discs minus the other's, unscaled.

    End: both agents terminate as soon as neither side can move. Nothing is ever truncated by the rules.

    Infos, the same for both agents: "ply", the discs placed since the start position of the game; "passed", 1 if a pass came
    directly before this turn; "to_move", 0 for black and 1 for white.

    Reset options, unknown keys being ignored: "position", a `Position` or its text, to start from; "moves", a transcript such as
    "f5d6" or a sequence of squares, to play first; "random_plies", a number of random moves to play then, drawn with the seed.
    They may be combined. A bad value raises `ValueError` and leaves the state as it is. A start position may be one in which the
    game is over: the agents are then terminated from the start, with their rewards.

    Search and copies: `position` is the current `Position`, immutable, the cheap thing to search from; `copy.deepcopy` and
    `pickle` keep the whole state at every moment.

    Version history: v0, the first.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (PettingZoo's attribute)
        "render_modes": ["ansi"],
        "name": "othello_v0",
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        board_size: int = 8,
        auto_pass: bool = True,
        reward: Reward | RewardFunction = "outcome",
        scoring: Scoring = "discs",
    ) -> None:
        super().__init__()
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode {render_mode!r}: expected None or one of {', '.join(self.metadata['render_modes'])}")
        self.render_mode = render_mode
        self.board_size = check_board_size(board_size)
        self.pass_action = pass_square(board_size)
        self.auto_pass = auto_pass
        self._reward = reward if callable(reward) else reward_function(reward, scoring)
        self._rng = np.random.default_rng()

        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        self.observation_spaces = {agent: observation_space(board_size) for agent in AGENTS}
        self.action_spaces = {agent: action_space(board_size) for agent in AGENTS}
        self.state_space = state_space(board_size)

        self._position = Position.start(board_size)
        self._last_move: int | None = None
        self._ply = 0
        self._over = False

    def observation_space(self, agent: str) -> spaces.Dict:
        """The space of an agent's observations; the same object on every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete[Any]:
        """The space of an agent's actions; the same object on every call."""
        return self.action_spaces[agent]

    @property
    def position(self) -> Position:
        """The current position."""
        return self._position

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game. seed: of "random_plies"; None goes on with the generator as it is. options: see the class."""
        rng = self._rng if seed is None else np.random.default_rng(seed)
        self._position = self._start_position(options or {}, rng)
        self._rng = rng
        self._last_move = None
        self._ply = 0
        self._over = False
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self._skip_agent_selection: str | None = None
        self._enter(passed=0)

    def _start_position(self, options: dict[str, Any], rng: np.random.Generator) -> Position:
        start = options.get("position")
        if start is None:
            start = Position.start(self.board_size)
        elif not isinstance(start, Position):
            start = Position.parse(str(start))
        if start.board_size != self.board_size:
            raise ValueError(f"option position: a {start.board_size}x{start.board_size} board, but board_size is {self.board_size}")
        moves = options.get("moves") or ()
        if not isinstance(moves, (str, Iterable)):
            raise ValueError(f"option moves: {moves!r}; expected a transcript or a sequence of squares")
        game = Game.parse(moves, start) if isinstance(moves, str) else Game(tuple(map(operator.index, moves)), start)
        num_plies = options.get("random_plies", 0)
        if isinstance(num_plies, bool) or not isinstance(num_plies, (int, np.integer)) or num_plies < 0:
            raise ValueError(f"option random_plies: {num_plies!r}; expected an integer from 0")
        if num_plies:
            game = Game(game.moves + Game.random(int(num_plies), rng, game.final).moves, start)
        if self.auto_pass or not game.moves:
            return start.resolve_pass() if self.auto_pass and not game.moves else game.final
        return game.positions()[-2].play(game.moves[-1], auto_pass=False)

    def step(self, action: int | None) -> None:
        """Play the action of the agent selected; for an agent that is done, None takes it out.

        Raises `IllegalMoveError` for an illegal action, `TypeError` for one that is no integer; the state is unchanged then.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        before = self._position
        move = operator.index(action)  # type: ignore[arg-type]
        self._position = before.play(move, auto_pass=self.auto_pass)
        self._last_move = move
        self._cumulative_rewards[agent] = 0.0
        if move == self.pass_action:
            passed = 1
        else:
            self._ply += 1
            passed = int(self._position.side_to_move == before.side_to_move)
        self._enter(passed=passed)

    def _enter(self, *, passed: int) -> None:
        """Tell the agents of the position that was just reached."""
        position = self._position
        self.agent_selection = AGENTS[position.side_to_move]
        info = {"ply": self._ply, "passed": passed, "to_move": position.side_to_move}
        self.infos = {AGENTS[0]: info, AGENTS[1]: info.copy()}
        if not position.legal_moves and position.is_over:
            self._over = True
            reward = float(self._reward(position))
            self.rewards = {AGENTS[0]: reward, AGENTS[1]: -reward}
            self.terminations = dict.fromkeys(AGENTS, True)
            self._accumulate_rewards()

    def end_with_illegal_move(self) -> None:
        """End the game as lost for the agent selected, as PettingZoo's `TerminateIllegalWrapper` does.

        Both agents are terminated and truncated; the agent selected gets -1.0, the other 0.0. The position stays as it is.
        """
        self._over = True
        agent = self.agent_selection
        self._cumulative_rewards[agent] = 0.0
        self.terminations = dict.fromkeys(AGENTS, True)
        self.truncations = dict.fromkeys(AGENTS, True)
        self.rewards = {**dict.fromkeys(AGENTS, 0.0), agent: ILLEGAL_REWARD}
        self._accumulate_rewards()
        self._deads_step_first()

    def observe(self, agent: str) -> Observation:
        """What any of the two agents sees, at any time after `reset`. Changes nothing."""
        side = _SIDES.get(agent)
        if side is None:
            raise ValueError(f"agent {agent!r}: expected one of {', '.join(AGENTS)}")
        return observe(self._position, side, to_act=agent == self.agent_selection, over=self._over)

    def state(self) -> npt.NDArray[np.int8]:
        """The state for both agents: (n, n, 3) int8, black's discs, white's discs, and 1 everywhere if black is to move."""
        return state_planes(self._position)

    def render(self) -> str | None:
        """The board as text with `render_mode="ansi"`; None, with a warning, without a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called, but the environment was made without a render_mode")
            return None
        return render_text(self._position, last_move=self._last_move)

    def close(self) -> None:
        """Release nothing: there is nothing open."""


class GuardedEnv(OrderEnforcingWrapper[str, Observation, int]):
    """What `env()` puts around `raw_env`: PettingZoo's three wrappers for board games in one, at a fraction of their cost.

    Like `OrderEnforcingWrapper` it refuses use before `reset`; like `AssertOutOfBoundsWrapper` it refuses, with an
    `AssertionError`, what is not in the action space; like `TerminateIllegalWrapper` it ends the game at an illegal action, with
    -1 for the agent that chose it and 0 for the other. Legality comes from the position, not from a mask that the user holds.
    """

    env: raw_env

    def step(self, action: int | None) -> None:
        """Play an action, as `raw_env.step`; an illegal one ends the game. Raises `ActionOutOfBoundsError`."""
        env = self.env
        if not self._has_reset:
            EnvLogger.error_step_before_reset()
        self._has_updated = True
        if not env.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        agent = env.agent_selection
        if env.terminations[agent]:
            env.step(action)
            return
        # A plain int needs no more than a comparison; the space knows what else is an action.
        in_bounds = 0 <= action <= env.pass_action if type(action) is int else env.action_spaces[agent].contains(action)
        if not in_bounds:
            raise ActionOutOfBoundsError(f"action {action!r} of {agent} is not in action space {env.action_spaces[agent]}")
        try:
            env.step(action)
        except IllegalMoveError:
            EnvLogger.warn_on_illegal_move()
            env.end_with_illegal_move()

    @overload
    def last(self, observe: Literal[True] = True) -> tuple[Observation, float, bool, bool, dict[str, Any]]: ...
    @overload
    def last(self, observe: bool) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]: ...
    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Observation, cumulative reward, termination, truncation and info of the agent selected."""
        if not self._has_reset:
            raise AttributeError("last() cannot be called before reset")
        last: tuple[Observation | None, float, bool, bool, dict[str, Any]] = self.env.last(observe)
        return last


def env(
    render_mode: str | None = None,
    *,
    board_size: int = 8,
    auto_pass: bool = True,
    reward: Reward | RewardFunction = "outcome",
    scoring: Scoring = "discs",
) -> GuardedEnv:
    """The environment as most people want it: `raw_env`, which has the data sheet, inside `GuardedEnv`."""
    return GuardedEnv(raw_env(render_mode, board_size=board_size, auto_pass=auto_pass, reward=reward, scoring=scoring))
