"""`python -m othello_env.perft DEPTH`: counts from the start position, one line a depth, with the time and the rate."""

import argparse
import time
from typing import get_args

from othello_env.perft import Passes, perft
from othello_env.position import Position
from othello_env.squares import BOARD_SIZES


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m othello_env.perft", description="Count move sequences from the start position.")
    parser.add_argument("depth", type=int, help="count every depth up to this one")
    parser.add_argument("--passes", choices=get_args(Passes), default="ply", help="a forced pass is one ply, or free (default: ply)")
    parser.add_argument("--board-size", type=int, choices=BOARD_SIZES, default=8, help="default: 8")
    arguments = parser.parse_args()
    for depth in range(1, arguments.depth + 1):
        start = time.perf_counter()
        count = perft(Position.start(arguments.board_size), depth, arguments.passes)
        seconds = time.perf_counter() - start
        print(f"perft {depth:2d}  {count:16,d}  {seconds:8.2f} s  {count / seconds / 1e6:8.1f} million/s", flush=True)


if __name__ == "__main__":
    main()
