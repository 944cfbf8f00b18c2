"""Processes that play games, so that an agent that hangs or kills its process costs one game and not the tournament.

A worker plays one block of games at a time and sends each game as it ends. Before it asks an agent it says so; where the answer does
not come in time, or the worker dies, its block goes to a new worker, which plays the rest of the games one by one, and then it is
known which game the agent has lost.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Final

import numpy as np

from agents import Agent, make_agent
from othello_env import backend
from othello_env.batch import PositionBatch
from othello_env.position import BLACK
from training.evaluation.journal import GameRecord, Reason, now
from training.evaluation.referee import Asking, Pairs, described, play_alone, play_pairs

Player = str | Callable[[], Agent]
"""A spec, or a function that makes the agent; a function that is to reach another process must be importable there."""

# A batch of K positions may take as long as one, plus K times this part of it, before its games are played one by one.
_BATCH_SHARE: Final = 0.25
# For a new process, which imports and may have to compile, and for its agents.
_START_SECONDS: Final = 300.0
# What the libraries behind NumPy and PyTorch take for their threads, which contend where each worker has one for each core.
_THREAD_VARIABLES: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# So long waits the pool for messages at most before it looks at its deadlines again.
_WAIT_SECONDS: Final = 60.0
# After so many deaths of its workers that no agent can be blamed for, a block is given up.
_MOST_DEATHS: Final = 3


class WorkerError(RuntimeError):
    """A worker could not start, or failed by a fault that is not an agent's."""


@dataclass(frozen=True, slots=True)
class Block:
    """Games that a worker plays in one go. missing: the numbers of those that are still to be played."""

    pairs: Pairs
    missing: tuple[int, ...]


def make_player(player: Player) -> Agent:
    """The agent itself. Raises `AgentSpecError`, or whatever the function raises."""
    return make_agent(player) if isinstance(player, str) else player()


def play_block(
    block: Block,
    agents: Sequence[Agent],
    *,
    alone: bool,
    finished: Callable[[GameRecord], object],
    asking: Callable[[Asking], object] = lambda _: None,
    move_seconds: float = float("inf"),
) -> None:
    """Play the block's games. All of them are played, so that the same numbers come out of the generator; those missing are reported."""
    if alone:
        play_alone(block.pairs, agents, block.missing, finished=finished, asking=asking, move_seconds=move_seconds)
        return
    missing = set(block.missing)

    def report(record: GameRecord) -> None:
        if record.game in missing:
            finished(record)

    play_pairs(block.pairs, agents, finished=report, asking=asking, move_seconds=move_seconds)


def _work(connection: Connection, players: Mapping[str, Player], move_seconds: float, threads: int) -> None:
    """What a worker process does until its parent is gone."""
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

    def asking(asked: Asking) -> None:
        connection.send(asked)

    while True:
        try:
            block, alone = connection.recv()
        except EOFError:
            return
        try:
            for name in block.pairs.players:
                if name not in agents:
                    agents[name] = make_player(players[name])
                    _warm_up(agents[name], block)
            both = [agents[name] for name in block.pairs.players]
            play_block(block, both, alone=alone, finished=connection.send, asking=asking, move_seconds=move_seconds)
            connection.send(None)
        except (Exception, SystemExit) as error:  # ours, or that of making an agent
            connection.send(described(error))


def _warm_up(agent: Agent, block: Block) -> None:
    """Ask an agent once, so that what it does for the first time, such as compiling, does not count as thinking."""
    with suppress(Exception, SystemExit):
        agent.select_moves(PositionBatch.from_positions([block.pairs.openings[0].final]), np.random.default_rng(0))


def _kill_group(process: int) -> None:
    """End a worker and all that its agents have started."""
    if hasattr(os, "killpg"):
        with suppress(OSError):
            os.killpg(process, signal.SIGKILL)


@dataclass(slots=True)
class _Worker:
    process: Any
    connection: Connection
    block: Block | None = None
    alone: bool = False
    asked: Asking | None = None
    deadline: float = float("inf")
    done: set[int] = field(default_factory=set)

    def left(self) -> Block:
        """What is left of its block."""
        assert self.block is not None
        return Block(self.block.pairs, tuple(game for game in self.block.missing if game not in self.done))

    def kill(self) -> None:
        """End it, and what it has started."""
        _kill_group(self.process.pid)
        self.process.kill()
        self.process.join()
        self.connection.close()


class WorkerPool:
    """Workers that play blocks; use it in a `with`, at whose end they are gone.

    players: what each name stands for. move_seconds: the longest that an agent may take for a move.
    """

    def __init__(self, players: Mapping[str, Player], num_workers: int, *, move_seconds: float) -> None:
        self._players = dict(players)
        self._move_seconds = move_seconds
        self._num_workers = num_workers
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        self._deaths: dict[tuple[int, ...], int] = {}  # by the games that were left

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def play(self, blocks: Iterable[Block], finished: Callable[[GameRecord], object]) -> None:
        """Play all blocks; `finished` is told of each game. Raises `WorkerError` where a player cannot be made."""
        waiting: deque[tuple[Block, bool]] = deque()  # blocks for which a worker has failed
        source = iter(blocks)
        while True:
            while True:
                task = waiting.popleft() if waiting else next(((block, False) for block in source), None)
                if task is None:
                    break
                worker = next((worker for worker in self._workers if worker.block is None), None)
                if worker is None and len(self._workers) < self._num_workers:
                    worker = self._start()
                if worker is None:
                    waiting.appendleft(task)
                    break
                self._send(worker, *task)
            busy = [worker for worker in self._workers if worker.block is not None]
            if not busy:
                return
            nearest = min(worker.deadline for worker in busy)
            ready = wait([worker.connection for worker in busy], min(_WAIT_SECONDS, max(0.0, nearest - time.monotonic())))
            for worker in busy:
                if worker.connection in ready:
                    self._receive(worker, finished, waiting)
                elif time.monotonic() > worker.deadline and not worker.connection.poll():
                    self._fail(worker, "timeout", finished, waiting)

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        threads = max(1, backend.num_threads() // self._num_workers)
        arguments = (theirs, self._players, self._move_seconds, threads)
        process = self._context.Process(target=_work, args=arguments)
        with _environment({name: str(threads) for name in _THREAD_VARIABLES if name not in os.environ}):
            process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _send(self, worker: _Worker, block: Block, alone: bool) -> None:
        worker.block, worker.alone, worker.asked = block, alone, None
        worker.done.clear()
        worker.deadline = time.monotonic() + _START_SECONDS
        with suppress(OSError):  # a worker that is gone is noticed when it is listened to
            worker.connection.send((block, alone))

    def _receive(self, worker: _Worker, finished: Callable[[GameRecord], object], waiting: deque[tuple[Block, bool]]) -> None:
        try:
            message = worker.connection.recv()
        except (EOFError, OSError):
            self._fail(worker, "died", finished, waiting)
            return
        if isinstance(message, Asking):
            worker.asked = message
            share = 1.0 if message.num_positions == 1 else 1 + _BATCH_SHARE * message.num_positions
            worker.deadline = time.monotonic() + self._move_seconds * share
        elif isinstance(message, GameRecord):
            worker.done.add(message.game)
            if worker.alone:  # what it was asked about is answered
                worker.asked, worker.deadline = None, time.monotonic() + _START_SECONDS
            finished(message)
        elif message is None:
            worker.block, worker.asked, worker.deadline = None, None, float("inf")
        else:
            raise WorkerError(message)

    def _fail(self, worker: _Worker, reason: Reason, finished: Callable[[GameRecord], object], waiting: deque[tuple[Block, bool]]) -> None:
        """Replace a worker that did not answer, and decide the game that it was at, where that is known."""
        self._workers.remove(worker)
        worker.kill()
        code, asked = worker.process.exitcode, worker.asked
        left = worker.left()
        if asked is None:
            deaths = self._deaths[left.missing] = self._deaths.get(left.missing, 0) + 1
            if deaths >= _MOST_DEATHS:
                raise WorkerError(f"worker processes that play {' against '.join(left.pairs.players)} end by themselves, exit code {code}")
        elif worker.alone and asked.game not in worker.done:
            detail = f"no answer in {self._move_seconds:g} s" if reason == "timeout" else f"its process ended, exit code {code}"
            worker.done.add(asked.game)
            finished(_forfeited(left.pairs, asked, reason, detail))
        left = worker.left()
        if left.missing:
            waiting.append((left, worker.alone or asked is not None))


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for processes that are started inside; they are not set before."""
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]


def _forfeited(pairs: Pairs, asked: Asking, reason: Reason, detail: str) -> GameRecord:
    """The record of a game whose player gave no answer."""
    opening = pairs.openings[(asked.game - pairs.first_game) // 2]
    black, white = pairs.players[:: 1 if asked.game % 2 == 0 else -1]
    position = opening.final
    for square in _squares(asked.moves):
        position = position.play(square)
    return GameRecord(
        game=asked.game,
        black=black,
        white=white,
        opening=str(opening.final),
        moves=asked.moves,
        black_score=0.0 if position.side_to_move == BLACK else 1.0,
        disc_difference=position.score("discs"),
        reason=reason,
        detail=detail,
        seed=(*pairs.seed, asked.game),
        seconds=(0.0, 0.0),
        ended=now(),
        prefix=str(opening),
    )


def _squares(moves: str) -> list[str]:
    return [moves[place : place + 2] for place in range(0, len(moves), 2)]
