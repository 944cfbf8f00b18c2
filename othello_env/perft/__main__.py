"""`python -m othello_env.perft DEPTH`: one line per depth with the count, time and rate."""

import time
from collections.abc import Sequence
from typing import get_args

from othello_env.command import Parser, command
from othello_env.options import check_count
from othello_env.perft import Passes, perft
from othello_env.position import Position
from othello_env.squares import BOARD_SIZES


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command. argv: its arguments, by default those of the process."""
    parser = Parser(prog="python -m othello_env.perft", description="Count move sequences from the start position.")
    parser.add_argument("depth", type=int, help="count every depth from 1 to this one")
    parser.add_argument("--passes", choices=get_args(Passes), default="ply", help="a forced pass is one ply, or free (default: ply)")
    parser.add_argument("--board-size", type=int, choices=BOARD_SIZES, default=8, help="squares along a side (default: 8)")
    arguments = parser.parse_args(argv)
    with command("perft"):
        for depth in range(1, check_count("depth", arguments.depth, 1) + 1):
            start = time.perf_counter()
            count = perft(Position.start(arguments.board_size), depth, arguments.passes)
            seconds = time.perf_counter() - start
            print(f"perft {depth:2d}  {count:16,d}  {seconds:8.2f} s  {count / seconds / 1e6:8.1f} million/s", flush=True)


if __name__ == "__main__":
    main()
