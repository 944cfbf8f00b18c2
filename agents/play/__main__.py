"""Play against an agent, or watch two, in the terminal.

`python -m agents.play ntuple --color white`
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from agents.play.levels import LEVELS, level_spec
from agents.play.session import GameSession, Players
from agents.play.source import read_source
from agents.play.terminal import Style, TerminalGame
from agents.registry import agents_help, make_agent
from othello_env.command import Parser, command, seed
from othello_env.game import Game
from othello_env.position import BLACK, COLOR_NAMES, WHITE, Position
from othello_env.squares import BOARD_SIZES


def _parser() -> Parser:
    levels = "\n  ".join(["levels:", *(f"{level:8} {level_spec(level)}" for level in LEVELS)])
    parser = Parser(
        prog="python -m agents.play",
        description="Play against an agent in the terminal, or watch two agents. Type squares such as d3; help lists the commands.",
        epilog=f"{levels}\n\n{agents_help()}",
    )
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="your opponent, or two agents to watch (default: level easy)")
    people = parser.add_mutually_exclusive_group()
    people.add_argument("--level", choices=LEVELS, help="play against a level instead of an agent, see below")
    people.add_argument("--two-players", action="store_true", help="two people play on this terminal")
    color_help = "color that you play; black moves first (default: black)"
    parser.add_argument("--color", choices=(*COLOR_NAMES, "random"), default="black", help=color_help)
    start_help = "transcript, position, or file with a game to continue (default: the start position)"
    parser.add_argument("--start", metavar="FILE|MOVES", help=start_help)
    size_help = "squares along one side of the board (default: 8)"
    parser.add_argument("--board-size", type=int, choices=BOARD_SIZES, default=8, help=size_help)
    parser.add_argument("--clock", type=float, metavar="S", help="time of each side for the whole game, in seconds (default: no limit)")
    parser.add_argument("--no-dots", action="store_true", help="do not mark the legal moves")
    seed_help = "seed of the agents' randomness and of --color random, an integer from 0 (default: a different game each time)"
    parser.add_argument("--seed", type=seed, metavar="N", help=seed_help)
    return parser


def _players(parser: Parser, agents: Sequence[str], *, level: str | None, two_players: bool, color: int, board_size: int) -> Players:
    """Return the players of black and white that the arguments describe."""
    if len(agents) > 2 or (agents and (level or two_players)):
        parser.error("expected one AGENT, two to watch, --level or --two-players")
    if two_players:
        return None, None
    if len(agents) == 2:
        return make_agent(agents[0]), make_agent(agents[1])
    opponent = make_agent(agents[0] if agents else level_spec(level or LEVELS[0], board_size))
    return (None, opponent) if color == BLACK else (opponent, None)


def _supports_color() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb") and not os.environ.get("NO_COLOR")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command. argv: command-line arguments (default: those of the process)."""
    parser = _parser()
    with command("play"):
        arguments = parser.parse_args(argv)
        rng = np.random.default_rng(arguments.seed)
        color = {"black": BLACK, "white": WHITE}.get(arguments.color, int(rng.integers(2)))
        size = arguments.board_size
        game = Game((), Position.start(size)) if arguments.start is None else read_source(arguments.start, board_size=size)
        players = _players(parser, arguments.agents, level=arguments.level, two_players=arguments.two_players, color=color, board_size=size)
        session = GameSession(players, game, rng=rng, clock=arguments.clock)
        if hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(errors="replace")  # bytes that are not text are not a square either
        if sys.stdin.isatty():
            with suppress(ImportError):
                import readline  # noqa: F401  (line editing and history of the prompt)
        TerminalGame(session, read=input, write=print, style=Style(_supports_color(), dots=not arguments.no_dots)).play()


if __name__ == "__main__":
    main()
