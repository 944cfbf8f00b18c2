"""TD(0) self-play with an n-tuple network: `python -m training.td_ntuple`.

The value of an afterstate (the position after a move, before the reply) from the view of the side that made the move is
tanh(s), s the sum of the weights that its tuples look up. Both sides play the move with the highest value, one move in ten at
random. After each move the value of the afterstate before it is drawn towards the new one: towards its negative, since the
other side made it, or, where a side moved twice because of a pass, towards the value itself. The last afterstate is drawn to
the result. Nothing is learned from what follows a random move.

Each weight has its own step size, from temporal coherence (Beal and Smith 1999): the size of the sum of its errors over the sum
of their sizes, 1 while they agree, small once they cancel. Many games run in lockstep; a weight that several of them look up at
once moves by the mean of what they ask for. Patterns that are their own mirror images keep one weight for both readings.
"""

from __future__ import annotations

import math
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import FrameType
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import torch
import tyro
from filelock import FileLock, Timeout
from tqdm import tqdm

from agents import make_agent
from agents.base import best_afterstates, groups_of
from agents.ntuple import NTupleNetwork, mirrored_indices, ntuple_agent, straight_and_corner_groups, table_sizes
from agents.weight_file import CheckpointError, read_weights, write_weights
from othello_env import PositionBatch
from othello_env.position import BLACK
from training.evaluation.match import format_results, play_match
from training.evaluation.openings import random_openings
from training.metrics import FILE_NAME as METRICS_FILE
from training.metrics import MetricsLog

NETWORK_FILE: Final = "ntuple.safetensors"
CHECKPOINT_FILE: Final = "checkpoint.safetensors"
CHECKPOINT_KIND: Final = "td_ntuple checkpoint"
METRICS: Final = ("score", "mean_absolute_error")

# By board size: the opponents of the final table, and the one of the progress line.
PANEL: Final[dict[int, tuple[str, ...]]] = {
    8: ("random", "greedy", "positional:table=swh", "positional:table=heur", "positional:table=bench"),
    6: ("random", "greedy"),
}
YARDSTICK: Final = {8: "positional:table=swh", 6: "greedy"}
OPENING_PLIES: Final = 8
YARDSTICK_OPENINGS: Final = 100
# Of the matches, the same for all runs; as sequences they give other random numbers than any seed of self-play.
YARDSTICK_SEED: Final = (20_000, 1)
PANEL_SEED: Final = (20_000, 2)

# A move that ends the game by a win or a loss counts for more than any sum of weights.
_DECIDED: Final = 1e4


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run depends on. On a CPU the same settings give the same weights."""

    games: int = 120_000
    """Games of self-play in all."""
    seed: int = 0
    """Seed of all randomness."""
    board_size: Literal[6, 8] = 8
    """Squares along a side of the board."""
    parallel_games: int = 256
    """Games played in lockstep. More are faster a game, and learn less from each. The first ones begin with random moves."""
    step_size: float = 6.0
    """Step size of a weight whose errors all have one sign, shared by the tuples of a position."""
    epsilon: float = 0.1
    """Chance that a move is random. Nothing is learned from what follows a random move."""
    evaluate_every: int = 10_000
    """Games between two matches against the yardstick, which the progress line and the metrics show."""

    def check(self) -> None:
        """Raise `ValueError` for a number that no run can use, with its name."""
        for name in ("games", "parallel_games", "evaluate_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)}: must be at least 1")
        if self.seed < 0:
            raise ValueError(f"seed {self.seed}: must not be negative")
        if not (self.step_size > 0 and math.isfinite(self.step_size)):
            raise ValueError(f"step_size {self.step_size}: must be a number above 0")
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon {self.epsilon}: a chance is between 0 and 1")
        if self.board_size not in PANEL:
            raise ValueError(f"board_size {self.board_size}: expected one of {', '.join(map(str, sorted(PANEL)))}")


class Learner:
    """The network, its step sizes and the games being played: all that a checkpoint holds.

    device: where the weights are kept, looked up and changed; the rules stay on the CPU.
    """

    def __init__(self, settings: Settings, device: str = "cpu") -> None:
        settings.check()
        self.settings = settings
        self.groups = straight_and_corner_groups(settings.board_size)
        self.games_done = 0
        self._error_sum, self._num_errors = 0.0, 0  # since `take_mean_error`
        self._device = torch.device(device)
        num_weights = sum(table_sizes(self.groups))
        self.weights = torch.zeros(num_weights, device=self._device)
        # Per weight: the sum of its errors and the sum of their absolute values. Their ratio is the step size.
        self._errors = torch.zeros(num_weights, dtype=torch.float64, device=self._device)
        self._absolute_errors = torch.zeros(num_weights, dtype=torch.float64, device=self._device)
        self._hits = torch.zeros(num_weights, device=self._device)
        self._mirrored = torch.from_numpy(mirrored_indices(self.groups, settings.board_size)).to(self._device)
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
        longest = self.settings.board_size**2 - 4
        plies = np.arange(len(games)) * longest // len(games)
        for ply in range(longest):
            moving = np.flatnonzero((plies > ply) & ~games.is_over)
            games.step(games.take(moving).sample_moves(self._rng), rows=moving)
        games.reset(games.is_over)
        return games

    def network(self) -> NTupleNetwork:
        """A copy of the network as it is now. Raises `ValueError` where training has diverged."""
        return NTupleNetwork(self.groups, self.weights.cpu().numpy().copy(), self.settings.board_size)

    def play_ply(self) -> None:
        """Choose and make one move in each game, learn from it, and start new games where one ended."""
        games = self._games
        afterstates = games.afterstates()
        lookups = self._layout.indices(afterstates.own, afterstates.opp)
        sums = self._sums(lookups)
        values = np.tanh(sums)
        ends, differences = afterstates.results()
        values[ends], sums[ends] = np.sign(differences), np.sign(differences) * _DECIDED

        chosen = best_afterstates(afterstates.rows, sums, rng=self._rng)
        first, num_choices = groups_of(afterstates.rows)
        random_choice = first + (self._rng.random(len(games)) * num_choices).astype(np.int64)
        explores_mask = self._rng.random(len(games)) < self.settings.epsilon
        chosen = np.where(explores_mask, random_choice, chosen)
        games.step(afterstates.squares[chosen])

        learning = np.flatnonzero(self._has_previous & ~explores_mask)
        sign = np.where(afterstates.side[chosen] == self._previous_side, 1, -1)
        ended = np.flatnonzero(games.is_over)
        self._learn(
            np.concatenate([self._previous[learning], lookups[chosen[ended]]]),
            np.concatenate([(sign * values[chosen])[learning], values[chosen[ended]]]).astype(np.float32),
        )
        self._previous, self._previous_side = lookups[chosen], afterstates.side[chosen]
        self._has_previous = ~games.is_over
        self.games_done += len(ended)
        games.reset(ended)

    def _sums(self, lookups: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The sums of the looked-up weights: [N, T] to [N]."""
        index = torch.from_numpy(lookups).to(self._device)
        summed = torch.nn.functional.embedding_bag(index, self.weights[:, None], mode="sum")
        sums: npt.NDArray[np.float32] = summed[:, 0].cpu().numpy()
        return sums

    def _learn(self, lookups: npt.NDArray[np.int64], targets: npt.NDArray[np.float32]) -> None:
        """Draw the values of M afterstates towards their targets. lookups: [M, T]; targets: [M], from the view of who made them."""
        index = self._representative[torch.from_numpy(lookups).to(self._device)]
        values = torch.tanh(self.weights[index].sum(dim=1))
        errors = (torch.from_numpy(targets).to(self._device) - values) * (1 - values**2)
        self._error_sum += float(errors.abs().sum())
        self._num_errors += len(errors)

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
        mean = self._error_sum / max(1, self._num_errors)
        self._error_sum, self._num_errors = 0.0, 0
        return mean

    def save(self, path: Path) -> None:
        """Write a checkpoint from which `load` continues as if nothing had happened, by an atomic rename."""
        about = {
            "settings": asdict(self.settings),
            "games_done": self.games_done,
            "error_sum": self._error_sum,
            "num_errors": self._num_errors,
            "rng": self._rng.bit_generator.state,
        }
        write_weights(path, CHECKPOINT_KIND, tensors=self._arrays(), about=about)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a checkpoint, by their names in it."""
        return {
            "weights": self.weights.cpu().numpy(),
            "errors": self._errors.cpu().numpy(),
            "absolute_errors": self._absolute_errors.cpu().numpy(),
            "own": self._games.own,
            "opp": self._games.opp,
            "side_to_move": self._games.side_to_move,
            "previous_lookups": self._previous,
            "previous_side": self._previous_side,
            "has_previous": self._has_previous,
        }

    @classmethod
    def load(cls, path: Path, *, games: int | None = None, device: str = "cpu") -> Learner:
        """Read a checkpoint. games: a new number of games in all, or None for the one that the run was started for.

        Raises `CheckpointError` where the file is missing, damaged or of another kind, `ValueError` for a bad number of games.
        """
        arrays, about = read_weights(path, CHECKPOINT_KIND)
        try:
            settings = Settings(**about["settings"])
            learner = cls(settings, device)
            expected = {name: (array.shape, array.dtype) for name, array in learner._arrays().items()}
            if expected != {name: (array.shape, array.dtype) for name, array in arrays.items()}:
                raise ValueError("its arrays do not fit its settings")
            if not np.isfinite(arrays["weights"]).all():
                raise ValueError("not all of its weights are finite numbers")
            learner._restore(arrays, about)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{str(path)!r}: not a checkpoint to go on from ({type(error).__name__}: {error})") from None
        if games is not None:
            learner.settings = replace(settings, games=games)
            learner.settings.check()
            if games < learner.games_done:
                raise ValueError(f"games {games}: the run has played {learner.games_done} already")
        return learner

    def _restore(self, arrays: dict[str, npt.NDArray[Any]], about: dict[str, Any]) -> None:
        for tensor, name in ((self.weights, "weights"), (self._errors, "errors"), (self._absolute_errors, "absolute_errors")):
            tensor.copy_(torch.from_numpy(arrays[name]))
        self._games = PositionBatch(arrays["own"], arrays["opp"], arrays["side_to_move"], board_size=self.settings.board_size)
        self._previous, self._previous_side = arrays["previous_lookups"], arrays["previous_side"]
        self._has_previous = arrays["has_previous"]
        self.games_done = int(about["games_done"])
        self._error_sum, self._num_errors = float(about["error_sum"]), int(about["num_errors"])
        self._rng.bit_generator.state = about["rng"]


def train(learner: Learner, folder: Path, *, checkpoint_seconds: float = 10.0) -> bool:
    """Play until the games of the settings are done, with a progress line, metrics and checkpoints in `folder`.

    Returns whether they are done: False after Ctrl-C or a termination signal, which are obeyed after the current move and a
    checkpoint. What is learned does not depend on how often the training is stopped and resumed. Raises `ValueError` where it
    diverges; the last good checkpoint stays. Sets PyTorch to one thread: the arrays of a move are too small to share, and
    PyTorch's threads would contend with NumPy's.
    """
    torch.set_num_threads(1)
    settings = learner.settings
    yardstick = make_agent(YARDSTICK[settings.board_size])
    openings = random_openings(YARDSTICK_OPENINGS, OPENING_PLIES, rng=np.random.default_rng(YARDSTICK_SEED), board_size=settings.board_size)
    with (
        MetricsLog(folder, "games", METRICS, resume_step=learner.games_done) as log,
        tqdm(total=settings.games, initial=learner.games_done, unit=" games", smoothing=0.05, dynamic_ncols=True) as progress,
        _StopSignals() as stop,
    ):
        last_checkpoint = time.monotonic()
        while learner.games_done < settings.games and not stop.received:
            before = learner.games_done
            learner.play_ply()
            progress.update(learner.games_done - before)
            if learner.games_done // settings.evaluate_every > before // settings.evaluate_every:
                result = play_match(ntuple_agent(learner.network()), yardstick, openings, seed=YARDSTICK_SEED[0])
                log.write(learner.games_done, {"score": result.score, "mean_absolute_error": learner.take_mean_error()})
                progress.set_postfix_str(f"score {result.score:.2f} vs {yardstick.name}")
            if time.monotonic() - last_checkpoint > checkpoint_seconds:
                save_run(learner, folder)
                last_checkpoint = time.monotonic()
        save_run(learner, folder)
    return learner.games_done >= settings.games


def save_run(learner: Learner, folder: Path) -> None:
    """Write the network and the checkpoint of a run. Raises `ValueError`, and writes nothing, where training has diverged."""
    network = learner.network()
    network.save(folder / NETWORK_FILE, {"settings": asdict(learner.settings), "games": learner.games_done})
    learner.save(folder / CHECKPOINT_FILE)


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

    def _remember(self, _number: int, _frame: FrameType | None) -> None:
        if self.received:
            raise KeyboardInterrupt
        self.received = True


def evaluate(network: NTupleNetwork, num_openings: int) -> str:
    """The table of matches against the panel, one move ahead on both sides."""
    size = network.board_size
    openings = random_openings(num_openings, OPENING_PLIES, rng=np.random.default_rng(PANEL_SEED), board_size=size)
    agent = ntuple_agent(network)
    return format_results([play_match(agent, make_agent(spec), openings, seed=PANEL_SEED[0]) for spec in PANEL[size]])


@dataclass(frozen=True, slots=True)
class Arguments:
    """Train an n-tuple network by TD(0) self-play, then play it against the baselines."""

    settings: tyro.conf.OmitArgPrefixes[Settings]
    out: Path | None = None
    """Folder for weights, checkpoint and metrics. Default: a new one in runs/ named by date and time."""
    resume: Path | None = None
    """Folder of a run to continue. Its settings are kept, and of them only --games may be given anew."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where the weights are kept, looked up and changed. The rules stay on the CPU, so cuda helps little here."""
    checkpoint_seconds: float = 10.0
    """Seconds between two checkpoints."""
    final_openings: int = 500
    """Openings of the final matches, 8 random plies each, every one played twice with colours swapped."""


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    argv = sys.argv[1:] if argv is None else argv
    arguments = tyro.cli(Arguments, prog="python -m training.td_ntuple", args=argv)
    given = {field.name for field in fields(Settings) for word in argv if word.split("=")[0] in _flags(field.name)}
    try:
        learner, folder = _prepare(arguments, given)
    except (CheckpointError, OSError, ValueError) as error:
        sys.exit(f"td_ntuple: {' '.join(str(error).split())}")
    try:
        with FileLock(folder / ".lock", timeout=0):
            code = _run(learner, folder, arguments)
    except Timeout:
        sys.exit(f"td_ntuple: another run is going on in {folder}")
    except KeyboardInterrupt:
        sys.exit(f"td_ntuple: interrupted; the weights and checkpoint last saved are in {folder}")
    sys.exit(code)


def _flags(name: str) -> tuple[str, str]:
    return f"--{name}", f"--{name.replace('_', '-')}"


def _prepare(arguments: Arguments, given: set[str]) -> tuple[Learner, Path]:
    """What to train and where, from arguments that make sense. given: the settings that the command line names."""
    if arguments.final_openings < 1:
        raise ValueError(f"final_openings {arguments.final_openings}: must be at least 1")
    if not arguments.checkpoint_seconds >= 0:
        raise ValueError(f"checkpoint_seconds {arguments.checkpoint_seconds}: must not be negative")
    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device cuda: PyTorch finds no CUDA device here")
    if arguments.resume:
        refused = sorted(given - {"games"}) + ["out"] * (arguments.out is not None)
        if refused:
            raise ValueError(
                f"--{refused[0].replace('_', '-')} does not go with --resume: a run keeps its folder and its settings, but --games"
            )
        games = arguments.settings.games if "games" in given else None
        return Learner.load(arguments.resume / CHECKPOINT_FILE, games=games, device=arguments.device), arguments.resume
    learner = Learner(arguments.settings, arguments.device)
    if arguments.out:
        for name in (CHECKPOINT_FILE, NETWORK_FILE, METRICS_FILE):
            if (arguments.out / name).exists():
                raise ValueError(f"{arguments.out} has a {name} already: continue that run with --resume, or choose another --out")
        arguments.out.mkdir(parents=True, exist_ok=True)
        return learner, arguments.out
    return learner, _new_folder(Path("runs"), time.strftime("td_ntuple-%Y%m%d-%H%M%S"))


def _new_folder(parent: Path, name: str) -> Path:
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


def _run(learner: Learner, folder: Path, arguments: Arguments) -> int:
    """Train and evaluate; the exit status."""
    print(f"Training to {learner.settings.games} games in {folder} (Ctrl-C stops and keeps what is learned)", flush=True)
    start = time.monotonic()
    done = train(learner, folder, checkpoint_seconds=arguments.checkpoint_seconds)
    python, quoted = shlex.quote(_python()), shlex.quote(str(folder))
    resume = f"{python} -m training.td_ntuple --resume {quoted}"
    if not done:
        print(f"Stopped after {learner.games_done} games. Continue with\n  {resume}")
        return 130
    print(f"Trained in {time.monotonic() - start:.0f} s. Playing the baselines ...", flush=True)
    print(evaluate(learner.network(), arguments.final_openings))
    size = learner.settings.board_size
    spec = shlex.quote(f"ntuple:{folder / NETWORK_FILE}")
    board = "" if size == 8 else f" --board-size {size}"
    print(
        f"Weights: {folder / NETWORK_FILE}\n"
        "Next:\n"
        f"  {python} -m training.evaluation.match {spec} {YARDSTICK[size]}{board} --epsilon 0.1\n"
        f"  {python} -m agents.play {spec}{board}\n"
        f"  {resume} --games {3 * learner.settings.games}\n"
        f"  {python} -m tensorboard.main --logdir {shlex.quote(str(folder.parent))}"
    )
    return 0


def _python() -> str:
    """The interpreter as the user would type it."""
    executable = Path(sys.executable)
    return str(executable.relative_to(Path.cwd())) if executable.is_relative_to(Path.cwd()) else str(executable)


if __name__ == "__main__":
    main()
