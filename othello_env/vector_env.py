"""Many games at once as Gymnasium vector environments: self-play, and one learner against an opponent."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from othello_env.batch import PositionBatch, sample_moves
from othello_env.bitboard import pack
from othello_env.errors import IllegalMoveError, OpponentError
from othello_env.observation import Observation, ObservationFormat, ObservationOptions
from othello_env.opening import opening_position
from othello_env.options import Color, Illegal, check_choice, check_options, check_switch
from othello_env.position import BLACK, WHITE, Position, Scoring
from othello_env.rendering.text import render_text
from othello_env.rewards import Reward, RewardFunction, batch_rewards, illegal_move_reward, reward_function
from othello_env.squares import check_board_size

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

Infos = dict[str, Any]
Step = tuple[Observation, npt.NDArray[np.float32], npt.NDArray[np.bool_], npt.NDArray[np.bool_], Infos]


class VectorOptions(ObservationOptions, total=False):
    """The keyword arguments that both vector environments take, see `OthelloSelfPlayVectorEnv`."""

    board_size: int
    auto_pass: bool
    autoreset_mode: AutoresetMode | str
    illegal: Illegal
    reward: Reward | RewardFunction
    scoring: Scoring
    openings: Sequence[Position | str] | None
    random_plies: int
    render_mode: str | None


BatchOpponent = Callable[[npt.NDArray[Any], npt.NDArray[np.int8], np.random.Generator], npt.ArrayLike]
"""Chooses for K games: (observations [K, ...], masks [K, A], rng) -> [K] actions."""

RENDER_MODES: Final = ("ansi",)
# What changes while games are played.
_STATE: Final = ("_positions", "_plies", "_waiting_mask", "_forfeited_mask", "_colors")
# After this many tries a game that goes on is taken not to exist.
_TRIES: Final = 100


def sample_legal(mask: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """An action for each row of a mask, all that it allows equally likely.

    mask: [N, A] of 0 and 1, the pass last; as in the observations. Returns [N] int64. For games at once what
    `Discrete.sample(mask)` is for one. A row with no square allowed gives the pass.
    """
    num_squares = mask.shape[1] - 1
    return sample_moves(pack(mask[:, :num_squares]), num_squares, rng)


def random_opponent(_observation: npt.NDArray[Any], mask: npt.NDArray[np.int8], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The default opponent: any legal action, all equally likely."""
    return sample_legal(mask, rng)


@dataclass(frozen=True, slots=True)
class _Moved:
    """What a step of all games did, [N] each: mover int8, the side to move before; playing, illegal, forfeited, passed bool."""

    mover: npt.NDArray[np.int8]
    playing: npt.NDArray[np.bool_]
    illegal: npt.NDArray[np.bool_]
    forfeited: npt.NDArray[np.bool_]
    passed: npt.NDArray[np.bool_]


class _GamesEnv(VectorEnv[Observation, npt.ArrayLike, npt.NDArray[Any]]):
    """What both environments are made of: N games, how they start, move, end, are seen and saved.

    _waiting_mask: [N] bool, games that have ended and not been reset. _forfeited_mask: [N] bool, those of them that an illegal
    action ended. _plies: [N] int64, discs placed since the start position. _colors: [N] int8, the learner's sides, if there is one.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (Gymnasium's attribute)
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

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
        check_choice("illegal", illegal, get_args(Illegal))
        check_choice("render_mode", render_mode, (None, *RENDER_MODES))
        check_switch("auto_pass", auto_pass)
        reward_function(reward, scoring)  # raises for unknown ones
        self.num_envs = _check_count("num_envs", num_envs, 1)
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
        self._random_plies = _check_count("random_plies", random_plies, 0)
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
        """The positions of all games: to be read, not to be changed."""
        return self._positions

    def _begin(self, seed: int | Sequence[int] | None, options: dict[str, Any] | None) -> None:
        """Do what a reset asks for, or nothing, where it raises."""
        rows = self._reset_rows(options)
        with self._undone_by_an_error():
            if isinstance(seed, Sequence) and not isinstance(seed, str) and all(isinstance(part, (int, np.integer)) for part in seed):
                self._np_random, self._np_random_seed = np.random.default_rng(list(seed)), -1
            elif isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
                VectorEnv.reset(self, seed=int(seed))
            elif seed is not None:
                raise ValueError(f"seed {seed!r}: expected an integer, a sequence of them, or None")
            self._restart(rows)
        self._started = True

    def _reset_rows(self, options: dict[str, Any] | None) -> npt.NDArray[np.int64]:
        """The games that a reset is for."""
        mask = check_options(options).get("reset_mask")
        if mask is None:
            return np.arange(self.num_envs)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
            found = f"{mask.dtype} of shape {mask.shape}" if isinstance(mask, np.ndarray) else repr(mask)
            raise ValueError(f"option reset_mask: {found}; expected a bool array of shape ({self.num_envs},) with at least one True")
        if not self._started and not mask.all():
            raise ValueError("option reset_mask: the first reset must be of all games")
        return np.flatnonzero(mask)

    def _restart(self, rows: npt.NDArray[np.int64]) -> None:
        """Begin new games in the given rows. Raises `ValueError` where the random plies leave no running game."""
        rng = self.np_random
        single = len(self._openings) == 1
        starts = self._openings.take(np.zeros(len(rows), dtype=np.int64) if single else rng.integers(len(self._openings), size=len(rows)))
        missing = np.arange(len(rows) if self._random_plies else 0)
        for _ in range(_TRIES):
            if not len(missing):
                break
            played = starts.take(missing)
            for _ in range(self._random_plies):
                _make_forced_passes(played)
                played.step(played.sample_moves(rng))
            starts.reset(missing[~played.is_over], played.take(~played.is_over))
            missing = missing[played.is_over]
        if len(missing):
            raise ValueError(f"random_plies {self._random_plies}: the game was over in each of {_TRIES} tries")
        self._positions.reset(rows, starts)
        self._plies[rows] = 0
        self._waiting_mask[rows] = self._forfeited_mask[rows] = False

    def _move(self, actions: npt.ArrayLike) -> _Moved:
        """Play the actions in all games that do not wait for their reset.

        Raises `ValueError` for actions of a wrong shape or type and for games that should have been reset, `IllegalMoveError`
        for illegal actions where they are to be raised.
        """
        moves = np.asarray(actions)
        if moves.shape != (self.num_envs,) or not np.issubdtype(moves.dtype, np.integer):
            raise ValueError(f"actions: {moves.dtype} of shape {moves.shape}; expected integers of shape ({self.num_envs},)")
        if not self._started:
            raise ValueError("step() before the first reset()")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._waiting_mask.any():
            over = np.flatnonzero(self._waiting_mask).tolist()
            raise ValueError(f"envs {over} are over: reset them with options={{'reset_mask': mask}} before the next step")
        illegal = ~self._positions.is_legal(moves) & ~self._waiting_mask
        forfeited = np.zeros_like(illegal)
        if illegal.any():
            if self._illegal == "raise":
                row = int(np.flatnonzero(illegal)[0])
                raise IllegalMoveError(f"env {row}: action {moves[row]} is illegal in {self._positions[row]}")
            if self._illegal == "random":
                moves = np.where(illegal, self._positions.sample_moves(self.np_random), moves)
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
        """The rewards of black and white: [N, 2] float32, zero but where a game has just ended."""
        both = np.zeros((self.num_envs, 2), dtype=np.float32)
        if terminated.any():
            played_out = np.flatnonzero(terminated & ~moved.forfeited)
            both[played_out, BLACK] = batch_rewards(self._positions.take(played_out), self._reward, self._scoring)
            both[played_out, WHITE] = 0 - both[played_out, BLACK]  # not -0.0 for a draw
            both[moved.forfeited, moved.mover[moved.forfeited]] = self._illegal_reward
        return both

    def _finish(self, terminated: npt.NDArray[np.bool_], moved: _Moved, infos: Callable[[], Infos]) -> Infos:
        """Do at the end of a step what the autoreset mode asks for; the infos that come of it."""
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
        """What the sides to act see, in all games; the mask of a game that has ended has its one 1 at the pass."""
        legal = self._positions.legal_moves
        if self._forfeited_mask.any():
            legal = np.where(self._forfeited_mask, np.uint64(0), legal)
        return self._format.observe_batch(self._positions.own, self._positions.opp, legal)

    def _with_masks(self, infos: Infos) -> Infos:
        """Gymnasium's convention: with each key goes `_key`, the games that it holds for. Here that is all of them."""
        return infos | {f"_{name}": np.ones(self.num_envs, dtype=np.bool_) for name in infos}

    @contextmanager
    def _undone_by_an_error(self) -> Iterator[None]:
        """Put everything back as it was where an error, or an interruption, leaves the block."""
        arrays = {name: getattr(self, name).copy() for name in _STATE}
        rng, seed = self._np_random, self._np_random_seed
        rng_state: Any = None if rng is None else rng.bit_generator.state
        try:
            yield
        except BaseException:
            for name, array in arrays.items():
                setattr(self, name, array)
            self._np_random, self._np_random_seed = rng, seed
            if rng is not None:
                rng.bit_generator.state = rng_state
            raise

    def get_state(self) -> dict[str, Any]:
        """The games and the random generator, for `set_state`; it does not change when the environment goes on."""
        arrays = {name.lstrip("_"): getattr(self, name).copy() for name in _STATE}
        return {"kind": type(self).__name__, "started": self._started, "rng": self.np_random.bit_generator.state, **arrays}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to a state of this environment, or of one made alike. Raises `ValueError` for another's."""
        positions = state.get("positions")
        if not isinstance(positions, PositionBatch) or state.get("kind") != type(self).__name__:
            raise ValueError(f"a state of {state.get('kind')!r} does not fit {type(self).__name__}")
        found = (len(positions), positions.board_size, positions.auto_pass)
        expected = (self.num_envs, self.board_size, self._positions.auto_pass)
        if found != expected:
            raise ValueError(f"a state with (num_envs, board_size, auto_pass) {found} does not fit {expected}")
        for name in _STATE:
            setattr(self, name, state[name.lstrip("_")].copy())
        self._started = state["started"]
        self.np_random.bit_generator.state = state["rng"]

    def clone(self) -> Self:
        """An independent environment in the same state; an opponent is shared."""
        twin = copy.copy(self)
        for name in (*_STATE, "metadata"):
            setattr(twin, name, getattr(self, name).copy())
        for name in ("single_observation_space", "single_action_space", "observation_space", "action_space", "_np_random"):
            setattr(twin, name, copy.deepcopy(getattr(self, name)))
        return twin

    def render(self) -> tuple[str, ...] | None:
        """The boards as texts with `render_mode="ansi"`."""
        return tuple(render_text(position) for position in self._positions) if self.render_mode == "ansi" else None


class OthelloSelfPlayVectorEnv(_GamesEnv):
    """Self-play: N games, one ply in each at every step, whichever side is to move.

    Arguments:
        num_envs: N.
        board_size, auto_pass, reward, scoring, channels, dtype, legal_plane, flat: as in `othello_v0`.
        autoreset_mode: what happens to a game that has ended. With NEXT_STEP (the default, as in Gymnasium) the next step starts
            a new one in its place, ignores its action and gives no reward; with SAME_STEP the ending step starts it, and
            "final_obs" in the infos holds what was to be seen at the end; with DISABLED you do, by
            `reset(options={"reset_mask": mask})`.
        illegal: what an illegal action does: "terminate" the game with -1 for its side (-(n * n) with "disc_difference") and 0
            for the other, "raise" an `IllegalMoveError`, or give way to a legal one at "random".
        openings: positions, their texts, or transcripts, from which games start, all equally likely; the start position by
            default.
        random_plies: discs placed at random from there before the game is handed over.
        render_mode: None, or "ansi" for `render()` to give the boards as a tuple of texts.

    Observation: {"observation": [N, ...], "action_mask": [N, n * n + 1] int8}, seen by the side to move, in fresh arrays.

    Action: [N] integers, squares row by row, then the pass. Reward: [N] float32, of the side that has just moved; the rewards of
    both are in the infos. Termination: as soon as neither side can move. Nothing is truncated. Whatever raises, in `step` or in
    `reset`, leaves the environment as it was.

    Infos, each with its `_key` mask: "to_move" [N] int8, the side to move (0 black, 1 white); "mover" [N] int8, the side that has
    just moved; "rewards_both" [N, 2] float32, of black and white; "passed" [N] bool, whether a pass came directly before this
    turn; "ply" [N] int64, discs placed since the start position; "illegal" [N] bool, whether the action was. A value changes its
    sign from one observation to the next exactly where "to_move" differs from "mover". With SAME_STEP and where games ended also
    "final_obs", a batch like the observation, and "final_info", whose masks say which rows hold.

    What `RecordEpisodeStatistics` adds up here mixes both sides; it is right for `OthelloVectorEnv`.
    """

    def __init__(self, num_envs: int = 1, **options: Unpack[VectorOptions]) -> None:
        super().__init__(num_envs, **options)

    def reset(self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Infos]:
        """Start new games, in all places or in those of `options["reset_mask"]` ([N] bool).

        seed: of openings, random plies and random actions; None goes on with the generator as it is. The first reset is of all.
        """
        self._begin(seed, options)
        none = np.zeros(self.num_envs, dtype=np.bool_)
        mover = self._positions.side_to_move.astype(np.int8)
        return self._observe(), self._infos(_Moved(mover, none, none, none, none), np.zeros((self.num_envs, 2), dtype=np.float32))

    def step(self, actions: npt.ArrayLike) -> Step:
        """Play one ply in every game. The class says what happens to games that have ended."""
        with self._undone_by_an_error():
            moved = self._move(actions)
            terminated = (self._positions.is_over & moved.playing) | moved.forfeited
            both = self._rewards_both(terminated, moved)
            rewards = both[np.arange(self.num_envs), moved.mover]
            final = self._finish(terminated, moved, lambda: self._infos(moved, both))
        return self._observe(), rewards, terminated, np.zeros_like(terminated), self._infos(moved, both) | final

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
    """One learner against an opponent: N games, in each of which the learner holds one side.

    The learner only ever sees positions in which it is to act, and ends of games: the opponent's moves and everybody's automatic
    passes happen inside `step` and `reset`. A game that the opponent's move ends gives the learner its loss in that same step.
    Starts from which the game ends before the learner's first turn are drawn again; `ValueError` where there are no others.

    Arguments beyond those of `OthelloSelfPlayVectorEnv`, which mean the same here:
        opponent: (observations [K, ...], masks [K, A], rng) -> [K] legal actions, called once for all K games in which it is to
            move; None for a random one. It sees what the learner would see in its place. One that raises, or chooses an illegal
            action, gives an `OpponentError`, and the environment is as before the call.
        color: the learner's side: "black", "white", or "random" for one drawn anew for each game.

    Observation: seen by the learner. Reward: [N] float32, the learner's: with "outcome" 1.0, -1.0 or 0.0 at the end of a game,
    with "disc_difference" own discs minus the other's; for an illegal action as `illegal` says.

    Infos, each with its `_key` mask: "action_mask" as in the observation; "color" [N] int8, the learner's side (0 black, 1 white);
    "ply" [N] int64, discs placed since the start position; "illegal" [N] bool, whether the learner's action was. "final_obs" and
    "final_info" as in `OthelloSelfPlayVectorEnv`.
    """

    def __init__(
        self, num_envs: int = 1, *, opponent: BatchOpponent | None = None, color: Color = "random", **options: Unpack[VectorOptions]
    ) -> None:
        check_choice("color", color, get_args(Color))
        if opponent is not None and not callable(opponent):
            raise ValueError(f"opponent {opponent!r}: expected a callable (observations, masks, rng) -> actions, or None")
        super().__init__(num_envs, **options)
        self.opponent: BatchOpponent = opponent or random_opponent
        self._color: Color = color

    def reset(self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Infos]:
        """Start new games, in all places or in those of `options["reset_mask"]` ([N] bool).

        seed: of colors, openings, random plies and the opponent's generator; None goes on with the generator as it is. The first
        reset is of all.
        """
        self._begin(seed, options)
        observation = self._observe()
        return observation, self._infos(observation, np.zeros(self.num_envs, dtype=np.bool_))

    def step(self, actions: npt.ArrayLike) -> Step:
        """Play the learner's move in every game, and the opponent's until the learner is to move again."""
        with self._undone_by_an_error():
            moved = self._move(actions)
            self._forfeited_mask |= moved.forfeited
            self._let_opponent_move()
            terminated = (self._positions.is_over & moved.playing) | moved.forfeited
            rewards = self._rewards_both(terminated, moved)[np.arange(self.num_envs), self._colors]
            final = self._finish(terminated, moved, lambda: self._infos(self._observe(), moved.illegal))
        observation = self._observe()
        return observation, rewards, terminated, np.zeros_like(terminated), self._infos(observation, moved.illegal) | final

    def _restart(self, rows: npt.NDArray[np.int64]) -> None:
        """Begin new games, up to the learner's first turn."""
        for _ in range(_TRIES):
            super()._restart(rows)
            if self._color == "random":
                self._colors[rows] = self.np_random.integers(2, size=len(rows))
            else:
                self._colors[rows] = BLACK if self._color == "black" else WHITE
            self._let_opponent_move()
            rows = rows[self._positions.is_over[rows]]
            if not len(rows):
                return
        raise ValueError(f"env {rows[0]}: the game is over before the learner's first turn, in {self._positions[int(rows[0])]}")

    def _let_opponent_move(self) -> None:
        """Play the opponent's moves until the learner is to move in all games that go on."""
        positions = self._positions
        while True:
            going_on = ~(positions.is_over | self._waiting_mask | self._forfeited_mask)
            rows = np.flatnonzero(going_on & (positions.side_to_move != self._colors))
            if not len(rows):
                return
            seen = self._format.observe_batch(positions.own[rows], positions.opp[rows], positions.legal_moves[rows])
            try:
                moves = np.asarray(self.opponent(seen["observation"], seen["action_mask"], self.np_random))
            except Exception as error:
                raise OpponentError(f"the opponent raised {type(error).__name__}: {' '.join(str(error).split())}") from error
            if moves.shape != rows.shape or not np.issubdtype(moves.dtype, np.integer):
                raise OpponentError(f"the opponent answered {len(rows)} games with {moves.dtype} of shape {moves.shape}")
            illegal = np.flatnonzero(~positions.is_legal(moves, rows))
            if len(illegal):
                row = int(rows[illegal[0]])
                raise OpponentError(f"env {row}: the opponent chose {moves[illegal[0]]}, which is illegal in {positions[row]}")
            self._play(rows, moves)

    def _observe(self) -> Observation:
        """What the learner sees; at ends of games it need not be the side to move."""
        positions = self._positions
        swapped = positions.side_to_move != self._colors
        own, opp = np.where(swapped, positions.opp, positions.own), np.where(swapped, positions.own, positions.opp)
        return self._format.observe_batch(own, opp, np.where(self._forfeited_mask, np.uint64(0), positions.legal_moves))

    def _infos(self, observation: Observation, illegal: npt.NDArray[np.bool_]) -> Infos:
        mask = observation["action_mask"].copy()
        return self._with_masks({"action_mask": mask, "color": self._colors.copy(), "ply": self._plies.copy(), "illegal": illegal.copy()})


def _make_forced_passes(positions: PositionBatch) -> None:
    """Where a side must pass, which it does by itself only with automatic passes, let it pass."""
    rows = np.flatnonzero((positions.legal_moves == 0) & ~positions.is_over)
    if len(rows):
        positions.step(np.full(len(rows), positions.pass_square), rows)


def _check_count(name: str, value: Any, least: int) -> int:
    """Return an int, or raise `ValueError` for what is no integer, or less."""
    try:
        count = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        count = -1
    if count < least:
        raise ValueError(f"{name} {value!r}: expected an integer from {least}")
    return count


def _parse_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        names = ", ".join(member.value for member in AutoresetMode)
        raise ValueError(f"autoreset_mode {mode!r}: expected an AutoresetMode, or one of {names}") from None


def _parse_openings(openings: Sequence[Position | str] | None, n: int, *, auto_pass: bool) -> list[Position]:
    """The positions that the option names, each set up as a reset of the AEC environment would."""
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
