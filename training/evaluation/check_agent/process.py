"""The checks of an agent in a process of their own, which may hang or end."""

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

# The least time for a process to start, import what it needs and construct the agent.
_CONSTRUCTION_SECONDS: Final = 60.0


@dataclass(slots=True)
class _State:
    """Facts about the process that checks. question: the last one that the agent was asked."""

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
    """Construct an agent in a new process and check it there.

    seed: of the positions. call_seconds: limit of one call; construction may take a minute in any
    case. seconds: limit of all checks; what is left then is not checked. report: called with each
    finding when it is made.
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
    """Ignore Ctrl-C for a moment. Signals can be set in the main thread only; elsewhere this does nothing."""
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
    """Receive messages until the process has finished or is gone. Returns a finding where it takes too long."""
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
    """Check an agent and send findings, questions (`str`), progress (`tuple`), and None at the end. Runs in the process."""
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
