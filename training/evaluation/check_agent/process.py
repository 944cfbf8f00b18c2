"""Checks of an agent in a separate process, which may hang or end."""

from __future__ import annotations

import math
import multiprocessing
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Final

import numpy as np

from agents import make_agent
from othello_env.agent import describe_error
from training.evaluation.check_agent.checks import Limits, Progress, check_agent
from training.evaluation.check_agent.finding import Finding, ReportFinding
from training.evaluation.check_agent.trial import shorten

# Minimum limit for a process to start, import its modules and construct the agent, in seconds.
_CONSTRUCTION_SECONDS: Final = 60.0


@dataclass(slots=True)
class _State:
    """State of the checking process. question: the last question to the agent."""

    findings: list[Finding] = field(default_factory=list)
    question: str = "agent construction"
    finished: bool = False


def check_in_process(
    spec: str,
    *,
    board_size: int = 8,
    seed: int = 0,
    limits: Limits | None = None,
    call_seconds: float = 60.0,
    seconds: float = 600.0,
    report: ReportFinding = lambda _: None,
    progress: Progress = lambda _done, _total: None,
) -> list[Finding]:
    """Construct an agent in a new process and check it there; return all findings.

    seed: of the positions. call_seconds: limit of one call; the construction has at least a minute.
    seconds: limit of all checks; checks that are left then are skipped. report: called with each
    finding when it is made. Raises `ValueError` for a limit that is not a positive number.
    """
    for name, limit in (("call_seconds", call_seconds), ("seconds", seconds)):
        if not (limit > 0 and math.isfinite(limit)):
            raise ValueError(f"{name} {limit}: expected a number above 0")
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_check_and_send, args=(sender, spec, board_size, seed, limits), daemon=True)
    state = _State()
    with receiver:
        with _ignored_interrupts():  # which the process inherits: Ctrl-C is for this one
            process.start()
        sender.close()
        try:
            fault = _listen(receiver, state, call_seconds, time.monotonic() + seconds, report, progress)
            if fault is None and not state.finished:
                process.join(5)
                fault = Finding("error", f"ends its process ({_exit_text(process.exitcode)})", state.question)
        finally:
            process.kill()
            process.join()
    if fault is not None:
        state.findings.append(fault)
        report(fault)
    return state.findings


@contextmanager
def _ignored_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C inside the `with`. This has no effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _listen(
    receiver: Connection, state: _State, call_seconds: float, deadline: float, report: ReportFinding, progress: Progress
) -> Finding | None:
    """Receive messages until the process has finished or ended.

    Returns a finding if the process takes too long.
    """
    limit = max(call_seconds, _CONSTRUCTION_SECONDS)
    call_deadline = time.monotonic() + limit
    while not state.finished:
        if not receiver.poll(max(0.0, min(call_deadline, deadline) - time.monotonic())):
            if time.monotonic() >= deadline:
                return Finding("warning", "is not checked completely: the time is up", f"last question: {state.question}")
            return Finding("error", "hangs", f"no answer within {limit:g} s to {state.question}")
        try:
            message = receiver.recv()
        except (EOFError, OSError):
            return None
        if isinstance(message, Finding):
            state.findings.append(message)
            report(message)
        elif isinstance(message, tuple):
            progress(*message)
        elif isinstance(message, str):
            state.question = message
            limit = call_seconds
            call_deadline = time.monotonic() + limit
        else:
            state.finished = True
    return None


def _exit_text(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _check_and_send(sender: Connection, spec: str, board_size: int, seed: int, limits: Limits | None) -> None:
    """Check an agent in the new process and send messages.

    The messages are findings, questions (`str`), progress (`tuple`), and None at the end.
    """
    with sender:
        try:
            agent = make_agent(spec)
        except (Exception, SystemExit) as error:
            sender.send(Finding("error", f"cannot be constructed: {shorten(describe_error(error))}"))
        else:
            check_agent(
                agent,
                board_size=board_size,
                rng=np.random.default_rng(seed),
                limits=limits,
                announce=sender.send,
                report=sender.send,
                progress=lambda done, total: sender.send((done, total)),
            )
        sender.send(None)
