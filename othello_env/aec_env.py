"""PettingZoo environment: maps a `Position` to agents, observations and rewards.

The rules are in `othello_env.position`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, Literal, overload

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from othello_env.errors import IllegalMoveError
from othello_env.observation import Observation, ObservationFormat, ObservationOptions, state_planes, state_space
from othello_env.options import START_OPTIONS, check_arguments, check_reset_options, check_switch, start_position
from othello_env.position import Position, Scoring
from othello_env.rendering.modes import FRAMES_PER_SECOND, RENDER_MODES, Renderer
from othello_env.rendering.pixels import Frame
from othello_env.rewards import Reward, RewardFunction, illegal_move_reward, reward_function
from othello_env.squares import check_board_size, pass_square, read_action
from othello_env.state import check_state, copy_generator, restore_generator

if TYPE_CHECKING:
    from typing_extensions import Unpack

_NAME: Final = "othello_v0"
AGENTS: Final = ("player_0", "player_1")  # black, white: the agent of a side is AGENTS[side]
_SIDES: Final = {agent: side for side, agent in enumerate(AGENTS)}


class ActionOutOfBoundsError(ValueError, AssertionError):
    """An action is outside the action space.

    Also an `AssertionError`, which PettingZoo's own wrapper raises.
    """


class raw_env(AECEnv[str, Observation, int]):  # noqa: N801  (PettingZoo's name)
    """Othello for two agents: "player_0" plays black and moves first, "player_1" plays white.

    Arguments:
        render_mode: None; "ansi" for the board as text from `render()`; "rgb_array" for an image,
            (512, 512, 3) uint8; "human" for a window that shows the game.
        board_size: 4, 6 or 8 squares along a side (n below).
        auto_pass: True: an agent that cannot move is skipped, so the other may act several times in
            a row. False: agents alternate strictly, and the pass is the only action of an agent
            that cannot move.
        reward: "outcome" or "disc_difference", or a function from the final `Position` to Black's
            reward.
        scoring: what "disc_difference" counts: "discs" on the board, or also the
            "empties_to_winner".
        channels, dtype, legal_plane, flat: layout of the observation, see `ObservationFormat`; the
            defaults are below.

    Observation, of any agent at any time: {"observation": (n, n, 2) int8, "action_mask":
    (n * n + 1,) int8}. Plane 0 holds the observing agent's discs and plane 1 the other's; row 0 is
    rank 1, column 0 is file a. The mask is 1 for the actions that the agent may choose now; it is
    all zero for an agent that is not to act. Once the game is over, the only 1 in the mask of the
    selected agent is the pass, so a masked softmax remains defined.

    Action: `Discrete(n * n + 1)`, the squares row by row (a1 = 0, h8 = 63), then the pass (64). An
    array or tensor with one integer element is accepted, too. A pass is legal only with
    `auto_pass=False`, and only if no square is legal. An illegal action raises `IllegalMoveError`
    here and leaves the state unchanged; `env()` ends the game instead, with -1.0 for the agent that
    chose it (-(n * n) with "disc_difference") and 0.0 for the other.

    Reward: 0.0 until the game ends; then both agents are rewarded in the same step, with rewards
    that sum to zero. "outcome": 1.0 for the winner, -1.0 for the loser, 0.0 for a draw.
    "disc_difference": own discs minus the other's, unscaled.

    End: both agents terminate as soon as neither side can move. The rules never truncate.

    Infos, the same for both agents: "ply", number of discs placed since `reset`; "passed", 1 if the
    last event since `reset` is a pass; "to_move", 0 for black and 1 for white.

    Reset options: "position", a `Position` or its text, to start from; "moves", a transcript such
    as "f5d6", or squares as numbers or names, to play first; "random_plies", number of random moves
    to play after that, drawn with the seed. They may be combined. An invalid value raises
    `ValueError` and leaves the state unchanged; an unknown key is ignored with a warning. The game
    may already be over in the start position: the agents are then terminated from the start and
    have their rewards.

    Search and copies: `position` is the current `Position`, which is immutable and cheap to search
    from. `clone()`, `get_state()` with `set_state()`, `copy.deepcopy` and `pickle` preserve the
    whole state at any time; `pickle` needs a reward function that can be pickled. An exception,
    including Ctrl-C, leaves the state unchanged.

    Version history: v0, the first.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (PettingZoo's attribute)
        "render_modes": list(RENDER_MODES),
        "name": _NAME,
        "is_parallelizable": False,
        "render_fps": FRAMES_PER_SECOND,
    }
    _skip_agent_selection: str | None

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
        check_arguments(_NAME, raw_env, observation_options, ObservationOptions)
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
        """Return the space of an agent's observations; the same object on every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete[Any]:
        """Return the space of an agent's actions; the same object on every call."""
        return self.action_spaces[agent]

    @property
    def position(self) -> Position:
        """The current position."""
        return self._position

    @property
    def has_started(self) -> bool:
        """True after the first `reset` or `set_state`."""
        return "agent_selection" in vars(self)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game.

        seed: seed for "random_plies"; None continues with the current generator. options: see the
        class.
        """
        checked = check_reset_options(_NAME, options, START_OPTIONS)
        rng = self._rng if seed is None else np.random.default_rng(seed)
        if seed is None and checked:
            rng = copy_generator(rng)  # the options may turn out to be wrong after something was drawn
        position = start_position(checked, rng, board_size=self.board_size, auto_pass=self.auto_pass)
        none = dict.fromkeys(AGENTS, 0.0)
        fresh = {
            "_rng": rng,
            "agents": list(AGENTS),
            "rewards": none,
            "_cumulative_rewards": none.copy(),
            "terminations": dict.fromkeys(AGENTS, False),
            "truncations": dict.fromkeys(AGENTS, False),
            "_skip_agent_selection": None,
        }
        self._enter(position, None, ply=0, passed=False, changes=fresh)

    def step(self, action: int | None) -> None:
        """Play the action of the selected agent; the action None removes an agent that is done.

        Raises `IllegalMoveError` for an illegal action and `TypeError` for one that is not an
        integer; the state is then unchanged.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        before = self._position
        move = read_action(action)
        position = before.play(move, auto_pass=self.auto_pass)
        passed = move == self.pass_action
        again = position.side_to_move == before.side_to_move
        self._enter(position, move, ply=self._ply + (not passed), passed=passed or again, changes={})

    def _enter(self, position: Position, move: int | None, *, ply: int, passed: bool, changes: dict[str, Any]) -> None:
        """Set a new position and everything that follows from it.

        changes: new values of further attributes; this dict is modified. All attributes change at
        once, in one call that Ctrl-C cannot interrupt, after everything that may fail.
        """
        side = position.side_to_move
        info = {"ply": ply, "passed": int(passed), "to_move": side}
        changes["_position"] = position
        changes["_last_move"] = move
        changes["_ply"] = ply
        changes["agent_selection"] = AGENTS[side]
        changes["infos"] = {AGENTS[0]: info, AGENTS[1]: info.copy()}
        if position.is_over:
            black_reward = float(self._reward(position))
            changes["rewards"] = rewards = {AGENTS[0]: black_reward, AGENTS[1]: 0.0 - black_reward}  # not -0.0 for a draw
            changes["_cumulative_rewards"] = _sums(changes.get("_cumulative_rewards") or self._cumulative_rewards, rewards)
            changes["terminations"] = dict.fromkeys(AGENTS, True)
        if self.render_mode == "human":
            self._renderer.render(position, move)
        self.__dict__.update(changes)

    def end_with_illegal_move(self) -> None:
        """End the game as lost for the selected agent, like PettingZoo's `TerminateIllegalWrapper`.

        Both agents are terminated and truncated; the selected agent gets `illegal_reward`, the
        other 0.0. The position does not change.
        """
        loser = self.agent_selection
        rewards = {**dict.fromkeys(AGENTS, 0.0), loser: self.illegal_reward}
        changes = {
            "rewards": rewards,
            "_cumulative_rewards": _sums(self._cumulative_rewards, rewards),
            "terminations": dict.fromkeys(AGENTS, True),
            "truncations": dict.fromkeys(AGENTS, True),
            "agent_selection": self.agents[0],
            "_skip_agent_selection": loser,
        }
        self.__dict__.update(changes)

    def _was_dead_step(self, action: int | None) -> None:
        """Remove the selected agent, which is done, and select the next one.

        Replaces PettingZoo's method in order to make all changes at once.
        """
        if action is not None:
            raise ValueError("when an agent is dead, the only valid action is None")
        left = [agent for agent in self.agents if agent != self.agent_selection]
        changes: dict[str, Any] = {"agents": left, "rewards": dict.fromkeys(left, 0.0)}
        for name in ("terminations", "truncations", "_cumulative_rewards", "infos"):
            values = getattr(self, name)
            changes[name] = {agent: values[agent] for agent in left}
        done = [agent for agent in left if self.terminations[agent] or self.truncations[agent]]
        afterwards = self._skip_agent_selection or self.agent_selection
        changes["agent_selection"] = done[0] if done else afterwards
        changes["_skip_agent_selection"] = afterwards if done else None
        self.__dict__.update(changes)

    def observe(self, agent: str) -> Observation:
        """Return an agent's observation, at any time after `reset`, without changing the state."""
        side = _SIDES.get(agent)
        if side is None:
            raise ValueError(f"agent {agent!r}: expected one of {', '.join(AGENTS)}")
        selected = self.agent_selection
        over = self.terminations.get(selected, True)  # or both agents are gone
        return self.observation_format.observe(self._position, side, to_act=agent == selected, over=over)

    def state(self) -> npt.NDArray[np.int8]:
        """Return the global state: (n, n, 3) int8.

        The planes are black's discs, white's discs, and 1 everywhere if black is to move.
        """
        return state_planes(self._position)

    def get_state(self) -> dict[str, Any]:
        """Return the whole state of the game, for `set_state`.

        Later steps do not change the returned dict, and it can be pickled. Raises `ValueError`
        before the first `reset`.
        """
        if not self.has_started:
            raise ValueError("get_state() before the first reset()")
        game = {name: copy.deepcopy(getattr(self, attribute)) for name, attribute in _STATE.items()}
        return self._settings() | game | {"rng": self._rng.bit_generator.state}

    def _settings(self) -> dict[str, Any]:
        """The settings of the environment that a state must match."""
        return {"environment": _NAME, "board_size": self.board_size, "auto_pass": self.auto_pass}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state of an environment with the same settings; it counts as a reset.

        Raises `ValueError` for anything else, without changing anything.
        """
        checked = check_state(state, self._settings(), (*_STATE, "rng"))
        misfit = _find_misfit(checked, self.board_size, auto_pass=self.auto_pass)
        if misfit is not None:
            raise ValueError(f"state with {misfit} {checked[misfit]!r}: no game has such a state")
        changes = {attribute: copy.deepcopy(checked[name]) for name, attribute in _STATE.items()}
        changes["_rng"] = restore_generator(checked["rng"], self._rng)
        self.__dict__.update(changes)

    def clone(self) -> raw_env:
        """Return an independent environment in the same state; the spaces are shared."""
        twin = copy.copy(self)
        twin._renderer = copy.copy(self._renderer)
        state = {name: value for name, value in vars(self).items() if name in (*_STATE.values(), "_rng")}
        twin.__dict__.update(copy.deepcopy(state))
        return twin

    def render(self) -> str | Frame | None:
        """Render the board according to `render_mode`.

        Returns the text or the frame; None with "human", and None with a warning without a render
        mode.
        """
        return self._renderer.render(self._position, self._last_move)

    def close(self) -> None:
        """Close the window, if one is open."""
        self._renderer.close()


# The state of a game: keys in `get_state` and attributes. All but the last three are PettingZoo's.
_STATE: Final = {
    "agents": "agents",
    "agent_selection": "agent_selection",
    "rewards": "rewards",
    "terminations": "terminations",
    "truncations": "truncations",
    "infos": "infos",
    "cumulative_rewards": "_cumulative_rewards",
    "skip_agent_selection": "_skip_agent_selection",
    "position": "_position",
    "last_move": "_last_move",
    "ply": "_ply",
}
# Value types of those dicts of a state that have one value per agent.
_VALUES: Final[dict[str, Any]] = {
    "rewards": Real,
    "cumulative_rewards": Real,
    "terminations": (bool, np.bool_),
    "truncations": (bool, np.bool_),
    "infos": dict,
}


def _sums(cumulative: dict[str, float], rewards: dict[str, float]) -> dict[str, float]:
    return {agent: total + rewards[agent] for agent, total in cumulative.items()}


def _find_misfit(state: Mapping[str, Any], board_size: int, *, auto_pass: bool) -> str | None:
    """Return the key of the first invalid value in a state, or None if all values are valid."""
    position, agents, last_move = state["position"], state["agents"], state["last_move"]
    selected, skipped = state["agent_selection"], state["skip_agent_selection"]
    if not isinstance(position, Position) or position.board_size != board_size or (auto_pass and position.must_pass):
        return "position"
    if not isinstance(agents, list) or agents != [agent for agent in AGENTS if agent in agents]:
        return "agents"
    for name, kind in _VALUES.items():
        values = state[name]
        if not isinstance(values, dict) or set(values) != set(agents) or not all(isinstance(value, kind) for value in values.values()):
            return name
    if position.is_over and not all(state["terminations"].values()):
        return "terminations"
    done = not agents or any(state["terminations"].values()) or any(state["truncations"].values())
    if not isinstance(selected, str) or selected not in (AGENTS if done else (AGENTS[position.side_to_move],)):
        return "agent_selection"
    if skipped is not None and (not isinstance(skipped, str) or skipped not in AGENTS):
        return "skip_agent_selection"
    if last_move is not None and (type(last_move) is not int or not 0 <= last_move <= pass_square(board_size)):
        return "last_move"
    return None if type(state["ply"]) is int and state["ply"] >= 0 else "ply"


class GuardedEnv(OrderEnforcingWrapper[str, Observation, int]):
    """PettingZoo's three wrappers for board games in one, at a fraction of their cost.

    `env()` puts it around `raw_env`. Like `OrderEnforcingWrapper` it rejects calls before `reset`
    (or `set_state`); like `AssertOutOfBoundsWrapper` it raises an `AssertionError` for an action
    outside the action space; like `TerminateIllegalWrapper` it ends the game at an illegal action,
    with `illegal_reward` for the agent that chose it and 0.0 for the other. Legality is checked
    against the position, not against a mask that the user holds.
    """

    env: raw_env

    def __init__(self, env: raw_env) -> None:
        super(OrderEnforcingWrapper, self).__init__(env)
        self._has_updated = True

    @property
    def _has_reset(self) -> bool:  # a flag of `OrderEnforcingWrapper`, which would miss a state restored in `unwrapped`
        return self.env.has_started

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game, see `raw_env.reset`. A rejected reset changes nothing."""
        self.env.reset(seed=seed, options=options)
        self._has_updated = True

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state, see `raw_env.set_state`; it counts as a reset."""
        self.env.set_state(state)
        self._has_updated = True

    def step(self, action: int | None) -> None:
        """Play an action, see `raw_env.step`; an illegal one ends the game.

        Raises `ActionOutOfBoundsError` for an action outside the action space.
        """
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
        try:
            move = read_action(action)
        except TypeError:
            move = -1
        if not 0 <= move <= env.pass_action:
            shown = " ".join(repr(action).split())  # arrays have line breaks
            raise ActionOutOfBoundsError(f"action {shown} of {agent} is not in action space {env.action_spaces[agent]}")
        try:
            env.step(move)
        except IllegalMoveError:
            EnvLogger.warn_on_illegal_move()
            env.end_with_illegal_move()

    @overload
    def last(self, observe: Literal[True] = True) -> tuple[Observation, float, bool, bool, dict[str, Any]]: ...
    @overload
    def last(self, observe: bool) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]: ...
    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Return observation, cumulative reward, termination, truncation and info, in this order.

        They are those of the selected agent.
        """
        if not self._has_reset:
            raise AttributeError("last() cannot be called before reset")
        last: tuple[Observation | None, float, bool, bool, dict[str, Any]] = self.env.last(observe)
        return last

    def clone(self) -> GuardedEnv:
        """Return an independent environment in the same state, see `raw_env.clone`."""
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
    """Return the environment: `raw_env`, which documents it, inside `GuardedEnv`."""
    return GuardedEnv(
        raw_env(render_mode, board_size=board_size, auto_pass=auto_pass, reward=reward, scoring=scoring, **observation_options)
    )
