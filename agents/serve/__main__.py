"""Command that serves an agent over a protocol.

`python -m agents.serve --protocol gtp --agent "alpha_beta:evaluation=ntuple,seconds=1,solver=18"`
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import numpy as np

from agents.base import Agent, check_board_size
from agents.registry import agents_help, make_agent
from agents.serve.gtp import GtpServer
from agents.serve.nboard import NBoardServer
from othello_env.command import Parser, command, seed
from othello_env.squares import BOARD_SIZES

_DEPTH: Final = "{depth}"
_DEFAULT_DEPTH: Final = 8
_DEFAULT_AGENT: Final = "alpha_beta:evaluation=ntuple,seconds=1,solver=18"


def _parser() -> Parser:
    parser = Parser(
        prog="python -m agents.serve",
        description="Let an agent play in another program: answer the commands of a protocol on standard input.",
        epilog=agents_help(),
    )
    parser.add_argument("--protocol", choices=("gtp", "nboard"), required=True, help="gtp: GoGui, Quarry; nboard: NBoard")
    agent_help = (
        f"agent that plays, see below; in its spec {_DEPTH} stands for the depth that NBoard sets, {_DEFAULT_DEPTH} before "
        f"(default: {_DEFAULT_AGENT})"
    )
    parser.add_argument("--agent", default=_DEFAULT_AGENT, metavar="SPEC", help=agent_help)
    size_help = "squares along one side of the board of the first game over GTP (default: 8)"
    parser.add_argument("--board-size", type=int, choices=BOARD_SIZES, default=8, help=size_help)
    seed_help = "seed of the agent's randomness, an integer from 0 (default: different games each time)"
    parser.add_argument("--seed", type=seed, metavar="N", help=seed_help)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command. argv: command-line arguments (default: those of the process)."""
    parser = _parser()
    with command("serve"):
        arguments = parser.parse_args(argv)
        rng = np.random.default_rng(arguments.seed)

        def make(depth: int) -> Agent:
            return make_agent(arguments.agent.replace(_DEPTH, str(depth))) if _DEPTH in arguments.agent else agent

        agent = make_agent(arguments.agent.replace(_DEPTH, str(_DEFAULT_DEPTH)))
        check_board_size(agent, arguments.board_size)
        server: GtpServer | NBoardServer
        if arguments.protocol == "gtp":
            server = GtpServer(agent, rng=rng, board_size=arguments.board_size)
        else:
            server = NBoardServer(agent, make, rng=rng)
        for stream in (sys.stdin, sys.stdout):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace", newline="\n")
        while not server.has_quit and (line := sys.stdin.readline()):
            for answer in server.answers(line):
                print(answer, flush=True)


if __name__ == "__main__":
    main()
