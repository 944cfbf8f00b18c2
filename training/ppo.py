"""Self-play PPO with action masks: `python -m training.ppo`.

Proximal policy optimization (Schulman et al. 2017) over `OthelloSelfPlayVectorEnv`. One network plays both sides: it sees
each position from the view of the side to move, illegal actions get the probability 0 when it plays and when it learns, and returns
change sign where the side to move changes (`training.returns`), which automatic passes make another thing than every ply. A share of
the games is played against an earlier version of the network (`training.opponents`), whose moves nothing is learned from. Each
position is shown to the network turned by one of the board's symmetries, drawn anew each time.
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
from agents.networks import (
    Architecture,
    Device,
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
from training.checkpoints import (
    Arrays,
    check_finite,
    checkpoint,
    optimizer_arrays,
    restore_optimizer,
    write_checkpoint,
)
from training.evaluation.openings import random_openings
from training.losses import clipped_policy_loss, descend, entropy, masked_log_softmax, value_loss
from training.opponents import OpponentPool
from training.returns import lambda_returns
from training.run import Trainer, check_settings, run_trainer
from training.schedule import set_learning_rate

NETWORK_FILE: Final = "policy_value.safetensors"
CHECKPOINT_KIND: Final = "ppo checkpoint"
METRICS: Final = ("policy_loss", "value_loss", "entropy", "kl_divergence", "clipped_share")

_LARGEST_GRADIENT: Final = 0.5
# As the network takes it: own discs, the other's, legal moves.
_SHOWN: Final[ObservationOptions] = {"channels": "first", "dtype": "uint8", "legal_plane": True}
# Added to the seed: generators of their own, with the numbers of no other seed.
_OPENINGS_SEED: Final = 1
_GAMES_SEED: Final = 2
# Openings with each number of random moves, drawn once for the run.
_OPENINGS_PER_LENGTH: Final = 500


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run depends on. On one machine the same settings give the same weights, if precision "auto" finds the same."""

    games: int = 30_000
    """Games of self-play in all."""
    seed: int = 0
    """Seed of all randomness."""
    board_size: Literal[6, 8] = 6
    """Squares along a side of the board."""
    blocks: int = 2
    """Residual blocks of the network."""
    channels: int = 32
    """Channels of each."""
    num_envs: int = 512
    """Games played in lockstep."""
    num_steps: int = 32
    """Plies played in each of them between two updates."""
    random_plies: int = 6
    """A game begins with 0 to so many random moves, which nothing is learned from."""
    opponent_share: float = 0.4
    """Share of the games that are played against an earlier version of the network."""
    opponent_random_share: float = 0.1
    """Share of that opponent's moves that are random ones, which lead where the network by itself would not go."""
    pool_size: int = 8
    """Earlier versions to draw that one from, anew for each rollout."""
    snapshot_every: int = 8
    """Updates between two versions that are kept."""
    epochs: int = 2
    """How often each position is learned from."""
    batch_size: int = 1024
    """Positions of one step of the optimiser."""
    learning_rate: float = 4e-3
    """What it begins with; it falls along a cosine to a twentieth."""
    weight_decay: float = 1e-4
    """Decay of the weights, decoupled (AdamW)."""
    clip_coef: float = 0.2
    """How far a step may take the probability of an action from what it was in the rollout, as a share."""
    gae_lambda: float = 0.95
    """Lambda of the returns: 0 believes in the value of the next position, 1 in what came of the game."""
    vf_coef: float = 1.0
    """Weight of the loss of the value."""
    ent_coef: float = 0.03
    """Weight of the reward for policies that are not yet decided."""
    precision: Precision = "auto"
    """What the network computes in; auto tries both for a moment, and the run keeps bfloat16 if that is clearly faster."""
    evaluate_every: int = 3_000
    """Games between two evaluations."""

    def check(self) -> None:
        """Raise `ValueError` for a number that no run can use, with its name."""
        check_settings(
            self,
            at_least_one=("num_envs", "num_steps", "pool_size", "snapshot_every", "epochs", "batch_size"),
            not_negative=("weight_decay", "vf_coef", "ent_coef"),
            positive=("learning_rate", "clip_coef"),
            shares=("opponent_share", "opponent_random_share", "gae_lambda"),
            most_random_plies=self.board_size**2 // 4,
        )
        Architecture(self.board_size, self.blocks, self.channels)


PRESETS: Final = {
    "6x6": Settings(),
    "8x8": Settings(games=36_000, board_size=8, random_plies=12, snapshot_every=15, evaluate_every=4_000),
}


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """B moves to learn from, each from the view of the side that made it, on the board as it was shown.

    planes: [B, 3, n, n] uint8, own discs, the other's, legal moves. action_mask: [B, A] bool, what was allowed. actions: [B] int64,
    what was chosen. log_probabilities: [B] float32, of that, by the network of then. advantages: [B] float32, mean 0, deviation 1.
    returns: [B] float32, from -1 to 1.
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
        """The given rows."""
        return Samples(*(getattr(self, field.name)[rows] for field in fields(self)))


class Decisions(NamedTuple):
    """What a network decides in L positions, [L] each: actions int64, the logarithms of their probabilities, values from -1 to 1."""

    actions: npt.NDArray[np.int64]
    log_probabilities: npt.NDArray[np.float32]
    values: npt.NDArray[np.float32]


class Learner:
    """The network, its optimiser, its earlier versions and the games being played: all that a checkpoint holds."""

    def __init__(self, settings: Settings, device: Device = "cpu", *, precision: Precision | None = None) -> None:
        """precision: what "auto" was found to be, where that is known."""
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
        self.network.ownership.requires_grad_(False)  # nothing is learned of who owns what in the end
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
            **_SHOWN,
        )
        self._observation, _ = self._env.reset(seed=(settings.seed, _GAMES_SEED))
        # Whom the network plays for: in the first games for one side, by turns, in the others for both.
        games = np.arange(settings.num_envs)
        against_opponent = games < round(settings.opponent_share * settings.num_envs)
        self._plays_side = np.stack([~against_opponent | (games % 2 == side) for side in (BLACK, WHITE)])
        # By symmetry and square: where what is shown on the square stands on the board. The pass stays.
        num_actions = settings.board_size**2 + 1
        self._sources = np.stack([transform_policy(np.arange(num_actions), each, settings.board_size) for each in range(NUM_SYMMETRIES)])

    @property
    def computes_with(self) -> str:
        """See `training.run.Learner`."""
        return f"on {self._device.type} in {str(self.dtype).removeprefix('torch.')}"

    def advance(self) -> None:
        """Play some plies in all games and learn from them."""
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
        """Play a rollout: T plies in each of N games. Returns the moves that the network itself made."""
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
            planes[ply], action_mask[ply] = self._turned(sources)
            for player, rows in ((network, learned[ply]), (opponent, ~learned[ply])):
                decisions = self._decide(player, planes[ply, rows], action_mask[ply, rows])
                actions[ply, rows], log_probabilities[ply, rows], values[ply, rows] = decisions
            random = ~learned[ply] & (self._rng.random(num_games) < settings.opponent_random_share)
            actions[ply, random] = sample_legal(action_mask[ply, random], self._rng)
            self._observation, rewards[ply], ended[ply], _, _ = env.step(sources[games, actions[ply]])
        last = self._decide(network, *self._turned(self._sources[np.zeros(num_games, dtype=np.int64)]))

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
        advantages = _normalised((returns - values)[learned])
        self.games_done += int(ended.sum())
        self.positions_done += ended.size
        return Samples(planes[learned], action_mask[learned], actions[learned], log_probabilities[learned], advantages, returns[learned])

    def _turned(self, sources: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]:
        """The observation as it is shown: planes [N, 3, n, n] and mask [N, A]. sources: [N, A], see `_sources`."""
        planes, mask = self._observation["observation"], self._observation["action_mask"]
        flat = planes.reshape(*planes.shape[:2], -1)
        turned = np.take_along_axis(flat, sources[:, np.newaxis, :-1], axis=2)
        return turned.reshape(planes.shape), np.take_along_axis(mask, sources, axis=1) == 1

    def _decide(self, network: PolicyValueNetwork, planes: npt.NDArray[np.uint8], action_mask: npt.NDArray[np.bool_]) -> Decisions:
        """Sample actions from the network's policy over what is allowed. planes: [L, 3, n, n]. action_mask: [L, A]."""
        if not len(planes):
            return Decisions(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32), np.empty(0, dtype=np.float32))
        with torch.inference_mode():
            outputs = network(torch.from_numpy(planes).to(self._device).to(self.dtype))
            log_policy = masked_log_softmax(outputs.policy_logits.float(), torch.from_numpy(action_mask).to(self._device)).cpu().numpy()
            values = torch.tanh(outputs.value_logits.float() / 2).cpu().numpy()
        # The highest of the logarithms with Gumbel noise is a sample of the policy.
        noisy = log_policy + self._rng.gumbel(size=log_policy.shape)
        actions = np.where(action_mask, noisy, -np.inf).argmax(axis=1)
        return Decisions(actions, log_policy[np.arange(len(actions)), actions], values)

    def _learn(self, batch: Samples) -> None:
        """One step of the optimiser. Raises `TrainingDivergedError` where it would not be finite; the weights stay as they were."""
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
        found = descend(self._optimizer, losses, weights=weights, largest_gradient=_LARGEST_GRADIENT)

        log_ratio = (log_probability - old_log_probability).detach()
        divergence = (log_ratio.exp() - 1 - log_ratio).mean()
        clipped = ((log_ratio.exp() - 1).abs() > settings.clip_coef).float().mean()
        self._metrics += [*found, float(divergence), float(clipped), 1]

    def take_metrics(self) -> dict[str, float]:
        """See `training.run.Learner`."""
        *sums, steps = self._metrics
        self._metrics = np.zeros_like(self._metrics)
        return {name: float(total / max(1, steps)) for name, total in zip(METRICS, sums, strict=True)}

    def curve_agent(self) -> Agent:
        """The policy alone: the action with the highest probability."""
        return policy_value_agent(network_evaluator(self.network, device=self._device, dtype=self.dtype), simulations=0, name="policy")

    def final_agents(self) -> Sequence[Agent]:
        """The policy alone."""
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

        Raises `CheckpointError` where the file is missing, damaged or of another kind, `ValueError` for a device that is not there.
        """
        find_device(device)
        with checkpoint(path, CHECKPOINT_KIND) as (parts, about):
            learner = cls(Settings(**about["settings"]), device, precision=about["precision"])
            learner._restore(parts, about)
        return learner

    def _restore(self, parts: dict[str, Arrays], about: dict[str, Any]) -> None:
        from_arrays(self.network, parts["network"])
        restore_optimizer(self._optimizer, parts.get("optimizer", {}))
        self._pool.restore(parts["opponents"], int(about["snapshots_added"]), like=self.network)
        _restore_env(self._env, parts["env"], about["env_rng"])
        positions = self._env.positions
        shown = ObservationFormat(self.settings.board_size, **_SHOWN)
        self._observation = shown.observe_batch(positions.own, positions.opp, positions.legal_moves)
        self.games_done, self.positions_done = int(about["games_done"]), int(about["positions_done"])
        self._updates_done = int(about["updates_done"])
        self._metrics[:] = about["metrics"]
        self._rng.bit_generator.state = about["rng"]


def _normalised(advantages: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The advantages with mean 0 and, unless all are equal, deviation 1; none of none."""
    return (advantages - advantages.mean()) / (advantages.std() + 1e-6) if len(advantages) else advantages


def _openings(settings: Settings) -> list[Position]:
    """Where games start: after 0 to `random_plies` random moves, each number equally often."""
    rng = np.random.default_rng((settings.seed, _OPENINGS_SEED))
    openings: list[Position] = []
    for length in range(settings.random_plies + 1):
        openings += random_openings(_OPENINGS_PER_LENGTH, length, rng=rng, board_size=settings.board_size)
    return openings


def _env_arrays(env: OthelloSelfPlayVectorEnv) -> Arrays:
    """The state of the games, but for the random generator."""
    positions = env.positions
    board = {name: getattr(positions, name) for name in ("own", "opp", "side_to_move")}
    return board | {name: array for name, array in env.get_state().items() if isinstance(array, np.ndarray)}


def _restore_env(env: OthelloSelfPlayVectorEnv, arrays: Arrays, rng: dict[str, Any]) -> None:
    """Put back what `_env_arrays` gave, and the generator. Raises `ValueError` or `KeyError` for arrays that do not fit."""
    state = env.get_state()
    positions = PositionBatch(arrays["own"], arrays["opp"], arrays["side_to_move"], board_size=env.board_size)
    if positions.is_over.any():
        raise ValueError("one of the games is over")
    for name, array in state.items():
        if isinstance(array, np.ndarray):
            if arrays[name].shape != array.shape or arrays[name].dtype != array.dtype:
                raise ValueError(f"{name}: {arrays[name].dtype} of shape {arrays[name].shape} does not fit")
            state[name] = arrays[name]
    env.set_state(state | {"positions": positions, "rng": rng})


TRAINER: Final = Trainer(
    name="ppo",
    description="Train a policy-value network by self-play PPO with action masks, then play it against the baselines.",
    presets=PRESETS,
    new=Learner,
    load=Learner.load,
    metrics=METRICS,
    network_file=NETWORK_FILE,
    spec=lambda path, _: f"policy_value:{path},simulations=0",
    final_openings=100,
)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    run_trainer(TRAINER, argv)


if __name__ == "__main__":
    main()
