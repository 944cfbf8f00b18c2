from __future__ import annotations

import math
import os
import re
import signal
import time

import numpy as np
import pytest

from agents.search.limits import check_count, check_seconds, node_limit, run_interruptibly
from agents.search.transposition import STOP, UNLIMITED, allocate


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -math.inf, 0, -0.0, -1, 1e300])
def test_impossible_times_are_refused_with_the_name_of_the_parameter(seconds: float) -> None:
    with pytest.raises(ValueError, match=re.escape(f"patience={seconds}: expected a positive number, at most ")):
        check_seconds("patience", seconds)
    for possible in (None, 1, 1e-9, 1e6):
        check_seconds("patience", possible)


@pytest.mark.parametrize("count", [1, 65, -3, math.nan, 2.5, "4", 10**30])
def test_impossible_counts_are_refused_with_the_name_of_the_parameter(count: int) -> None:
    with pytest.raises(ValueError, match=f"^depth={count}: expected 2 to 64$"):
        check_count("depth", count, 2, 64)
    for possible in (None, 2, 64, np.int64(7)):
        check_count("depth", possible, 2, 64)


def test_limits_of_nodes_are_words() -> None:
    assert node_limit("nodes", 7) == np.uint64(7)
    assert node_limit("nodes", None) == UNLIMITED
    for nodes in (0, -1, 1 << 63):
        with pytest.raises(ValueError, match=f"^nodes={nodes}: expected 1 to "):
            node_limit("nodes", nodes)


def test_a_search_is_stopped_when_its_time_is_over_and_gives_its_result() -> None:
    tables = [allocate(1), allocate(1)]

    def search() -> str:
        deadline = time.monotonic() + 20
        while not all(table[STOP] for table in tables) and time.monotonic() < deadline:
            time.sleep(0.001)
        return "stopped" if all(table[STOP] for table in tables) else "not stopped"

    assert run_interruptibly(search, tables, seconds=0.05) == "stopped"
    assert run_interruptibly(lambda: 3, tables) == 3
    with pytest.raises(ZeroDivisionError):
        run_interruptibly(lambda: 1 // 0, tables)


def test_an_interrupted_search_has_ended_when_its_caller_hears_of_it() -> None:
    table = allocate(1)
    ended = []

    def search() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        deadline = time.monotonic() + 20
        while not table[STOP] and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.1)  # it takes a moment until a search comes to look
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(search, [table])
    assert ended
