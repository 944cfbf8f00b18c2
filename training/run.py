"""What a training run does around learning, the same for all trainers.

A run has a folder: the network, a checkpoint to go on from, metrics as CSV and for TensorBoard, and in the end a picture of the
learning curve. Ctrl-C and termination signals stop it after the current step and a checkpoint; a resumed run ends like one that
was never stopped.
"""

from __future__ import annotations

import math
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import FrameType
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np
import torch
import tyro
from filelock import FileLock, Timeout
from tqdm import tqdm

from agents import make_agent
from agents.base import Agent
from agents.networks import Device
from agents.weight_file import CheckpointError
from othello_env import Position
from training.checkpoints import TrainingDivergedError
from training.evaluation.match import format_results, play_match
from training.evaluation.openings import random_openings
from training.learning_curve import FILE_NAME as CURVE_FILE
from training.learning_curve import draw_learning_curve
from training.metrics import FILE_NAME as METRICS_FILE
from training.metrics import MetricsLog

CHECKPOINT_FILE: Final = "checkpoint.safetensors"

# By board size: whom the learner is measured against, while it learns and in the end.
BASELINES: Final[dict[int, tuple[str, ...]]] = {
    8: ("random", "greedy", "positional:table=swh", "positional:table=heur", "positional:table=bench"),
    6: ("random", "greedy", "positional"),
}
OPENING_PLIES: Final = {8: 8, 6: 4}
CURVE_OPENINGS: Final = 50
# Checkpoints are made so seldom that writing them takes no more than one part of so many of the time.
_SAVING_SHARE: Final = 20
# Of the matches, the same for all runs; as sequences they give other random numbers than any seed of self-play.
CURVE_SEED: Final = (20_000, 1)
FINAL_SEED: Final = (20_000, 2)


class RunSettings(Protocol):
    """What the settings of all trainers have."""

    @property
    def games(self) -> int:
        """Games of self-play in all."""
        ...

    @property
    def board_size(self) -> int:
        """Squares along a side of the board."""
        ...

    @property
    def evaluate_every(self) -> int:
        """Games between two evaluations."""
        ...

    def check(self) -> None:
        """Raise `ValueError` for a number that no run can use, with its name."""
        ...


def check_settings(
    settings: Any,
    *,
    at_least_one: Sequence[str],
    not_negative: Sequence[str] = (),
    positive: Sequence[str] = (),
    shares: Sequence[str] = (),
    most_random_plies: int,
) -> None:
    """Raise `ValueError`, with its name, for a setting of these that no run can use; those of `RunSettings` and `seed` are among them."""
    for name in ("games", "evaluate_every", *at_least_one):
        if getattr(settings, name) < 1:
            raise ValueError(f"{name} {getattr(settings, name)}: must be at least 1")
    for name in ("seed", "random_plies", *not_negative):
        if not 0 <= getattr(settings, name) < math.inf:
            raise ValueError(f"{name} {getattr(settings, name)}: must not be negative")
    for name in positive:
        if not 0 < getattr(settings, name) < math.inf:
            raise ValueError(f"{name} {getattr(settings, name)}: must be a number above 0")
    for name in shares:
        if not 0 <= getattr(settings, name) <= 1:
            raise ValueError(f"{name} {getattr(settings, name)}: must be between 0 and 1")
    if settings.seed >= 1 << 63:
        raise ValueError(f"seed {settings.seed}: must be below 2**63")
    if settings.board_size not in BASELINES:
        raise ValueError(f"board_size {settings.board_size}: expected one of {', '.join(map(str, sorted(BASELINES)))}")
    if settings.random_plies > most_random_plies:
        raise ValueError(f"random_plies {settings.random_plies}: at most {most_random_plies} on this board")


S = TypeVar("S", bound=RunSettings)


class Learner(Protocol[S]):
    """Whatever learns by playing."""

    settings: S

    @property
    def games_done(self) -> int:
        """Games finished since the run began."""
        ...

    @property
    def positions_done(self) -> int:
        """Moves made since the run began."""
        ...

    @property
    def computes_with(self) -> str:
        """For the user: on what device and in what precision; nothing where there is no choice."""
        ...

    def advance(self) -> None:
        """Play and learn a little. Raises `TrainingDivergedError` where that is found out."""
        ...

    def take_metrics(self) -> dict[str, float]:
        """Numbers for the log, means since the last call, by the names of `Trainer.metrics`."""
        ...

    def curve_agent(self) -> Agent:
        """What has been learned so far, as it plays for the learning curve."""
        ...

    def final_agents(self) -> Sequence[Agent]:
        """What has been learned in the end, in the ways in which it is meant to play."""
        ...

    def save_network(self, path: Path) -> None:
        """Write what has been learned. Raises `TrainingDivergedError`, and writes nothing, where it is not finite."""
        ...

    def save(self, path: Path) -> None:
        """Write a checkpoint from which the run goes on as if nothing had happened."""
        ...


L = TypeVar("L", bound=Learner[Any])


@dataclass(frozen=True, slots=True)
class Trainer(Generic[S, L]):
    """What the trainers differ in.

    name: of the module. presets: settings by name, the first one is the default. new: a learner from settings and a device. load:
    a learner from a checkpoint; it raises `CheckpointError` where that is missing, damaged or of another kind. metrics: names of a
    learner's numbers. network_file: the name of the file that `save_network` writes. spec: the agents' spec of such a file.
    final_openings: of the final table, each played twice.
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


@dataclass(frozen=True, slots=True)
class Arguments(Generic[S]):
    """The command line."""

    settings: tyro.conf.OmitArgPrefixes[S]
    preset: str
    """Settings to begin with; those given beside it replace its own."""
    out: Path | None = None
    """Folder for weights, checkpoint and metrics. Default: a new one in runs/ named by date and time."""
    resume: Path | None = None
    """Folder of a run to continue. Its settings are kept, and of them only --games may be given anew."""
    device: Device = "auto"
    """Where the network learns and answers; auto takes a GPU that PyTorch finds. The rules stay on the CPU."""
    checkpoint_seconds: float = 30.0
    """Seconds between two checkpoints."""
    final_openings: int = 0
    """Openings of the final matches, each played twice with colours swapped."""


def run_trainer(trainer: Trainer[S, L], argv: Sequence[str] | None = None) -> None:
    """The command line of a trainer. argv: its arguments, by default those of the process."""
    argv = sys.argv[1:] if argv is None else list(argv)
    with ExitStack() as locks:
        try:
            arguments = _parse(trainer, argv)
            settings_type = type(next(iter(trainer.presets.values())))
            given = {item.name for item in fields(settings_type) for word in argv if word.split("=")[0] in _flags(item.name)}  # type: ignore[arg-type]
            given |= {"preset"} & {word.split("=")[0].removeprefix("--") for word in argv}
            learner, folder = _prepare(trainer, arguments, given=given, locks=locks)
        except Timeout as error:
            sys.exit(f"{trainer.name}: another run is going on in {Path(error.lock_file).parent}")
        except KeyboardInterrupt:
            sys.exit(f"{trainer.name}: interrupted before it began")
        except (CheckpointError, MemoryError, OSError, ValueError, torch.cuda.OutOfMemoryError) as error:
            sys.exit(f"{trainer.name}: {_one_line(error)}")
        try:
            code = _Run(trainer, learner, folder, arguments).go()
        except KeyboardInterrupt:
            sys.exit(f"{trainer.name}: interrupted; the weights and checkpoint last saved are in {folder}")
        except TrainingDivergedError as error:
            sys.exit(f"{trainer.name}: {error}; the last good weights and checkpoint are in {folder}")
        except OSError as error:
            sys.exit(f"{trainer.name}: cannot write: {error}; the weights and checkpoint last saved are in {folder}")
        except (MemoryError, torch.cuda.OutOfMemoryError, ValueError) as error:
            sys.exit(f"{trainer.name}: {_one_line(error)}; the weights and checkpoint last saved are in {folder}")
    sys.exit(code)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _parse(trainer: Trainer[S, L], argv: Sequence[str]) -> Arguments[S]:
    names = ", ".join(trainer.presets)
    preset = next(iter(trainer.presets))
    for number, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name == "--preset":
            preset = value if equals else "".join(argv[number + 1 : number + 2])
    if preset not in trainer.presets:
        raise ValueError(f"preset {preset!r}: expected one of {names}")
    settings = trainer.presets[preset]
    default = Arguments(settings, preset, final_openings=trainer.final_openings)
    of_these_settings: Any = Arguments[type(settings)]  # type: ignore[misc]
    parsed: Arguments[S] = tyro.cli(
        of_these_settings,
        prog=f"python -m training.{trainer.name}",
        description=f"{trainer.description} Presets: {names}.",
        default=default,
        args=argv,
    )
    return parsed


def _flags(name: str) -> tuple[str, str]:
    return f"--{name}", f"--{name.replace('_', '-')}"


def _prepare(trainer: Trainer[S, L], arguments: Arguments[S], *, given: set[str], locks: ExitStack) -> tuple[L, Path]:
    """What to train and where, from arguments that make sense, the folder locked.

    given: the settings that the command line names. Raises `ValueError`, `CheckpointError`, `OSError`, or `Timeout` where another
    run has the folder.
    """
    if arguments.final_openings < 1:
        raise ValueError(f"final_openings {arguments.final_openings}: must be at least 1")
    if not arguments.checkpoint_seconds >= 0:
        raise ValueError(f"checkpoint_seconds {arguments.checkpoint_seconds}: must not be negative")
    if arguments.resume:
        refused = sorted(given - {"games"}) + ["out"] * (arguments.out is not None)
        if refused:
            raise ValueError(
                f"--{refused[0].replace('_', '-')} does not go with --resume: a run keeps its folder and its settings, but --games"
            )
        if arguments.resume.is_dir():
            _lock(arguments.resume, locks)  # before anything is read that another run may be about to change
        learner = trainer.load(arguments.resume / CHECKPOINT_FILE, arguments.device)
        if "games" in given:
            prolong(learner, arguments.settings.games)
        return learner, arguments.resume
    arguments.settings.check()
    learner = trainer.new(arguments.settings, arguments.device)
    if arguments.out:
        for name in (CHECKPOINT_FILE, trainer.network_file, METRICS_FILE):
            if (arguments.out / name).exists():
                raise ValueError(f"{arguments.out} has a {name} already: continue that run with --resume, or choose another --out")
        arguments.out.mkdir(parents=True, exist_ok=True)
    folder = arguments.out or new_folder(Path("runs"), time.strftime(f"{trainer.name}-%Y%m%d-%H%M%S"))
    _lock(folder, locks)
    return learner, folder


def _lock(folder: Path, locks: ExitStack) -> None:
    locks.enter_context(FileLock(folder / ".lock", timeout=0))


def prolong(learner: Learner[Any], games: int) -> None:
    """Let a run end after another number of games. Raises `ValueError` for one that it has passed already."""
    settings = replace(learner.settings, games=games)
    settings.check()
    if games < learner.games_done:
        raise ValueError(f"games {games}: the run has played {learner.games_done} already")
    learner.settings = settings


def new_folder(parent: Path, name: str) -> Path:
    """A folder that nobody else has, of this name or with a number behind it."""
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
    """Openings of random plies, the same ones at every call."""
    rng = np.random.default_rng(seed)
    return list(random_openings(count, OPENING_PLIES[board_size], rng=rng, board_size=board_size))


def metric_names(trainer: Trainer[Any, Any], board_size: int) -> tuple[str, ...]:
    """The columns of `metrics.csv` behind the games: positions, the scores against the baselines and their mean, the learner's own."""
    return ("positions", "score", *(f"score {spec}" for spec in BASELINES[board_size]), *trainer.metrics)


@dataclass(slots=True)
class _Run(Generic[S, L]):
    """One run in its folder."""

    trainer: Trainer[S, L]
    learner: L
    folder: Path
    arguments: Arguments[S]
    _started: float = field(default_factory=time.monotonic)

    def go(self) -> int:
        """Train and evaluate; the exit status."""
        settings = self.learner.settings
        print(f"Training to {settings.games} games in {self.folder} (Ctrl-C stops and keeps what is learned)", flush=True)
        if self.learner.computes_with:
            print(f"The network computes {self.learner.computes_with}", flush=True)
        done = train(self.trainer, self.learner, folder=self.folder, checkpoint_seconds=self.arguments.checkpoint_seconds)
        python, quoted = shlex.quote(_python()), shlex.quote(str(self.folder))
        resume = f"{python} -m training.{self.trainer.name} --resume {quoted}"
        if not done:
            print(f"Stopped after {self.learner.games_done} games. Continue with\n  {resume}")
            return 130
        print(f"Trained in {time.monotonic() - self._started:.0f} s. Playing the baselines ...", flush=True)
        print(evaluate(self.learner, self.arguments.final_openings))
        size = settings.board_size
        network = self.folder / self.trainer.network_file
        spec = shlex.quote(self.trainer.spec(network, settings))
        board = "" if size == 8 else f" --board-size {size}"
        print(
            f"Weights: {network}\nLearning curve: {self.folder / CURVE_FILE}\n"
            "Next:\n"
            f"  {python} -m training.evaluation.match {spec} {BASELINES[size][2]}{board} --epsilon 0.1\n"
            f"  {python} -m agents.play {spec}{board}\n"
            f"  {resume} --games {3 * settings.games}\n"
            f"  {python} -m tensorboard.main --logdir {shlex.quote(str(self.folder.parent))}"
        )
        return 0


def _python() -> str:
    """The interpreter as the user would type it."""
    executable = Path(sys.executable)
    return str(executable.relative_to(Path.cwd())) if executable.is_relative_to(Path.cwd()) else str(executable)


def train(trainer: Trainer[S, L], learner: L, *, folder: Path, checkpoint_seconds: float = 30.0) -> bool:
    """Learn until the games of the settings are done, with a progress line, metrics and checkpoints in `folder`.

    Returns whether they are done: False after Ctrl-C or a termination signal, which are obeyed after the current step and a
    checkpoint. What is learned does not depend on how often the training is stopped and resumed. Raises `TrainingDivergedError`
    where it diverges and `OSError` where it cannot write; the last good checkpoint stays.
    """
    settings = learner.settings
    baselines = [make_agent(spec) for spec in BASELINES[settings.board_size]]
    openings = baseline_openings(CURVE_OPENINGS, settings.board_size, seed=CURVE_SEED)
    names = metric_names(trainer, settings.board_size)
    with (
        MetricsLog(folder, "games", names, resume_step=learner.games_done) as log,
        tqdm(total=settings.games, initial=learner.games_done, unit=" games", smoothing=0.05, dynamic_ncols=True) as progress,
        StopSignals() as stop,
    ):
        save_run(trainer, learner, folder=folder)
        last_checkpoint, wait = time.monotonic(), checkpoint_seconds
        rate, score = _Rate(learner.positions_done), ""
        while learner.games_done < settings.games and not stop.received:
            before = learner.games_done
            learner.advance()
            progress.update(learner.games_done - before)
            if learner.games_done // settings.evaluate_every > before // settings.evaluate_every:
                agent = learner.curve_agent()
                scores = [play_match(agent, opponent, openings, seed=CURVE_SEED[0]).score for opponent in baselines]
                mean = sum(scores) / len(scores)
                values = [float(learner.positions_done), mean, *scores]
                log.write(learner.games_done, dict(zip(names, values, strict=False)) | learner.take_metrics())
                score = f"score {mean:.3f} vs {len(baselines)} baselines, "
            if rate.update(learner.positions_done):
                progress.set_postfix_str(f"{score}{rate.per_second:.0f} positions/s", refresh=False)
            if time.monotonic() - last_checkpoint > wait:
                start = time.monotonic()
                save_run(trainer, learner, folder=folder)
                last_checkpoint = time.monotonic()
                wait = max(checkpoint_seconds, _SAVING_SHARE * (last_checkpoint - start))
        save_run(trainer, learner, folder=folder)
    draw_learning_curve(folder / METRICS_FILE, folder / CURVE_FILE, title=f"{trainer.name}, {settings.games:,} games")
    return bool(learner.games_done >= settings.games)


def save_run(trainer: Trainer[S, L], learner: L, *, folder: Path) -> None:
    """Write the network and the checkpoint of a run. Raises `TrainingDivergedError`, and writes nothing, where it has diverged."""
    learner.save_network(folder / trainer.network_file)
    learner.save(folder / CHECKPOINT_FILE)


def evaluate(learner: Learner[Any], num_openings: int) -> str:
    """The table of matches against the baselines."""
    size = learner.settings.board_size
    openings = baseline_openings(num_openings, size, seed=FINAL_SEED)
    agents, baselines = learner.final_agents(), [make_agent(spec) for spec in BASELINES[size]]
    return format_results([play_match(agent, opponent, openings, seed=FINAL_SEED[0]) for agent in agents for opponent in baselines])


class _Rate:
    """Positions per second over the last seconds, evaluations and checkpoints included."""

    def __init__(self, positions: int) -> None:
        self.per_second = 0.0
        self._time, self._positions = time.monotonic(), positions

    def update(self, positions: int) -> bool:
        """Whether a second or more has passed and there is a new rate."""
        elapsed = time.monotonic() - self._time
        if elapsed < 1:
            return False
        self.per_second = (positions - self._positions) / elapsed
        self._time, self._positions = time.monotonic(), positions
        return True


class StopSignals:
    """While open, remembers Ctrl-C and SIGTERM instead of letting them interrupt a step half way; a second one interrupts."""

    def __init__(self) -> None:
        self.received = False

    def __enter__(self) -> StopSignals:
        self._previous = {number: signal.signal(number, self._remember) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _remember(self, _number: int, _frame: FrameType | None) -> None:
        if self.received:
            raise KeyboardInterrupt
        self.received = True
