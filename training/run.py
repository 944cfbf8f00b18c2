"""Training runs, independent of the trainer: command line, checkpoints, metrics, evaluation.

A run has a folder with the network, a checkpoint to resume from, metrics (CSV and TensorBoard) and,
at the end, a picture of the learning curve. On Ctrl-C or a termination signal it finishes the
current step, writes a checkpoint and stops; a resumed run ends with the same weights as an
uninterrupted one.
"""

from __future__ import annotations

import argparse
import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, Final, Generic, Protocol, TypeVar, get_args

import numpy as np
from filelock import FileLock, Timeout

from agents import make_agent
from agents.base import Agent
from agents.device import Device
from othello_env import Position, backend
from othello_env.command import EXIT_INTERRUPTED, Parser, Progress, command, one_line, python_command
from training.evaluation.match import MatchResult, format_results, play_match
from training.evaluation.openings import random_openings
from training.learning_curve import FILE_NAME as CURVE_FILE
from training.learning_curve import draw_learning_curve
from training.metrics import FILE_NAME as METRICS_FILE
from training.metrics import MetricsLog
from training.settings import RunSettings, add_settings, given_settings

CHECKPOINT_FILE: Final = "checkpoint.safetensors"

BASELINES: Final[dict[int, tuple[str, ...]]] = {
    8: ("random", "greedy", "positional:table=swh", "positional:table=heur", "positional:table=bench"),
    6: ("random", "greedy", "positional"),
}
"""Baseline opponents by board size, for the learning curve and the final table."""
OPENING_PLIES: Final = {8: 8, 6: 4}
CURVE_OPENINGS: Final = 50
# Seeds of the evaluations, the same for all runs. Because they are sequences, their random numbers
# differ from those of every self-play seed.
CURVE_SEED: Final = (20_000, 1)
FINAL_SEED: Final = (20_000, 2)
# Minimum time between two checkpoints, as a multiple of the time that writing one takes.
_CHECKPOINT_SPACING: Final = 20
# The settings that may change when a run is resumed.
_RESUME_SETTINGS: Final = ("games", "keep_every")
# Maximum number of networks in the tournament that a finished run suggests.
_LADDER_SIZE: Final = 6

S = TypeVar("S", bound=RunSettings)


class Learner(Protocol[S]):
    """A model that learns by self-play, with its running games."""

    settings: S

    @property
    def games_done(self) -> int:
        """Number of games finished since the start of the run."""
        ...

    @property
    def positions_done(self) -> int:
        """Number of moves made since the start of the run."""
        ...

    @property
    def device_description(self) -> str:
        """Device and precision of the network, for the user; empty if they cannot be chosen."""
        ...

    def advance(self) -> None:
        """Play and learn for a short time.

        Raises `TrainingDivergedError` if the weights or losses are no longer finite.
        """
        ...

    def take_metrics(self) -> dict[str, float]:
        """Return means since the last call, by the names in `Trainer.metrics`."""
        ...

    def curve_agent(self) -> Agent:
        """Return the current network as an agent, for the learning curve."""
        ...

    def final_agents(self) -> Sequence[Agent]:
        """Return the current network as the agents that are evaluated in the final table."""
        ...

    def save_network(self, path: Path) -> None:
        """Write the network.

        Raises `TrainingDivergedError`, and writes nothing, if a weight is not finite.
        """
        ...

    def save(self, path: Path) -> None:
        """Write a checkpoint from which the run continues exactly."""
        ...


L = TypeVar("L", bound=Learner[Any])


@dataclass(frozen=True, slots=True)
class Trainer(Generic[S, L]):
    """Everything in a training run that depends on the trainer.

    name: of the module. presets: settings by name, the default first. new: creates a learner from
    settings and a device. load: reads a learner from a checkpoint; raises `CheckpointError` if it
    is missing, damaged or of another kind. metrics: names of the learner's own metrics.
    network_file: name of the file that `save_network` writes. spec: returns the agent spec of such
    a file. final_openings: default number of openings per match of the final table. out_of_memory:
    errors that a device raises when its memory is full.
    """

    name: str
    description: str
    presets: dict[str, S]
    new: Callable[[S, Device], L]
    load: Callable[[Path, Device], L]
    metrics: tuple[str, ...]
    network_file: str
    spec: Callable[[Path, S], str]
    final_openings: int
    out_of_memory: tuple[type[Exception], ...] = ()


def run_trainer(trainer: Trainer[S, L], argv: Sequence[str] | None = None) -> None:
    """Run the command line of a trainer. argv: its arguments, by default those of the process."""
    arguments = _parse(trainer, argv)
    with ExitStack() as locks:
        with command(trainer.name, interrupted="interrupted before the run began"), _plain_memory_errors(trainer):
            learner, folder = _prepare(trainer, arguments, locks=locks)
        with command(trainer.name, note=lambda: _saved(trainer, folder)), _plain_memory_errors(trainer):
            _Run(trainer, learner, folder, arguments).go()


def _saved(trainer: Trainer[Any, Any], folder: Path) -> str:
    """Return the part of an error message that names the files written so far."""
    weights, state = (folder / name for name in (trainer.network_file, CHECKPOINT_FILE))
    if state.exists():
        return f"the last weights and checkpoint are in {folder}"
    return f"no checkpoint was saved, only the weights, in {folder}" if weights.exists() else "nothing was saved"


@contextmanager
def _plain_memory_errors(trainer: Trainer[Any, Any]) -> Iterator[None]:
    """Raise `MemoryError` in place of the errors that a device raises when its memory is full."""
    try:
        yield
    except trainer.out_of_memory as error:
        raise MemoryError(one_line(error)) from error


def _parse(trainer: Trainer[S, L], argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line; bad input ends the process with one line.

    The preset is parsed first, because the help shows its settings.
    """
    default, names = next(iter(trainer.presets)), ", ".join(trainer.presets)
    prog = f"python -m training.{trainer.name}"
    preset_help = f"Settings to start from, one of {names}; further options override single settings (default: {default})"

    def add_preset(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--preset", choices=tuple(trainer.presets), metavar="NAME", help=preset_help)

    first = Parser(prog=prog, add_help=False, allow_abbrev=False)
    add_preset(first)
    preset = first.parse_known_args(argv)[0].preset or default

    parser = Parser(prog=prog, usage="%(prog)s [options]", description=trainer.description, allow_abbrev=False)
    add_preset(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="Folder for network, checkpoint and metrics (default: a new one in runs/, named by time)"
    )
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="FOLDER",
        help="Folder of a run to continue with its own settings; only --games and --keep-every may be given anew",
    )
    parser.add_argument(
        "--device",
        choices=get_args(Device),
        default="auto",
        help="Device of the network; auto takes a GPU if PyTorch finds one. The rules run on the CPU in any case (default: auto)",
    )
    parser.add_argument(
        "--checkpoint-seconds",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="Time between two checkpoints, in seconds; longer if writing one takes long (default: 30)",
    )
    parser.add_argument(
        "--final-openings",
        type=int,
        default=trainer.final_openings,
        metavar="N",
        help="Openings of each match in the final table, each played twice with colors swapped (default: %(default)s)",
    )
    add_settings(parser, trainer.presets[preset], title=f"settings (defaults: those of the preset {preset})")
    return parser.parse_args(argv)


def _prepare(trainer: Trainer[S, L], arguments: argparse.Namespace, *, locks: ExitStack) -> tuple[L, Path]:
    """Create or load the learner, and lock the folder of the run.

    Raises `ValueError`, `CheckpointError` or `OSError` for invalid arguments, and `ValueError` if
    another run is using the folder.
    """
    backend.num_threads()  # raises for a wrong environment variable, before anything is written
    default = next(iter(trainer.presets))
    given = given_settings(arguments, type(trainer.presets[default]))
    if arguments.final_openings < 1:
        raise ValueError(f"final_openings {arguments.final_openings}: must be at least 1")
    if not 0 <= arguments.checkpoint_seconds < math.inf:
        raise ValueError(f"checkpoint_seconds {arguments.checkpoint_seconds}: must not be negative")
    if arguments.resume:
        refused = sorted(given.keys() - set(_RESUME_SETTINGS)) + [name for name in ("preset", "out") if getattr(arguments, name)]
        if refused:
            raise ValueError(
                f"--{refused[0].replace('_', '-')} does not go with --resume: a run keeps its folder and its settings, "
                "except --games and --keep-every"
            )
        if arguments.resume.is_dir():
            _lock(arguments.resume, locks)  # before reading what another run may be about to change
        learner = trainer.load(arguments.resume / CHECKPOINT_FILE, arguments.device)
        change_settings(learner, **given)
        return learner, arguments.resume
    settings: Any = trainer.presets[arguments.preset or default]
    learner = trainer.new(replace(settings, **given), arguments.device)
    if arguments.out:
        if arguments.out.exists() and not arguments.out.is_dir():
            raise ValueError(f"{arguments.out} is a file; --out expects a folder")
        for name in (CHECKPOINT_FILE, trainer.network_file, METRICS_FILE):
            if (arguments.out / name).exists():
                raise ValueError(f"{arguments.out} has a {name} already: continue that run with --resume, or choose another --out")
        arguments.out.mkdir(parents=True, exist_ok=True)
    folder = arguments.out or new_folder(Path("runs"), time.strftime(f"{trainer.name}-%Y%m%d-%H%M%S"))
    _lock(folder, locks)
    return learner, folder


def _lock(folder: Path, locks: ExitStack) -> None:
    try:
        locks.enter_context(FileLock(folder / ".lock", timeout=0))
    except Timeout:
        raise ValueError(f"another run is using {folder}") from None


def change_settings(learner: Learner[Any], **changes: int) -> None:
    """Change settings of a run that is resumed.

    Raises `ValueError` for a number of games smaller than the run has already played.
    """
    settings = replace(learner.settings, **changes)
    settings.check()
    if "games" in changes and settings.games < learner.games_done:
        raise ValueError(f"games {settings.games}: the run has played {learner.games_done} already")
    learner.settings = settings


def new_folder(parent: Path, name: str) -> Path:
    """Create a folder with this name, or with a number appended if it exists."""
    parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        folder = parent / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
        else:
            return folder


def baseline_openings(count: int, board_size: int, *, seed: Sequence[int]) -> list[Position]:
    """Return openings of random plies; they depend only on the arguments."""
    rng = np.random.default_rng(seed)
    return list(random_openings(count, OPENING_PLIES[board_size], rng=rng, board_size=board_size))


def metric_names(trainer: Trainer[Any, Any], board_size: int) -> tuple[str, ...]:
    """Return the columns of `metrics.csv` after the games.

    They are: positions, mean score, score against each baseline, and the learner's own metrics.
    """
    return ("positions", "score", *(f"score {spec}" for spec in BASELINES[board_size]), *trainer.metrics)


@dataclass(slots=True)
class _Run(Generic[S, L]):
    """A run in its folder."""

    trainer: Trainer[S, L]
    learner: L
    folder: Path
    arguments: argparse.Namespace

    def go(self) -> None:
        """Train, evaluate, and print the results.

        Raises `SystemExit` if a signal stops the training.
        """
        settings, started = self.learner.settings, time.monotonic()
        print(f"Training to {settings.games} games in {self.folder} (Ctrl-C stops and keeps the network)", flush=True)
        if self.learner.device_description:
            print(f"The network runs {self.learner.device_description}", flush=True)
        done = train(self.trainer, self.learner, folder=self.folder, checkpoint_seconds=self.arguments.checkpoint_seconds)
        resume = (f"training.{self.trainer.name}", "--resume", str(self.folder))
        if not done:
            print(f"Stopped after {self.learner.games_done} games. Continue with\n  {python_command(*resume)}", flush=True)
            raise SystemExit(EXIT_INTERRUPTED)
        print(f"Trained in {time.monotonic() - started:.0f} s. Playing the baselines ...", flush=True)
        print(format_results(evaluate(self.learner, self.arguments.final_openings)))
        print(f"Weights: {self.folder / self.trainer.network_file}\nLearning curve: {self.folder / CURVE_FILE}\nNext:")
        for words in (*self._evaluations(), (*resume, "--games", str(3 * settings.games))):
            print(f"  {python_command(*words)}")
        print(f"  {python_command('tensorboard.main', '--logdir', str(self.folder.parent))}")

    def _evaluations(self) -> Iterator[tuple[str, ...]]:
        """Yield commands that evaluate the network, each as module and arguments."""
        settings = self.learner.settings
        board = () if settings.board_size == 8 else ("--board-size", str(settings.board_size))
        spec = self.trainer.spec(self.folder / self.trainer.network_file, settings)
        yield ("training.evaluation.match", spec, BASELINES[settings.board_size][2], *board, "--epsilon", "0.1")
        yield ("agents.play", spec, *board)
        kept = kept_networks(self.trainer, self.folder)
        if len(kept) > 1:
            chosen = sorted({round(place) for place in np.linspace(0, len(kept) - 1, _LADDER_SIZE)})
            specs = [self.trainer.spec(kept[number], settings) for number in chosen]
            yield ("training.evaluation.tournament", *specs, *board, "--ladder", "--out", str(self.folder / "ladder"))


def train(trainer: Trainer[S, L], learner: L, *, folder: Path, checkpoint_seconds: float = 30.0) -> bool:
    """Train until the number of games is reached, and return True if it is.

    Shows a progress line, and writes metrics, checkpoints and kept networks to `folder`. Returns
    False after Ctrl-C or a termination signal, which take effect after the current step and a
    checkpoint. The weights do not depend on how often the training is stopped and resumed. Raises
    `TrainingDivergedError` if the training diverges and `OSError` if a file cannot be written; the
    last good checkpoint stays.
    """
    settings = learner.settings
    baselines = [make_agent(spec) for spec in BASELINES[settings.board_size]]
    openings = baseline_openings(CURVE_OPENINGS, settings.board_size, seed=CURVE_SEED)
    names = metric_names(trainer, settings.board_size)
    with ExitStack() as stack:
        stop = stack.enter_context(StopSignals())
        save_run(trainer, learner, folder=folder)  # first, so that nothing else is written where it fails
        log = stack.enter_context(MetricsLog(folder, "games", names, resume_step=learner.games_done))
        progress = stack.enter_context(Progress(settings.games, unit="games", initial=learner.games_done, leave=True))
        last_checkpoint, wait = time.monotonic(), checkpoint_seconds
        rate, score, is_first = _Rate(learner.positions_done), "", True
        while learner.games_done < settings.games and not stop.received:
            before = learner.games_done
            learner.advance()
            progress.update(learner.games_done - before)
            if is_first:  # it waits for the compiler
                progress.restart_clock()
                rate, is_first = _Rate(learner.positions_done), False
            if _passes(settings.keep_every, before, learner.games_done):
                learner.save_network(folder / kept_network_name(trainer, learner.games_done))
            if _passes(settings.evaluate_every, before, learner.games_done):
                agent = learner.curve_agent()
                scores = [play_match(agent, opponent, openings, seed=CURVE_SEED[0]).score for opponent in baselines]
                mean = sum(scores) / len(scores)
                values = [float(learner.positions_done), mean, *scores]
                log.write(learner.games_done, dict(zip(names, values, strict=False)) | learner.take_metrics())
                score = f"score {mean:.3f} vs {len(baselines)} baselines, "
            if rate.update(learner.positions_done):
                progress.note(f"{score}{rate.per_second:.0f} positions/s")
            if time.monotonic() - last_checkpoint > wait:
                start = time.monotonic()
                save_run(trainer, learner, folder=folder)
                last_checkpoint = time.monotonic()
                wait = max(checkpoint_seconds, _CHECKPOINT_SPACING * (last_checkpoint - start))
        save_run(trainer, learner, folder=folder)
    draw_learning_curve(folder / METRICS_FILE, folder / CURVE_FILE, title=f"{trainer.name}, {settings.games:,} games")
    return bool(learner.games_done >= settings.games)


def _passes(interval: int, before: int, after: int) -> bool:
    """Return True if a multiple of the interval is in (before, after]; never for interval 0."""
    return interval > 0 and after // interval > before // interval


def kept_network_name(trainer: Trainer[Any, Any], games: int) -> str:
    """Return the file name of the network kept after a number of games; names sort by games."""
    path = Path(trainer.network_file)
    return f"{path.stem}-{games:09}{path.suffix}"


def kept_networks(trainer: Trainer[Any, Any], folder: Path) -> list[Path]:
    """Return the files of the networks that a run has kept, the earliest first."""
    path = Path(trainer.network_file)
    return sorted(folder.glob(f"{path.stem}-{'[0-9]' * 9}{path.suffix}"))


def save_run(trainer: Trainer[S, L], learner: L, *, folder: Path) -> None:
    """Write the network and the checkpoint of a run.

    Raises `TrainingDivergedError`, and writes nothing, if the training has diverged.
    """
    learner.save_network(folder / trainer.network_file)
    learner.save(folder / CHECKPOINT_FILE)


def evaluate(learner: Learner[Any], num_openings: int) -> list[MatchResult]:
    """Play the matches of the final agents against the baselines."""
    size = learner.settings.board_size
    openings = baseline_openings(num_openings, size, seed=FINAL_SEED)
    pairs = [(agent, make_agent(spec)) for agent in learner.final_agents() for spec in BASELINES[size]]
    results = []
    with Progress(len(pairs), unit="matches") as progress:
        for agent, opponent in pairs:
            results.append(play_match(agent, opponent, openings, seed=FINAL_SEED[0]))
            progress.update()
    return results


class _Rate:
    """Positions per second since the last update, evaluations and checkpoints included."""

    def __init__(self, positions: int) -> None:
        self.per_second = 0.0
        self._time, self._positions = time.monotonic(), positions

    def update(self, positions: int) -> bool:
        """Set the new rate and return True if at least one second has passed since the last one."""
        elapsed = time.monotonic() - self._time
        if elapsed < 1:
            return False
        self.per_second = (positions - self._positions) / elapsed
        self._time, self._positions = time.monotonic(), positions
        return True


class StopSignals:
    """Context manager that records Ctrl-C and termination signals instead of interrupting a step.

    A second signal raises `KeyboardInterrupt`. Outside the main thread, where Python does not allow
    signal handlers, nothing is recorded and the signals keep their effect.
    """

    def __init__(self) -> None:
        self.received = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        # Windows sends SIGBREAK for Ctrl-Break, and SIGTERM only from within the process.
        for name in ("SIGINT", "SIGTERM", "SIGBREAK"):
            if (number := getattr(signal, name, None)) is None:
                continue
            try:
                self._previous[number] = signal.signal(number, self._record)
            except ValueError:  # not in the main thread
                break
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            # None: the handler was not set from Python, which cannot restore it.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _record(self, _number: int, _frame: FrameType | None) -> None:
        if self.received:
            raise KeyboardInterrupt
        self.received = True
