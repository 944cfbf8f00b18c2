"""AlphaZero self-play with batched games: `python -m training.alphazero`.

Many games are played at the same time. Moves are chosen by Gumbel AlphaZero searches (Danihelka et
al. 2022), and every network call evaluates leaves of all games. A random fraction of the positions
gets a full search, which trains the policy; the others get a quick one (playout cap randomization,
Wu 2019). In a fraction of the games one player is greedy (maximizes flips), so that the other
player learns to avoid wipe-outs.

Each position of a finished game has three targets: the policy of the search, the result of the game
mixed with the value of the search, and the final owner of each square. The network is trained on
the most recent positions; each position is drawn a fixed number of times on average, under one of
the board's symmetries. There is no gating: the newest network is always used, even if a search is
already running.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import torch

from agents.base import Agent
from agents.board import mixed_result
from agents.device import Device
from agents.networks import Architecture, find_device, from_arrays, new_network, planes_of, repeat_exactly, to_arrays
from agents.policy_value import NetworkEvaluator, Precision, dtype_of, network_evaluator, policy_value_agent
from agents.search.mcts import SearchSettings, tree_bytes
from othello_env.bitboard import popcount, unpack, unpack_contents
from othello_env.symmetry import NUM_SYMMETRIES, transform, transform_policy
from training.checkpoints import Arrays, check_game_counts, checkpoint, read_counter, read_sums, write_checkpoint
from training.losses import ownership_loss, policy_loss, value_loss
from training.optimizer import check_finite, optimizer_arrays, optimizer_step, restore_optimizer, set_learning_rate
from training.replay import Replay, Samples
from training.run import Trainer, run_trainer
from training.self_play import SearchPlan, SelfPlay
from training.settings import check_settings

NETWORK_FILE: Final = "policy_value.safetensors"
CHECKPOINT_KIND: Final = "alphazero checkpoint"
METRICS: Final = ("policy_loss", "value_loss", "ownership_loss", "simulations", "replay_ratio")

# Training begins when the replay buffer holds this many batches.
_FIRST_BATCHES: Final = 8
_MAX_GRAD_NORM: Final = 5.0
# In bytes of address space; a run touches about a sixth of it.
_MAX_TREE_MEMORY: Final = 64 << 30
_BITBOARDS: Final = ("own", "opp", "legal_moves", "final_own", "final_opp")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a run.

    On one machine the same settings give the same weights, if precision "auto" selects the same
    type.
    """

    games: int = 60_000
    """Number of self-play games."""
    seed: int = 0
    """Seed of all random numbers; on one machine the same settings give the same weights."""
    board_size: Literal[6, 8] = 6
    """Width and height of the board, in squares."""
    blocks: int = 2
    """Number of residual blocks of the network."""
    channels: int = 32
    """Number of channels of the network's convolutions."""
    num_envs: int = 1024
    """Number of games played at the same time."""
    random_plies: int = 8
    """Maximum number of random plies at the start of a game, which are not trained on; each game
    draws from 0 to this many."""
    greedy_share: float = 0.2
    """Fraction of games in which one player is greedy (maximizes flips), so that the network learns
    to avoid wipe-outs."""
    first_simulations: int = 8
    """Simulations of a full search at the start of the run; the number grows geometrically to
    --simulations at the end."""
    simulations: int = 32
    """Simulations of a full search at the end of the run, and of the trained agent in the final
    table."""
    quick_share: float = 0.25
    """Simulations of a quick search, as a fraction of those of a full search."""
    full_share: float = 0.25
    """Probability that a position gets a full search; only full searches train the policy."""
    max_num_considered_actions: int = 16
    """Maximum number of moves considered at the root of a search; sequential halving reduces them
    to one."""
    leaves_per_call: int = 4
    """Maximum number of leaves per game in one network call; with 1, each simulation uses the
    results of all earlier ones."""
    value_scale: float = 0.5
    """Scale of the values relative to the policy logits in a search; larger values trust the search
    more."""
    replay_positions: int = 200_000
    """Capacity of the replay buffer, in positions."""
    replay_ratio: float = 2.0
    """Average number of times that each position is trained on; an upper limit."""
    batch_size: int = 512
    """Number of positions per optimizer step."""
    learning_rate: float = 2e-3
    """Initial learning rate; it falls along half a cosine to a twentieth at the end of the run."""
    weight_decay: float = 1e-4
    """Decoupled weight decay (AdamW)."""
    margin_share: float = 0.6
    """Weight of the disc difference in the result of a game, from 0 to 1; the rest is win, draw or
    loss."""
    root_value_share: float = 0.5
    """Weight of the search's value in the value target, from 0 to 1; the rest is the result of the
    game."""
    ownership_weight: float = 0.15
    """Coefficient of the ownership loss, which predicts the final owner of each square."""
    precision: Precision = "auto"
    """Floating-point type of the network in play and training; auto times both once and selects
    bfloat16 if it is clearly faster."""
    evaluate_every: int = 5_000
    """Number of games between two evaluations against the baselines."""
    keep_every: int = 0
    """Number of games between two networks that are kept in files of their own, for tournaments; 0
    keeps only the last network."""

    def check(self) -> None:
        """Raise `ValueError`, with the name of the setting, for an invalid value."""
        check_settings(
            self,
            at_least_one=(
                "num_envs",
                "first_simulations",
                "simulations",
                "max_num_considered_actions",
                "leaves_per_call",
                "replay_positions",
                "batch_size",
            ),
            not_negative=("weight_decay", "ownership_weight", "value_scale"),
            positive=("learning_rate", "replay_ratio", "full_share"),
            fractions=("greedy_share", "quick_share", "full_share", "root_value_share", "margin_share"),
            max_random_plies=self.board_size**2 // 4,
        )
        Architecture(self.board_size, self.blocks, self.channels)
        memory = self.num_envs * tree_bytes(self.search(), empties=self.board_size**2 - 4)
        if memory > _MAX_TREE_MEMORY:
            simulations = max(self.first_simulations, self.simulations)
            raise ValueError(f"num_envs {self.num_envs} with {simulations} simulations: {memory >> 30} GiB of trees")

    def search(self) -> SearchSettings:
        """Return the settings of self-play searches. Raises `ValueError` for invalid values."""
        return SearchSettings(
            simulations=max(self.first_simulations, self.simulations),
            method="gumbel",
            max_num_considered_actions=self.max_num_considered_actions,
            leaves_per_call=self.leaves_per_call,
            value_scale=self.value_scale,
            margin_share=self.margin_share,
        )


PRESETS: Final = {
    "6x6": Settings(),
    "hour": Settings(games=30_000, board_size=8, blocks=4, channels=48, random_plies=16, replay_positions=400_000, evaluate_every=5_000),
    "gpu": Settings(
        games=1_000_000,
        board_size=8,
        blocks=6,
        channels=128,
        num_envs=4096,
        random_plies=16,
        first_simulations=16,
        simulations=64,
        replay_positions=4_000_000,
        batch_size=4096,
        evaluate_every=20_000,
    ),
}


class Learner:
    """Network, optimizer, replay buffer and running games: everything that a checkpoint holds."""

    def __init__(self, settings: Settings, device: Device = "cpu", *, precision: Precision | None = None) -> None:
        """precision: the type that "auto" selected before, when a run is resumed."""
        settings.check()
        self.settings = settings
        self._device = find_device(device)
        repeat_exactly(self._device)
        self._architecture = Architecture(settings.board_size, settings.blocks, settings.channels, settings.margin_share)
        self._rng = np.random.default_rng(settings.seed)
        self.network = new_network(self._architecture, seed=settings.seed, device=self._device)
        self.dtype = dtype_of(precision or settings.precision, self._architecture, self._device)
        self._optimizer = torch.optim.AdamW(self.network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
        self._self_play = SelfPlay(
            settings.num_envs,
            settings.board_size,
            search=settings.search(),
            random_plies=settings.random_plies,
            greedy_share=settings.greedy_share,
            rng=self._rng,
        )
        self._replay = Replay(settings.replay_positions, settings.board_size**2 + 1)
        self._steps_done = 0
        self._losses = np.zeros(4)  # sums of the three losses and the number of steps, since `take_metrics`
        self._evaluator = self._current_evaluator()

    @property
    def games_done(self) -> int:
        """See `training.run.Learner`."""
        return self._self_play.games_done

    @property
    def positions_done(self) -> int:
        """See `training.run.Learner`."""
        return self._self_play.plies_done

    @property
    def _progress(self) -> float:
        return min(1.0, self.games_done / self.settings.games)

    def _current_evaluator(self) -> NetworkEvaluator:
        return network_evaluator(self.network, device=self._device, dtype=self.dtype)

    def _plan(self) -> SearchPlan:
        """Return the budget of searches that begin now; it grows over the run."""
        settings = self.settings
        growth = settings.simulations / settings.first_simulations
        simulations = round(settings.first_simulations * growth**self._progress)
        return SearchPlan(simulations, max(1, round(simulations * settings.quick_share)), settings.full_share)

    @property
    def device_description(self) -> str:
        """See `training.run.Learner`."""
        return f"on {self._device.type} in {str(self.dtype).removeprefix('torch.')}"

    def advance(self) -> None:
        """Evaluate leaves of all games in one network call, then take the optimizer steps due."""
        replay = self._replay
        replay.add(self._self_play.advance(self._evaluator, self._plan(), rng=self._rng))
        if not self._can_train():
            return
        steps_before = self._steps_done
        while self._step_is_due():
            self._learn(augmented(replay.draw(self.settings.batch_size, self._rng), self.settings.board_size))
        if self._steps_done > steps_before:
            check_finite(self.network)
            self._evaluator = self._current_evaluator()

    def _can_train(self) -> bool:
        """Return True if the replay buffer holds enough positions to begin training."""
        settings = self.settings
        return self._replay.size >= min(_FIRST_BATCHES * settings.batch_size, settings.replay_positions)

    def _step_is_due(self) -> bool:
        """Return True if the replay ratio allows another optimizer step."""
        return (self._steps_done + 1) * self.settings.batch_size <= self.settings.replay_ratio * self._replay.added

    def _learn(self, batch: Samples) -> None:
        """Take one optimizer step.

        Raises `TrainingDivergedError`, with the weights unchanged, if a loss or the gradient is not
        finite.
        """
        settings, device, num_squares = self.settings, self._device, self.settings.board_size**2
        set_learning_rate(self._optimizer, settings.learning_rate, progress=self.games_done / settings.games)
        planes = planes_of(batch.own, batch.opp, legal_moves=batch.legal_moves, board_size=settings.board_size)
        legal_action_mask = torch.nn.functional.pad(torch.from_numpy(unpack(batch.legal_moves, num_squares)) == 1, (0, 1))
        value_target = (1 - settings.root_value_share) * self._results(batch) + settings.root_value_share * batch.root_value
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=self.dtype == torch.bfloat16):
            outputs = self.network(planes.to(device).float())
        losses = torch.stack(
            [
                policy_loss(
                    outputs.policy_logits.float(),
                    legal_action_mask.to(device),
                    target=torch.from_numpy(batch.policy).to(device).float(),
                    weight=torch.from_numpy(batch.policy_mask).to(device).float(),
                ),
                value_loss(outputs.value_logits.float(), torch.from_numpy(value_target.astype(np.float32)).to(device)),
                ownership_loss(outputs.ownership_logits.float(), torch.from_numpy(_ownership(batch, num_squares)).to(device)),
            ]
        )
        weights = (1.0, 1.0, settings.ownership_weight)
        self._losses += [*optimizer_step(self._optimizer, losses, weights=weights, max_grad_norm=_MAX_GRAD_NORM), 1]
        self._steps_done += 1

    def _results(self, batch: Samples) -> npt.NDArray[np.float32]:
        """Return the results of the games for the side to move: [N] float32, from -1 to 1."""
        num_squares = self.settings.board_size**2
        own, opp = popcount(batch.final_own).astype(np.float32), popcount(batch.final_opp).astype(np.float32)
        margins = own - opp + batch.outcome * (num_squares - own - opp)
        results: npt.NDArray[np.float32] = mixed_result(batch.outcome, margins, num_squares, self.settings.margin_share).astype(np.float32)
        return results

    def take_metrics(self) -> dict[str, float]:
        """See `training.run.Learner`."""
        *sums, _ = self._losses / max(1, self._losses[-1])
        self._losses[:] = 0
        ratio = self._steps_done * self.settings.batch_size / max(1, self._replay.added)
        return dict(zip(METRICS, [*map(float, sums), float(self._plan().full), ratio], strict=True))

    def curve_agent(self) -> Agent:
        """Return an agent that plays the policy without search."""
        return policy_value_agent(self._current_evaluator(), simulations=0, name="policy")

    def final_agents(self) -> Sequence[Agent]:
        """Return agents that play the policy without and with search."""
        simulations = self.settings.simulations
        searching = policy_value_agent(self._current_evaluator(), simulations=simulations, name=f"{simulations} simulations")
        return self.curve_agent(), searching

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
            "games_done": self._self_play.games_done,
            "plies_done": self._self_play.plies_done,
            "positions_added": self._replay.added,
            "steps_done": self._steps_done,
            "losses": self._losses.tolist(),
        }
        parts = {
            "network": to_arrays(self.network),
            "optimizer": optimizer_arrays(self._optimizer),
            "replay": self._replay.state(),
            "self_play": self._self_play.state(),
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
        self._steps_done = read_counter(about, "steps_done")
        if restore_optimizer(self._optimizer, parts.get("optimizer", {})) != self._steps_done:
            raise ValueError(f"the optimizer has not made {self._steps_done} steps")
        self._replay.restore(parts["replay"], read_counter(about, "positions_added"))
        self._self_play.restore(parts["self_play"])
        self._self_play.games_done, self._self_play.plies_done = read_counter(about, "games_done"), read_counter(about, "plies_done")
        self._check_counters()
        self._losses = read_sums(about, "losses", len(self._losses))
        self._rng.bit_generator.state = about["rng"]
        self._evaluator = self._current_evaluator()

    def _check_counters(self) -> None:
        """Raise `ValueError` for counters of a checkpoint that contradict each other."""
        # Positions enter the replay buffer when their game ends, and then all steps that the replay
        # ratio allows are taken.
        check_game_counts(games_done=self.games_done, plies_done=self._replay.added, num_running=0, board_size=self.settings.board_size)
        check_game_counts(
            games_done=self.games_done,
            plies_done=self.positions_done,
            num_running=self.settings.num_envs,
            board_size=self.settings.board_size,
        )
        too_many = self._steps_done * self.settings.batch_size > self.settings.replay_ratio * self._replay.added
        if too_many or self._replay.added > self.positions_done or (self._can_train() and self._step_is_due()):
            raise ValueError(f"{self._steps_done} steps with {self._replay.added} positions of {self.positions_done}")


def augmented(samples: Samples, board_size: int) -> Samples:
    """Return the samples, an eighth of them under each of the board's symmetries."""
    arrays = {name: array.copy() for name, array in samples.arrays().items()}
    for symmetry in range(1, NUM_SYMMETRIES):
        rows = slice(symmetry * len(samples) // NUM_SYMMETRIES, (symmetry + 1) * len(samples) // NUM_SYMMETRIES)
        for name in _BITBOARDS:
            arrays[name][rows] = transform(arrays[name][rows], symmetry, board_size)
        arrays["policy"][rows] = transform_policy(arrays["policy"][rows], symmetry, board_size)
    return Samples(**arrays)


def _ownership(samples: Samples, num_squares: int) -> npt.NDArray[np.float32]:
    """Return the final owner of each square, [N, S] float32.

    1 for the side to move, 0 for the opponent, 0.5 for an empty square.
    """
    contents = unpack_contents(samples.final_own, samples.final_opp, num_squares)
    ownership: npt.NDArray[np.float32] = ((1 + contents) / 2).astype(np.float32)
    return ownership


TRAINER: Final = Trainer(
    name="alphazero",
    description="Train a policy-value network by AlphaZero self-play, then evaluate it against the baselines.",
    presets=PRESETS,
    new=Learner,
    load=Learner.load,
    metrics=METRICS,
    network_file=NETWORK_FILE,
    spec=lambda path, settings: f"policy_value:{path},simulations={settings.simulations}",
    final_openings=100,
    out_of_memory=(torch.cuda.OutOfMemoryError,),
)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line. argv: its arguments, by default those of the process."""
    run_trainer(TRAINER, argv)


if __name__ == "__main__":
    main()
