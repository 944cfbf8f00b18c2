"""Batched games as Gymnasium vector environments: self-play, and one learner with an opponent."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from othello_env.batch import PositionBatch, sample_moves
from othello_env.bitboard import pack
from othello_env.errors import IllegalMoveError
from othello_env.observation import Observation, ObservationFormat, ObservationOptions
from othello_env.opening import opening_position
from othello_env.opponent import Opponent, check_opponent, choose_moves
from othello_env.options import (
    Color,
    Illegal,
    check_arguments,
    check_choice,
    check_count,
    check_reset_options,
    check_switch,
)
from othello_env.position import BLACK, WHITE, Position, Scoring
from othello_env.rendering.modes import FRAMES_PER_SECOND
from othello_env.rendering.text import render_text
from othello_env.rewards import Reward, RewardFunction, batch_rewards, illegal_move_reward, reward_function
from othello_env.squares import check_board_size
from othello_env.state import check_state, copy_generator, restore_generator

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

Infos = dict[str, Any]
Step = tuple[Observation, npt.NDArray[np.float32], npt.NDArray[np.bool_], npt.NDArray[np.bool_], Infos]


class VectorOptions(ObservationOptions, total=False):
    """Keyword arguments that both vector environments take, see `OthelloSelfPlayVectorEnv`."""

    board_size: int
    auto_pass: bool
    autoreset_mode: AutoresetMode | str
    illegal: Illegal
    reward: Reward | RewardFunction
    scoring: Scoring
    openings: Sequence[Position | str] | None
    random_plies: int
    render_mode: str | None


RENDER_MODES: Final = ("ansi",)
# Attributes that change while games are played: the arrays by their key in a state, then all.
_ARRAYS: Final = {"plies": "_plies", "waiting_mask": "_waiting_mask", "forfeited_mask": "_forfeited_mask", "colors": "_colors"}
_STATE: Final = ("_positions", *_ARRAYS.values(), "_np_random", "_np_random_seed", "_started")
# Number of draws after which the search for a start position that is not over gives up.
_TRIES: Final = 100


def sample_legal(mask: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw an action for each row of a mask, uniformly among those that it allows.

    mask: [N, A] of 0 and 1, the pass last, as in the observations. Returns [N] int64. Batched form
    of `Discrete.sample(mask)`. A row without an allowed square gives the pass.
    """
    num_squares = mask.shape[1] - 1
    return sample_moves(pack(mask[:, :num_squares]), num_squares, rng)


@dataclass(frozen=True, slots=True)
class _Moved:
    """Effects of one step on all games, [N] each.

    mover: int8, the side to move before the step. playing, illegal, forfeited, passed: bool.
    """

    mover: npt.NDArray[np.int8]
    playing: npt.NDArray[np.bool_]
    illegal: npt.NDArray[np.bool_]
    forfeited: npt.NDArray[np.bool_]
    passed: npt.NDArray[np.bool_]


class _GamesEnv(VectorEnv[Observation, npt.ArrayLike, npt.NDArray[Any]]):
    """Base of both vector environments: start, moves, end, observations and state of N games.

    _waiting_mask: [N] bool, games that have ended and not been reset. _forfeited_mask: [N] bool,
    those of them that an illegal action ended. _plies: [N] int64, discs placed since the start
    position. _colors: [N] int8, the learner's sides, if there is a learner.

    `step` and `reset` play on a draft of the environment, with its own copy of the state, and swap
    that state in at the end: an exception, including Ctrl-C, leaves the environment unchanged.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (Gymnasium's attribute)
        "render_modes": list(RENDER_MODES),
        "render_fps": FRAMES_PER_SECOND,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    _drawn: bool

    def __init__(
        self,
        num_envs: int,
        *,
        board_size: int = 8,
        auto_pass: bool = True,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        illegal: Illegal = "terminate",
        reward: Reward | RewardFunction = "outcome",
        scoring: Scoring = "discs",
        openings: Sequence[Position | str] | None = None,
        random_plies: int = 0,
        render_mode: str | None = None,
        **observation_options: Unpack[ObservationOptions],
    ) -> None:
        check_arguments(type(self).__name__, type(self), observation_options, VectorOptions)
        check_choice("illegal", illegal, get_args(Illegal))
        check_choice("render_mode", render_mode, (None, *RENDER_MODES))
        check_switch("auto_pass", auto_pass)
        reward_function(reward, scoring)  # raises for unknown ones
        self.num_envs = check_count("num_envs", num_envs, 1)
        self.board_size = check_board_size(board_size)
        self.autoreset_mode = _parse_autoreset_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        self._format = ObservationFormat(self.board_size, **observation_options)
        self.single_observation_space = self._format.observation_space()
        self.single_action_space = self._format.action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

        self._illegal: Illegal = illegal
        self._reward, self._scoring = reward, scoring
        self._illegal_reward = illegal_move_reward(reward, self.board_size)
        self._openings = PositionBatch.from_positions(_parse_openings(openings, self.board_size, auto_pass=auto_pass), auto_pass=auto_pass)
        self._random_plies = check_count("random_plies", random_plies, 0)
        fewest = int(self._openings.empties.min())
        if self._random_plies >= fewest:
            raise ValueError(f"random_plies {self._random_plies}: a game from the fullest opening is over after {fewest} at the latest")
        self._started = False
        self._positions = PositionBatch.start(self.num_envs, self.board_size, auto_pass=auto_pass)
        self._plies = np.zeros(self.num_envs, dtype=np.int64)
        self._waiting_mask = np.zeros(self.num_envs, dtype=np.bool_)
        self._forfeited_mask = np.zeros(self.num_envs, dtype=np.bool_)
        self._colors = np.zeros(self.num_envs, dtype=np.int8)

    @property
    def planes_space(self) -> spaces.Box:
        """The space of one game's planes, without the mask."""
        return self._format.planes_space()

    @property
    def positions(self) -> PositionBatch:
        """The current positions of all games, not to be modified.

        The next `step` or `reset` replaces the batch by a new one.
        """
        return self._positions

    def _draft(self) -> Self:
        """Return an environment with its own copy of the state, to play on until `_adopt`."""
        draft = object.__new__(type(self))
        draft.__dict__.update(self.__dict__, _drawn=False, closed=True)  # the end of a draft must not close what it shares
        draft._copy_arrays()
        return draft

    def _copy_arrays(self) -> None:
        for name in ("_positions", *_ARRAYS.values()):
            setattr(self, name, getattr(self, name).copy())

    def _adopt(self, draft: Self) -> None:
        """Swap in the state of a draft, in one call that Ctrl-C cannot interrupt."""
        self.__dict__.update({name: vars(draft)[name] for name in _STATE if name in vars(draft)})

    @property
    def _rng(self) -> np.random.Generator:
        """The generator of a draft, copied on first use: most steps of self-play draw nothing."""
        if not self._drawn:
            self._np_random, self._drawn = copy_generator(self.np_random), True
        return self.np_random

    def _begin(self, seed: int | Sequence[int] | None, options: dict[str, Any] | None) -> None:
        """Perform a reset on a draft."""
        rows = self._reset_rows(options)
        if isinstance(seed, Sequence) and not isinstance(seed, str) and all(isinstance(part, (int, np.integer)) for part in seed):
            self._np_random, self._np_random_seed = np.random.default_rng(list(seed)), -1
        elif isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
            self._np_random, self._np_random_seed = np_random(int(seed))
        elif seed is not None:
            raise ValueError(f"seed {seed!r}: expected an integer, a sequence of them, or None")
        elif self._np_random is None:
            self._np_random, self._np_random_seed = np_random()
        self._restart(rows)
        self._started = True

    def _reset_rows(self, options: dict[str, Any] | None) -> npt.NDArray[np.int64]:
        """Return the games to reset."""
        mask = check_reset_options(type(self).__name__, options, ("reset_mask",)).get("reset_mask")
        if mask is None:
            return np.arange(self.num_envs)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
            found = f"{mask.dtype} of shape {mask.shape}" if isinstance(mask, np.ndarray) else repr(mask)
            raise ValueError(f"option reset_mask: {found}; expected a bool array of shape ({self.num_envs},) with at least one True")
        if not self._started and not mask.all():
            raise ValueError("option reset_mask: the first reset must be of all games")
        return np.flatnonzero(mask)

    def _restart(self, rows: npt.NDArray[np.int64]) -> None:
        """Start new games in the given rows.

        Raises `ValueError` if the games are always over after the random plies.
        """
        if len(self._openings) == 1:
            starts = self._openings.take(np.zeros(len(rows), dtype=np.int64))
        else:
            starts = self._openings.take(self._rng.integers(len(self._openings), size=len(rows)))
        missing = np.arange(len(rows) if self._random_plies else 0)
        for _ in range(_TRIES):
            if not len(missing):
                break
            played = starts.take(missing)
            for _ in range(self._random_plies):
                _make_forced_passes(played)
                played.step(played.sample_moves(self._rng))
            starts.reset(missing[~played.is_over], played.take(~played.is_over))
            missing = missing[played.is_over]
        if len(missing):
            raise ValueError(f"random_plies {self._random_plies}: the game was over in each of {_TRIES} draws")
        self._positions.reset(rows, starts)
        self._plies[rows] = 0
        self._waiting_mask[rows] = self._forfeited_mask[rows] = False

    def _move(self, actions: npt.ArrayLike) -> _Moved:
        """Play the actions in all games that are not waiting for their reset.

        Raises `ValueError` for actions of a wrong shape or type and for games that should have been
        reset, and `IllegalMoveError` for illegal actions with `illegal="raise"`.
        """
        given = _read_actions(actions, self.num_envs)
        if not self._started:
            raise ValueError("step() before the first reset()")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._waiting_mask.any():
            over = np.flatnonzero(self._waiting_mask).tolist()
            raise ValueError(f"envs {over} are over: reset them with options={{'reset_mask': mask}} before the next step")
        moves = given.astype(np.int64, copy=False)  # what wraps around becomes negative, not a square
        illegal = ~self._positions.is_legal(moves) & ~self._waiting_mask
        forfeited = np.zeros_like(illegal)
        if illegal.any():
            if self._illegal == "raise":
                row = int(np.flatnonzero(illegal)[0])
                raise IllegalMoveError(f"env {row}: action {given[row]} is illegal in {self._positions[row]}")
            if self._illegal == "random":
                moves = np.where(illegal, self._positions.sample_moves(self._rng), moves)
            else:
                forfeited = illegal
        mover = self._positions.side_to_move.astype(np.int8)
        playing = ~(self._waiting_mask | forfeited)
        self._play(np.flatnonzero(playing), moves[playing])
        passed = playing & ((moves == self._positions.pass_square) | (self._positions.side_to_move == mover))
        return _Moved(mover, playing, illegal, forfeited, passed)

    def _play(self, rows: npt.NDArray[np.int64], moves: npt.NDArray[np.integer]) -> None:
        """Play a legal move in each of the given rows. moves: [len(rows)]."""
        self._positions.step(moves, None if len(rows) == self.num_envs else rows)
        self._plies[rows] += moves != self._positions.pass_square

    def _rewards_both(self, terminated: npt.NDArray[np.bool_], moved: _Moved) -> npt.NDArray[np.float32]:
        """Return the rewards of black and white: [N, 2] float32.

        They are zero except in games that have just ended.
        """
        both = np.zeros((self.num_envs, 2), dtype=np.float32)
        if terminated.any():
            played_out = np.flatnonzero(terminated & ~moved.forfeited)
            both[played_out, BLACK] = batch_rewards(self._positions.take(played_out), self._reward, self._scoring)
            both[played_out, WHITE] = 0 - both[played_out, BLACK]  # not -0.0 for a draw
            both[moved.forfeited, moved.mover[moved.forfeited]] = self._illegal_reward
        return both

    def _finish(self, terminated: npt.NDArray[np.bool_], moved: _Moved, infos: Callable[[], Infos]) -> Infos:
        """Start new games according to the autoreset mode.

        Returns the infos on the games that have ended.
        """
        if self._waiting_mask.any():  # since the step before, with NEXT_STEP
            self._restart(np.flatnonzero(self._waiting_mask))
        self._waiting_mask |= terminated
        self._forfeited_mask |= moved.forfeited
        if self.autoreset_mode != AutoresetMode.SAME_STEP or not terminated.any():
            return {}
        final = {"final_obs": self._observe(), "final_info": infos(), "_final_obs": terminated.copy(), "_final_info": terminated.copy()}
        self._restart(np.flatnonzero(terminated))
        return final

    def _observe(self) -> Observation:
        """Return the observations of the sides to act.

        The only 1 in the mask of a game that has ended is the pass.
        """
        legal = self._positions.legal_moves
        if self._forfeited_mask.any():
            legal = np.where(self._forfeited_mask, np.uint64(0), legal)
        return self._format.observe_batch(self._positions.own, self._positions.opp, legal)

    def _with_masks(self, infos: Infos) -> Infos:
        """Add Gymnasium's `_key` mask for each key: the games with a valid value, here all."""
        return infos | {f"_{name}": np.ones(self.num_envs, dtype=np.bool_) for name in infos}

    def get_state(self) -> dict[str, Any]:
        """Return the games and the state of the generator, for `set_state`.

        Later steps do not change the returned dict, and it can be pickled. Raises `ValueError`
        before the first `reset`.
        """
        if not self._started:
            raise ValueError("get_state() before the first reset()")
        arrays = {name: getattr(self, attribute).copy() for name, attribute in _ARRAYS.items()}
        return self._settings() | arrays | {"positions": self._positions.copy(), "rng": self.np_random.bit_generator.state}

    def _settings(self) -> dict[str, Any]:
        """The settings of the environment that a state must match."""
        auto_pass = self._positions.auto_pass
        return {"environment": type(self).__name__, "num_envs": self.num_envs, "board_size": self.board_size, "auto_pass": auto_pass}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state of an environment with the same settings; it counts as a reset.

        Raises `ValueError` for anything else, without changing anything.
        """
        checked = check_state(state, self._settings(), ("positions", *_ARRAYS, "rng"))
        for name, attribute in _ARRAYS.items():
            array, own = checked[name], getattr(self, attribute)
            if not isinstance(array, np.ndarray) or (array.dtype, array.shape) != (own.dtype, own.shape):
                found = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else repr(array)
                raise ValueError(f"state with {name} {found}: expected {own.dtype} of shape {own.shape}")
        positions, expected = checked["positions"], (self.num_envs, self.board_size, self._positions.auto_pass)
        if not isinstance(positions, PositionBatch) or (len(positions), positions.board_size, positions.auto_pass) != expected:
            raise ValueError(f"state with positions {positions!r}: expected (num_envs, board_size, auto_pass) {expected}")
        over = positions.is_over | checked["forfeited_mask"]
        if checked["plies"].min() < 0 or not np.isin(checked["colors"], (BLACK, WHITE)).all() or (checked["waiting_mask"] != over).any():
            raise ValueError("state with plies, colors or waiting_mask that no games have")
        changes = {attribute: checked[name].copy() for name, attribute in _ARRAYS.items()}
        changes["_positions"] = positions.copy()
        changes["_np_random"], changes["_np_random_seed"] = restore_generator(checked["rng"], self._np_random), -1  # -1: not known
        self.__dict__.update(changes, _started=True)

    def clone(self) -> Self:
        """Return an independent environment in the same state; the opponent, if any, is shared."""
        twin = copy.copy(self)
        twin._copy_arrays()
        twin.metadata = self.metadata.copy()
        for name in ("single_observation_space", "single_action_space", "observation_space", "action_space", "_np_random"):
            setattr(twin, name, copy.deepcopy(getattr(self, name)))
        return twin

    def render(self) -> tuple[str, ...] | None:
        """Return the boards as a tuple of texts with `render_mode="ansi"`, otherwise None."""
        return tuple(render_text(position) for position in self._positions) if self.render_mode == "ansi" else None


class OthelloSelfPlayVectorEnv(_GamesEnv):
    """Self-play in N games: every step plays one ply in each, for whichever side is to move.

    Arguments:
        num_envs: N.
        board_size, auto_pass, reward, scoring, channels, dtype, legal_plane, flat: as in
            `othello_v0`.
        autoreset_mode: when a new game replaces one that has ended. NEXT_STEP (the default, as in
            Gymnasium): in the next step, which ignores the game's action and gives it no reward.
            SAME_STEP: in the same step; "final_obs" in the infos holds the last observation.
            DISABLED: when you call `reset(options={"reset_mask": mask})`.
        illegal: effect of an illegal action: "terminate" the game with -1 for its side (-(n * n)
            with "disc_difference") and 0 for the other, "raise" an `IllegalMoveError`, or play a
            legal one at "random".
        openings: positions, their texts, or transcripts from which games start, drawn uniformly;
            the start position by default.
        random_plies: number of discs placed at random after that, before the first observation.
        render_mode: None, or "ansi" for the boards as a tuple of texts from `render()`.

    Observation: {"observation": [N, ...], "action_mask": [N, n * n + 1] int8} from the view of the
    side to move, in new arrays.

    Action: [N] integers, squares row by row, then the pass. Reward: [N] float32, of the side that
    has just moved; the rewards of both are in the infos. Termination: as soon as neither side can
    move. The rules never truncate. An exception in `step`, `reset` or `set_state`, including
    Ctrl-C, leaves the environment and its generator unchanged.

    Infos, each with its `_key` mask: "to_move" [N] int8, the side to move (0 black, 1 white);
    "mover" [N] int8, the side that has just moved; "rewards_both" [N, 2] float32, of black and
    white; "passed" [N] bool, True if a pass came directly before this turn; "ply" [N] int64, number
    of discs placed since the start position; "illegal" [N] bool, True if the action was illegal.
    The value of a game changes its sign between two observations exactly where "to_move" differs
    from "mover". With SAME_STEP, a step in which games ended also has "final_obs", a batch like the
    observation, and "final_info"; their masks tell which rows are valid.

    Reset options: "reset_mask", [N] bool, the games to reset; all of them by default. An unknown
    key is ignored with a warning.

    The returns of `RecordEpisodeStatistics` mix both sides here; they are right for
    `OthelloVectorEnv`.
    """

    def __init__(self, num_envs: int = 1, **options: Unpack[VectorOptions]) -> None:
        super().__init__(num_envs, **options)

    def reset(self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Infos]:
        """Start new games, in all rows or in those of `options["reset_mask"]` ([N] bool).

        seed: seed for openings, random plies and random actions; None continues with the current
        generator. The first reset must be of all games.
        """
        draft = self._draft()
        draft._begin(seed, options)
        none = np.zeros(self.num_envs, dtype=np.bool_)
        moved = _Moved(draft._positions.side_to_move.astype(np.int8), none, none, none, none)
        result = draft._observe(), draft._infos(moved, np.zeros((self.num_envs, 2), dtype=np.float32))
        self._adopt(draft)
        return result

    def step(self, actions: npt.ArrayLike) -> Step:
        """Play one ply in every game; `autoreset_mode` decides about games that have ended."""
        draft = self._draft()
        moved = draft._move(actions)
        terminated = (draft._positions.is_over & moved.playing) | moved.forfeited
        both = draft._rewards_both(terminated, moved)
        rewards = both[np.arange(self.num_envs), moved.mover]
        final = draft._finish(terminated, moved, lambda: draft._infos(moved, both))
        result = draft._observe(), rewards, terminated, np.zeros_like(terminated), draft._infos(moved, both) | final
        self._adopt(draft)
        return result

    def _infos(self, moved: _Moved, both: npt.NDArray[np.float32]) -> Infos:
        return self._with_masks(
            {
                "to_move": self._positions.side_to_move.astype(np.int8),
                "mover": moved.mover.copy(),
                "rewards_both": both.copy(),
                "passed": moved.passed.copy(),
                "ply": self._plies.copy(),
                "illegal": moved.illegal.copy(),
            }
        )


class OthelloVectorEnv(_GamesEnv):
    """One learner against an opponent in N games; the learner plays one side in each.

    The learner only sees positions in which it is to act, and final positions: the opponent's moves
    and all automatic passes happen inside `step` and `reset`. If the opponent's move ends a game,
    the learner is rewarded in that same step. Starts from which the game ends before the learner's
    first turn are drawn again; after 100 such draws `ValueError` is raised.

    Arguments in addition to those of `OthelloSelfPlayVectorEnv`, which mean the same here:
        opponent: "random" (the default); an agent, an object with `select_moves(positions, rng)`;
            or a function (observations [K, ...], masks [K, A], rng) -> [K] actions, which gets the
            observations from its own side. It is called once for all K games in which it is to
            move. An opponent that raises or chooses an illegal action causes an `AgentError`.
        color: the learner's side: "black", "white", or "random" for a new draw in each game.

    Observation: from the view of the learner. Reward: [N] float32, the learner's: 1.0, -1.0 or 0.0
    at the end of a game with "outcome", own discs minus the opponent's with "disc_difference"; for
    an illegal action, see `illegal`.

    Infos, each with its `_key` mask: "action_mask" as in the observation; "color" [N] int8, the
    learner's side (0 black, 1 white); "ply" [N] int64, number of discs placed since the start
    position; "illegal" [N] bool, True if the learner's action was illegal. "final_obs" and
    "final_info" as in `OthelloSelfPlayVectorEnv`.
    """

    def __init__(
        self, num_envs: int = 1, *, opponent: Opponent | None = "random", color: Color = "random", **options: Unpack[VectorOptions]
    ) -> None:
        check_choice("color", color, get_args(Color))
        super().__init__(num_envs, **options)
        self._opponent = check_opponent(opponent, self.board_size)
        self._color: Color = color

    @property
    def opponent(self) -> Opponent:
        """The opponent; it can be replaced at any time."""
        return self._opponent

    @opponent.setter
    def opponent(self, opponent: Opponent | None) -> None:
        self._opponent = check_opponent(opponent, self.board_size)

    def reset(self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Infos]:
        """Start new games, in all rows or in those of `options["reset_mask"]` ([N] bool).

        seed: seed for colors, openings, random plies and the opponent; None continues with the
        current generator. The first reset must be of all games.
        """
        draft = self._draft()
        draft._begin(seed, options)
        observation = draft._observe()
        result = observation, draft._infos(observation, np.zeros(self.num_envs, dtype=np.bool_))
        self._adopt(draft)
        return result

    def step(self, actions: npt.ArrayLike) -> Step:
        """Play the learner's moves, then the opponent's until the learner is to move again."""
        draft = self._draft()
        moved = draft._move(actions)
        draft._forfeited_mask |= moved.forfeited
        draft._let_opponent_move()
        terminated = (draft._positions.is_over & moved.playing) | moved.forfeited
        rewards = draft._rewards_both(terminated, moved)[np.arange(self.num_envs), draft._colors]
        final = draft._finish(terminated, moved, lambda: draft._infos(draft._observe(), moved.illegal))
        observation = draft._observe()
        infos = draft._infos(observation, moved.illegal) | final
        self._adopt(draft)
        return observation, rewards, terminated, np.zeros_like(terminated), infos

    def _restart(self, rows: npt.NDArray[np.int64]) -> None:
        """Start new games and play up to the learner's first turn."""
        for _ in range(_TRIES):
            super()._restart(rows)
            if self._color == "random":
                self._colors[rows] = self._rng.integers(2, size=len(rows))
            else:
                self._colors[rows] = BLACK if self._color == "black" else WHITE
            self._let_opponent_move()
            rows = rows[self._positions.is_over[rows]]
            if not len(rows):
                return
        raise ValueError(f"env {rows[0]}: the game is over before the learner's first turn, in {self._positions[int(rows[0])]}")

    def _let_opponent_move(self) -> None:
        """Play the opponent's moves until the learner is to move in all unfinished games."""
        positions = self._positions
        while True:
            going_on = ~(positions.is_over | self._waiting_mask | self._forfeited_mask)
            rows = np.flatnonzero(going_on & (positions.side_to_move != self._colors))
            if not len(rows):
                return
            moves = choose_moves(self._opponent, positions.take(rows), self._rng, layout=self._format)
            self._play(rows, moves)

    def _observe(self) -> Observation:
        """Return the learner's observations; in finished games it need not be the side to move."""
        positions = self._positions
        swapped = positions.side_to_move != self._colors
        own, opp = np.where(swapped, positions.opp, positions.own), np.where(swapped, positions.own, positions.opp)
        return self._format.observe_batch(own, opp, np.where(self._forfeited_mask, np.uint64(0), positions.legal_moves))

    def _infos(self, observation: Observation, illegal: npt.NDArray[np.bool_]) -> Infos:
        mask = observation["action_mask"].copy()
        return self._with_masks({"action_mask": mask, "color": self._colors.copy(), "ply": self._plies.copy(), "illegal": illegal.copy()})


def _make_forced_passes(positions: PositionBatch) -> None:
    """Play the forced passes, which are automatic only with `auto_pass`."""
    rows = np.flatnonzero((positions.legal_moves == 0) & ~positions.is_over)
    if len(rows):
        positions.step(np.full(len(rows), positions.pass_square), rows)


def _read_actions(actions: npt.ArrayLike, num_envs: int) -> npt.NDArray[np.integer]:
    """Return actions as integers of shape [N], dropping further axes of length one.

    Raises `ValueError` for anything else.
    """
    read = np.asarray(actions)
    fits = read.size == num_envs and (read.ndim == 0 or len(read) == num_envs)
    if not fits or not np.issubdtype(read.dtype, np.integer):
        raise ValueError(f"actions: {read.dtype} of shape {read.shape}; expected integers of shape ({num_envs},)")
    return read.reshape(num_envs)


def _parse_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        names = ", ".join(member.value for member in AutoresetMode)
        raise ValueError(f"autoreset_mode {mode!r}: expected an AutoresetMode, or one of {names}") from None


def _parse_openings(openings: Sequence[Position | str] | None, n: int, *, auto_pass: bool) -> list[Position]:
    """Return the positions of the option `openings`, set up as a reset of `othello_v0` does."""
    if openings is None:
        return [Position.start(n)]
    if isinstance(openings, str) or not isinstance(openings, Sequence) or not openings:
        raise ValueError(f"openings {openings!r}: expected a sequence of positions or transcripts, at least one")
    positions = []
    for number, opening in enumerate(openings):
        if not isinstance(opening, (Position, str)):
            raise ValueError(f"opening {number}: {opening!r} is neither a position nor a transcript")
        try:
            positions.append(opening_position(opening, board_size=n, auto_pass=auto_pass))
        except ValueError as error:
            raise ValueError(f"opening {number}: {error}") from None
    return positions
