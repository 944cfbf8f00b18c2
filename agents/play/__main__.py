"""Play against an agent in the terminal: `python -m agents.play positional --color white`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from agents.base import Agent, check_board_size
from agents.human import HumanAgent, QuitGame
from agents.registry import agents_help, make_agent
from othello_env.agent import ask_agent
from othello_env.batch import PositionBatch
from othello_env.command import Parser, command, seed
from othello_env.game import Game
from othello_env.position import BLACK, COLOR_NAMES, WHITE, Position
from othello_env.rendering.text import render_text
from othello_env.squares import BOARD_SIZES, format_square


def play_game(black: Agent, white: Agent, start: Position, *, rng: np.random.Generator, write: Callable[[str], None]) -> Game:
    """Play one game and write each move and pass, and finally the last position and the transcript.

    The position and the transcript are written even if the game ends by an exception. Returns the
    game, which is unfinished if a human player quit. Raises `AgentError` if an agent fails to
    return a legal move.
    """
    position, moves = start.resolve_pass(), list[int]()
    try:
        while not position.is_over:
            mover = position.side_to_move
            agent = (black, white)[mover]
            move = _ask(agent, position, rng)
            moves.append(move)
            position = position.play(move)
            write(f"{COLOR_NAMES[mover]} ({agent.name}) plays {format_square(move, position.board_size)}")
            if position.side_to_move == mover and not position.is_over:
                write(f"{COLOR_NAMES[1 - mover]} must pass")
    except QuitGame:
        pass
    finally:
        game = Game(tuple(moves), start)
        write(render_text(game.final, last_move=moves[-1] if moves else None))
        write(f"Transcript: {game}")
    return game


def _ask(agent: Agent, position: Position, rng: np.random.Generator) -> int:
    positions = PositionBatch.from_positions([position])
    # A human's moves are legal already, and errors of the terminal must not become an `AgentError`.
    moves = agent.select_moves(positions, rng) if isinstance(agent, HumanAgent) else ask_agent(agent, positions, rng)
    return int(moves[0])


def _parser() -> Parser:
    parser = Parser(
        prog="python -m agents.play",
        description="Play against an agent in the terminal. Type squares such as d3, or quit.",
        epilog=agents_help(),
    )
    parser.add_argument("agent", nargs="?", default="positional", help="agent that you play against, see below (default: positional)")
    color_help = "color that you play; black moves first (default: black)"
    parser.add_argument("--color", choices=(*COLOR_NAMES, "random"), default="black", help=color_help)
    size_help = "squares along one side of the board (default: 8)"
    parser.add_argument("--board-size", type=int, choices=BOARD_SIZES, default=8, help=size_help)
    seed_help = "seed of the agent's randomness and of --color random, an integer from 0 (default: a different game each time)"
    parser.add_argument("--seed", type=seed, metavar="N", help=seed_help)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command. argv: command-line arguments (default: those of the process)."""
    parser = _parser()
    with command("play"):
        arguments = parser.parse_args(argv)
        rng = np.random.default_rng(arguments.seed)
        color = {"black": BLACK, "white": WHITE}.get(arguments.color, int(rng.integers(2)))
        agent = make_agent(arguments.agent)
        check_board_size(agent, arguments.board_size)
        if hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(errors="replace")  # bytes that are no text are no square either
        human = HumanAgent(input, print)
        black, white = (human, agent) if color == BLACK else (agent, human)
        play_game(black, white, Position.start(arguments.board_size), rng=rng, write=print)


if __name__ == "__main__":
    main()
