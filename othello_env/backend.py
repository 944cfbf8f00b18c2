"""The choice between NumPy and the same kernel compiled with numba. The results are identical.

numba is used where it is installed (extra `[fast]`). It is imported when a batch of at least
`WORTHWHILE` rows, a deep perft, or the `WORTHWHILE_MOVES`-th move of single positions first needs
it, because that takes most of a second; from then on it serves batches of every size, and single
positions from the `WORTHWHILE_MOVES`-th move on. The environment variable `OTHELLO_ENV_COMPILED=0`
or `use_numpy()` switch it off, `OTHELLO_ENV_THREADS` limits its threads.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy.typing as npt

from othello_env import bitboard
from othello_env.bitboard import PlayMove

WORTHWHILE: Final = 256
WORTHWHILE_MOVES: Final = 20_000

# Handing rows to a thread takes as long as the kernel takes for some ten thousand.
_ROWS_PER_THREAD: Final = 32768


def _is_wanted() -> bool:
    """What the environment variable says."""
    text = os.environ.get("OTHELLO_ENV_COMPILED", "").strip().lower()
    if text not in ("", "1", "true", "yes", "on", "0", "false", "no", "off"):
        warnings.warn(f"OTHELLO_ENV_COMPILED={text!r} is neither 0 nor 1: taken as 1", RuntimeWarning, stacklevel=2)
    return text not in ("0", "false", "no", "off")


class _State:
    """What has been decided in this process. module: `compiled`, once it is imported and while it is wanted."""

    module: Any = None
    wanted: bool = _is_wanted()
    num_moves: int = 0
    pool: ThreadPoolExecutor | None = None


def use_compiled() -> bool:
    """Have the compiled kernel do the work, and import it at once. Returns whether it does: it needs numba."""
    _State.wanted = True
    _choose_play_move()
    return _State.module is not None


def use_numpy() -> None:
    """Have NumPy do the work, from now on."""
    global play_move
    _State.wanted, _State.module = False, None
    play_move = bitboard.play_move


def _choose_play_move() -> None:
    """Bind `play_move` to compiled code where it is wanted, and import that."""
    global play_move
    module = compiled(WORTHWHILE)
    play_move = bitboard.play_move if module is None else module.compile_play_move()


def _count_and_play(own: int, opp: int, square: int, n: int) -> tuple[int, int, int, int]:
    """`bitboard.play_move`, until it has been called so often that importing the compiled code pays."""
    _State.num_moves += 1
    if _State.num_moves >= WORTHWHILE_MOVES:
        _choose_play_move()
    return bitboard.play_move(own, opp, square, n)


play_move: PlayMove = _count_and_play
"""What `Position.play` calls, see `bitboard.play_move`. Look it up in this module at every call: it changes."""


def compiled(num_rows: int) -> Any:
    """The module `compiled` where it shall do the work on so many rows, otherwise None."""
    if _State.module is None and _State.wanted and num_rows >= WORTHWHILE:
        _State.module = _load()
        _State.wanted = _State.module is not None
    return _State.module


def _load() -> Any:
    if importlib.util.find_spec("numba") is None:
        return None
    try:
        from othello_env import compiled
    except ImportError as error:  # versions of numba and NumPy that do not fit, or a numba that is switched off
        warnings.warn(f"numba cannot be imported, so NumPy does the work, more slowly: {error}", RuntimeWarning, stacklevel=4)
        return None
    return compiled


def num_threads() -> int:
    """The number of threads for large batches: the cores that this process may use, or `OTHELLO_ENV_THREADS`."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OTHELLO_ENV_THREADS", "").strip()
    if wanted and not (wanted.isdecimal() and int(wanted)):
        raise ValueError(f"OTHELLO_ENV_THREADS={wanted!r}: expected a number of threads, at least 1")
    return int(wanted) if wanted else cores


def run_rows(
    function: Callable[..., None], arrays: tuple[npt.NDArray[Any], ...], *settings: Any, rows_per_thread: int | None = None
) -> None:
    """Call a compiled function that handles each row alone; where there are many rows, on parts of them at the same time.

    arrays: [B, ...] each. The function gets the same part of each, then the settings.
    rows_per_thread: the fewest rows that are worth a thread; by default as many as take some
    nanoseconds each.
    """
    num_rows = len(arrays[0])
    num_parts = min(num_threads(), num_rows // (rows_per_thread or _ROWS_PER_THREAD))
    if num_parts < 2:
        function(*arrays, *settings)
        return
    bounds = [part * num_rows // num_parts for part in range(num_parts + 1)]
    run_parts(lambda part: function(*(array[bounds[part] : bounds[part + 1]] for array in arrays), *settings), num_parts)


def run_parts(function: Callable[[int], None], num_parts: int) -> None:
    """Call a function with the numbers below `num_parts`, each in a thread; useful where it releases the interpreter's lock."""
    futures = [_threads().submit(function, part) for part in range(1, num_parts)]
    function(0)
    for future in futures:
        future.result()


def _threads() -> ThreadPoolExecutor:
    if _State.pool is None:
        _State.pool = ThreadPoolExecutor(num_threads(), thread_name_prefix="othello_env")
    return _State.pool


def _forget_threads() -> None:
    _State.pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)  # a forked process has none of its parent's threads
