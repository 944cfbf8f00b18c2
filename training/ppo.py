"""Self-play PPO with action masks: `python -m training.ppo`.

Proximal policy optimization (Schulman et al. 2017) on `OthelloSelfPlayVectorEnv`. One network plays
both sides and sees each position from the perspective of the side to move. Illegal actions have
probability 0 both in play and in training. Returns change sign where the side to move changes
(`training.returns`), which is not at every ply because passes are automatic. A fraction of the
games is played against an earlier version of the network (`training.opponent_pool`), whose moves
are not learned from. The network sees each position under one of the board's symmetries, drawn anew
each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from gymnasium.vector import AutoresetMode

from agents.base import Agent
from agents.device import Device
from agents.networks import (
    Architecture,
    PolicyValueNetwork,
    find_device,
    from_arrays,
    inference_copy,
    new_network,
    repeat_exactly,
    to_arrays,
)
from agents.policy_value import Precision, dtype_of, network_evaluator, policy_value_agent
from othello_env import OthelloSelfPlayVectorEnv, Position, PositionBatch, sample_legal
from othello_env.observation import ObservationFormat, ObservationOptions
from othello_env.position import BLACK, WHITE
from othello_env.symmetry import NUM_SYMMETRIES, transform_policy
from training.checkpoints import Arrays, check_fits, check_game_counts, checkpoint, read_counter, read_sums, write_checkpoint
from training.evaluation.openings import random_openings
from training.losses import clipped_policy_loss, entropy, masked_log_softmax, value_loss
from training.opponent_pool import OpponentPool
from training.optimizer import check_finite, optimizer_arrays, optimizer_step, restore_optimizer, set_learning_rate
from training.returns import lambda_returns
from training.run import Trainer, run_trainer
from training.settings import check_settings

NETWORK_FILE: Final = "policy_value.safetensors"
CHECKPOINT_KIND: Final = "ppo checkpoint"
METRICS: Final = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")

_MAX_GRAD_NORM: Final = 0.5
# The network's input: planes of own discs, opponent's discs, legal moves.
_OBSERVATION: Final[ObservationOptions] = {"channels": "first", "dtype": "uint8", "legal_plane": True}
# Appended to the seed, so that these random generators differ from those of every other seed.
_OPENINGS_SEED: Final = 1
_GAMES_SEED: Final = 2
# Openings per number of random plies, drawn once for the run.
_OPENINGS_PER_LENGTH: Final = 500


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a run.

    On one machine the same settings give the same weights, if precision "auto" selects the same
    type.
    """

    games: int = 30_000
    """Number of self-play games."""
    seed: int = 0
    """Seed of all random numbers; on one machine the same settings give the same weights."""
    board_size: Literal[6, 8] = 6
    """Width and height of the board, in squares."""
    blocks: int = 2
    """Number of residual blocks of the network."""
    channels: int = 32
    """Number of channels of the network's convolutions."""
    num_envs: int = 512
    """Number of games played at the same time."""
    num_steps: int = 32
    """Length of a rollout: number of plies played in each game between two updates."""
    random_plies: int = 6
    """Maximum number of random plies at the start of a game, which are not trained on; each opening
    has from 0 to this many."""
    opponent_share: float = 0.4
    """Fraction of games that are played against an earlier version of the network."""
    opponent_random_share: float = 0.1
    """Fraction of the moves of earlier network versions that are replaced by random ones, for more
    varied positions."""
    pool_size: int = 8
    """Number of earlier network versions in the pool of opponents; each rollout draws one of
    them."""
    snapshot_every: int = 8
    """Number of updates between two network versions that are added to the pool of opponents."""
    epochs: int = 2
    """Number of passes over each rollout in an update."""
    batch_size: int = 1024
    """Number of positions per optimizer step."""
    learning_rate: float = 4e-3
    """Initial learning rate; it falls along half a cosine to a twentieth at the end of the run."""
    weight_decay: float = 1e-4
    """Decoupled weight decay (AdamW)."""
    clip_coef: float = 0.2
    """PPO clip coefficient (epsilon)."""
    gae_lambda: float = 0.95
    """GAE lambda: 0 = one-step TD, 1 = Monte Carlo."""
    vf_coef: float = 1.0
    """Coefficient of the value loss."""
    ent_coef: float = 0.03
    """Coefficient of the entropy bonus."""
    precision: Precision = "auto"
    """Floating-point type of the network in play and training; auto times both once and selects
    bfloat16 if it is clearly faster."""
    evaluate_every: int = 3_000
    """Number of games between two evaluations against the baselines."""
    keep_every: int = 0
    """Number of games between two networks that are kept in files of their own, for tournaments; 0
    keeps only the last network."""

    def check(self) -> None:
        """Raise `ValueError`, with the name of the setting, for an invalid value."""
        check_settings(
            self,
            at_least_one=("num_envs", "num_steps", "pool_size", "snapshot_every", "epochs", "batch_size"),
            not_negative=("weight_decay", "vf_coef", "ent_coef"),
            positive=("learning_rate", "clip_coef"),
            fractions=("opponent_share", "opponent_random_share", "gae_lambda"),
            max_random_plies=self.board_size**2 // 4,
        )
        Architecture(self.board_size, self.blocks, self.channels)


PRESETS: Final = {
    "6x6": Settings(),
    "8x8": Settings(games=36_000, board_size=8, random_plies=12, snapshot_every=15, evaluate_every=4_000),
}


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """B moves to learn from, each from the perspective of the player who made it.

    planes: [B, 3, n, n] uint8, own discs, opponent's discs, legal moves, under the symmetry that
    the network saw. action_mask: [B, A] bool, the legal actions. actions: [B] int64, the actions
    taken. log_probabilities: [B] float32, of these actions under the network that played.
    advantages: [B] float32, with mean 0 and standard deviation 1. returns: [B] float32, from -1 to
    1.
    """

    planes: npt.NDArray[np.uint8]
    action_mask: npt.NDArray[np.bool_]
    actions: npt.NDArray[np.int64]
    log_probabilities: npt.NDArray[np.float32]
    advantages: npt.NDArray[np.float32]
    returns: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.actions)

    def take(self, rows: npt.NDArray[np.int64]) -> Samples:
        """Return the given rows."""
        return Samples(*(getattr(self, field.name)[rows] for field in fields(self)))


class Decisions(NamedTuple):
    """Actions of a network in L positions.

    actions: [L] int64. log_probabilities: [L] float32, of the actions. values: [L] float32, from -1
    to 1.
    """

    actions: npt.NDArray[np.int64]
    log_probabilities: npt.NDArray[np.float32]
    values: npt.NDArray[np.float32]


class Learner:
    """Network, optimizer, opponent pool and running games: everything that a checkpoint holds."""

    def __init__(self, settings: Settings, device: Device = "cpu", *, precision: Precision | None = None) -> None:
        """precision: the type that "auto" selected before, when a run is resumed."""
        settings.check()
        self.settings = settings
        self.games_done = 0
        self.positions_done = 0
        self._updates_done = 0
        self._device = find_device(device)
        repeat_exactly(self._device)
        self._rng = np.random.default_rng(settings.seed)
        architecture = Architecture(settings.board_size, settings.blocks, settings.channels)
        self.network = new_network(architecture, seed=settings.seed, device=self._device)
        self.dtype = dtype_of(precision or settings.precision, architecture, self._device)
        self.network.ownership.requires_grad_(False)  # this head is not trained
        self._optimizer = torch.optim.AdamW(
            [parameter for parameter in self.network.parameters() if parameter.requires_grad],
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
        )
        self._pool = OpponentPool(settings.pool_size)
        self._pool.add(self.network)
        self._metrics = np.zeros(len(METRICS) + 1)  # sums and the number of steps, since `take_metrics`

        self._env = OthelloSelfPlayVectorEnv(
            settings.num_envs,
            board_size=settings.board_size,
            openings=_openings(settings),
            autoreset_mode=AutoresetMode.SAME_STEP,
            illegal="raise",
            **_OBSERVATION,
        )
        self._observation, _ = self._env.reset(seed=(settings.seed, _GAMES_SEED))
        # The sides that the network plays: in the first games, against an opponent, alternately
        # Black or White; in the others both.
        games = np.arange(settings.num_envs)
        against_opponent = games < round(settings.opponent_share * settings.num_envs)
        self._plays_side = np.stack([~against_opponent | (games % 2 == side) for side in (BLACK, WHITE)])
        # For each symmetry and action of the transformed board, the action of the actual board. The
        # pass is its own image.
        num_actions = settings.board_size**2 + 1
        self._sources = np.stack([transform_policy(np.arange(num_actions), each, settings.board_size) for each in range(NUM_SYMMETRIES)])

    @property
    def device_description(self) -> str:
        """See `training.run.Learner`."""
        return f"on {self._device.type} in {str(self.dtype).removeprefix('torch.')}"

    def advance(self) -> None:
        """Play a rollout in all games and learn from it."""
        settings = self.settings
        samples = self._play()
        if not len(samples):  # the opponents made all the moves
            return
        for _ in range(settings.epochs):
            order = self._rng.permutation(len(samples))
            for rows in np.array_split(order, max(1, round(len(samples) / settings.batch_size))):
                self._learn(samples.take(rows))
        self._updates_done += 1
        if self._updates_done % settings.snapshot_every == 0:
            self._pool.add(self.network)

    def _play(self) -> Samples:
        """Play a rollout, T plies in each of N games, and return the moves of the network."""
        settings, env = self.settings, self._env
        shape = num_plies, num_games = settings.num_steps, settings.num_envs
        games = np.arange(num_games)
        planes = np.empty((*shape, *self._observation["observation"].shape[1:]), dtype=np.uint8)
        action_mask = np.empty((*shape, self._sources.shape[1]), dtype=np.bool_)
        actions = np.empty(shape, dtype=np.int64)
        log_probabilities, values, rewards = (np.empty(shape, dtype=np.float32) for _ in range(3))
        sides = np.empty(shape, dtype=np.int8)
        learned, ended = (np.empty(shape, dtype=np.bool_) for _ in range(2))

        network = inference_copy(self.network, self._device, dtype=self.dtype)
        opponent = inference_copy(self._pool.draw(self._rng), self._device, dtype=self.dtype)
        for ply in range(num_plies):
            sides[ply] = env.positions.side_to_move
            learned[ply] = self._plays_side[sides[ply], games]
            sources = self._sources[self._rng.integers(NUM_SYMMETRIES, size=num_games)]
            planes[ply], action_mask[ply] = self._transformed(sources)
            for player, rows in ((network, learned[ply]), (opponent, ~learned[ply])):
                decisions = self._decide(player, planes[ply, rows], action_mask[ply, rows])
                actions[ply, rows], log_probabilities[ply, rows], values[ply, rows] = decisions
            random = ~learned[ply] & (self._rng.random(num_games) < settings.opponent_random_share)
            actions[ply, random] = sample_legal(action_mask[ply, random], self._rng)
            self._observation, rewards[ply], ended[ply], _, _ = env.step(sources[games, actions[ply]])
        last = self._decide(network, *self._transformed(self._sources[np.zeros(num_games, dtype=np.int64)]))

        returns = lambda_returns(
            rewards,
            values,
            sides=sides,
            ended=ended,
            last_values=last.values,
            last_sides=env.positions.side_to_move,
            learned_mask=learned,
            gae_lambda=settings.gae_lambda,
        )
        advantages = _normalized((returns - values)[learned])
        self.games_done += int(ended.sum())
        self.positions_done += ended.size
        return Samples(planes[learned], action_mask[learned], actions[learned], log_probabilities[learned], advantages, returns[learned])

    def _transformed(self, sources: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]:
        """Return the observation under one symmetry per game: planes [N, 3, n, n] and mask [N, A].

        sources: [N, A], see `_sources`.
        """
        planes, mask = self._observation["observation"], self._observation["action_mask"]
        flat = planes.reshape(*planes.shape[:2], -1)
        transformed = np.take_along_axis(flat, sources[:, np.newaxis, :-1], axis=2)
        return transformed.reshape(planes.shape), np.take_along_axis(mask, sources, axis=1) == 1

    def _decide(self, network: PolicyValueNetwork, planes: npt.NDArray[np.uint8], action_mask: npt.NDArray[np.bool_]) -> Decisions:
        """Sample actions from the network's policy over the legal ones.

        planes: [L, 3, n, n]. action_mask: [L, A].
        """
        if not len(planes):
            return Decisions(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32), np.empty(0, dtype=np.float32))
        with torch.inference_mode():
            outputs = network(torch.from_numpy(planes).to(self._device).to(self.dtype))
            log_policy = masked_log_softmax(outputs.policy_logits.float(), torch.from_numpy(action_mask).to(self._device)).cpu().numpy()
            values = torch.tanh(outputs.value_logits.float() / 2).cpu().numpy()
        # Gumbel-max trick: the argmax of the log-probabilities plus Gumbel noise is a sample from
        # the policy.
        noisy = log_policy + self._rng.gumbel(size=log_policy.shape)
        actions = np.where(action_mask, noisy, -np.inf).argmax(axis=1)
        return Decisions(actions, log_policy[np.arange(len(actions)), actions], values)

    def _learn(self, batch: Samples) -> None:
        """Take one optimizer step.

        Raises `TrainingDivergedError`, with the weights unchanged, if a loss or the gradient is not
        finite.
        """
        settings, device = self.settings, self._device
        set_learning_rate(self._optimizer, settings.learning_rate, progress=self.games_done / settings.games)
        planes, action_mask, actions, old_log_probability, advantages, returns = (
            torch.from_numpy(getattr(batch, field.name)).to(device) for field in fields(batch)
        )
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=self.dtype == torch.bfloat16):
            outputs = self.network(planes.float().contiguous(memory_format=torch.channels_last))
        log_policy = masked_log_softmax(outputs.policy_logits.float(), action_mask)
        log_probability = log_policy.gather(1, actions[:, None]).squeeze(1)
        losses = torch.stack(
            [
                clipped_policy_loss(log_probability, old_log_probability, advantage=advantages, clip_coef=settings.clip_coef),
                value_loss(outputs.value_logits.float(), returns),
                entropy(log_policy).mean(),
            ]
        )
        weights = (1.0, settings.vf_coef, -settings.ent_coef)
        found = optimizer_step(self._optimizer, losses, weights=weights, max_grad_norm=_MAX_GRAD_NORM)

        log_ratio = (log_probability - old_log_probability).detach()
        approx_kl = (log_ratio.exp() - 1 - log_ratio).mean()
        clipped = ((log_ratio.exp() - 1).abs() > settings.clip_coef).float().mean()
        self._metrics += [*found, float(approx_kl), float(clipped), 1]

    def take_metrics(self) -> dict[str, float]:
        """See `training.run.Learner`."""
        *sums, steps = self._metrics
        self._metrics = np.zeros_like(self._metrics)
        return {name: float(total / max(1, steps)) for name, total in zip(METRICS, sums, strict=True)}

    def curve_agent(self) -> Agent:
        """Return an agent that plays the most probable action, without search."""
        return policy_value_agent(network_evaluator(self.network, device=self._device, dtype=self.dtype), simulations=0, name="policy")

    def final_agents(self) -> Sequence[Agent]:
        """Return the agent of `curve_agent`, as the only one."""
        return (self.curve_agent(),)

    def save_network(self, path: Path) -> None:
        """See `training.run.Learner`."""
        check_finite(self.network)
        self.network.save(path, {"settings": asdict(self.settings), "games": self.games_done})

    def save(self, path: Path) -> None:
        """See `training.run.Learner`."""
        check_finite(self.network)
        about = {
            "settings": asdict(self.settings),
            "precision": str(self.dtype).removeprefix("torch."),
            "rng": self._rng.bit_generator.state,
            "env_rng": self._env.np_random.bit_generator.state,
            "games_done": self.games_done,
            "positions_done": self.positions_done,
            "updates_done": self._updates_done,
            "snapshots_added": self._pool.added,
            "metrics": self._metrics.tolist(),
        }
        parts = {
            "network": to_arrays(self.network),
            "optimizer": optimizer_arrays(self._optimizer),
            "opponents": self._pool.state(),
            "env": _env_arrays(self._env),
        }
        write_checkpoint(path, CHECKPOINT_KIND, parts=parts, about=about)

    @classmethod
    def load(cls, path: Path, device: Device = "cpu") -> Learner:
        """Read a checkpoint.

        Raises `CheckpointError` if the file is missing, damaged or of another kind, `ValueError`
        for a device that does not exist.
        """
        find_device(device)
        with checkpoint(path, CHECKPOINT_KIND) as (parts, about):
            learner = cls(Settings(**about["settings"]), device, precision=about["precision"])
            learner._restore(parts, about)
        return learner

    def _restore(self, parts: dict[str, Arrays], about: dict[str, Any]) -> None:
        from_arrays(self.network, parts["network"])
        restore_optimizer(self._optimizer, parts.get("optimizer", {}))
        self.games_done, self.positions_done = read_counter(about, "games_done"), read_counter(about, "positions_done")
        self._updates_done, snapshots_added = read_counter(about, "updates_done"), read_counter(about, "snapshots_added")
        self._check_counters(snapshots_added)
        self._pool.restore(parts["opponents"], snapshots_added, like=self.network)
        _restore_env(self._env, parts["env"], about["env_rng"])
        positions = self._env.positions
        observation = ObservationFormat(self.settings.board_size, **_OBSERVATION)
        self._observation = observation.observe_batch(positions.own, positions.opp, positions.legal_moves)
        self._metrics = read_sums(about, "metrics", len(self._metrics))
        self._rng.bit_generator.state = about["rng"]

    def _check_counters(self, snapshots_added: int) -> None:
        """Raise `ValueError` for counters of a checkpoint that contradict each other."""
        settings = self.settings
        check_game_counts(
            games_done=self.games_done, plies_done=self.positions_done, num_running=settings.num_envs, board_size=settings.board_size
        )
        rollouts, rest = divmod(self.positions_done, settings.num_steps * settings.num_envs)
        if rest or self._updates_done > rollouts:
            raise ValueError(f"{self._updates_done} updates with {self.positions_done} positions")
        if snapshots_added != 1 + self._updates_done // settings.snapshot_every:
            raise ValueError(f"{snapshots_added} snapshots after {self._updates_done} updates")


def _normalized(advantages: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the advantages with mean 0 and, unless all are equal, standard deviation 1."""
    return (advantages - advantages.mean()) / (advantages.std() + 1e-6) if len(advantages) else advantages


def _openings(settings: Settings) -> list[Position]:
    """Return start positions after 0 to `random_plies` random plies, each number equally often."""
    rng = np.random.default_rng((settings.seed, _OPENINGS_SEED))
    openings: list[Position] = []
    for length in range(settings.random_plies + 1):
        openings += random_openings(_OPENINGS_PER_LENGTH, length, rng=rng, board_size=settings.board_size)
    return openings


def _env_arrays(env: OthelloSelfPlayVectorEnv) -> Arrays:
    """Return the state of the games, without the random generator."""
    positions = env.positions
    board = {name: getattr(positions, name) for name in ("own", "opp", "side_to_move")}
    return board | {name: array for name, array in env.get_state().items() if isinstance(array, np.ndarray)}


def _restore_env(env: OthelloSelfPlayVectorEnv, arrays: Arrays, rng: dict[str, Any]) -> None:
    """Restore the result of `_env_arrays`, and the random generator.

    Raises `ValueError` or `KeyError` for arrays that do not fit.
    """
    state = env.get_state()
    positions = PositionBatch(arrays["own"], arrays["opp"], arrays["side_to_move"], board_size=env.board_size)
    if positions.is_over.any():
        raise ValueError("one of the games is over")
    for name, array in state.items():
        if isinstance(array, np.ndarray):
            check_fits(name, arrays[name], array)
            state[name] = arrays[name]
    env.set_state(state | {"positions": positions, "rng": rng})


TRAINER: Final = Trainer(
    name="ppo",
    description="Train a policy-value network by self-play PPO with action masks, then evaluate it against the baselines.",
    presets=PRESETS,
    new=Learner,
    load=Learner.load,
    metrics=METRICS,
    network_file=NETWORK_FILE,
    spec=lambda path, _: f"policy_value:{path},simulations=0",
    final_openings=100,
    out_of_memory=(torch.cuda.OutOfMemoryError,),
)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line. argv: its arguments, by default those of the process."""
    run_trainer(TRAINER, argv)


if __name__ == "__main__":
    main()
