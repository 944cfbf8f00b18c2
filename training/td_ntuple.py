"""TD(0) self-play with an n-tuple network: `python -m training.td_ntuple`.

The value of an afterstate (the position after a move, before the reply), from the perspective of
the player who made the move, is tanh(s), where s is the sum of the weights that its tuples look up.
Both players choose the move with the highest value, and with probability epsilon a random one.
After each move, the value of the previous afterstate is updated towards the value of the best move:
towards its negative if the other player made the previous move, and towards the value itself if the
same player moved again after a pass. The target is the best move's value even when a random move is
played. The last afterstate is updated towards the result of the game, a weighted mean of the
outcome and the disc difference; without the disc difference all won positions look alike, and the
network gives its lead away against weak opponents.

In a fraction of the games one player is greedy (maximizes flips). Players that learn only from each
other come to hold few discs, which is strong, and forget that a player can lose all of them,
because no opponent tries to take them. Since targets are the values of the best moves, greedy games
add positions to learn from, but the network does not learn to play greedily.

Each weight has its own step size from temporal coherence (Beal and Smith 1999): the magnitude of
the sum of its errors divided by the sum of their magnitudes, which is 1 while the errors agree and
small when they cancel. The games are batched; a weight that several games look up in the same ply
is updated by the mean of their updates. Mirror images of a pattern share one weight. At the end of
a run all step sizes are annealed to 0, which averages out the noise of the last games.

Several networks are trained in parallel, each on its own games and in its own thread, and the
result is the mean of their weights. Because a value is a sum of weights, the sum of this network is
the mean of their sums: it plays better than each of them at the same cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from agents.base import Agent
from agents.board import embedded
from agents.device import Device
from agents.greedy import NOBODY
from agents.ntuple.kernel import Patterns, patterns_of
from agents.ntuple.layout import Layout, straight_and_corner_groups
from agents.ntuple.network import NTupleNetwork, ntuple_agent
from othello_env import Position, backend
from othello_env.batch import find_legal_moves
from othello_env.position import BLACK, WHITE
from training.checkpoints import (
    Arrays,
    TrainingDivergedError,
    check_fits,
    check_game_counts,
    checkpoint,
    read_counter,
    read_sums,
    write_checkpoint,
)
from training.run import Trainer, run_trainer
from training.settings import check_settings
from training.td_kernel import ABSOLUTE_ERRORS, ERRORS, NUM_COLUMNS, Games, TDParams, play_and_learn

NETWORK_FILE: Final = "ntuple.safetensors"
CHECKPOINT_KIND: Final = "td_ntuple checkpoint"
METRICS: Final = ("mean_absolute_error",)

# Plies per call of `Learner.advance`.
_PLIES_PER_ADVANCE: Final = 64


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a run. The same settings give the same weights, for any number of threads."""

    games: int = 400_000
    """Number of self-play games."""
    seed: int = 0
    """Seed of all random numbers; the same settings give the same weights."""
    board_size: Literal[6, 8] = 8
    """Width and height of the board, in squares."""
    num_stages: int = 6
    """Number of stages of the game, by number of discs, that have separate weights."""
    ensemble_size: int = 2
    """Number of networks trained in parallel, each in its own thread; the result is the mean of
    their weights."""
    num_envs: int = 256
    """Number of games that each network plays at the same time."""
    margin_share: float = 0.8
    """Weight of the disc difference in the result of a game, from 0 to 1; the rest is win, draw or
    loss."""
    random_plies: int = 8
    """Maximum number of random plies at the start of a game; each game draws from 0 to this
    many."""
    greedy_share: float = 0.1
    """Fraction of games in which one player is greedy (maximizes flips), so that the network learns
    to avoid wipe-outs."""
    step_size: float = 6.0
    """Initial step size of a weight, divided by the number of look-ups per position; temporal
    coherence reduces it."""
    annealing_fraction: float = 0.5
    """Fraction of the run, at its end, over which the step sizes fall linearly to 0."""
    epsilon: float = 0.1
    """Probability that a move is random; the learning target is always the value of the best
    move."""
    evaluate_every: int = 40_000
    """Number of games between two evaluations against the baselines."""
    keep_every: int = 0
    """Number of games between two networks that are kept in files of their own, for tournaments; 0
    keeps only the last network."""

    def check(self) -> None:
        """Raise `ValueError`, with the name of the setting, for an invalid value."""
        check_settings(
            self,
            at_least_one=("ensemble_size", "num_envs", "num_stages"),
            positive=("step_size",),
            fractions=("greedy_share", "epsilon", "annealing_fraction", "margin_share"),
            max_random_plies=self.board_size**2,
        )
        if self.num_stages > self.board_size**2 // 2:
            raise ValueError(f"num_stages {self.num_stages}: at most {self.board_size**2 // 2} on this board")


PRESETS: Final = {
    "minute": Settings(),
    "ten-minutes": Settings(games=6_000_000, num_stages=8, ensemble_size=8, evaluate_every=300_000),
    "hour": Settings(games=24_000_000, num_stages=8, ensemble_size=16, evaluate_every=1_000_000),
}


class Member:
    """Network of the ensemble, with its step sizes and games.

    weights: [num_stages, stage_stride] float32, for each stage its weights and a last one that is
    always 0. memory: see `td_kernel.learn`.
    """

    def __init__(self, settings: Settings, patterns: Patterns, start: tuple[np.uint64, np.uint64], rng: np.random.Generator) -> None:
        num_games, width = settings.num_envs, len(patterns.empty_indices)
        self.weights = np.zeros((settings.num_stages, int(patterns.stage_stride)), dtype=np.float32)
        self.memory = np.zeros((self.weights.size, NUM_COLUMNS))
        self.games = Games(
            own=np.full(num_games, start[0]),
            opp=np.full(num_games, start[1]),
            side=np.full(num_games, BLACK, dtype=np.uint8),
            random_words=rng.integers(1, 1 << 63, size=num_games, dtype=np.uint64),
            # Different numbers of random plies in the first games, so that games of all stages are
            # always running.
            random_plies=np.arange(num_games) * (settings.board_size**2 - 4) // num_games,
            greedy_side=np.full(num_games, NOBODY, dtype=np.uint8),
            previous=np.zeros((num_games, width), dtype=np.int32),
            previous_side=np.full(num_games, BLACK, dtype=np.uint8),
            has_previous=np.zeros(num_games, dtype=np.bool_),
        )

    def state(self) -> Arrays:
        """Return the arrays for a checkpoint."""
        return {"weights": self.weights, "errors": self.memory[:, [ERRORS, ABSOLUTE_ERRORS]], **self.games._asdict()}

    def restore(self, arrays: Arrays, patterns: Patterns) -> None:
        """Restore the result of `state`.

        Raises `ValueError` or `KeyError` for arrays that do not fit.
        """
        state = self.state()
        for name, array in state.items():
            check_fits(name, arrays[name], array)
        if unknown := arrays.keys() - state.keys():
            raise ValueError(f"{min(unknown)}: expected no such array")
        own, opp, previous = arrays["own"], arrays["opp"], arrays["previous"]
        if ((own & opp) | ((own | opp) & ~patterns.geometry.full)).any() or not arrays["random_words"].all():
            raise ValueError("its games are not valid")
        if not (find_legal_moves(own, opp, board_size=8) & patterns.geometry.full).all():
            raise ValueError("the player to move has no move in one of its games")
        sides, previous_sides, greedy_sides = arrays["side"], arrays["previous_side"], arrays["greedy_side"]
        if max(sides.max(), previous_sides.max()) > WHITE or greedy_sides.max() > NOBODY or arrays["random_plies"].min() < 0:
            raise ValueError("the players of its games are not valid")
        if not 0 <= previous.min() <= previous.max() < self.weights.size:
            raise ValueError("its games look up weights that do not exist")
        if not np.isfinite(arrays["errors"]).all() or (arrays["errors"][:, 1] < 0).any():
            raise ValueError("its sums of errors are not finite, or negative")
        self.weights[:] = arrays["weights"]
        self.memory[:, [ERRORS, ABSOLUTE_ERRORS]] = arrays["errors"]
        for name, array in self.games._asdict().items():
            array[:] = arrays[name]


class Learner:
    """Ensemble of networks with their games: everything that a checkpoint holds."""

    def __init__(self, settings: Settings, device: Device = "cpu") -> None:
        """Raises `ValueError` for a GPU: a few table look-ups per position do not keep one busy."""
        settings.check()
        _check_device(device)
        self.settings = settings
        self.games_done = 0
        self.positions_done = 0
        self._errors = np.zeros(2)  # sum of the absolute errors and their number, since `take_metrics`
        board_size = settings.board_size
        self.layout = Layout(straight_and_corner_groups(board_size), board_size, num_stages=settings.num_stages, counts=True)
        self.patterns = patterns_of(self.layout)
        self._mirrored = np.append(self.layout.mirrored_indices(), self.layout.stage_size).astype(np.int32)
        start = Position.start(board_size)
        discs = np.uint64(embedded(start.own, board_size)), np.uint64(embedded(start.opp, board_size))
        self.params = TDParams(self.patterns, settings.margin_share, settings.epsilon, settings.random_plies, settings.greedy_share, *discs)
        rngs = np.random.default_rng(settings.seed).spawn(settings.ensemble_size)
        self.members = [Member(settings, self.patterns, discs, rng) for rng in rngs]

    def network(self) -> NTupleNetwork:
        """Return the mean of the ensemble.

        Raises `TrainingDivergedError` if a weight is not finite.
        """
        mean = np.stack([member.weights for member in self.members]).mean(axis=0, dtype=np.float64).astype(np.float32)
        try:
            return NTupleNetwork(self.layout, mean[:, :-1].ravel())
        except ValueError as error:
            raise TrainingDivergedError(f"training has diverged: {error}") from None

    @property
    def device_description(self) -> str:
        """See `training.run.Learner`."""
        return ""

    def advance(self) -> None:
        """Play some plies in all games, and learn from each."""
        self.play(_PLIES_PER_ADVANCE)

    def play(self, num_plies: int) -> None:
        """Play plies in all games and learn from each; a game that ends is started again."""
        settings = self.settings
        remaining = max(0.0, 1 - self.games_done / settings.games)
        annealing = min(1.0, remaining / settings.annealing_fraction) if settings.annealing_fraction else 1.0
        step_size = settings.step_size / self.layout.num_lookups * annealing

        totals = np.zeros((len(self.members), 3))

        def play_member(number: int) -> None:
            member = self.members[number]
            learning = (member.weights.reshape(-1), member.memory, self._mirrored, step_size)
            play_and_learn(num_plies, totals[number], member.games, self.params, self.layout.num_lookups, *learning)

        backend.run_parts(play_member, len(self.members))
        games, error_sum, num_errors = totals.sum(axis=0)
        self.games_done += int(games)
        self._errors += error_sum, num_errors
        self.positions_done += num_plies * settings.num_envs * len(self.members)

    def take_metrics(self) -> dict[str, float]:
        """See `training.run.Learner`."""
        error_sum, num_errors = self._errors
        self._errors[:] = 0
        return {"mean_absolute_error": float(error_sum / max(1, num_errors))}

    def curve_agent(self) -> Agent:
        """Return the agent that looks one move ahead."""
        return ntuple_agent(self.network())

    def final_agents(self) -> Sequence[Agent]:
        """Return the agent of `curve_agent`, as the only one."""
        return (self.curve_agent(),)

    def save_network(self, path: Path) -> None:
        """See `training.run.Learner`."""
        self.network().save(path, {"settings": asdict(self.settings), "games": self.games_done})

    def save(self, path: Path) -> None:
        """See `training.run.Learner`."""
        self.network()  # raises if it has diverged
        about = {
            "settings": asdict(self.settings),
            "games_done": self.games_done,
            "positions_done": self.positions_done,
            "errors": self._errors.tolist(),
        }
        parts = {f"member {number}": member.state() for number, member in enumerate(self.members)}
        write_checkpoint(path, CHECKPOINT_KIND, parts=parts, about=about)

    @classmethod
    def load(cls, path: Path, device: Device = "cpu") -> Learner:
        """Read a checkpoint.

        Raises `CheckpointError` if the file is missing, damaged or of another kind, `ValueError`
        for a device that is not supported.
        """
        _check_device(device)
        with checkpoint(path, CHECKPOINT_KIND) as (parts, about):
            learner = cls(Settings(**about["settings"]), device)
            learner._restore(parts, about)
        return learner

    def _restore(self, parts: dict[str, Arrays], about: dict[str, Any]) -> None:
        if len(parts) != len(self.members):
            raise ValueError(f"it has {len(parts)} networks; expected {len(self.members)}")
        for number, member in enumerate(self.members):
            member.restore(parts[f"member {number}"], self.patterns)
        self.network()
        self.games_done, self.positions_done = read_counter(about, "games_done"), read_counter(about, "positions_done")
        num_running, board_size = len(self.members) * self.settings.num_envs, self.settings.board_size
        check_game_counts(games_done=self.games_done, plies_done=self.positions_done, num_running=num_running, board_size=board_size)
        self._errors = read_sums(about, "errors", 2)


def _check_device(device: Device) -> None:
    if device == "cuda":
        raise ValueError("device cuda: td_ntuple runs on the CPU only; use --device auto or cpu")


TRAINER: Final = Trainer(
    name="td_ntuple",
    description="Train an n-tuple network by TD(0) self-play, then evaluate it against the baselines.",
    presets=PRESETS,
    new=Learner,
    load=Learner.load,
    metrics=METRICS,
    network_file=NETWORK_FILE,
    spec=lambda path, _: f"ntuple:{path}",
    final_openings=500,
)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line. argv: its arguments, by default those of the process."""
    run_trainer(TRAINER, argv)


if __name__ == "__main__":
    main()
