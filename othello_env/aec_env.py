"""The PettingZoo environment: a translation of `Position` into agents, observations and rewards. No rules in here."""

from __future__ import annotations

import copy
import operator
from typing import TYPE_CHECKING, Any, Final, Literal, overload

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from othello_env.errors import IllegalMoveError
from othello_env.observation import Observation, ObservationFormat, ObservationOptions, state_planes, state_space
from othello_env.options import check_switch
from othello_env.position import Position, Scoring
from othello_env.rendering.modes import FRAMES_PER_SECOND, RENDER_MODES, Renderer
from othello_env.rendering.pixels import Frame
from othello_env.reset_options import start_position
from othello_env.rewards import Reward, RewardFunction, illegal_move_reward, reward_function
from othello_env.squares import check_board_size, pass_square

if TYPE_CHECKING:
    from typing_extensions import Unpack

AGENTS: Final = ("player_0", "player_1")  # black, white: the agent of a side is AGENTS[side]
_SIDES: Final = {agent: side for side, agent in enumerate(AGENTS)}


class ActionOutOfBoundsError(ValueError, AssertionError):
    """An action that is not in the action space. An `AssertionError` too, as PettingZoo's own wrapper raises."""


class raw_env(AECEnv[str, Observation, int]):  # noqa: N801  (PettingZoo's name)
    """Othello for two agents: "player_0" plays black and moves first, "player_1" plays white.

    Arguments:
        render_mode: None; "ansi" for `render()` to give the board as text; "rgb_array" for a picture, (512, 512, 3) uint8; "human"
            for a window that follows the game by itself.
        board_size: 4, 6 or 8 squares along a side (n below).
        auto_pass: True: an agent that cannot move is skipped, so that the other may act several times in a row. False: agents
            alternate strictly, and one that cannot move has the pass as its only action.
        reward: "outcome" or "disc_difference", or a function from the final `Position` to Black's reward.
        scoring: what "disc_difference" counts: "discs" on the board, or also the "empties_to_winner".
        channels, dtype, legal_plane, flat: the layout of the observation, see `ObservationFormat`; the defaults are below.

    Observation, of any agent at any time: {"observation": (n, n, 2) int8, "action_mask": (n * n + 1,) int8}. Plane 0 holds the
    observing agent's discs and plane 1 the other's; row 0 is rank 1, column 0 is file a. The mask is 1 for the actions that the
    agent may choose now; it is all zero for an agent whose turn it is not. Once the game is over the mask of the agent selected
    has its one 1 at the pass, so a masked softmax is never over nothing.

    Action: `Discrete(n * n + 1)`, the square row by row (a1 = 0, h8 = 63), then the pass (64). A pass is legal only without
    `auto_pass`, where no square is. An illegal action raises `IllegalMoveError` here and leaves the state as it is; `env()` ends
    the game instead, with -1.0 for the agent that chose it, -(n * n) with "disc_difference", and 0.0 for the other.

    Reward: 0.0 until the game ends, then for both agents in the same step, adding up to zero: with "outcome" 1.0 for the winner,
    -1.0 for the loser, 0.0 for a draw; with "disc_difference" own discs minus the other's, unscaled.

    End: both agents terminate as soon as neither side can move. Nothing is ever truncated by the rules.

    Infos, the same for both agents: "ply", the discs placed since `reset`; "passed", 1 if the last thing that has happened since
    `reset` is a pass; "to_move", 0 for black and 1 for white.

    Reset options, unknown keys being ignored: "position", a `Position` or its text, to start from; "moves", a transcript such as
    "f5d6", or squares as numbers or names, to play first; "random_plies", a number of random moves to play then, drawn with the
    seed. They may be combined. A bad value raises `ValueError` and leaves the state as it is. A start position may be one in which
    the game is over: the agents are then terminated from the start, with their rewards.

    Search and copies: `position` is the current `Position`, immutable, the cheap thing to search from. `clone()`, and `get_state()`
    with `set_state()`, keep the whole state at every moment, as do `copy.deepcopy` and `pickle` (of a reward function too, if it
    can be pickled).

    Version history: v0, the first.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (PettingZoo's attribute)
        "render_modes": list(RENDER_MODES),
        "name": "othello_v0",
        "is_parallelizable": False,
        "render_fps": FRAMES_PER_SECOND,
    }

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        board_size: int = 8,
        auto_pass: bool = True,
        reward: Reward | RewardFunction = "outcome",
        scoring: Scoring = "discs",
        **observation_options: Unpack[ObservationOptions],
    ) -> None:
        super().__init__()
        self._renderer = Renderer(render_mode)
        self.render_mode = render_mode
        self.board_size = check_board_size(board_size)
        self.pass_action = pass_square(self.board_size)
        self.auto_pass = check_switch("auto_pass", auto_pass)
        self.illegal_reward = illegal_move_reward(reward, self.board_size)
        self._reward = reward_function(reward, scoring)
        self._rng = np.random.default_rng()

        self.observation_format = ObservationFormat(self.board_size, **observation_options)
        self.possible_agents = list(AGENTS)
        self.observation_spaces = {agent: self.observation_format.observation_space() for agent in AGENTS}
        self.action_spaces = {agent: self.observation_format.action_space() for agent in AGENTS}
        self.state_space = state_space(self.board_size)

        self.agents: list[str] = []
        self._position = Position.start(self.board_size)
        self._last_move: int | None = None
        self._ply = 0

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
        if seed is None and options:  # they may turn out to be wrong after something was drawn
            rng = copy.deepcopy(rng)
        position = start_position(options, rng, board_size=self.board_size, auto_pass=self.auto_pass)
        black_reward = self._black_reward(position)
        self._rng = rng
        self._ply = 0
        self.agents = list(AGENTS)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self._skip_agent_selection: str | None = None
        self._enter(position, None, passed=False, black_reward=black_reward)

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
        position = before.play(move, auto_pass=self.auto_pass)
        black_reward = None if position.legal_moves else self._black_reward(position)
        passed = move == self.pass_action
        self._ply += not passed
        self._enter(position, move, passed=passed or position.side_to_move == before.side_to_move, black_reward=black_reward)

    def _black_reward(self, position: Position) -> float | None:
        """Black's reward in a position that ends the game; None in one that does not. A reward function of the user's may raise."""
        return float(self._reward(position)) if position.is_over else None

    def _enter(self, position: Position, move: int | None, *, passed: bool, black_reward: float | None) -> None:
        """Take over a position and tell the agents of it."""
        self._position = position
        self._last_move = move
        self.agent_selection = AGENTS[position.side_to_move]
        info = {"ply": self._ply, "passed": int(passed), "to_move": position.side_to_move}
        self.infos = {AGENTS[0]: info, AGENTS[1]: info.copy()}
        if black_reward is not None:
            self.rewards = {AGENTS[0]: black_reward, AGENTS[1]: 0.0 - black_reward}  # not -0.0 for a draw
            self.terminations = dict.fromkeys(AGENTS, True)
            self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def end_with_illegal_move(self) -> None:
        """End the game as lost for the agent selected, as PettingZoo's `TerminateIllegalWrapper` does.

        Both agents are terminated and truncated; the agent selected gets `illegal_reward`, the other 0.0. The position stays.
        """
        self.rewards = {**dict.fromkeys(AGENTS, 0.0), self.agent_selection: self.illegal_reward}
        self.terminations = dict.fromkeys(AGENTS, True)
        self.truncations = dict.fromkeys(AGENTS, True)
        self._accumulate_rewards()
        self._deads_step_first()

    def observe(self, agent: str) -> Observation:
        """What any of the two agents sees, at any time after `reset`. Changes nothing."""
        side = _SIDES.get(agent)
        if side is None:
            raise ValueError(f"agent {agent!r}: expected one of {', '.join(AGENTS)}")
        selected = self.agent_selection
        over = self.terminations.get(selected, True)  # or both agents are gone
        return self.observation_format.observe(self._position, side, to_act=agent == selected, over=over)

    def state(self) -> npt.NDArray[np.int8]:
        """The state for both agents: (n, n, 3) int8, black's discs, white's discs, and 1 everywhere if black is to move."""
        return state_planes(self._position)

    def get_state(self) -> dict[str, Any]:
        """Everything that changes while a game is played, for `set_state`; it does not change when the environment goes on."""
        return copy.deepcopy({name: getattr(self, name) for name in _STATE if hasattr(self, name)})

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to a state of this environment, or of one made alike."""
        for name, value in copy.deepcopy(state).items():
            setattr(self, name, value)

    def clone(self) -> raw_env:
        """An environment in the same state that goes on independently; it has the same spaces, which hold no state of the game."""
        twin = copy.copy(self)
        twin._renderer = copy.copy(self._renderer)
        twin.set_state(self.get_state())
        return twin

    def render(self) -> str | Frame | None:
        """The board as `render_mode` asks for it; None in a window, and, with a warning, without a render mode."""
        return self._renderer.render(self._position, self._last_move)

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()


# What the state of an environment is made of; the first ones are PettingZoo's.
_STATE: Final = (
    "agents",
    "agent_selection",
    "rewards",
    "terminations",
    "truncations",
    "infos",
    "_cumulative_rewards",
    "_skip_agent_selection",
    "_position",
    "_last_move",
    "_ply",
    "_rng",
)


class GuardedEnv(OrderEnforcingWrapper[str, Observation, int]):
    """What `env()` puts around `raw_env`: PettingZoo's three wrappers for board games in one, at a fraction of their cost.

    Like `OrderEnforcingWrapper` it refuses use before `reset`; like `AssertOutOfBoundsWrapper` it refuses, with an
    `AssertionError`, what is not in the action space; like `TerminateIllegalWrapper` it ends the game at an illegal action, which
    costs the agent that chose it -1 and the other nothing. Legality comes from the position, not from a mask that the user holds.
    """

    env: raw_env

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game, as `raw_env.reset`. A refused reset is none: what it was before still holds."""
        self.env.reset(seed=seed, options=options)
        self._has_reset = self._has_updated = True

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
        if env.terminations[agent] or env.truncations[agent]:
            env.step(action)
            return
        # A plain int needs no more than a comparison; the space knows what else is an action.
        in_bounds = 0 <= action <= env.pass_action if type(action) is int else env.action_spaces[agent].contains(action)
        if not in_bounds:
            shown = " ".join(repr(action).split())  # arrays have line breaks
            raise ActionOutOfBoundsError(f"action {shown} of {agent} is not in action space {env.action_spaces[agent]}")
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

    def clone(self) -> GuardedEnv:
        """An environment in the same state that goes on independently, see `raw_env.clone`."""
        twin = copy.copy(self)
        twin.env = self.env.clone()
        return twin

    def __str__(self) -> str:
        return str(self.env)


def env(
    render_mode: str | None = None,
    *,
    board_size: int = 8,
    auto_pass: bool = True,
    reward: Reward | RewardFunction = "outcome",
    scoring: Scoring = "discs",
    **observation_options: Unpack[ObservationOptions],
) -> GuardedEnv:
    """The environment as most people want it: `raw_env`, which has the data sheet, inside `GuardedEnv`."""
    return GuardedEnv(
        raw_env(render_mode, board_size=board_size, auto_pass=auto_pass, reward=reward, scoring=scoring, **observation_options)
    )
