"""TD(0) self-play with an n-tuple network: `python -m training.td_ntuple`.

The value of an afterstate (the position after a move, before the reply) from the view of the side that made the move is
tanh(s), s the sum of the weights that its tuples look up. Both sides play the move with the highest value, one move in ten at
random. After each move the value of the afterstate before it is drawn towards the new one: towards its negative, since the
other side made it, or, where a side moved twice because of a pass, towards the value itself. The last afterstate is drawn to
the result.

Each weight has its own step size, from temporal coherence (Beal and Smith 1999): the size of the sum of its errors over the sum
of their sizes, 1 while they agree, small once they cancel. Many games run in lockstep; a weight that several of them look up at
once moves by the mean of what they ask for. Patterns that are their own mirror images keep one weight for both readings.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import torch
import tyro
from tqdm import tqdm

from agents import make_agent
from agents.base import best_afterstates
from agents.ntuple import WON, NTupleNetwork, mirrored_indices, ntuple_agent, straight_and_corner_groups, table_sizes
from agents.weight_file import CheckpointError, read_weights, write_weights
from othello_env import PositionBatch
from othello_env.bitboard import popcount
from othello_env.position import BLACK
from training.evaluation.match import format_results, play_match
from training.evaluation.openings import random_openings
from training.metrics import MetricsLog

NETWORK_FILE: Final = "ntuple.safetensors"
CHECKPOINT_FILE: Final = "checkpoint.safetensors"
CHECKPOINT_KIND: Final = "td_ntuple checkpoint"

# The panel of the final table, and the opponent of the progress line, by board size.
PANEL: Final[dict[int, tuple[str, ...]]] = {
    8: ("random", "greedy", "positional:table=swh", "positional:table=heur", "positional:table=bench"),
    6: ("random", "greedy"),
}
YARDSTICK: Final = {8: "positional:table=swh", 6: "greedy"}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run depends on. The same settings give the same weights."""

    games: int = 120_000
    """Games of self-play in all."""
    seed: int = 0
    """Seed of all randomness."""
    board_size: Literal[6, 8] = 8
    """Squares along a side of the board."""
    parallel_games: int = 256
    """Games played in lockstep. More are faster a game, and learn less from each."""
    step_size: float = 6.0
    """Step size of a weight whose errors all have one sign, shared by the tuples of a position."""
    epsilon: float = 0.1
    """Chance that a move is random. Nothing is learned from the value after a random move."""
    evaluate_every: int = 10_000
    """Games between two matches against the yardstick, which the progress line and the metrics show."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where the weights live. The rules and the look-ups stay on the CPU, so cuda helps little here."""


def check_settings(settings: Settings) -> None:
    """Raise `ValueError` for a number that no run can use, with its name."""
    for name in ("games", "parallel_games", "evaluate_every"):
        if getattr(settings, name) < 1:
            raise ValueError(f"{name} {getattr(settings, name)}: must be at least 1")
    if not settings.step_size > 0:
        raise ValueError(f"step_size {settings.step_size}: must be above 0")
    if not 0 <= settings.epsilon <= 1:
        raise ValueError(f"epsilon {settings.epsilon}: a chance is between 0 and 1")


class Learner:
    """The network, its step sizes and the games being played: all that a checkpoint holds.

    games_done: finished games. error_sum, num_errors: of the absolute errors since `take_mean_error` was called.
    """

    def __init__(self, settings: Settings) -> None:
        check_settings(settings)
        self.settings = settings
        self.groups = straight_and_corner_groups(settings.board_size)
        self.games_done = 0
        self.error_sum, self.num_errors = 0.0, 0
        self._device = torch.device(settings.device)
        num_weights = sum(table_sizes(self.groups))
        self.weights = torch.zeros(num_weights, device=self._device)
        # Per weight: the sum of its errors and the sum of their absolute values. Their ratio is the step size.
        self._errors = torch.zeros(num_weights, dtype=torch.float64, device=self._device)
        self._absolute_errors = torch.zeros(num_weights, dtype=torch.float64, device=self._device)
        self._hits = torch.zeros(num_weights, device=self._device)
        mirrored = mirrored_indices(self.groups, settings.board_size)
        self._mirrored = torch.from_numpy(mirrored).to(self._device)
        self._representative = torch.minimum(self._mirrored, torch.arange(num_weights, device=self._device))
        self._layout = NTupleNetwork(self.groups, np.zeros(num_weights, dtype=np.float32), settings.board_size)

        self._rng = np.random.default_rng(settings.seed)
        self._games = self._staggered_games()
        # The afterstate before the one that a game is about to choose: what it looks up, who made it, whether there is one.
        self._previous = np.zeros((settings.parallel_games, self._layout.num_tuples), dtype=np.int64)
        self._previous_side = np.full(settings.parallel_games, BLACK, dtype=np.uint8)
        self._has_previous = np.zeros(settings.parallel_games, dtype=np.bool_)

    def _staggered_games(self) -> PositionBatch:
        """Games at all stages, by random moves, so that one lockstep move of all of them has positions of all stages."""
        games = PositionBatch.start(self.settings.parallel_games, self.settings.board_size)
        squares = self.settings.board_size**2
        plies = np.arange(len(games)) * (squares - 4) // len(games)
        for ply in range(squares - 4):
            moving = np.flatnonzero((plies > ply) & ~games.is_over)
            moved = games.take(moving)
            moved.step(moved.sample_moves(self._rng))
            games.reset(moving, moved)
        games.reset(games.is_over)
        return games

    def network(self) -> NTupleNetwork:
        """A copy of the network as it is now."""
        return NTupleNetwork(self.groups, self.weights.cpu().numpy().copy(), self.settings.board_size)

    def play_ply(self) -> None:
        """Choose and make one move in each game, learn from it, and start new games where one ended."""
        games = self._games
        afterstates = games.afterstates()
        lookups = self._layout.indices(afterstates.own, afterstates.opp)
        sums = self._sums(lookups)
        values = np.tanh(sums)
        over = afterstates.terminal()
        results = np.sign(popcount(afterstates.own[over]).astype(np.float32) - popcount(afterstates.opp[over]))
        values[over], sums[over] = results, results * WON

        chosen = best_afterstates(afterstates.rows, sums, self._rng)
        explores = self._rng.random(len(games)) < self.settings.epsilon
        first = np.flatnonzero(np.diff(afterstates.rows, prepend=-1))
        num_choices = np.diff(first, append=len(afterstates))
        at_random = first + (self._rng.random(len(games)) * num_choices).astype(np.int64)
        chosen = np.where(explores, at_random, chosen)
        games.step(afterstates.squares[chosen])

        learns = np.flatnonzero(self._has_previous & ~explores)
        sign = np.where(afterstates.side[chosen] == self._previous_side, 1, -1)
        ended = np.flatnonzero(games.is_over)
        self._learn(
            np.concatenate([self._previous[learns], lookups[chosen[ended]]]),
            np.concatenate([(sign * values[chosen])[learns], values[chosen[ended]]]).astype(np.float32),
        )
        self._previous, self._previous_side = lookups[chosen], afterstates.side[chosen]
        self._has_previous = ~games.is_over
        self.games_done += len(ended)
        games.reset(ended)

    def _sums(self, lookups: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The sums of the looked-up weights: [N, T] to [N]."""
        table = self.weights[:, None]
        sums: npt.NDArray[np.float32] = (
            torch.nn.functional.embedding_bag(torch.from_numpy(lookups).to(self._device), table, mode="sum")[:, 0].cpu().numpy()
        )
        return sums

    def _learn(self, lookups: npt.NDArray[np.int64], targets: npt.NDArray[np.float32]) -> None:
        """Draw the values of M afterstates towards their targets. lookups: [M, T]; targets: [M], from the view of who made them."""
        index = self._representative[torch.from_numpy(lookups).to(self._device)]
        values = torch.tanh(self.weights[index].sum(dim=1))
        errors = (torch.from_numpy(targets).to(self._device) - values) * (1 - values**2)
        self.error_sum += float(errors.abs().sum())
        self.num_errors += len(errors)

        weights, error = index.flatten(), errors.repeat_interleave(index.shape[1])
        self._hits.index_add_(0, weights, torch.ones_like(error))
        hits = self._hits[weights]
        self._hits[weights] = 0
        absolute = self._absolute_errors[weights]
        coherence = torch.where(absolute > 0, self._errors[weights].abs() / absolute, 1.0).float()
        self.weights.index_add_(0, weights, self.settings.step_size / index.shape[1] * coherence * error / hits)
        self.weights[self._mirrored[weights]] = self.weights[weights]
        self._errors.index_add_(0, weights, error.double())
        self._absolute_errors.index_add_(0, weights, error.double().abs())

    def take_mean_error(self) -> float:
        """The mean absolute error since the last call."""
        mean = self.error_sum / max(1, self.num_errors)
        self.error_sum, self.num_errors = 0.0, 0
        return mean

    def save(self, path: Path) -> None:
        """Write a checkpoint from which `load` continues as if nothing had happened, by an atomic rename."""
        tensors = {name: tensor.cpu().numpy() for name, tensor in self._tensors().items()}
        games = {name: getattr(self._games, name) for name in ("own", "opp", "side_to_move")}
        about = {
            "settings": asdict(self.settings),
            "games_done": self.games_done,
            "error_sum": self.error_sum,
            "num_errors": self.num_errors,
            "rng": self._rng.bit_generator.state,
        }
        write_weights(path, CHECKPOINT_KIND, {**tensors, **games, **{name: getattr(self, name) for name in _PREVIOUS}}, about)

    @classmethod
    def load(cls, path: Path) -> Learner:
        """Read a checkpoint. Raises `CheckpointError` where it is missing, damaged or of another kind."""
        tensors, about = read_weights(path, CHECKPOINT_KIND)
        learner = cls(Settings(**about["settings"]))
        for name, tensor in learner._tensors().items():
            tensor.copy_(torch.from_numpy(tensors[name]))
        for name in _PREVIOUS:
            setattr(learner, name, tensors[name])
        board_size = learner.settings.board_size
        learner._games = PositionBatch(tensors["own"], tensors["opp"], tensors["side_to_move"], board_size=board_size)
        learner.games_done, learner.error_sum, learner.num_errors = about["games_done"], about["error_sum"], about["num_errors"]
        learner._rng.bit_generator.state = about["rng"]
        return learner

    def _tensors(self) -> dict[str, torch.Tensor]:
        return {"weights": self.weights, "errors": self._errors, "absolute_errors": self._absolute_errors}


_PREVIOUS: Final = ("_previous", "_previous_side", "_has_previous")


@dataclass(frozen=True, slots=True)
class Arguments:
    """Train an n-tuple network by TD(0) self-play, then play it against the baselines."""

    settings: tyro.conf.OmitArgPrefixes[Settings]
    out: Path | None = None
    """Folder for weights, checkpoint and metrics. Default: a new one in runs/ named by date and time."""
    resume: Path | None = None
    """Folder of a run to continue, with the settings it was started with; only --games may be given with it."""
    checkpoint_seconds: float = 10.0
    """Seconds between two checkpoints."""
    final_openings: int = 500
    """Openings of the final matches, 8 random plies each, every one played twice with colours swapped."""


EVALUATION_OPENINGS: Final = 100
OPENING_PLIES: Final = 8
EVALUATION_SEED: Final = 20_000  # the same for all runs, and apart from the seeds of self-play


def train(learner: Learner, folder: Path, *, checkpoint_seconds: float = 10.0) -> bool:
    """Play until the games of the settings are done, with a progress line, metrics and checkpoints in `folder`.

    Returns whether they are done: False after Ctrl-C or a termination signal, which are obeyed after the current move and a
    checkpoint. What is learned does not depend on how often the training is stopped and resumed.
    """
    settings = learner.settings
    # The arrays of a move are too small to share between threads, and PyTorch's threads would contend with NumPy's.
    torch.set_num_threads(1)
    openings = random_openings(EVALUATION_OPENINGS, OPENING_PLIES, np.random.default_rng(EVALUATION_SEED), board_size=settings.board_size)
    yardstick = make_agent(YARDSTICK[settings.board_size])
    checkpoint = folder / CHECKPOINT_FILE
    last_checkpoint = time.monotonic()
    with (
        MetricsLog(folder, "games", resume_step=learner.games_done) as log,
        tqdm(total=settings.games, initial=learner.games_done, unit=" games", smoothing=0.05, dynamic_ncols=True) as progress,
        _StopSignals() as stop,
    ):
        while learner.games_done < settings.games and not stop.received:
            before = learner.games_done
            learner.play_ply()
            progress.update(learner.games_done - before)
            if learner.games_done // settings.evaluate_every > before // settings.evaluate_every:
                result = play_match(ntuple_agent(learner.network()), yardstick, openings, seed=EVALUATION_SEED)
                metrics = {"score": result.score, "mean_absolute_error": learner.take_mean_error()}
                log.write(learner.games_done, metrics)
                progress.set_postfix_str(f"score {result.score:.2f} vs {yardstick.name}")
            if time.monotonic() - last_checkpoint > checkpoint_seconds:
                learner.save(checkpoint)
                last_checkpoint = time.monotonic()
        learner.save(checkpoint)
        learner.network().save(folder / NETWORK_FILE, {"settings": asdict(settings), "games": learner.games_done})
    return learner.games_done >= settings.games


class _StopSignals:
    """While open, remembers Ctrl-C and SIGTERM instead of letting them interrupt a move half way; a second one interrupts."""

    def __init__(self) -> None:
        self.received = False

    def __enter__(self) -> _StopSignals:
        self._previous = {number: signal.signal(number, self._remember) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        if self.received:
            signal.signal(number, self._previous[signal.Signals(number)])
            signal.raise_signal(number)
        self.received = True


def evaluate(network: NTupleNetwork, num_openings: int) -> str:
    """The table of matches against the panel, one move ahead on both sides."""
    size = network.board_size
    openings = random_openings(num_openings, OPENING_PLIES, np.random.default_rng(EVALUATION_SEED + 1), board_size=size)
    agent = ntuple_agent(network)
    return format_results([play_match(agent, make_agent(spec), openings, seed=EVALUATION_SEED + 1) for spec in PANEL[size]])


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    arguments = tyro.cli(Arguments, prog="python -m training.td_ntuple", args=argv)
    try:
        code = _run(arguments)
    except (CheckpointError, OSError, ValueError) as error:
        sys.exit(f"td_ntuple: {error}")
    sys.exit(code)


def _run(arguments: Arguments) -> int:
    settings = arguments.settings
    if arguments.resume:
        default = Settings()
        if replace(settings, games=default.games) != default or arguments.out:
            raise ValueError("--resume continues a run with its own settings in its own folder; only --games goes with it")
        folder = arguments.resume
        learner = Learner.load(folder / CHECKPOINT_FILE)
        if settings.games != default.games:
            learner.settings = replace(learner.settings, games=settings.games)
    else:
        folder = arguments.out or Path("runs") / time.strftime("td_ntuple-%Y%m%d-%H%M%S")
        if (folder / CHECKPOINT_FILE).exists():
            raise ValueError(f"{folder} holds a run already: continue it with --resume {folder}, or choose another --out")
        learner = Learner(settings)
        folder.mkdir(parents=True, exist_ok=True)

    print(f"Training to {learner.settings.games} games in {folder} (Ctrl-C stops and keeps what is learned)", flush=True)
    start = time.monotonic()
    done = train(learner, folder, checkpoint_seconds=arguments.checkpoint_seconds)
    resume = f"{_python()} -m training.td_ntuple --resume {folder}"
    if not done:
        print(f"Stopped after {learner.games_done} games. Continue with\n  {resume}")
        return 130
    print(f"Trained in {time.monotonic() - start:.0f} s. Playing the baselines ...", flush=True)
    print(evaluate(learner.network(), arguments.final_openings))
    print(
        f"Weights: {folder / NETWORK_FILE}\n"
        "Next:\n"
        f"  {_python()} -m training.evaluation.match ntuple:{folder / NETWORK_FILE} positional --epsilon 0.1\n"
        f"  {resume} --games {3 * learner.games_done // 1000 * 1000}\n"
        f"  {_python()} -m tensorboard.main --logdir {folder.parent}"
    )
    return 0


def _python() -> str:
    """The interpreter as the user would type it."""
    executable = Path(sys.executable)
    return str(executable.relative_to(Path.cwd())) if executable.is_relative_to(Path.cwd()) else str(executable)


if __name__ == "__main__":
    main()
