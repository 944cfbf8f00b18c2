"""Choice between NumPy and the same kernel compiled with numba. The results are identical.

numba is used if it is installed (extra `[fast]`). Importing it takes most of a second, so it is
imported when it is first needed: by a batch of at least `WORTHWHILE` rows, by a deep perft, or at
move `WORTHWHILE_MOVES` of single positions. From then on it serves batches of every size, and
single positions from move `WORTHWHILE_MOVES` on. The environment variable `OTHELLO_ENV_COMPILED=0`
or `use_numpy()` disables it; `OTHELLO_ENV_THREADS` limits its threads.
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

# Handing rows to a thread takes as long as the kernel takes for about ten thousand rows.
_ROWS_PER_THREAD: Final = 32768


def _is_wanted() -> bool:
    """Return whether the environment variable allows compiled code."""
    text = os.environ.get("OTHELLO_ENV_COMPILED", "").strip().lower()
    if text not in ("", "1", "true", "yes", "on", "0", "false", "no", "off"):
        warnings.warn(f"OTHELLO_ENV_COMPILED={text!r} is neither 0 nor 1: taken as 1", RuntimeWarning, stacklevel=2)
    return text not in ("0", "false", "no", "off")


class _State:
    """Choices made in this process.

    module: `compiled`, once it is imported and while it is in use.
    """

    module: Any = None
    wanted: bool = _is_wanted()
    num_moves: int = 0
    pool: ThreadPoolExecutor | None = None


def use_compiled() -> bool:
    """Switch to the compiled kernel and import it now.

    Returns True if it is in use, and False if numba is missing.
    """
    _State.wanted = True
    _choose_play_move()
    return _State.module is not None


def use_numpy() -> None:
    """Switch to NumPy from now on."""
    global play_move
    _State.wanted, _State.module = False, None
    play_move = bitboard.play_move


def _choose_play_move() -> None:
    """Bind `play_move` to compiled code if it is enabled, importing that if necessary."""
    global play_move
    module = compiled(WORTHWHILE)
    play_move = bitboard.play_move if module is None else module.compile_play_move()


def _count_and_play(own: int, opp: int, square: int, n: int) -> tuple[int, int, int, int]:
    """`bitboard.play_move`, until there were enough calls to import the compiled code."""
    _State.num_moves += 1
    if _State.num_moves >= WORTHWHILE_MOVES:
        _choose_play_move()
    return bitboard.play_move(own, opp, square, n)


play_move: PlayMove = _count_and_play
"""Implementation that `Position.play` calls, see `bitboard.play_move`.

Look it up in this module at every call, because it changes.
"""


def compiled(num_rows: int) -> Any:
    """Return the module `compiled` if it should handle `num_rows` rows, otherwise None."""
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
    """Number of threads for large batches: `OTHELLO_ENV_THREADS`, or the usable cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OTHELLO_ENV_THREADS", "").strip()
    if wanted and not (wanted.isdecimal() and int(wanted)):
        raise ValueError(f"OTHELLO_ENV_THREADS={wanted!r}: expected a number of threads, at least 1")
    return int(wanted) if wanted else cores


def run_rows(
    function: Callable[..., None], arrays: tuple[npt.NDArray[Any], ...], *settings: Any, rows_per_thread: int | None = None
) -> None:
    """Call a compiled function that handles each row alone, in parallel if there are many rows.

    arrays: [B, ...] each. The function gets the same part of each, then the settings.
    rows_per_thread: minimum number of rows per thread; the default suits functions that take some
    nanoseconds per row.
    """
    num_rows = len(arrays[0])
    num_parts = min(num_threads(), num_rows // (rows_per_thread or _ROWS_PER_THREAD))
    if num_parts < 2:
        function(*arrays, *settings)
        return
    bounds = [part * num_rows // num_parts for part in range(num_parts + 1)]
    run_parts(lambda part: function(*(array[bounds[part] : bounds[part + 1]] for array in arrays), *settings), num_parts)


def run_parts(function: Callable[[int], None], num_parts: int) -> None:
    """Call a function with the numbers below `num_parts`, each in a thread.

    Useful if the function releases the GIL.
    """
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
