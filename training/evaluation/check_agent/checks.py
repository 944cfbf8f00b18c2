"""Checks of an agent, one function each, in the order in which they run."""

from __future__ import annotations

import inspect
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from othello_env.agent import Agent, Moves, describe_error
from othello_env.batch import PositionBatch
from training.evaluation.check_agent.finding import Finding, ReportFinding, Severity
from training.evaluation.check_agent.global_state import global_seed, resident_bytes
from training.evaluation.check_agent.sample import RandomGames, kinds_of_positions, random_games, spread
from training.evaluation.check_agent.trial import GLOBAL_RANDOMNESS, Announce, Trial, question, shorten, show_move

LARGE_BATCH: Final = 4096
_SPEED_BATCHES: Final = (1, 256, LARGE_BATCH)
# Number of positions in the smallest samples, for slow agents.
_FEWEST: Final = 16
# Growth of the process, in bytes in each third of the repeated calls, that is reported as a leak.
_LEAK_BYTES: Final = 2 << 20
_LEAK_POSITIONS: Final = 256
# Seeds of the agent's random numbers. All questions use the first one, except those that find out
# which moves depend on chance.
_SEEDS: Final = (11, 12, 13, 14, 15, 16, 17, 18)

Progress = Callable[[int, int], object]
"""Called with the number of checks that are done and the number of all checks."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Extent of the checks.

    num_games: number of random games whose positions are used. num_compared: number of positions in
    which answers are compared. batch_seconds: batches are made smaller if an agent takes longer for
    one. speed_seconds, speed_calls: limits of each measurement of speed. leak_seconds, leak_calls:
    limits of the repeated calls that show a leak. slow_move_seconds: agents that take longer for a
    move get a warning.
    """

    num_games: int = 100
    num_compared: int = 256
    batch_seconds: float = 3.0
    speed_seconds: float = 0.3
    speed_calls: int = 500
    leak_seconds: float = 1.0
    leak_calls: int = 120
    slow_move_seconds: float = 1.0


def check_agent(
    agent: Agent,
    *,
    board_size: int = 8,
    rng: np.random.Generator,
    limits: Limits | None = None,
    announce: Announce = lambda _: None,
    report: ReportFinding = lambda _: None,
    progress: Progress = lambda _done, _total: None,
) -> list[Finding]:
    """Check an agent in this process, and return all findings, notes included.

    The agent can block or end this process; `check_in_process` is safe from that. rng: of the
    positions.
    """
    limits = limits or Limits()
    trial = Trial(agent, announce=announce, report=report)
    if not _check_protocol(trial):
        return trial.findings
    checks = _Checks(trial, board_size, random_games(board_size, limits.num_games, rng), limits)
    if not checks.check_first_answer():
        return trial.findings
    steps = (
        checks.check_every_kind,
        checks.check_odd_batches,
        checks.compare_answers,
        checks.measure_speed,
        checks.look_for_leaks,
        checks.check_pickling,
    )
    for done, step in enumerate(steps, 1):
        step()
        progress(done, len(steps))
    return trial.findings


def _check_protocol(trial: Trial) -> bool:
    """Check the two members of the protocol. Return True if the agent can be asked."""
    try:
        name = getattr(trial.agent, "name", None)
    except Exception as error:  # a property of the agent can raise anything
        trial.add("error", f"name raises an exception: {shorten(describe_error(error))}")
    else:
        if not isinstance(name, str) or not name.strip():
            trial.add("error", f"name is {shorten(repr(name))}; expected a text that is not empty")
    method = getattr(trial.agent, "select_moves", None)
    if not callable(method):
        trial.add("error", "has no method select_moves(positions, rng)")
        return False
    try:
        inspect.signature(method).bind(None, None)
    except TypeError as error:
        signature = inspect.signature(method)
        trial.add("error", f"select_moves{signature} cannot be called with (positions, rng): {shorten(str(error))}")
        return False
    except ValueError:  # compiled code may have no signature
        pass
    return True


class _Checks:
    """Checks of an agent that can be asked, in batches of a size that it has the time for."""

    def __init__(self, trial: Trial, board_size: int, games: RandomGames, limits: Limits) -> None:
        self._trial, self._agent = trial, trial.agent
        self._board_size, self._games, self._limits = board_size, games, limits
        self._batch_size = LARGE_BATCH

    def _ask(self, positions: PositionBatch, about: str, *, seed: int = _SEEDS[0]) -> Moves | None:
        return self._trial.ask(positions, seed=seed, about=about)

    def _sample(self, most: int) -> PositionBatch:
        """Return at most `most` positions of all stages of the game."""
        running = self._games.running
        return running.take(spread(len(running), most))

    def check_first_answer(self) -> bool:
        """Ask about the start position and choose the batch size.

        Returns True if the agent answers.
        """
        if self._ask(PositionBatch.start(1, self._board_size), "the start position") is None:
            return False
        num_positions = 1
        for _ in range(2):
            few = self._sample(num_positions)
            self._ask(few, f"{len(few)} positions")  # the first call of a kind may load or compile something
            before = self._trial.seconds
            self._ask(few, f"{len(few)} positions")
            seconds = max(self._trial.seconds - before, 1e-9) / len(few)
            self._batch_size = int(min(max(self._limits.batch_seconds / seconds, 1), LARGE_BATCH))
            num_positions = min(self._batch_size, _FEWEST)
        if self._batch_size < LARGE_BATCH:
            sentence = f"takes {seconds:.2g} s per position: the largest batches tried have {self._batch_size} positions, not {LARGE_BATCH}"
            self._trial.add("note", sentence)
        return True

    def check_every_kind(self) -> None:
        """Look for illegal moves in positions of all stages, and in kinds rare in games."""
        for about, positions in kinds_of_positions(self._games, self._board_size).items():
            for rows in (np.arange(1), spread(len(positions), self._batch_size)):
                self._ask(positions.take(rows), about)

    def check_odd_batches(self) -> None:
        """Ask about an empty batch, many equal positions, and all kinds in one batch."""
        self._ask(PositionBatch.start(0, self._board_size), "an empty batch")
        self._ask(PositionBatch.start(self._batch_size, self._board_size), f"{self._batch_size} equal positions")
        mixed = self._games.without_auto_pass
        self._ask(mixed.take(spread(len(mixed), self._batch_size)), "a batch with passes and finished games in it")

    def compare_answers(self) -> None:
        """Ask the same question again under other conditions, and compare the answers.

        The conditions are: the same seed, another global seed, one position alone, another order,
        and exchanged colors.
        """
        positions = self._sample(min(self._limits.num_compared, max(1, self._batch_size // 4)))
        with global_seed(1):
            first = self._ask(positions, "a question for the first time")
        with global_seed(1):
            again = self._ask(positions, "the same question again")
        with global_seed(2):
            other = self._ask(positions, "the same question with another global seed")
        if first is None or again is None or other is None:
            return
        if len(differing := np.flatnonzero(first != again)):
            row = int(differing[0])
            answers = self._show_both(first[row], again[row])
            sentence = f"does not repeat: with one seed {answers}; games cannot be repeated (a time limit has this effect)"
            self._trial.add("warning", sentence, question(positions, row, _SEEDS[0]))
            return
        if len(differing := np.flatnonzero(first != other)):
            self._trial.add("error", GLOBAL_RANDOMNESS, question(positions, int(differing[0]), _SEEDS[0]), fault="global randomness")
            return
        stable = self._stable_rows(positions, first)
        self._compare_alone(positions, first, stable)
        reverse = np.arange(len(positions))[::-1]
        reversed_answer = self._ask(positions.take(reverse), "positions in reverse order")
        if reversed_answer is not None:
            self._compare(positions, first, reversed_answer[reverse], stable, "depends on the order of a batch")
        if getattr(self._agent, "sees_colors", None) is False:
            own, opp, side = positions.own, positions.opp, positions.side_to_move ^ np.uint8(1)
            exchanged = self._ask(PositionBatch(own, opp, side, board_size=self._board_size), "exchanged colors")
            if exchanged is not None:
                self._compare(positions, first, exchanged, stable, "depends on colors, although sees_colors is False", "error")

    def _stable_rows(self, positions: PositionBatch, first: Moves) -> npt.NDArray[np.int64]:
        """Return the rows in which the moves were the same with several seeds."""
        same_mask = np.ones(len(positions), dtype=np.bool_)
        for seed in _SEEDS[1:] if self._trial.uses_rng else ():
            moves = self._ask(positions, "the same question with another rng", seed=seed)
            same_mask &= False if moves is None else moves == first
        return np.flatnonzero(same_mask)

    def _compare_alone(self, positions: PositionBatch, first: Moves, stable: npt.NDArray[np.int64]) -> None:
        alone = first.copy()
        for row in stable[spread(len(stable), _FEWEST)].tolist():
            moves = self._ask(positions.take(np.array([row])), "a position alone")
            if moves is not None:
                alone[row] = moves[0]
        self._compare(positions, first, alone, stable, "depends on the other positions of a batch")

    def _compare(
        self,
        positions: PositionBatch,
        first: Moves,
        second: Moves,
        stable: npt.NDArray[np.int64],
        fault: str,
        severity: Severity = "warning",
    ) -> None:
        """Report the rows in which two answers differ. stable: rows not decided by chance."""
        differing = stable[first[stable] != second[stable]]
        if len(differing):
            row = int(differing[0])
            doubt = "; it may be chance" if self._trial.uses_rng else ""
            answers = self._show_both(first[row], second[row])
            sentence = f"{fault}: {answers}, in {len(differing)} of {len(stable)} positions{doubt}"
            self._trial.add("note" if self._trial.uses_rng else severity, sentence, question(positions, row, _SEEDS[0]), fault=fault)

    def _show_both(self, first: Any, second: Any) -> str:
        return f"{show_move(int(first), self._board_size)}, then {show_move(int(second), self._board_size)}"

    def measure_speed(self) -> None:
        """Measure positions per second by batch size."""
        running, limits = self._games.running, self._limits
        speeds = []
        for size in _SPEED_BATCHES:
            if size > self._batch_size:
                break
            positions = self._sample(size) if size > 1 else running.take(np.array([len(running) // 2]))
            calls, began, before = 0, time.perf_counter(), self._trial.seconds
            while calls == 0 or (time.perf_counter() - began < limits.speed_seconds and calls < limits.speed_calls):
                if self._ask(positions, f"{len(positions)} positions, for speed") is None:
                    return
                calls += 1
            speeds.append((len(positions), calls * len(positions) / max(self._trial.seconds - before, 1e-9)))
        self._trial.add("note", "speed: " + ", ".join(f"{speed:,.0f} moves/s in batches of {size:,}" for size, speed in speeds))
        if 1 / speeds[0][1] > limits.slow_move_seconds:
            sentence = f"slow: {1 / speeds[0][1]:.1f} s for a single move, about {30 / speeds[0][1]:.0f} s per game"
            self._trial.add("warning", sentence)

    def look_for_leaks(self) -> None:
        """Check that the memory of the process does not grow with every call."""
        if resident_bytes() is None:
            return
        positions = self._sample(min(_LEAK_POSITIONS, self._batch_size))
        sizes, calls = [], 0
        for _ in range(4):  # the first quarter warms up
            began = time.perf_counter()
            for _ in range(self._limits.leak_calls // 4):
                if self._ask(positions, "many calls") is None:
                    return
                calls += 1
                if time.perf_counter() - began > self._limits.leak_seconds / 4:
                    break
            sizes.append(resident_bytes() or 0)
        growth = np.diff(sizes)
        if (growth > _LEAK_BYTES).all():
            per_call = growth.sum() / (calls * 3 / 4) / 2**20
            sentence = f"grows with every call: by about {per_call:.2g} MiB for {len(positions)} positions"
            self._trial.add("warning", sentence, f"{calls} calls with the same positions")

    def check_pickling(self) -> None:
        """Note if the agent itself cannot be sent to another process."""
        try:
            pickle.dumps(self._agent)
        except Exception as error:  # objects can raise anything when they are pickled
            sentence = f"cannot be pickled ({shorten(describe_error(error))}); other processes have to construct it from its spec"
            self._trial.add("note", sentence)
