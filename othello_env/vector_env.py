"""Many games at once as Gymnasium vector environments: self-play, and one learner against an opponent."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from othello_env.batch import PositionBatch
from othello_env.bitboard import pack, sample_squares
from othello_env.errors import IllegalMoveError, OpponentError
from othello_env.game import Game
from othello_env.observation import Observation, ObservationFormat, ObservationOptions
from othello_env.position import BLACK, WHITE, Position, Scoring
from othello_env.rendering.text import render_text
from othello_env.rewards import Reward, RewardFunction, batch_rewards, illegal_move_reward, reward_function
from othello_env.squares import check_board_size

if TYPE_CHECKING:
    from typing_extensions import Unpack

Illegal = Literal["terminate", "raise", "random"]
Seat = Literal["random", "black", "white"]
Infos = dict[str, Any]
Step = tuple[Observation, npt.NDArray[np.float32], npt.NDArray[np.bool_], npt.NDArray[np.bool_], Infos]


class VectorOptions(ObservationOptions, total=False):
    """The keyword arguments that both vector environments take, see `OthelloVectorEnv`."""

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
_RANDOM_TRIES: Final = 100


def sample_legal(mask: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """An action for each row of a mask, all that it allows equally likely.

    mask: [N, A] of 0 and 1, the pass last; as in the observations. Returns [N] int64. For games at once what
    `Discrete.sample(mask)` is for one. A row with no square allowed gives the pass.
    """
    num_squares = mask.shape[1] - 1
    squares: npt.NDArray[np.int64] = sample_squares(pack(mask[:, :num_squares]), rng).astype(np.int64)
    np.minimum(squares, num_squares, out=squares)
    return squares


def random_opponent(_observation: npt.NDArray[Any], mask: npt.NDArray[np.int8], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The default opponent: any legal action, all equally likely."""
    return sample_legal(mask, rng)


class _Table:
    """What both environments hold: N games, how they start, what is seen of them, and which wait for their reset.

    waiting: [N] bool, games that have ended and not been reset. forfeited: [N] bool, those of them that an illegal action ended.
    plies: [N] int64, discs placed since the start position.
    """

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
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
            raise ValueError(f"num_envs {num_envs!r}: expected an integer from 1")
        if isinstance(random_plies, bool) or not isinstance(random_plies, int) or random_plies < 0:
            raise ValueError(f"random_plies {random_plies!r}: expected an integer from 0")
        check_choice("illegal", illegal, get_args(Illegal))
        check_choice("render_mode", render_mode, (None, *RENDER_MODES))
        reward_function(reward, scoring)  # raises for unknown ones
        self.num_envs = num_envs
        self.format = ObservationFormat(check_board_size(board_size), **observation_options)
        self.autoreset_mode = _parse_autoreset_mode(autoreset_mode)
        self.illegal = illegal
        self.render_mode = render_mode
        self._reward, self._scoring = reward, scoring
        self._illegal_reward = illegal_move_reward(reward, self.format.board_size)
        self._openings = PositionBatch.from_positions(_parse_openings(openings, self.format.board_size), auto_pass=auto_pass)
        self._random_plies = random_plies
        self.positions = PositionBatch.start(num_envs, self.format.board_size, auto_pass=auto_pass)
        self.plies = np.zeros(num_envs, dtype=np.int64)
        self.waiting = np.zeros(num_envs, dtype=np.bool_)
        self.forfeited = np.zeros(num_envs, dtype=np.bool_)

    def configure(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Set what Gymnasium expects of a vector environment. The metadata are the environment's own, not its class's."""
        env.num_envs = self.num_envs
        env.render_mode = self.render_mode
        env.metadata = {**env.metadata, "autoreset_mode": self.autoreset_mode}
        env.single_observation_space = self.format.observation_space()
        env.single_action_space = self.format.action_space()
        env.observation_space = batch_space(env.single_observation_space, self.num_envs)
        env.action_space = batch_space(env.single_action_space, self.num_envs)

    def restart(self, rows: npt.NDArray[np.int64], rng: np.random.Generator) -> None:
        """Begin new games in the given rows. Raises `ValueError` where the random plies leave no running game."""
        single = len(self._openings) == 1
        starts = self._openings.take(np.zeros(len(rows), dtype=np.int64) if single else rng.integers(len(self._openings), size=len(rows)))
        missing = np.arange(len(rows) if self._random_plies else 0)
        for _ in range(_RANDOM_TRIES):
            if not len(missing):
                break
            played = starts.take(missing)
            for _ in range(self._random_plies):
                played.step(played.sample_moves(rng))
            starts.reset(missing[~played.is_over], played.take(~played.is_over))
            missing = missing[played.is_over]
        if len(missing):
            raise ValueError(f"random_plies {self._random_plies}: the game was over in each of {_RANDOM_TRIES} tries")
        self.positions.reset(rows, starts)
        self.plies[rows] = 0
        self.waiting[rows] = self.forfeited[rows] = False

    def move(self, actions: npt.ArrayLike, rng: np.random.Generator) -> _Moved:
        """Play the actions in all games that do not wait for their reset.

        Raises `ValueError` for actions of a wrong shape or type and for games that should have been reset, `IllegalMoveError`
        for illegal actions where they are to be raised; nothing has changed then.
        """
        moves = np.asarray(actions)
        if moves.shape != (self.num_envs,) or not np.issubdtype(moves.dtype, np.integer):
            raise ValueError(f"actions: {moves.dtype} of shape {moves.shape}; expected integers of shape ({self.num_envs},)")
        if self.autoreset_mode == AutoresetMode.DISABLED and self.waiting.any():
            over = np.flatnonzero(self.waiting).tolist()
            raise ValueError(f"envs {over} are over: reset them with options={{'reset_mask': mask}} before the next step")
        illegal = ~self.positions.is_legal(moves) & ~self.waiting
        forfeited = np.zeros_like(illegal)
        if illegal.any():
            if self.illegal == "raise":
                row = int(np.flatnonzero(illegal)[0])
                raise IllegalMoveError(f"env {row}: action {moves[row]} is illegal in {self.positions[row]}")
            if self.illegal == "random":
                moves = np.where(illegal, self.positions.sample_moves(rng), moves)
            else:
                forfeited = illegal
        mover = self.positions.side_to_move.astype(np.int8)
        playing = ~(self.waiting | forfeited)
        self.play(np.flatnonzero(playing), moves[playing])
        passed = playing & ((moves == self.positions.pass_square) | (self.positions.side_to_move == mover))
        return _Moved(mover, playing, illegal, forfeited, passed)

    def play(self, rows: npt.NDArray[np.int64], moves: npt.NDArray[np.integer]) -> None:
        """Play a legal move in each of the given rows. moves: [len(rows)]."""
        self.positions.step(moves, None if len(rows) == self.num_envs else rows)
        self.plies[rows] += moves != self.positions.pass_square

    def rewards_both(self, terminated: npt.NDArray[np.bool_], moved: _Moved) -> npt.NDArray[np.float32]:
        """The rewards of black and white: [N, 2] float32, zero but where a game has just ended."""
        both = np.zeros((self.num_envs, 2), dtype=np.float32)
        played_out = np.flatnonzero(terminated & ~moved.forfeited)
        if not len(played_out) and not moved.forfeited.any():
            return both
        both[played_out, BLACK] = batch_rewards(self.positions.take(played_out), self._reward, self._scoring)
        both[played_out, WHITE] = 0 - both[played_out, BLACK]  # not -0.0 for a draw
        both[moved.forfeited, moved.mover[moved.forfeited]] = self._illegal_reward
        return both

    def observe(self) -> Observation:
        """What the sides to act see, in all games; the mask of a game that has ended has its one 1 at the pass."""
        legal = self.positions.legal_moves
        if self.forfeited.any():
            legal = np.where(self.forfeited, np.uint64(0), legal)
        return self.format.observe_batch(self.positions.own, self.positions.opp, legal)

    def finish(
        self,
        terminated: npt.NDArray[np.bool_],
        moved: _Moved,
        *,
        restart: Callable[[npt.NDArray[np.int64]], None],
        observe: Callable[[], Observation],
        infos: Callable[[], Infos],
    ) -> Infos:
        """Do at the end of a step what the autoreset mode asks for; the infos that come of it.

        terminated: [N] bool, the games that this step ended. restart, observe, infos: the environment's own.
        """
        if self.waiting.any():  # since the step before, with NEXT_STEP
            restart(np.flatnonzero(self.waiting))
        self.waiting |= terminated
        self.forfeited |= moved.forfeited
        if self.autoreset_mode != AutoresetMode.SAME_STEP or not terminated.any():
            return {}
        final = {"final_obs": observe(), "final_info": infos(), "_final_obs": terminated.copy(), "_final_info": terminated.copy()}
        restart(np.flatnonzero(terminated))
        return final

    def render(self) -> tuple[str, ...] | None:
        """The boards as texts, where the render mode is "ansi"."""
        return tuple(render_text(position) for position in self.positions) if self.render_mode == "ansi" else None

    def snapshot(self) -> dict[str, Any]:
        """All that changes while games are played, in copies."""
        return {name: getattr(self, name).copy() for name in ("positions", "plies", "waiting", "forfeited")}

    def restore(self, state: dict[str, Any]) -> None:
        """Put a snapshot back, again in copies. Raises `ValueError` for one of another number of games or board size."""
        positions = state["positions"]
        if (len(positions), positions.board_size) != (self.num_envs, self.format.board_size):
            raise ValueError(f"a state of {positions!r} does not fit {self.num_envs} games of board_size {self.format.board_size}")
        for name in ("positions", "plies", "waiting", "forfeited"):
            setattr(self, name, state[name].copy())


@dataclass(frozen=True, slots=True)
class _Moved:
    """What a step of all games did, [N] each: mover int8, the side to move before; playing, illegal, forfeited, passed bool."""

    mover: npt.NDArray[np.int8]
    playing: npt.NDArray[np.bool_]
    illegal: npt.NDArray[np.bool_]
    forfeited: npt.NDArray[np.bool_]
    passed: npt.NDArray[np.bool_]


def check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    """Raise `ValueError` for a value that is none of the choices."""
    if value not in choices:
        raise ValueError(f"{name} {value!r}: expected one of {', '.join(map(str, choices))}")


def _parse_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        names = ", ".join(member.value for member in AutoresetMode)
        raise ValueError(f"autoreset_mode {mode!r}: expected an AutoresetMode, or one of {names}") from None


def _parse_openings(openings: Sequence[Position | str] | None, n: int) -> list[Position]:
    if openings is None:
        return [Position.start(n)]
    positions = [opening if isinstance(opening, Position) else Game.parse(opening, Position.start(n)).final for opening in openings]
    if not positions:
        raise ValueError("openings: there is none")
    for number, position in enumerate(positions):
        if position.board_size != n or position.is_over:
            raise ValueError(f"opening {number}: {position} is over, or not of board_size {n}")
    return positions


def _reset_rows(options: dict[str, Any] | None, num_envs: int) -> npt.NDArray[np.int64]:
    """The games that a reset is for."""
    mask = (options or {}).get("reset_mask")
    if mask is None:
        return np.arange(num_envs)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (num_envs,) or not mask.any():
        found = f"{mask.dtype} of shape {mask.shape}" if isinstance(mask, np.ndarray) else repr(mask)
        raise ValueError(f"option reset_mask: {found}; expected a bool array of shape ({num_envs},) with at least one True")
    return np.flatnonzero(mask)


def _seed(env: VectorEnv[Any, Any, Any], seed: int | Sequence[int] | None) -> None:
    """Give an environment a new random generator, but for None."""
    if isinstance(seed, (int, np.integer)):
        VectorEnv.reset(env, seed=int(seed))
    elif seed is not None:
        env._np_random, env._np_random_seed = np.random.default_rng(list(seed)), -1


def _with_masks(infos: Infos, num_envs: int) -> Infos:
    """Gymnasium's convention: with each key goes `_key`, the games that it holds for. Here that is all of them."""
    return infos | {f"_{name}": np.ones(num_envs, dtype=np.bool_) for name in infos}


class OthelloVectorEnv(VectorEnv[Observation, npt.ArrayLike, npt.NDArray[Any]]):
    """Self-play: N games, one ply in each at every step, whichever side is to move.

    Arguments:
        num_envs: N.
        board_size, auto_pass, reward, scoring, channels, dtype, legal_plane, flat: as in `othello_v0`.
        autoreset_mode: what happens to a game that has ended. With NEXT_STEP (the default, as in Gymnasium) the next step starts
            a new one in its place, ignores its action and gives no reward; with SAME_STEP the ending step starts it, and
            "final_obs" in the infos holds what was to be seen at the end; with DISABLED you do, by
            `reset(options={"reset_mask": mask})`.
        illegal: what an illegal action does: "terminate" the game with -1 for its side (-(n * n) with "disc_difference") and 0 for
            the other, "raise" an
            `IllegalMoveError` before anything has changed, or give way to a legal one at "random".
        openings: positions or transcripts from which games start, all equally likely; the start position by default.
        random_plies: random moves played from there before the game is handed over.
        render_mode: None, or "ansi" for `render()` to give the boards as a tuple of texts.

    Observation: {"observation": [N, ...], "action_mask": [N, n * n + 1] int8}, seen by the side to move, in fresh arrays.

    Action: [N] integers, squares row by row, then the pass. Reward: [N] float32, of the side that has just moved; the rewards of
    both are in the infos. Termination: as soon as neither side can move. Nothing is truncated.

    Infos, each with its `_key` mask: "to_move" [N] int8, the side to move (0 black, 1 white); "mover" [N] int8, the side that has
    just moved; "rewards_both" [N, 2] float32, of black and white; "passed" [N] bool, whether a pass came directly before this
    turn; "ply" [N] int64, discs placed since the start position; "illegal" [N] bool, whether the action was. A value changes its
    sign from one observation to the next exactly where "to_move" differs from "mover". With SAME_STEP and where games ended also
    "final_obs", a batch like the observation, and "final_info", whose masks say which rows hold.

    What `RecordEpisodeStatistics` adds up here mixes both sides; it is right for `OthelloVsOpponentVectorEnv`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (Gymnasium's attribute)
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(self, num_envs: int = 1, **options: Unpack[VectorOptions]) -> None:
        self._table = _Table(num_envs, **options)
        self._table.configure(self)

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """What happens to a game that has ended."""
        return self._table.autoreset_mode

    @property
    def positions(self) -> PositionBatch:
        """The positions of all games: to be read, not to be changed."""
        return self._table.positions

    def reset(self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Infos]:
        """Start new games, in all places or in those of `options["reset_mask"]` ([N] bool).

        seed: of openings, random plies and random actions; None goes on with the generator as it is.
        """
        rows = _reset_rows(options, self.num_envs)
        _seed(self, seed)
        self._table.restart(rows, self.np_random)
        none = np.zeros(self.num_envs, dtype=np.bool_)
        mover = self._table.positions.side_to_move.astype(np.int8)
        return self._table.observe(), self._infos(_Moved(mover, none, none, none, none), np.zeros((self.num_envs, 2), dtype=np.float32))

    def step(self, actions: npt.ArrayLike) -> Step:
        """Play one ply in every game. The class says what happens to games that have ended."""
        table = self._table
        moved = table.move(actions, self.np_random)
        terminated = (table.positions.is_over & moved.playing) | moved.forfeited
        both = table.rewards_both(terminated, moved)
        rewards = both[np.arange(self.num_envs), moved.mover]
        final = table.finish(
            terminated,
            moved,
            restart=lambda rows: table.restart(rows, self.np_random),
            observe=table.observe,
            infos=lambda: self._infos(moved, both),
        )
        return table.observe(), rewards, terminated, np.zeros_like(terminated), self._infos(moved, both) | final

    def _infos(self, moved: _Moved, both: npt.NDArray[np.float32]) -> Infos:
        infos = {
            "to_move": self._table.positions.side_to_move.astype(np.int8),
            "mover": moved.mover.copy(),
            "rewards_both": both.copy(),
            "passed": moved.passed.copy(),
            "ply": self._table.plies.copy(),
            "illegal": moved.illegal.copy(),
        }
        return _with_masks(infos, self.num_envs)

    def get_state(self) -> dict[str, Any]:
        """The games and the random generator, for `set_state`; it does not change when the environment goes on."""
        return self._table.snapshot() | {"rng": copy.deepcopy(self.np_random.bit_generator.state)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to a state of this environment, or of one made alike."""
        self._table.restore(state)
        self.np_random.bit_generator.state = copy.deepcopy(state["rng"])

    def clone(self) -> OthelloVectorEnv:
        """An independent environment in the same state."""
        twin = copy.copy(self)
        twin._table = copy.deepcopy(self._table)
        twin._np_random = copy.deepcopy(self.np_random)
        return twin

    def render(self) -> tuple[str, ...] | None:
        """The boards as texts with `render_mode="ansi"`."""
        return self._table.render()


class OthelloVsOpponentVectorEnv(VectorEnv[Observation, npt.ArrayLike, npt.NDArray[Any]]):
    """One learner against an opponent: N games, in each of which the learner holds one side.

    The learner only ever sees positions in which it is to act, and ends of games: the opponent's moves and everybody's automatic
    passes happen inside `step` and `reset`. A game that the opponent's move ends gives the learner its loss in that same step.

    Arguments beyond those of `OthelloVectorEnv`, which mean the same here:
        opponent: (observations [K, ...], masks [K, A], rng) -> [K] legal actions, called once for all K games in which it is to
            move; None for a random one. It sees what the learner would see in its place. One that raises, or chooses an illegal
            action, gives an `OpponentError`, and the environment is as before the call.
        seat: the learner's side: "black", "white", or "random" for one drawn anew for each game.

    Observation: seen by the learner. Reward: [N] float32, the learner's: with "outcome" 1.0, -1.0 or 0.0 at the end of a game,
    with "disc_difference" own discs minus the other's; for an illegal action as `illegal` says.

    Infos, each with its `_key` mask: "seat" [N] int8, the learner's side (0 black, 1 white); "ply" [N] int64, discs placed since
    the start position; "illegal" [N] bool, whether the learner's action was. "final_obs" and "final_info" as in `OthelloVectorEnv`.
    """

    metadata: dict[str, Any] = OthelloVectorEnv.metadata

    def __init__(
        self, num_envs: int = 1, *, opponent: BatchOpponent | None = None, seat: Seat = "random", **options: Unpack[VectorOptions]
    ) -> None:
        check_choice("seat", seat, get_args(Seat))
        if opponent is not None and not callable(opponent):
            raise ValueError(f"opponent {opponent!r}: expected a callable (observations, masks, rng) -> actions, or None")
        self._table = _Table(num_envs, **options)
        self._table.configure(self)
        self.opponent: BatchOpponent = opponent or random_opponent
        self._seat: Seat = seat
        self._seats = np.zeros(num_envs, dtype=np.int8)

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """What happens to a game that has ended."""
        return self._table.autoreset_mode

    @property
    def positions(self) -> PositionBatch:
        """The positions of all games: to be read, not to be changed."""
        return self._table.positions

    def reset(self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Infos]:
        """Start new games, in all places or in those of `options["reset_mask"]` ([N] bool).

        seed: of seats, openings, random plies and the opponent's generator; None goes on with the generator as it is.
        """
        rows = _reset_rows(options, self.num_envs)
        _seed(self, seed)
        with self._undone_by_an_error():
            self._restart(rows)
        return self._observe(), self._infos(np.zeros(self.num_envs, dtype=np.bool_))

    def step(self, actions: npt.ArrayLike) -> Step:
        """Play the learner's move in every game, and the opponent's until the learner is to move again."""
        table = self._table
        with self._undone_by_an_error():
            moved = table.move(actions, self.np_random)
            table.forfeited |= moved.forfeited
            self._let_opponent_move()
            terminated = (table.positions.is_over & moved.playing) | moved.forfeited
            rewards = table.rewards_both(terminated, moved)[np.arange(self.num_envs), self._seats]
            final = table.finish(terminated, moved, restart=self._restart, observe=self._observe, infos=lambda: self._infos(moved.illegal))
        return self._observe(), rewards, terminated, np.zeros_like(terminated), self._infos(moved.illegal) | final

    def _restart(self, rows: npt.NDArray[np.int64]) -> None:
        """Begin new games, up to the learner's first turn."""
        self._table.restart(rows, self.np_random)
        if self._seat == "random":
            self._seats[rows] = self.np_random.integers(2, size=len(rows))
        else:
            self._seats[rows] = BLACK if self._seat == "black" else WHITE
        self._let_opponent_move()

    def _let_opponent_move(self) -> None:
        """Play the opponent's moves until the learner is to move in all games that go on."""
        table, positions = self._table, self._table.positions
        while True:
            theirs = (positions.side_to_move != self._seats) & ~positions.is_over & ~(table.waiting | table.forfeited)
            rows = np.flatnonzero(theirs)
            if not len(rows):
                return
            seen = table.format.observe_batch(positions.own[rows], positions.opp[rows], positions.legal_moves[rows])
            try:
                moves = np.asarray(self.opponent(seen["observation"], seen["action_mask"], self.np_random))
            except Exception as error:
                raise OpponentError(f"the opponent raised {type(error).__name__}: {error}") from error
            if moves.shape != rows.shape or not np.issubdtype(moves.dtype, np.integer):
                raise OpponentError(f"the opponent answered {len(rows)} games with {moves.dtype} of shape {moves.shape}")
            illegal = np.flatnonzero(~positions.is_legal(moves, rows))
            if len(illegal):
                row = int(rows[illegal[0]])
                raise OpponentError(f"env {row}: the opponent chose {moves[illegal[0]]}, which is illegal in {positions[row]}")
            table.play(rows, moves)

    def _observe(self) -> Observation:
        """What the learner sees; at ends of games it need not be the side to move."""
        positions = self._table.positions
        ended = positions.is_over | self._table.forfeited
        swapped = positions.side_to_move != self._seats
        own, opp = np.where(swapped, positions.opp, positions.own), np.where(swapped, positions.own, positions.opp)
        return self._table.format.observe_batch(own, opp, np.where(ended, np.uint64(0), positions.legal_moves))

    def _infos(self, illegal: npt.NDArray[np.bool_]) -> Infos:
        infos = {"seat": self._seats.copy(), "ply": self._table.plies.copy(), "illegal": illegal.copy()}
        return _with_masks(infos, self.num_envs)

    @contextmanager
    def _undone_by_an_error(self) -> Iterator[None]:
        """Put everything back as it was where an error leaves the block."""
        before = self.get_state()
        try:
            yield
        except Exception:
            self.set_state(before)
            raise

    def get_state(self) -> dict[str, Any]:
        """The games, the seats and the random generator, for `set_state`; it does not change when the environment goes on."""
        rng = copy.deepcopy(self.np_random.bit_generator.state)
        return self._table.snapshot() | {"seats": self._seats.copy(), "rng": rng}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to a state of this environment, or of one made alike."""
        self._table.restore(state)
        self._seats = state["seats"].copy()
        self.np_random.bit_generator.state = copy.deepcopy(state["rng"])

    def clone(self) -> OthelloVsOpponentVectorEnv:
        """An independent environment in the same state, with the same opponent."""
        twin = copy.copy(self)
        twin._table = copy.deepcopy(self._table)
        twin._seats = self._seats.copy()
        twin._np_random = copy.deepcopy(self.np_random)
        return twin

    def render(self) -> tuple[str, ...] | None:
        """The boards as texts with `render_mode="ansi"`."""
        return self._table.render()
