"""Speeds of `othello_env.sequences`, compiled and with NumPy alone: `python -m tests.benchmarks.sequences [NAME ...]`.

Stated goals, on two cores with numba: 20 million random games in 60 s (20 million moves/s), labels
as bitboards at 5 million positions/s, unpacked as int8 at 1 million positions/s, WTHOR bytes to
moves at 2 million positions/s.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import numpy as np

from othello_env import use_compiled, use_numpy
from othello_env.sequences import TokenizerName, find_illegal_moves, label_games, make_tokenizer, random_games, stream_random_games
from othello_env.sequences.pickled import load_games
from tests.benchmarks.peers import Contestant, compare, has
from tests.conftest import SHARED_DATA

# Games that are labelled at a time: their arrays are a few megabytes, which the allocator hands out
# again.
_PART = 10_000


def with_each(work: Contestant, work_with_numpy: Contestant) -> dict[str, Contestant]:
    """The work with compiled code, where numba is installed, and a smaller amount of it with NumPy alone."""

    def numpy_only() -> float:
        use_numpy()
        done = work_with_numpy()
        use_compiled()
        return done

    return ({"compiled": work} if has("numba") else {}) | {"NumPy": numpy_only}


def games() -> None:
    """Random 8x8 games, streamed."""

    def play(num_games: int) -> Contestant:
        return lambda: float(sum(len(chunk) for chunk in stream_random_games(num_games, 8, 0)))

    rate = compare("Random 8x8 games, streamed", "games/s", with_each(play(500_000), play(50_000)))
    print(f"  20 million games take {20e6 / rate:.0f} s")


def labels() -> None:
    """Labels of every prefix of random games, as bitboards and as arrays of int8."""

    def label(num_parts: int, unpack: Callable[[Any], Any] | None = None) -> Contestant:
        moves = random_games(_PART, 8, 0)

        def work() -> float:
            for _ in range(num_parts):
                labelled = label_games(moves)
                if unpack is not None:
                    unpack(labelled)
            return num_parts * float(labelled.own.size)

        return work

    compare("Labels as bitboards", "positions/s", with_each(label(20), label(2)))
    kinds: dict[str, Callable[[Any], Any]] = {
        "boards": lambda labelled: labelled.boards("side_to_move"),
        "boards and legal masks": lambda labelled: (labelled.boards("side_to_move"), labelled.legal_mask()),
    }
    for name, unpack in kinds.items():
        compare(f"Labels unpacked to int8: {name}", "positions/s", with_each(label(10, unpack), label(2, unpack)))


def referee() -> None:
    """The referee on legal games, which it has to read to the end."""

    def judge(num_parts: int) -> Contestant:
        moves = random_games(_PART, 8, 0)

        def work() -> float:
            for _ in range(num_parts):
                find_illegal_moves(moves)
            return num_parts * float(moves.size)

        return work

    compare("Referee", "moves/s", with_each(judge(20), judge(2)))


def tokens() -> None:
    """Encoding and decoding."""
    moves = random_games(_PART, 8, 0)
    for name in get_args(TokenizerName):
        tokenizer = make_tokenizer(name)
        if tokenizer.board_size == 8:
            measure(f"Encode, {name}", "moves/s", partial(tokenizer.encode, moves))
            measure(f"Decode, {name}", "moves/s", partial(tokenizer.decode, tokenizer.encode(moves)))


def files() -> None:
    """WTHOR bytes and pickled lists to arrays of moves."""
    data = pickle.dumps(random_games(_PART, 8, 0).tolist())
    measure("Pickled lists", "moves/s", lambda: load_games(data)[0])
    if SHARED_DATA.is_dir():
        path, tokenizer = SHARED_DATA / "WTH_2001.wtb", make_tokenizer("wthor")

        def read() -> Any:
            records = np.frombuffer(path.read_bytes(), dtype=np.uint8, offset=16).reshape(-1, 68)
            return tokenizer.decode(records[:, 8:])

        measure("WTHOR file", "positions/s", read)


def measure(title: str, unit: str, work: Callable[[], Any]) -> None:
    """Print the rate of a function that returns an array, in entries per second."""

    def several() -> float:
        return float(sum(work().size for _ in range(5)))

    compare(title, unit, {"entries of the array": several})


PARTS = {part.__name__: part for part in (games, labels, referee, tokens, files)}


def main() -> None:
    """Run all parts, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sequences", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure, of {', '.join(PARTS)} (default: all)")
    names = parser.parse_args().names or list(PARTS)
    if unknown := set(names) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    for name in names:
        PARTS[name]()


if __name__ == "__main__":
    main()
