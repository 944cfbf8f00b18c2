"""TD(0) self-play with an n-tuple network: `python -m training.td_ntuple`.

The value of an afterstate (the position after a move, before the reply) from the view of the side that made the move is
tanh(s), s the sum of the weights that its tuples look up. Both sides play the move with the highest value, one move in ten at
random. After each move the value of the afterstate before it is drawn towards the new one: towards its negative, since the
other side made it, or, where a side moved twice because of a pass, towards the value itself: always the value of the best move, even
where a random one is made. The last afterstate is drawn to the result, a mixture of who has won and by how many discs; without the
discs all winning positions look alike, and the network lets weak opponents come back.

In some games one side turns the most discs instead. Players that learn from each other alone come to hold few discs, which is
strong, and forget that a side can lose all of them: nobody that they meet tries to take them. Since values are drawn to those of the
best moves, such games show positions and teach nothing else of that side's play.

Each weight has its own step size, from temporal coherence (Beal and Smith 1999): the size of the sum of its errors over the sum
of their sizes, 1 while they agree, small once they cancel. Many games run in lockstep; a weight that several of them look up at
once moves by the mean of what they ask for. Patterns that are their own mirror images keep one weight for both readings. Towards
the end of a run all step sizes fall to nothing, which averages out the noise of the last games.

Several such networks learn side by side, each by its own games and on a thread of its own, and the mean of their weights is the
result: since a value is a sum, it is the mean of their opinions, which is better than each of them and costs no more to ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from agents.base import Agent
from agents.board import embedded
from agents.greedy import NOBODY
from agents.networks import Device
from agents.ntuple.kernel import Patterns, patterns_of
from agents.ntuple.layout import Layout, straight_and_corner_groups
from agents.ntuple.network import NTupleNetwork, ntuple_agent
from othello_env import Position, backend
from othello_env.position import BLACK
from training.checkpoints import TrainingDivergedError, checkpoint, write_checkpoint
from training.run import Trainer, check_settings, run_trainer
from training.td_kernel import ABSOLUTE_ERRORS, ERRORS, NUM_COLUMNS, Games, TDParams, play_and_learn

NETWORK_FILE: Final = "ntuple.safetensors"
CHECKPOINT_KIND: Final = "td_ntuple checkpoint"
METRICS: Final = ("mean_absolute_error",)

# Moves of all games between two looks at the clock.
_PLIES_PER_ADVANCE: Final = 64


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run depends on. The same settings give the same weights, whatever the number of threads."""

    games: int = 400_000
    """Games of self-play in all."""
    seed: int = 0
    """Seed of all randomness."""
    board_size: Literal[6, 8] = 8
    """Squares along a side of the board."""
    num_stages: int = 6
    """Stages of the game that have their own weights."""
    ensemble_size: int = 2
    """Networks that learn side by side; the mean of their weights is the result. Each takes a thread."""
    num_envs: int = 256
    """Games that a network plays in lockstep. The first ones begin with random moves."""
    margin_share: float = 0.8
    """How much of a game's result is the disc difference, as a share of the board; the rest is who has won."""
    random_plies: int = 8
    """A game begins with 0 to so many random moves."""
    greedy_share: float = 0.1
    """Share of the games in which one side turns the most discs: so it is learned how all discs can be lost."""
    step_size: float = 6.0
    """Step size of a weight whose errors all have one sign, shared by the look-ups of a position."""
    annealing_fraction: float = 0.5
    """Share of the run, at its end, in which the step sizes fall to nothing."""
    epsilon: float = 0.1
    """Chance that a move is random. What came before is drawn to the value of the best move all the same."""
    evaluate_every: int = 40_000
    """Games between two evaluations."""

    def check(self) -> None:
        """Raise `ValueError` for a number that no run can use, with its name."""
        check_settings(
            self,
            at_least_one=("ensemble_size", "num_envs", "num_stages"),
            positive=("step_size",),
            shares=("greedy_share", "epsilon", "annealing_fraction", "margin_share"),
            most_random_plies=self.board_size**2,
        )
        if self.num_stages > self.board_size**2 // 2:
            raise ValueError(f"num_stages {self.num_stages}: at most {self.board_size**2 // 2} on this board")


PRESETS: Final = {
    "minute": Settings(),
    "ten-minutes": Settings(games=6_000_000, num_stages=8, ensemble_size=8, evaluate_every=300_000),
    "hour": Settings(games=24_000_000, num_stages=8, ensemble_size=16, evaluate_every=1_000_000),
}


class Member:
    """One of the networks that learn side by side, with its step sizes and games.

    weights: [num_stages, stage_stride] float32, of each stage the weights and one of value 0 behind them. memory: see
    `td_kernel.learn`.
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
            # The first games begin with different numbers of random moves: so there are always games of all stages.
            random_plies=np.arange(num_games) * (settings.board_size**2 - 4) // num_games,
            greedy_side=np.full(num_games, NOBODY, dtype=np.uint8),
            previous=np.zeros((num_games, width), dtype=np.int32),
            previous_side=np.full(num_games, BLACK, dtype=np.uint8),
            has_previous=np.zeros(num_games, dtype=np.bool_),
        )

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a checkpoint."""
        return {"weights": self.weights, "errors": self.memory[:, [ERRORS, ABSOLUTE_ERRORS]], **self.games._asdict()}

    def restore(self, arrays: dict[str, npt.NDArray[Any]], patterns: Patterns) -> None:
        """Put back what `state` gave. Raises `ValueError` or `KeyError` for arrays that do not fit."""
        kinds = [{name: (array.shape, array.dtype) for name, array in state.items()} for state in (arrays, self.state())]
        if kinds[0] != kinds[1]:
            raise ValueError("its arrays do not fit its settings")
        own, opp, previous = arrays["own"], arrays["opp"], arrays["previous"]
        if ((own & opp) | ((own | opp) & ~patterns.geometry.full)).any() or not arrays["random_words"].all():
            raise ValueError("its games are no games")
        if not 0 <= previous.min() <= previous.max() < self.weights.size:
            raise ValueError("its games look up weights that there are not")
        self.weights[:] = arrays["weights"]
        self.memory[:, [ERRORS, ABSOLUTE_ERRORS]] = arrays["errors"]
        for name, array in self.games._asdict().items():
            array[:] = arrays[name]


class Learner:
    """The networks that learn side by side: all that a checkpoint holds."""

    def __init__(self, settings: Settings, device: Device = "cpu") -> None:
        """Raises `ValueError` for a device other than the CPU: looking up a few weights a position is no work for a GPU."""
        settings.check()
        _check_device(device)
        self.settings = settings
        self.games_done = 0
        self.positions_done = 0
        self._error_sum, self._num_errors = 0.0, 0  # since `take_metrics`
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
        """The mean of the networks as they are now. Raises `TrainingDivergedError` where weights are no finite numbers any more."""
        mean = np.stack([member.weights for member in self.members]).mean(axis=0, dtype=np.float64).astype(np.float32)
        try:
            return NTupleNetwork(self.layout, mean[:, :-1].ravel())
        except ValueError as error:
            raise TrainingDivergedError(f"training has diverged: {error}") from None

    @property
    def computes_with(self) -> str:
        """See `training.run.Learner`."""
        return ""

    def advance(self) -> None:
        """Play some moves in all games, and learn from each."""
        self.play(_PLIES_PER_ADVANCE)

    def play(self, num_plies: int) -> None:
        """Play so many moves in all games, learn from each, and start new games where one ends."""
        settings = self.settings
        remaining = max(0.0, 1 - self.games_done / settings.games)
        settling = min(1.0, remaining / settings.annealing_fraction) if settings.annealing_fraction else 1.0
        step_size = settings.step_size / self.layout.num_lookups * settling

        totals = np.zeros((len(self.members), 3))

        def play_member(number: int) -> None:
            member = self.members[number]
            learning = (member.weights.reshape(-1), member.memory, self._mirrored, step_size)
            play_and_learn(num_plies, totals[number], member.games, self.params, self.layout.num_lookups, *learning)

        backend.run_parts(play_member, len(self.members))
        self.games_done += int(totals[:, 0].sum())
        self._error_sum, self._num_errors = self._error_sum + float(totals[:, 1].sum()), self._num_errors + int(totals[:, 2].sum())
        self.positions_done += num_plies * settings.num_envs * len(self.members)

    def take_metrics(self) -> dict[str, float]:
        """See `training.run.Learner`."""
        mean = self._error_sum / max(1, self._num_errors)
        self._error_sum, self._num_errors = 0.0, 0
        return {"mean_absolute_error": mean}

    def curve_agent(self) -> Agent:
        """One move ahead."""
        return ntuple_agent(self.network())

    def final_agents(self) -> Sequence[Agent]:
        """One move ahead."""
        return (self.curve_agent(),)

    def save_network(self, path: Path) -> None:
        """See `training.run.Learner`."""
        self.network().save(path, {"settings": asdict(self.settings), "games": self.games_done})

    def save(self, path: Path) -> None:
        """See `training.run.Learner`."""
        self.network()  # raises where it has diverged
        about = {
            "settings": asdict(self.settings),
            "games_done": self.games_done,
            "positions_done": self.positions_done,
            "error_sum": self._error_sum,
            "num_errors": self._num_errors,
        }
        parts = {f"member {number}": member.state() for number, member in enumerate(self.members)}
        write_checkpoint(path, CHECKPOINT_KIND, parts=parts, about=about)

    @classmethod
    def load(cls, path: Path, device: Device = "cpu") -> Learner:
        """Read a checkpoint.

        Raises `CheckpointError` where the file is missing, damaged or of another kind, `ValueError` for a device that is not there.
        """
        _check_device(device)
        with checkpoint(path, CHECKPOINT_KIND) as (parts, about):
            learner = cls(Settings(**about["settings"]), device)
            learner._restore(parts, about)
        return learner

    def _restore(self, parts: dict[str, dict[str, npt.NDArray[Any]]], about: dict[str, Any]) -> None:
        if len(parts) != len(self.members):
            raise ValueError(f"it has {len(parts)} networks; expected {len(self.members)}")
        for number, member in enumerate(self.members):
            member.restore(parts[f"member {number}"], self.patterns)
        self.network()
        self.games_done, self.positions_done = int(about["games_done"]), int(about["positions_done"])
        self._error_sum, self._num_errors = float(about["error_sum"]), int(about["num_errors"])


def _check_device(device: Device) -> None:
    if device == "cuda":
        raise ValueError("device cuda: td_ntuple learns on the CPU alone, where looking up weights is fast; use --device auto or cpu")


TRAINER: Final = Trainer(
    name="td_ntuple",
    description="Train an n-tuple network by TD(0) self-play, then play it against the baselines.",
    presets=PRESETS,
    new=Learner,
    load=Learner.load,
    metrics=METRICS,
    network_file=NETWORK_FILE,
    spec=lambda path, _: f"ntuple:{path}",
    final_openings=500,
)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    run_trainer(TRAINER, argv)


if __name__ == "__main__":
    main()
