"""Trial of an agent: questions, and findings about the answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from othello_env.agent import AgentError, Moves, describe_error, read_moves
from othello_env.batch import PositionBatch
from othello_env.squares import format_square
from training.evaluation.check_agent.finding import Finding, ReportFinding, Severity
from training.evaluation.check_agent.global_state import watch_global_randomness

_MAX_TEXT: Final = 200

Announce = Callable[[str], object]
"""Called with the next question before the agent is asked."""

GLOBAL_RANDOMNESS: Final = "uses the global random numbers of NumPy or of random; all randomness has to come from rng"


class Trial:
    """Asks an agent questions and collects findings.

    Each kind of fault is reported only once, when it is first seen. findings: all findings so far.
    seconds: time that the agent has taken. uses_rng: True if it has used the generator passed to
    it.
    """

    def __init__(self, agent: Any, *, announce: Announce, report: ReportFinding) -> None:
        self.agent: Any = agent
        self.findings: list[Finding] = []
        self.seconds = 0.0
        self.uses_rng = False
        self._announce, self._report = announce, report
        self._faults: set[str] = set()

    def add(self, severity: Severity, sentence: str, reproducer: str = "", *, fault: str | None = None) -> None:
        """Report a finding.

        fault: the kind of the finding, by default the sentence; only the first finding of a kind is
        reported.
        """
        kind = fault or sentence
        if kind not in self._faults:
            self._faults.add(kind)
            finding = Finding(severity, sentence, reproducer)
            self.findings.append(finding)
            self._report(finding)

    def ask(self, positions: PositionBatch, *, seed: int, about: str) -> Moves | None:
        """Return the agent's moves, None if it raises or its answer is invalid.

        Every fault is reported. about: description of the positions.
        """
        self._announce(f"{about}: {question(positions, 0, seed)}" if len(positions) else about)
        try:
            answer = self._call(positions, seed, about)
        except (Exception, SystemExit) as error:
            self._report_raised(positions, seed, about, error)
            return None
        return self._read(positions, answer, seed, about)

    def _call(self, positions: PositionBatch, seed: int, about: str) -> Any:
        """Return the agent's answer.

        The agent gets a copy of the positions, so that changes to them are detected.
        """
        given, rng = positions.copy(), np.random.default_rng(seed)
        before = rng.bit_generator.state
        with watch_global_randomness() as touched:
            began = time.perf_counter()
            answer = self.agent.select_moves(given, rng)
            self.seconds += time.perf_counter() - began
        self.uses_rng |= rng.bit_generator.state != before
        if touched():
            self.add("error", GLOBAL_RANDOMNESS, question(positions, 0, seed), fault="global randomness")
        if len(given) != len(positions):
            self.add("error", f"changes the positions that it is given: {len(positions)} became {len(given)}", fault="mutation")
        else:
            self._check_unchanged(positions, given, seed, about)
        return answer

    def _check_unchanged(self, positions: PositionBatch, given: PositionBatch, seed: int, about: str) -> None:
        for name in ("own", "opp", "side_to_move", "legal_moves", "is_over"):
            changed = np.flatnonzero(getattr(positions, name) != getattr(given, name))
            if len(changed):
                sentence = f"changes the positions that it is given: {name} of {len(changed)} of {len(positions)}, asked about {about}"
                self.add("error", sentence, question(positions, int(changed[0]), seed), fault="mutation")

    def _report_raised(self, positions: PositionBatch, seed: int, about: str, error: BaseException) -> None:
        """Report an exception, with the position that raises it if a single position does."""
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
        sentence = f"raises an exception, asked about {about}: {shorten(describe_error(error))}"
        # An error in an empty batch cannot lose a game.
        severity: Severity = "error" if len(positions) else "warning"
        reproducer = question(positions, int(rows[0]), seed) if len(rows) == 1 else ""
        if len(rows) > 1:
            reproducer = f"{len(rows)} positions together, the first of which is {positions[int(rows[0])]}; no single position"
        self.add(severity, sentence, reproducer, fault=fault)

    def _raises(self, positions: PositionBatch, seed: int) -> bool:
        self._announce(f"{len(positions)} positions, one of which raises: {question(positions, 0, seed)}")
        try:
            self.agent.select_moves(positions.copy(), np.random.default_rng(seed))
        except (Exception, SystemExit):
            return True
        return False

    def _read(self, positions: PositionBatch, answer: Any, seed: int, about: str) -> Moves | None:
        """Return the answer as moves, None if it is invalid; illegal moves are reported."""
        if not len(positions) and _is_empty(answer):
            return np.zeros(0, dtype=np.int64)  # the type of no elements is of no consequence
        try:
            moves = read_moves(answer, positions, name="")
        except AgentError as error:
            if error.moves is None:
                reproducer = question(positions, 0, seed) if len(positions) else ""
                self.add("error", f"{error.reason}, asked about {about}: {shorten(error.detail)}", reproducer, fault="output")
                return None
            self._report_illegal(positions, np.asarray(answer), np.array(error.rows), seed, about)
            moves = error.moves
        if not isinstance(answer, np.ndarray):
            self.add("note", f"answers with a {type(answer).__name__}, which is accepted; the protocol says an array", fault="no array")
        elif answer.dtype != np.int64:
            self.add("note", f"answers with {answer.dtype}, which is accepted; the protocol says int64", fault="no int64")
        return moves

    def _report_illegal(self, positions: PositionBatch, answer: npt.NDArray[Any], rows: Moves, seed: int, about: str) -> None:
        """Report illegal moves by the move that is expected instead.

        answer: as returned by the agent. rows: indices of the illegal moves.
        """
        illegal_mask = np.zeros(len(positions), dtype=np.bool_)
        illegal_mask[rows] = True
        no_square_mask = positions.legal_moves == 0
        passing = f"the pass ({positions.pass_square}) is expected"
        for kind, mask in {
            "a legal square is expected": ~no_square_mask,
            f"the game is over and {passing}": no_square_mask & positions.is_over,
            f"only a pass is legal and {passing}": no_square_mask & ~positions.is_over,
        }.items():
            illegal = np.flatnonzero(illegal_mask & mask)
            if len(illegal):
                row = int(illegal[0])
                move = show_move(int(answer[row]), positions.board_size)
                sentence = f"plays {move} where {kind}, in {len(illegal)} of {int(mask.sum())} positions, asked about {about}"
                self.add("error", sentence, question(positions, row, seed), fault=kind)


def _is_empty(answer: Any) -> bool:
    return answer.shape == (0,) if isinstance(answer, np.ndarray) else isinstance(answer, (list, tuple)) and not answer


def question(positions: PositionBatch, row: int, seed: int) -> str:
    """Return a call of the agent as Python code that can be copied."""
    passes = "" if positions.auto_pass else ", auto_pass=False"
    position = f"PositionBatch.from_positions([Position.parse({str(positions[row])!r})]{passes})"
    return f"agent.select_moves({position}, np.random.default_rng({seed}))"


def show_move(move: int, board_size: int) -> str:
    """Return the name of a move with its number; only the number if it is out of range."""
    return f"{format_square(move, board_size)} ({move})" if 0 <= move <= board_size**2 else str(move)


def shorten(text: str) -> str:
    """Return the beginning of a text that is too long."""
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "..."
