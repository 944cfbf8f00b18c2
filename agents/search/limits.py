"""Limits of compiled searches.

Contains checks of limits, and searches that stop after a time limit or at Ctrl-C.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from operator import index
from typing import Final, TypeVar

import numpy as np

from agents.search.transposition import STOP, UNLIMITED, Table

Result = TypeVar("Result")

_MOST_NODES: Final = (1 << 63) - 1

# Interval between attempts to stop a search, in seconds.
_STOP_SECONDS: Final = 0.01


def check_seconds(name: str, seconds: float | None) -> None:
    """Raise `ValueError` unless `seconds` is a positive number or None.

    name: name of the parameter in the message.
    """
    if seconds is not None and not 0 < seconds <= threading.TIMEOUT_MAX:
        raise ValueError(f"{name}={seconds}: expected a positive number, at most {threading.TIMEOUT_MAX:g}")


def check_count(name: str, count: int | None, least: int, most: int) -> None:
    """Raise `ValueError` unless `count` is an integer from `least` to `most` or None.

    name: name of the parameter in the message.
    """
    try:
        fits = count is None or least <= index(count) <= most
    except TypeError:
        fits = False
    if not fits:
        raise ValueError(f"{name}={count}: expected {least} to {most}")


def node_limit(name: str, nodes: int | None) -> np.uint64:
    """Return a node limit for `begin_search`; None is unlimited.

    name: name of the parameter in messages. Raises `ValueError` for an invalid limit.
    """
    check_count(name, nodes, 1, _MOST_NODES)
    limit: np.uint64 = UNLIMITED if nodes is None else np.uint64(nodes)
    return limit


def run_interruptibly(search: Callable[[], Result], tables: Sequence[Table], *, seconds: float | None = None) -> Result:
    """Call a function that runs compiled searches on the tables, and return its result.

    After `seconds` and at Ctrl-C, the searches are stopped through `STOP` in their tables.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(search())
        except BaseException as error:  # for the caller, who is in another thread
            future.set_exception(error)

    thread = threading.Thread(target=run, daemon=True)
    try:
        thread.start()
        wait([future], None if seconds is None else max(0.0, seconds))
    finally:
        # The search must have ended before the tables are used again. STOP is set repeatedly: a
        # search that has not begun yet clears it.
        while thread.ident is not None and not future.done():
            for table in tables:
                table[STOP] = 1
            wait([future], _STOP_SECONDS)
    return future.result()
