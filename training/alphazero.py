"""AlphaZero self-play, many games at a time: `python -m training.alphazero`.

Many games are played at once, each searched by Gumbel AlphaZero's rules (Danihelka et al. 2022), and whenever the network is
asked, it is about leaves of all of them. A part of the positions, drawn at random, gets a full search and teaches its policy, the
others a quick one (Wu 2019). In some games one side is greedy for discs, so that the other learns not to lose all of its own. From
finished games come positions with the search's policy, the outcome mixed with the search's value, and who owned which square in
the end. The network learns from the last of them, each drawn a fixed number of times on average and turned by one of the board's
symmetries. There is no gating: the newest network plays, and takes over in the middle of a search where one is running.
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
from agents.networks import Architecture, Device, find_device, from_arrays, new_network, planes_of, repeat_exactly, to_arrays
from agents.policy_value import NetworkEvaluator, Precision, dtype_of, network_evaluator, policy_value_agent
from agents.search.mcts import SearchSettings, tree_bytes
from othello_env.bitboard import popcount, unpack, unpack_contents
from othello_env.symmetry import NUM_SYMMETRIES, transform, transform_policy
from training.checkpoints import (
    Arrays,
    check_finite,
    checkpoint,
    optimizer_arrays,
    restore_optimizer,
    write_checkpoint,
)
from training.losses import descend, ownership_loss, policy_loss, value_loss
from training.replay import Replay, Samples
from training.run import Trainer, check_settings, run_trainer
from training.schedule import set_learning_rate
from training.self_play import SearchPlan, SelfPlay

NETWORK_FILE: Final = "policy_value.safetensors"
CHECKPOINT_KIND: Final = "alphazero checkpoint"
METRICS: Final = ("policy_loss", "value_loss", "ownership_loss", "simulations", "replay_ratio")

# Learning begins when there are so many batches of positions to draw from.
_FIRST_BATCHES: Final = 8
_LARGEST_GRADIENT: Final = 5.0
# In bytes; a sixth of it is used.
_MOST_TREE_MEMORY: Final = 64 << 30
_BITBOARDS: Final = ("own", "opp", "legal_moves", "final_own", "final_opp")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run depends on. On one machine the same settings give the same weights, if precision "auto" finds the same."""

    games: int = 60_000
    """Games of self-play in all."""
    seed: int = 0
    """Seed of all randomness."""
    board_size: Literal[6, 8] = 6
    """Squares along a side of the board."""
    blocks: int = 2
    """Residual blocks of the network."""
    channels: int = 32
    """Channels of each."""
    num_envs: int = 1024
    """Games played at a time."""
    random_plies: int = 8
    """A game begins with 0 to so many random moves, which nothing is learned from."""
    greedy_share: float = 0.2
    """Share of the games in which one side turns the most discs instead of searching; the other learns not to lose all of its own."""
    first_simulations: int = 8
    """Simulations of a full search when the run begins; they grow to `simulations` at its end."""
    simulations: int = 32
    """Simulations of a full search when the run ends."""
    quick_share: float = 0.25
    """Simulations of a quick search, as a share of a full one's."""
    full_share: float = 0.25
    """Share of the positions that get a full search."""
    max_num_considered_actions: int = 16
    """The most moves of a position that a search begins with; it halves them again and again."""
    leaves_per_call: int = 4
    """The most leaves of one game that the network is asked about together. With 1 each simulation knows of all before it."""
    value_scale: float = 0.5
    """How much a difference in value counts against the policy in a search."""
    replay_positions: int = 200_000
    """Positions to learn from: the last ones."""
    replay_ratio: float = 2.0
    """How often a position is learned from, on average; never more."""
    batch_size: int = 512
    """Positions of one step of the optimiser."""
    learning_rate: float = 2e-3
    """What it begins with; it falls along a cosine to a twentieth."""
    weight_decay: float = 1e-4
    """Decay of the weights, decoupled (AdamW)."""
    margin_share: float = 0.6
    """How much of a game's result is the disc difference, as a share of the board; the rest is who has won."""
    root_value_share: float = 0.5
    """Share of the search's value in the value target; the result has the rest."""
    ownership_weight: float = 0.15
    """Weight of the loss of who owns each square in the end."""
    precision: Precision = "auto"
    """What the network computes in; auto tries both for a moment, and the run keeps bfloat16 if that is clearly faster."""
    evaluate_every: int = 5_000
    """Games between two evaluations."""

    def check(self) -> None:
        """Raise `ValueError` for a number that no run can use, with its name."""
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
            shares=("greedy_share", "quick_share", "full_share", "root_value_share", "margin_share"),
            most_random_plies=self.board_size**2 // 4,
        )
        Architecture(self.board_size, self.blocks, self.channels)
        memory = self.num_envs * tree_bytes(self.search(), empties=self.board_size**2 - 4)
        if memory > _MOST_TREE_MEMORY:
            simulations = max(self.first_simulations, self.simulations)
            raise ValueError(f"num_envs {self.num_envs} with {simulations} simulations: {memory >> 30} GiB of trees")

    def search(self) -> SearchSettings:
        """How a game is searched in self-play. Raises `ValueError` for settings that no search can use."""
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
    """The network, its optimiser, the positions to learn from and the games being played: all that a checkpoint holds."""

    def __init__(self, settings: Settings, device: Device = "cpu", *, precision: Precision | None = None) -> None:
        """precision: what "auto" was found to be, where that is known."""
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
        """The searches to begin now: few simulations while the network knows little, more later."""
        settings = self.settings
        growth = settings.simulations / settings.first_simulations
        simulations = round(settings.first_simulations * growth**self._progress)
        return SearchPlan(simulations, max(1, round(simulations * settings.quick_share)), settings.full_share)

    @property
    def computes_with(self) -> str:
        """See `training.run.Learner`."""
        return f"on {self._device.type} in {str(self.dtype).removeprefix('torch.')}"

    def advance(self) -> None:
        """Ask the network once about leaves of each game, and learn as much as the ratio allows."""
        settings, replay = self.settings, self._replay
        replay.add(self._self_play.advance(self._evaluator, self._plan(), rng=self._rng))
        if replay.size < min(_FIRST_BATCHES * settings.batch_size, settings.replay_positions):
            return
        steps_before = self._steps_done
        while (self._steps_done + 1) * settings.batch_size <= settings.replay_ratio * replay.added:
            self._learn(augmented(replay.draw(settings.batch_size, self._rng), settings.board_size))
        if self._steps_done > steps_before:
            check_finite(self.network)
            self._evaluator = self._current_evaluator()

    def _learn(self, batch: Samples) -> None:
        """One step of the optimiser. Raises `TrainingDivergedError` where it would not be finite; the weights stay as they were."""
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
        self._losses += [*descend(self._optimizer, losses, weights=weights, largest_gradient=_LARGEST_GRADIENT), 1]
        self._steps_done += 1

    def _results(self, batch: Samples) -> npt.NDArray[np.float32]:
        """The results of the games, from -1 to 1, from the view of the side to move: [N]."""
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
        """The policy alone."""
        return policy_value_agent(self._current_evaluator(), simulations=0, name="policy")

    def final_agents(self) -> Sequence[Agent]:
        """The policy alone, and with a search."""
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
        self._replay.restore(parts["replay"], int(about["positions_added"]))
        self._self_play.restore(parts["self_play"])
        self._self_play.games_done, self._self_play.plies_done = int(about["games_done"]), int(about["plies_done"])
        self._steps_done = int(about["steps_done"])
        self._losses[:] = np.array(about["losses"]).reshape(self._losses.shape)
        self._rng.bit_generator.state = about["rng"]
        self._evaluator = self._current_evaluator()


def augmented(samples: Samples, board_size: int) -> Samples:
    """The samples, an eighth of them turned by each of the board's symmetries."""
    arrays = {name: array.copy() for name, array in samples.arrays().items()}
    for symmetry in range(1, NUM_SYMMETRIES):
        rows = slice(symmetry * len(samples) // NUM_SYMMETRIES, (symmetry + 1) * len(samples) // NUM_SYMMETRIES)
        for name in _BITBOARDS:
            arrays[name][rows] = transform(arrays[name][rows], symmetry, board_size)
        arrays["policy"][rows] = transform_policy(arrays["policy"][rows], symmetry, board_size)
    return Samples(**arrays)


def _ownership(samples: Samples, num_squares: int) -> npt.NDArray[np.float32]:
    """Who owns each square in the end: [N, S] float32, 1 the side to move, 0 the other, 0.5 nobody."""
    contents = unpack_contents(samples.final_own, samples.final_opp, num_squares)
    ownership: npt.NDArray[np.float32] = ((1 + contents) / 2).astype(np.float32)
    return ownership


TRAINER: Final = Trainer(
    name="alphazero",
    description="Train a policy-value network by AlphaZero self-play, then play it against the baselines.",
    presets=PRESETS,
    new=Learner,
    load=Learner.load,
    metrics=METRICS,
    network_file=NETWORK_FILE,
    spec=lambda path, settings: f"policy_value:{path},simulations={settings.simulations}",
    final_openings=100,
)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    run_trainer(TRAINER, argv)


if __name__ == "__main__":
    main()
