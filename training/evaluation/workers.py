"""Worker processes that play games, so that an agent that fails costs only its own games.

A worker plays one block of games at a time and sends each game as soon as it ends. It sends a
message before it constructs or asks an agent. If the answer does not come in time, or the worker
dies, that is the fault of the agent:

- while the agent is constructed, or in its first call: it forfeits all remaining games, in this run
  of the tournament;
- in a later call: the block is given to a new worker, which plays the remaining games one by one,
  until the game that the agent has lost is known.

An agent whose construction raises is refused before the first game.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Final, Literal

import numpy as np

from othello_env import backend
from othello_env.agent import Agent, describe_error
from othello_env.batch import PositionBatch
from othello_env.game import Game
from training.evaluation.journal import GameRecord, Reason, now
from training.evaluation.players import Player, PlayerError, build_player
from training.evaluation.referee import Asking, Fault, Pairs, play_alone, play_pairs

DEFAULT_BUILD_SECONDS: Final = 180.0
"""Longest time to construct an agent, and for its first call, in seconds. The first search on a
machine compiles for up to 40 seconds, and longer if other workers compile at the same time."""

# A batch of K positions may take 1 + K * this share times as long as one position; if it takes
# longer, its games are played one by one.
_BATCH_SHARE: Final = 0.25
# Longest time for a new process to start and import modules; a timeout is not an agent's fault.
_START_SECONDS: Final = 300.0
# Thread counts of the libraries behind NumPy and PyTorch. With one thread per core in each worker,
# the workers would compete for the cores.
_THREAD_VARIABLES: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Maximum wait for worker messages before deadlines are checked again, in seconds.
_WAIT_SECONDS: Final = 60.0
# A block is given up after this number of deaths of its workers without a fault of an agent.
_MAX_DEATHS: Final = 3
# An agent forfeits all games after this number of deaths in its construction or first call: a
# single death may have had an external cause.
_MAX_BUILD_DEATHS: Final = 2

Stage = Literal["construction", "first call"]


class WorkerError(OSError):
    """Raised when a worker cannot start, or fails without a fault of an agent."""


@dataclass(frozen=True, slots=True)
class Block:
    """Games that a worker plays as one task. missing: numbers of the games not yet played."""

    pairs: Pairs
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Building:
    """Message that an agent is about to be constructed, or asked for the first time."""

    player: str
    stage: Stage


@dataclass(frozen=True, slots=True)
class BuildFailure:
    """Message that an agent could not be constructed. detail: the exception as text."""

    player: str
    detail: str


def play_block(
    block: Block,
    agents: Sequence[Agent],
    *,
    alone: bool,
    finished: Callable[[GameRecord], object],
    asking: Callable[[Asking], object] = lambda _: None,
    move_seconds: float = float("inf"),
) -> None:
    """Play the block's games in one batch or, with `alone`, one by one.

    A batch plays all games, including those that are not missing, so that the random numbers are
    the same; only missing games are reported.
    """
    if alone:
        play_alone(block.pairs, agents, block.missing, finished=finished, asking=asking, move_seconds=move_seconds)
        return
    missing = set(block.missing)

    def report(record: GameRecord) -> None:
        if record.game in missing:
            finished(record)

    play_pairs(block.pairs, agents, finished=report, asking=asking, move_seconds=move_seconds)


class BlockProgress:
    """Progress of a block; `add` counts each message."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.done: set[int] = set()
        self._num_asked = 0
        self._num_moves = 2 * sum(opening.final.empties for opening in block.pairs.openings)

    def add(self, message: Asking | GameRecord) -> None:
        """Count a message."""
        if isinstance(message, GameRecord):
            self.done.add(message.game)
        else:
            self._num_asked += message.num_positions

    @property
    def games_in_play(self) -> float:
        """Moves made in games that have not ended, converted to a number of games."""
        return (len(self.block.missing) - len(self.done)) * min(1.0, self._num_asked / max(1, self._num_moves))

    def rest(self) -> Block:
        """Return the block without the games that have ended."""
        return Block(self.block.pairs, tuple(game for game in self.block.missing if game not in self.done))


class LocalPool:
    """Pool that plays blocks in this process, with the methods of `WorkerPool`.

    An agent that hangs cannot be stopped.
    """

    def __init__(self, players: Mapping[str, Player], *, board_size: int = 8, move_seconds: float) -> None:
        self._players = dict(players)
        self._board_size, self._move_seconds = board_size, move_seconds
        self._agents: dict[str, Agent] = {}
        self._progress: BlockProgress | None = None

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def games_in_play(self) -> float:
        """Moves made in games that have not ended, converted to a number of games."""
        return 0.0 if self._progress is None else self._progress.games_in_play

    def build_players(self) -> None:
        """Construct each player once. Raises `AgentSpecError` or `PlayerError` if that fails."""
        for name, player in self._players.items():
            if name not in self._agents:
                self._agents[name] = build_player(name, player, self._board_size)

    def play(
        self, blocks: Iterable[Block], finished: Callable[[GameRecord], object], *, moved: Callable[[], object] = lambda: None
    ) -> None:
        """Play all blocks.

        finished: called with each game. moved: called before each call of an agent.
        """
        for block in blocks:
            self._progress = progress = BlockProgress(block)

            def end(record: GameRecord, progress: BlockProgress = progress) -> None:
                progress.add(record)
                finished(record)

            def ask(asking: Asking, progress: BlockProgress = progress) -> None:
                progress.add(asking)
                moved()

            agents = [self._agents[name] for name in block.pairs.players]
            play_block(block, agents, alone=False, finished=end, asking=ask, move_seconds=self._move_seconds)
        self._progress = None


def _work(connection: Connection, players: Mapping[str, bytes], board_size: int, move_seconds: float, threads: int) -> None:
    """Run a worker process until its parent process has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setsid"):
        os.setsid()  # with what agents start it is one group, which ends as one

    def watch() -> None:
        parent = multiprocessing.parent_process()
        assert parent is not None
        wait([parent.sentinel])
        _kill_group(os.getpid())
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    os.environ["OTHELLO_ENV_THREADS"] = str(threads)
    agents: dict[str, Agent] = {}
    asked: set[str] = set()

    def build(name: str) -> None:
        if name not in agents:
            connection.send(Building(name, "construction"))
            agents[name] = build_player(name, _unpickled(name, players[name]), board_size)

    def ask_once(name: str) -> None:
        """Ask an agent once, so that work in its first call, such as compiling, is not timed."""
        if name not in asked:
            asked.add(name)
            connection.send(Building(name, "first call"))
            with suppress(Exception, SystemExit):  # it raises again in its first game
                agents[name].select_moves(PositionBatch.start(1, board_size), np.random.default_rng(0))

    while True:
        try:
            task, alone = connection.recv()
        except EOFError:
            return
        names = (task,) if isinstance(task, str) else task.pairs.players
        try:
            for name in names:
                build(name)
        except (Exception, SystemExit) as error:
            connection.send(BuildFailure(name, " ".join(str(error).split())))
            continue
        try:
            if isinstance(task, Block):
                for name in names:
                    ask_once(name)
                both = [agents[name] for name in names]
                play_block(task, both, alone=alone, finished=connection.send, asking=connection.send, move_seconds=move_seconds)
            connection.send(None)
        except Exception as error:  # ours: those of agents are caught where they are asked
            connection.send(describe_error(error))


def _pickled(name: str, player: Player) -> bytes:
    try:
        return pickle.dumps(player)
    except Exception as error:  # `PicklingError`, `AttributeError`, `TypeError`, or one of the object's own
        raise PlayerError(f"{name}: cannot be sent to another process: {describe_error(error)}") from error


def _unpickled(name: str, player: bytes) -> Player:
    """Import the function that constructs a player.

    An import that fails, hangs or ends the process is the fault of the agent.
    """
    try:
        unpickled: Player = pickle.loads(player)
    except Exception as error:  # a module may raise anything when it is imported
        raise PlayerError(f"{name}: {describe_error(error)}") from error
    return unpickled


def _kill_group(process: int) -> None:
    """Kill a worker and all processes that its agents have started."""
    if hasattr(os, "killpg"):
        with suppress(OSError):
            os.killpg(process, signal.SIGKILL)


Task = Block | str
"""Block of games to be played, or name of a player to be constructed."""


@dataclass(slots=True)
class _Worker:
    """Worker process.

    task: what it does now, None if idle. alone: True if it plays the games one by one. progress: of
    the block. doing: its last message about an agent. deadline: time until which the next message
    must arrive. is_fresh: True if it has not played a block yet.
    """

    process: Any
    connection: Connection
    is_fresh: bool = True
    task: Task | None = None
    alone: bool = False
    progress: BlockProgress | None = None
    doing: Asking | Building | None = None
    deadline: float = float("inf")

    def kill(self) -> None:
        """Kill the process and the processes that it has started."""
        _kill_group(self.process.pid)
        self.process.kill()
        self.process.join()
        self.connection.close()


class WorkerPool:
    """Pool of worker processes that play blocks; a context manager, which ends the processes.

    players: the player behind each name. board_size: of all games. move_seconds: longest time for a
    move. build_seconds: longest time to construct an agent, and for its first call.
    """

    def __init__(
        self,
        players: Mapping[str, Player],
        num_workers: int,
        *,
        board_size: int = 8,
        move_seconds: float,
        build_seconds: float = DEFAULT_BUILD_SECONDS,
    ) -> None:
        self._players = {name: _pickled(name, player) for name, player in players.items()}
        self._board_size = board_size
        self._move_seconds, self._build_seconds = move_seconds, build_seconds
        self._num_workers = num_workers
        self._moved: Callable[[], object] = lambda: None
        self._has_built = False
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        self._waiting: deque[tuple[Task, bool]] = deque()  # tasks whose worker failed
        self._deaths: Counter[Task] = Counter()
        self._build_deaths: Counter[str] = Counter()
        self._unusable: dict[str, Fault] = {}

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    @property
    def games_in_play(self) -> float:
        """Moves made in games that have not ended, converted to a number of games."""
        return sum(worker.progress.games_in_play for worker in self._workers if worker.progress is not None)

    def build_players(self) -> None:
        """Construct each player once; players that hang or die in it forfeit all games.

        Raises `PlayerError` if a construction raises.
        """
        if not self._has_built:
            self._run(self._players, lambda _: None)
        self._has_built = True

    def play(
        self, blocks: Iterable[Block], finished: Callable[[GameRecord], object], *, moved: Callable[[], object] = lambda: None
    ) -> None:
        """Play all blocks.

        finished: called with each game. moved: called before each call of an agent. Raises
        `WorkerError` if workers die without a fault of an agent.
        """
        self._moved = moved
        self._run(blocks, finished)

    def _run(self, tasks: Iterable[Task], finished: Callable[[GameRecord], object]) -> None:
        source = iter(tasks)
        while True:
            self._hand_out(source, finished)
            busy = [worker for worker in self._workers if worker.task is not None]
            if not busy:
                return
            nearest = min(worker.deadline for worker in busy)
            ready = wait([worker.connection for worker in busy], min(_WAIT_SECONDS, max(0.0, nearest - time.monotonic())))
            for worker in busy:
                if worker.connection in ready:
                    self._receive(worker, finished)
                elif time.monotonic() > worker.deadline and not worker.connection.poll():
                    self._fail(worker, "timeout", finished)

    def _hand_out(self, source: Iterator[Task], finished: Callable[[GameRecord], object]) -> None:
        """Give tasks to idle workers, and start workers, until all are busy or no task is left."""
        while True:
            worker = next((worker for worker in self._workers if worker.task is None), None)
            if worker is None and len(self._workers) >= self._num_workers:
                return
            task, alone = self._waiting.popleft() if self._waiting else (next(source, None), False)
            if task is None:
                return
            if isinstance(task, Block) and (lost := [name for name in task.pairs.players if name in self._unusable]):
                for game in task.missing:
                    finished(self._forfeited(task.pairs, game, lost))
            elif not isinstance(task, str) or task not in self._unusable:
                self._send(worker or self._start(), task, alone)

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        threads = max(1, backend.num_threads() // self._num_workers)
        arguments = (theirs, self._players, self._board_size, self._move_seconds, threads)
        process = self._context.Process(target=_work, args=arguments)
        with _environment({name: str(threads) for name in _THREAD_VARIABLES if name not in os.environ}):
            process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _send(self, worker: _Worker, task: Task, alone: bool) -> None:
        worker.task, worker.alone, worker.doing = task, alone, None
        worker.progress = BlockProgress(task) if isinstance(task, Block) else None
        worker.deadline = time.monotonic() + _START_SECONDS
        with suppress(OSError):  # a worker that is gone is noticed when it is listened to
            worker.connection.send((task, alone))

    def _receive(self, worker: _Worker, finished: Callable[[GameRecord], object]) -> None:
        try:
            message = worker.connection.recv()
        except (EOFError, OSError):
            self._fail(worker, "died", finished)
            return
        if isinstance(message, Building):
            worker.doing, worker.deadline = message, time.monotonic() + self._build_seconds
        elif isinstance(message, BuildFailure):
            self._refuse(worker, message)
        elif isinstance(message, Asking):
            assert worker.progress is not None
            worker.progress.add(message)
            share = 1.0 if message.num_positions == 1 else 1 + _BATCH_SHARE * message.num_positions
            worker.doing, worker.deadline = message, time.monotonic() + self._move_seconds * share
            self._moved()
        elif isinstance(message, GameRecord):
            assert worker.progress is not None
            worker.progress.add(message)
            if worker.alone:  # what it was asked about is answered
                worker.doing, worker.deadline = None, time.monotonic() + _START_SECONDS
            finished(message)
        elif message is None:
            self._release(worker)
        else:
            raise WorkerError(message)

    def _release(self, worker: _Worker) -> None:
        worker.is_fresh = worker.is_fresh and isinstance(worker.task, str)
        worker.task, worker.progress, worker.doing, worker.deadline = None, None, None, float("inf")

    def _refuse(self, worker: _Worker, failure: BuildFailure) -> None:
        """Refuse an agent whose construction raises.

        This happens before the first game, or for all remaining games if it could be constructed
        earlier.
        """
        if isinstance(worker.task, str):
            raise PlayerError(failure.detail)
        assert worker.task is not None
        self._unusable[failure.player] = Fault("error", f"its construction raised: {failure.detail}")
        self._waiting.append((worker.task, worker.alone))
        self._release(worker)

    def _fail(self, worker: _Worker, reason: Reason, finished: Callable[[GameRecord], object]) -> None:
        """Replace a worker that did not answer, and decide what its agent has lost."""
        self._workers.remove(worker)
        worker.kill()
        doing, task, alone = worker.doing, worker.task, worker.alone
        code = worker.process.exitcode
        ended = f"its process ended, exit code {code}"
        assert task is not None
        if isinstance(doing, Building):
            # In a worker that has played before, another agent may have left something behind that
            # kills the process.
            self._build_deaths[doing.player] += reason == "died" and worker.is_fresh
            if reason == "timeout" or self._build_deaths[doing.player] >= _MAX_BUILD_DEATHS:
                detail = f"no answer in {self._build_seconds:g} s" if reason == "timeout" else ended
                self._unusable[doing.player] = Fault(reason, f"{doing.stage}: {detail}")
        elif worker.progress is not None and doing is not None:
            if alone and doing.game not in worker.progress.done:
                detail = f"no answer in {self._move_seconds:g} s" if reason == "timeout" else ended
                record = _forfeit(worker.progress.block.pairs, doing.game, doing.player, Fault(reason, detail), moves=doing.moves)
                worker.progress.add(record)
                finished(record)
            alone = True
        else:
            self._count_death(task, code)
        if worker.progress is not None:
            task = worker.progress.rest()
        if isinstance(task, str) or task.missing:
            self._waiting.append((task, alone))

    def _count_death(self, task: Task, code: int) -> None:
        """Count a death that is not the fault of an agent.

        Raises `WorkerError` if the workers for the task have died too often.
        """
        self._deaths[task] += 1
        if self._deaths[task] >= _MAX_DEATHS:
            what = task if isinstance(task, str) else " against ".join(task.pairs.players)
            raise WorkerError(f"worker processes for {what} end by themselves, exit code {code}")

    def _forfeited(self, pairs: Pairs, game: int, lost: Sequence[str]) -> GameRecord:
        """Return the record of a game that a player loses because it cannot be used.

        If neither player can be used, the one to move first loses.
        """
        to_move = pairs.colors(game)[pairs.opening(game).final.side_to_move]
        loser = to_move if to_move in lost else lost[0]
        return _forfeit(pairs, game, loser, self._unusable[loser])


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables that are not yet set, for processes started inside the `with`."""
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]


def _forfeit(pairs: Pairs, game: int, loser: str, fault: Fault, *, moves: str = "") -> GameRecord:
    """Return the record of a game that a player has lost without an answer.

    moves: the moves so far.
    """
    opening = pairs.opening(game)
    black, white = pairs.colors(game)
    return GameRecord(
        game=game,
        black=black,
        white=white,
        opening=str(opening.final),
        moves=moves,
        black_score=0.0 if loser == black else 1.0,
        disc_difference=Game.parse(moves, opening.final).final.score("discs"),
        reason=fault.reason,
        detail=fault.detail,
        seed=(*pairs.seed, game),
        seconds=(0.0, 0.0),
        ended=now(),
        prefix=str(opening),
    )
