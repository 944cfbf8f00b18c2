"""Checks of an agent: does it keep to the protocol of `agents.base.Agent`, and if not, where.

`python -m training.evaluation.check_agent SPEC`
`python -m training.evaluation.check_agent factory:my_package.my_agent:make`

The agent is built and asked in a process of its own, which is ended when a call takes too long: an agent that hangs, or takes its
process with it, is a finding like any other. Errors are what costs games or makes results wrong, warnings what one should know
before a tournament, notes what is worth knowing.
"""

from __future__ import annotations

import argparse
import inspect
import math
import multiprocessing
import os
import pickle
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from agents import Agent, agent_specs, make_agent
from agents.base import Moves
from othello_env.batch import PositionBatch
from othello_env.bitboard import popcount
from othello_env.game import Game
from othello_env.position import Position
from othello_env.squares import BOARD_SIZES

Severity = Literal["error", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "note")

# Positions asked about at a time, and of each kind; fewer for slow agents.
LARGE_BATCH: Final = 4096
SPEED_BATCHES: Final = (1, 256, LARGE_BATCH)
_COMPARED: Final = 256
_GAMES: Final = 100
_FEWEST: Final = 16
# What a batch, and the repeated calls that show a leak, may take of a slow agent's time.
_BATCH_SECONDS: Final = 3.0
_SPEED_SECONDS: Final = 0.3
_SPEED_CALLS: Final = 500
_LEAK_SECONDS: Final = 1.0
_LEAK_CALLS: Final = 120
# Growth of the process in each third of the repeated calls that is no chance.
_LEAK_BYTES: Final = 2 << 20
_SLOW_MOVE_SECONDS: Final = 1.0
# Of the agent's randomness: all questions have the first one, but those that show what is chance.
_SEEDS: Final = (11, 12, 13, 14, 15, 16, 17, 18)
# For a process to begin, to import what it needs and to build the agent, at least.
_BUILD_SECONDS: Final = 60.0
_MAX_TEXT: Final = 200

# The most moves that a side can have in a game: 33.
_MOST_MOVES: Final = "f5d6c4f3c5b4b3e6c6g5f6c7c3d2c2b2f4g4g3g7g6e7d3g2h3b6"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about an agent. sentence: what. reproducer: Python for one call that shows it, or where it was seen; may be empty."""

    severity: Severity
    sentence: str
    reproducer: str = ""

    def __str__(self) -> str:
        """One line, or two with the reproducer."""
        return f"{self.severity}: {self.sentence}" + (f"\n    {self.reproducer}" if self.reproducer else "")


Announce = Callable[[str], object]
"""Told what the agent is about to be asked."""
Report = Callable[[Finding], object]
"""Told of each finding when it is made."""


def check_agent(
    agent: Agent,
    *,
    board_size: int = 8,
    rng: np.random.Generator,
    announce: Announce = lambda _: None,
    report: Report = lambda _: None,
) -> list[Finding]:
    """Check an agent in this process, which it can hang or end; `check_in_process` is safe from that. Notes come with the rest.

    rng: of the positions.
    """
    trial = _Trial(agent, board_size, rng, announce, report)
    if not trial.has_protocol() or not trial.answers_one():
        return trial.findings
    trial.ask_about_every_kind()
    trial.ask_about_odd_batches()
    trial.compare_answers()
    trial.measure_speed()
    trial.look_for_leaks()
    try:
        pickle.dumps(agent)
    except Exception as error:
        trial.find("note", f"cannot be pickled ({_one_line(error)}); processes have to build it from its spec")
    return trial.findings


class _Trial:
    """The checks of one agent. Each fault is reported where it is first seen, and not again."""

    def __init__(self, agent: Any, board_size: int, rng: np.random.Generator, announce: Announce, report: Report) -> None:
        self.agent: Any = agent
        self.findings: list[Finding] = []
        self._board_size = board_size
        self._games = _random_games(board_size, _GAMES, rng)
        self._announce, self._report = announce, report
        self._faults: set[str] = set()
        self._affordable = LARGE_BATCH
        self._uses_rng = False
        self._seconds = 0.0  # that the agent took

    def find(self, severity: Severity, sentence: str, reproducer: str = "", *, fault: str | None = None) -> None:
        """Report something. fault: the kind of thing, by default the sentence; of each kind only the first is reported."""
        kind = fault or sentence
        if kind not in self._faults:
            self._faults.add(kind)
            finding = Finding(severity, sentence, reproducer)
            self.findings.append(finding)
            self._report(finding)

    # The protocol

    def has_protocol(self) -> bool:
        """Whether the agent has the two members of the protocol, so that it can be asked."""
        name = getattr(self.agent, "name", None)
        if not isinstance(name, str) or not name.strip():
            self.find("error", f"name is {_short(name)}; expected a text that is not empty")
        method = getattr(self.agent, "select_moves", None)
        if not callable(method):
            self.find("error", "has no method select_moves(positions, rng)")
            return False
        try:
            inspect.signature(method).bind(None, None)
        except TypeError as error:
            signature = inspect.signature(method)
            self.find("error", f"select_moves{signature} cannot be called with (positions, rng): {_one_line(error)}")
            return False
        except ValueError:  # compiled code may not say what it takes
            pass
        return True

    def answers_one(self) -> bool:
        """Whether the start position gets an answer; then finds out how many positions the agent has the time for."""
        start = PositionBatch.start(1, self._board_size)
        if self.ask(start, seed=_SEEDS[0], about="the start position") is None:
            return False
        # The first call of a kind may load or compile something.
        num_positions = 1
        running = self._games.running
        for _ in range(2):
            few = running.take(_spread(len(running), num_positions))
            self.ask(few, seed=_SEEDS[0], about=f"{len(few)} positions")
            before = self._seconds
            self.ask(few, seed=_SEEDS[0], about=f"{len(few)} positions")
            seconds = max(self._seconds - before, 1e-9) / len(few)
            self._affordable = int(min(max(_BATCH_SECONDS / seconds, 1), LARGE_BATCH))
            num_positions = min(self._affordable, _FEWEST)
        if self._affordable < LARGE_BATCH:
            self.find("note", f"takes {seconds:.2g} s a position: batches of {self._affordable} are tried, not of {LARGE_BATCH}")
        return True

    # One question

    def ask(self, positions: PositionBatch, *, seed: int, about: str) -> Moves | None:
        """The agent's moves, or None where it raised or answered with something that is no move; every fault is reported."""
        self._announce(f"{about}: {_question(positions, 0, seed)}" if len(positions) else about)
        try:
            answer = self._call(positions, seed, about)
        except (Exception, SystemExit) as error:
            self._report_raised(positions, seed, about, error)
            return None
        return self._moves(positions, answer, seed, about)

    def _call(self, positions: PositionBatch, seed: int, about: str) -> Any:
        """What the agent answers. It gets a copy, and is found out where it changes that."""
        given, rng = positions.copy(), np.random.default_rng(seed)
        before = rng.bit_generator.state
        with _watched_global_randomness() as touched:
            began = time.perf_counter()
            answer = self.agent.select_moves(given, rng)
            self._seconds += time.perf_counter() - began
        self._uses_rng |= rng.bit_generator.state != before
        if touched():
            self.find(
                "error",
                "uses the global random numbers of NumPy or of random; all randomness has to come from rng",
                _question(positions, 0, seed),
                fault="global randomness",
            )
        if len(given) != len(positions):
            self.find("error", f"changes the positions that it is given: {len(positions)} became {len(given)}", fault="mutation")
        else:
            self._look_for_changes(positions, given, seed, about)
        return answer

    def _look_for_changes(self, positions: PositionBatch, given: PositionBatch, seed: int, about: str) -> None:
        for name in ("own", "opp", "side_to_move", "legal_moves", "is_over"):
            changed = np.flatnonzero(getattr(positions, name) != getattr(given, name))
            if len(changed):
                sentence = f"changes the positions that it is given: {name} of {len(changed)} of {len(positions)}, asked about {about}"
                self.find("error", sentence, _question(positions, int(changed[0]), seed), fault="mutation")

    def _report_raised(self, positions: PositionBatch, seed: int, about: str, error: BaseException) -> None:
        """Report an exception with the one position that raises it, if one alone does."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""
        fault = f"raises {type(error).__name__} at {place}"
        if fault in self._faults:
            return
        rows = np.arange(len(positions))
        while len(rows) > 1:
            halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
            failing = next((half for half in halves if self._raises(positions.take(half), seed)), None)
            if failing is None:
                break
            rows = failing
        what = f"raises {type(error).__name__}, asked about {about}: {_one_line(error)}"
        # An empty batch has no moves to lose a game with.
        severity: Severity = "error" if len(positions) else "warning"
        reproducer = _question(positions, int(rows[0]), seed) if len(rows) == 1 else ""
        if len(rows) > 1:
            reproducer = f"{len(rows)} positions together, the first of which is {positions[int(rows[0])]}; none alone"
        self.find(severity, what, reproducer, fault=fault)

    def _raises(self, positions: PositionBatch, seed: int) -> bool:
        self._announce(f"{len(positions)} positions, one of which raises: {_question(positions, 0, seed)}")
        try:
            self.agent.select_moves(positions.copy(), np.random.default_rng(seed))
        except (Exception, SystemExit):
            return True
        return False

    def _moves(self, positions: PositionBatch, answer: Any, seed: int, about: str) -> Moves | None:
        """The answer as an array, if it is one; reports illegal moves."""
        question = _question(positions, 0, seed) if len(positions) else ""
        try:
            moves = np.asarray(answer)
        except ValueError:
            self.find("error", f"answers {about} with {_short(answer)}, which is no array", question, fault="answer")
            return None
        if moves.shape != (len(positions),):
            sentence = f"answers {about} with shape {moves.shape}; expected ({len(positions)},)"
            self.find("error", sentence, question, fault="shape")
            return None
        if not np.issubdtype(moves.dtype, np.integer) and len(positions):
            self.find("error", f"answers {about} with {moves.dtype}; expected integers", question, fault="dtype")
            return None
        if not isinstance(answer, np.ndarray):
            self.find("note", f"answers with a {type(answer).__name__}, which is accepted; the protocol says an array", fault="no array")
        elif moves.dtype != np.int64 and len(positions):
            self.find("note", f"answers with {moves.dtype}, which is accepted; the protocol says int64", fault="no int64")
        if len(positions):
            self._look_for_illegal(positions, moves, seed, about)
        return moves.astype(np.int64)

    def _look_for_illegal(self, positions: PositionBatch, moves: npt.NDArray[Any], seed: int, about: str) -> None:
        illegal_mask = ~positions.is_legal(moves)
        nowhere_mask = positions.legal_moves == 0
        the_pass = f"{positions.pass_square}, the pass, is expected"
        for kind, mask in {
            "a legal square is expected": ~nowhere_mask,
            f"the game is over: {the_pass}": nowhere_mask & positions.is_over,
            f"only a pass is legal: {the_pass}": nowhere_mask & ~positions.is_over,
        }.items():
            illegal = np.flatnonzero(illegal_mask & mask)
            if len(illegal):
                row = int(illegal[0])
                sentence = f"plays {moves[row]} where {kind}, in {len(illegal)} of {int(mask.sum())} positions, asked about {about}"
                self.find("error", sentence, _question(positions, row, seed), fault=kind)

    # All kinds of positions, and of batches

    def ask_about_every_kind(self) -> None:
        """Legal moves in thousands of positions of all stages, and in those that are rare in games."""
        for about, positions in _kinds_of_positions(self._games, self._board_size).items():
            for rows in (np.arange(1), _spread(len(positions), self._affordable)):
                self.ask(positions.take(rows), seed=_SEEDS[0], about=about)

    def ask_about_odd_batches(self) -> None:
        """No position at all, the same one many times, all kinds in one batch."""
        self.ask(PositionBatch.start(0, self._board_size), seed=_SEEDS[0], about="an empty batch")
        self.ask(PositionBatch.start(self._affordable, self._board_size), seed=_SEEDS[0], about=f"{self._affordable} equal positions")
        mixed = self._games.without_auto_pass
        rows = _spread(len(mixed), self._affordable)
        self.ask(mixed.take(rows), seed=_SEEDS[0], about="a batch with passes and finished games in it")

    # Answers that should be equal

    def compare_answers(self) -> None:
        """The same question again, with other global seeds, alone, in another order, in other colours."""
        running = self._games.running
        positions = running.take(_spread(len(running), min(_COMPARED, max(1, self._affordable // 4))))
        with _global_seed(1):
            first = self.ask(positions, seed=_SEEDS[0], about="a question for the first time")
        with _global_seed(1):
            again = self.ask(positions, seed=_SEEDS[0], about="the same question again")
        with _global_seed(2):
            other = self.ask(positions, seed=_SEEDS[0], about="the same question with another global seed")
        if first is None or again is None or other is None:
            return
        if _differ(first, again).size:
            row = int(_differ(first, again)[0])
            sentence = (
                f"does not repeat: with one seed {first[row]}, then {again[row]}; games cannot be repeated (a limit of time does that)"
            )
            self.find("warning", sentence, _question(positions, row, _SEEDS[0]))
            return
        if _differ(first, other).size:
            row = int(_differ(first, other)[0])
            sentence = "uses the global random numbers of NumPy or of random; all randomness has to come from rng"
            self.find("error", sentence, _question(positions, row, _SEEDS[0]), fault="global randomness")
            return
        stable = self._stable_rows(positions, first)
        self._compare_alone(positions, first, stable)
        reverse = np.arange(len(positions))[::-1]
        turned = self.ask(positions.take(reverse), seed=_SEEDS[0], about="positions in reverse order")
        if turned is not None:
            self._compare(positions, first, turned[reverse], stable, "depends on the order of a batch")
        if getattr(self.agent, "sees_colors", None) is False:
            own, opp, side = positions.own, positions.opp, positions.side_to_move ^ np.uint8(1)
            swapped = self.ask(PositionBatch(own, opp, side, board_size=self._board_size), seed=_SEEDS[0], about="exchanged colours")
            if swapped is not None:
                self._compare(positions, first, swapped, stable, "sees colours, although sees_colors is False: depends on them", "error")

    def _stable_rows(self, positions: PositionBatch, first: Moves) -> npt.NDArray[np.int64]:
        """The rows in which the agent answers the same whatever the random numbers are, as far as can be seen."""
        same_mask = np.ones(len(positions), dtype=np.bool_)
        for seed in _SEEDS[1:] if self._uses_rng else ():
            moves = self.ask(positions, seed=seed, about="the same question with another rng")
            same_mask &= False if moves is None else moves == first
        return np.flatnonzero(same_mask)

    def _compare_alone(self, positions: PositionBatch, first: Moves, stable: npt.NDArray[np.int64]) -> None:
        alone = first.copy()
        for row in stable[_spread(len(stable), _FEWEST)].tolist():
            moves = self.ask(positions.take(np.array([row])), seed=_SEEDS[0], about="a position alone")
            if moves is not None:
                alone[row] = moves[0]
        self._compare(positions, first, alone, stable, "depends on the other positions of a batch")

    def _compare(
        self,
        positions: PositionBatch,
        first: Moves,
        second: Moves,
        stable: npt.NDArray[np.int64],
        what: str,
        severity: Severity = "warning",
    ) -> None:
        """Report the rows, of those that chance does not decide, in which two answers differ."""
        differing = stable[_differ(first[stable], second[stable])]
        if len(differing):
            row = int(differing[0])
            doubt = "; it may be chance" if self._uses_rng else ""
            sentence = f"{what}: {first[row]}, then {second[row]}, in {len(differing)} of {len(stable)} positions{doubt}"
            self.find("note" if self._uses_rng else severity, sentence, _question(positions, row, _SEEDS[0]), fault=what)

    # Speed and memory

    def measure_speed(self) -> None:
        """Positions a second, by the size of the batch."""
        running = self._games.running
        speeds = []
        for size in SPEED_BATCHES:
            if size > self._affordable:
                break
            positions = running.take(_spread(len(running), size) if size > 1 else np.array([len(running) // 2]))
            calls, began, before = 0, time.perf_counter(), self._seconds
            while calls == 0 or (time.perf_counter() - began < _SPEED_SECONDS and calls < _SPEED_CALLS):
                if self.ask(positions, seed=_SEEDS[0], about=f"{len(positions)} positions, for speed") is None:
                    return
                calls += 1
            speeds.append((len(positions), calls * len(positions) / max(self._seconds - before, 1e-9)))
        self.find("note", "speed: " + ", ".join(f"{speed:,.0f} moves/s in batches of {size:,}" for size, speed in speeds))
        if 1 / speeds[0][1] > _SLOW_MOVE_SECONDS:
            self.find("warning", f"slow: {1 / speeds[0][1]:.1f} s for a single move, so some {30 / speeds[0][1]:.0f} s a game")

    def look_for_leaks(self) -> None:
        """Whether the process grows with every call."""
        running = self._games.running
        positions = running.take(_spread(len(running), min(256, self._affordable)))
        if _resident_bytes() is None:
            return
        sizes, calls = [], 0
        for _ in range(4):  # the first part warms up
            began = time.perf_counter()
            for _ in range(_LEAK_CALLS // 4):
                if self.ask(positions, seed=_SEEDS[0], about="many calls") is None:
                    return
                calls += 1
                if time.perf_counter() - began > _LEAK_SECONDS / 4:
                    break
            sizes.append(_resident_bytes() or 0)
        growth = np.diff(sizes)
        if (growth > _LEAK_BYTES).all():
            per_call = growth.sum() / (calls * 3 / 4) / 2**20
            sentence = f"grows with every call: by some {per_call:.2g} MiB for {len(positions)} positions"
            self.find("warning", sentence, f"{calls} calls with the same positions")


# Positions


@dataclass(frozen=True, slots=True)
class _RandomGames:
    """Positions of random games. without_auto_pass: as they come where passes are moves, those of finished games among them."""

    running: PositionBatch
    after_pass: PositionBatch
    over: PositionBatch
    without_auto_pass: PositionBatch


def _random_games(board_size: int, num_games: int, rng: np.random.Generator) -> _RandomGames:
    games = PositionBatch.start(num_games, board_size, auto_pass=False)
    stages = [games.copy()]
    passed = [np.zeros(num_games, dtype=np.bool_)]
    while not games.is_over.all():
        passed.append((games.legal_moves == 0) & ~games.is_over)
        games.step(games.sample_moves(rng))
        stages.append(games.copy())
    everything = _joined(stages, auto_pass=False)
    by_itself = _joined(stages, auto_pass=True)
    chosen_mask = np.concatenate(passed) & ~by_itself.is_over
    seen_mask = ~by_itself.is_over & (everything.legal_moves != 0)
    over = by_itself.take(by_itself.is_over)
    return _RandomGames(by_itself.take(seen_mask), by_itself.take(chosen_mask), over, everything)


def _joined(parts: Sequence[PositionBatch], *, auto_pass: bool) -> PositionBatch:
    arrays = (np.concatenate([getattr(part, name) for part in parts]) for name in ("own", "opp", "side_to_move"))
    return PositionBatch(*arrays, board_size=parts[0].board_size, auto_pass=auto_pass)


def _kinds_of_positions(games: _RandomGames, board_size: int) -> dict[str, PositionBatch]:
    """What an agent may be asked about, by the name of the kind; at least one position of each."""
    running, raw = games.running, games.without_auto_pass
    squares = board_size * board_size
    last_disc = [Position.parse(f"-OX{'-' * (squares - 3)}X"), Position.parse(f"{'-' * (squares - 3)}OX-O")]
    wiped_out = [Position.parse(f"{'X' * 5}{'-' * (squares - 5)}{side}") for side in "XO"]
    full = [Position.parse(f"{'X' * squares}{side}") for side in "XO"]
    kinds = {
        "positions of all stages": running,
        "positions with a single move": running.take(popcount(running.legal_moves) == 1),
        "positions after a pass, in which a side moves twice": games.after_pass,
        "finished games": games.over,
        "positions in which the side to move must pass (auto_pass=False)": raw.take((raw.legal_moves == 0) & ~raw.is_over),
        "finished games (auto_pass=False)": raw.take(raw.is_over),
        "positions in which a move takes the last disc": PositionBatch.from_positions(last_disc),
        "boards with discs of one side only": PositionBatch.from_positions(wiped_out),
        "full boards": PositionBatch.from_positions(full),
    }
    if board_size == 8:
        kinds["a position with 33 moves"] = PositionBatch.from_positions([Game.parse(_MOST_MOVES).final])
    return {about: positions for about, positions in kinds.items() if len(positions)}


def _spread(length: int, most: int) -> npt.NDArray[np.int64]:
    """At most so many indices below a length, evenly spread."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).astype(np.int64)) if length else np.zeros(0, dtype=np.int64)


def _differ(first: Moves, second: Moves) -> npt.NDArray[np.int64]:
    return np.flatnonzero(first != second)


def _question(positions: PositionBatch, row: int, seed: int) -> str:
    """One call as Python, to be copied."""
    passes = "" if positions.auto_pass else ", auto_pass=False"
    position = f"PositionBatch.from_positions([Position.parse({str(positions[row])!r})]{passes})"
    return f"agent.select_moves({position}, np.random.default_rng({seed}))"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "..."


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "..."


# Global state


@contextmanager
def _watched_global_randomness() -> Iterator[Callable[[], bool]]:
    """Gives a function that says, afterwards, whether global random numbers were used or seeded."""
    before = _global_state()
    after: list[bytes] = []
    yield lambda: after[0] != before
    after.append(_global_state())


def _global_state() -> bytes:
    return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002 (it is watched, not used)


@contextmanager
def _global_seed(seed: int) -> Iterator[None]:
    """Gives the global random numbers a seed, and afterwards back what they had."""
    state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 (agents may use them, wrongly)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(state)
        np.random.set_state(numpy_state)  # noqa: NPY002


def _resident_bytes() -> int | None:
    """The memory that this process occupies now; None where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


# A process of its own


@dataclass(slots=True)
class _State:
    """What is known of the process that checks."""

    findings: list[Finding] = field(default_factory=list)
    asked: str = "the wish to be built"
    finished: bool = False


def check_in_process(
    spec: str,
    *,
    board_size: int = 8,
    seed: int = 0,
    call_seconds: float = 60.0,
    seconds: float = 600.0,
    report: Report = lambda _: None,
) -> list[Finding]:
    """Build an agent in a fresh process, and check it there.

    seed: of the positions. call_seconds: what one call may take; the building may take a minute in any case. seconds: what all may take;
    what is left then is left out. report: told of each finding when it is made.
    """
    for name, limit in (("call_seconds", call_seconds), ("seconds", seconds)):
        if not (limit > 0 and math.isfinite(limit)):
            raise ValueError(f"{name} {limit}: expected a number above 0")
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_check_and_tell, args=(sender, spec, board_size, seed), daemon=True)
    state = _State()
    with receiver:
        process.start()
        sender.close()
        try:
            fault = _listen(receiver, state, call_seconds, time.monotonic() + seconds, report)
            if fault is None and not state.finished:
                process.join(5)
                fault = Finding("error", f"takes its process with it ({_exit_text(process.exitcode)})", state.asked)
        finally:
            process.kill()
            process.join()
    if fault is not None:
        state.findings.append(fault)
        report(fault)
    return state.findings


def _listen(receiver: Connection, state: _State, call_seconds: float, deadline: float, report: Report) -> Finding | None:
    """Take in what the process says until it has finished or is gone. Returns what is wrong where it goes on for too long."""
    limit = max(call_seconds, _BUILD_SECONDS)
    call_deadline = time.monotonic() + limit
    while not state.finished:
        if not receiver.poll(max(0.0, min(call_deadline, deadline) - time.monotonic())):
            if time.monotonic() >= deadline:
                return Finding("warning", "is not checked completely: the time is up", f"last asked about {state.asked}")
            return Finding("error", "hangs", f"no answer within {limit:g} s to {state.asked}")
        try:
            message = receiver.recv()
        except (EOFError, OSError):
            return None
        if isinstance(message, Finding):
            state.findings.append(message)
            report(message)
        elif isinstance(message, str):
            state.asked = message
            limit = call_seconds
            call_deadline = time.monotonic() + limit
        else:
            state.finished = True
    return None


def _exit_text(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _check_and_tell(sender: Connection, spec: str, board_size: int, seed: int) -> None:
    """What the process does: sends each finding, before each call a text on what is asked, and None in the end."""
    with sender:
        try:
            agent = make_agent(spec)
        except (Exception, SystemExit) as error:
            sender.send(Finding("error", f"cannot be built: {type(error).__name__}: {_one_line(error)}"))
        else:
            rng = np.random.default_rng(seed)
            check_agent(agent, board_size=board_size, rng=rng, announce=sender.send, report=sender.send)
        sender.send(None)


# The command


def format_findings(findings: Sequence[Finding]) -> str:
    """A line or two for each finding, errors first, then how many there are of each severity."""
    ordered = sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    counts = ((severity, sum(finding.severity == severity for finding in findings)) for severity in SEVERITIES)
    summary = ", ".join(f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts)
    return "\n".join([*map(str, ordered), summary])


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process. Leaves with 1 where there are errors."""
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluation.check_agent",
        description="Check whether an agent keeps to the protocol, and say what is wrong.",
        epilog="Agents: " + ", ".join(agent_specs()),
    )
    parser.add_argument("spec", metavar="SPEC", help="the agent; factory:MODULE:FUNCTION for one of your own")
    parser.add_argument("--board-size", type=int, choices=BOARD_SIZES, default=8, help="default: 8")
    parser.add_argument(
        "--call-seconds", type=float, default=60.0, help="what one call may take before the agent is taken to hang (default: 60)"
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="what all may take (default: 600)")
    parser.add_argument("--seed", type=int, default=0, help="of the positions (default: 0)")
    arguments = parser.parse_args(argv)
    try:
        if arguments.seed < 0:
            raise ValueError(f"seed {arguments.seed}: must not be negative")
        findings = check_in_process(
            arguments.spec,
            board_size=arguments.board_size,
            seed=arguments.seed,
            call_seconds=arguments.call_seconds,
            seconds=arguments.seconds,
        )
    except (OSError, ValueError) as error:
        sys.exit(f"check_agent: {' '.join(str(error).split())}")
    except KeyboardInterrupt:
        sys.exit(130)
    print(format_findings(findings))
    if any(finding.severity == "error" for finding in findings):
        sys.exit(1)


if __name__ == "__main__":
    main()
