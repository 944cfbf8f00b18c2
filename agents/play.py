"""A game in the terminal, a person against any agent: `python -m agents.play positional --color white`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

import numpy as np

from agents.base import Agent
from agents.human import HumanAgent, QuitGame
from agents.registry import agent_specs, make_agent
from othello_env.batch import PositionBatch
from othello_env.game import Game
from othello_env.position import BLACK, COLOR_NAMES, WHITE, Position
from othello_env.rendering.text import render_text
from othello_env.squares import BOARD_SIZES, format_square


def play_game(black: Agent, white: Agent, start: Position, *, rng: np.random.Generator, write: Callable[[str], None]) -> Game:
    """Play one game and tell of every move and pass; the game as far as it went, if a person quits."""
    position, moves = start.resolve_pass(), []
    while not position.is_over:
        mover = position.side_to_move
        agent = (black, white)[mover]
        try:
            move = int(agent.select_moves(PositionBatch.from_positions([position]), rng)[0])
        except QuitGame:
            break
        position = position.play(move)
        moves.append(move)
        write(f"{COLOR_NAMES[mover]} ({agent.name}) plays {format_square(move, position.board_size)}")
        if position.side_to_move == mover and not position.is_over:
            write(f"{COLOR_NAMES[1 - mover]} must pass")
    return Game(tuple(moves), start)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    parser = argparse.ArgumentParser(
        prog="python -m agents.play",
        description="Play against an agent. Type squares such as d3, or quit.",
        epilog="Agents: " + ", ".join(agent_specs()),
    )
    parser.add_argument("agent", nargs="?", default="positional", help="spec of the opponent (default: positional)")
    parser.add_argument("--color", choices=(*COLOR_NAMES, "random"), default="black", help="your side (default: black, which begins)")
    parser.add_argument("--board-size", type=int, choices=BOARD_SIZES, default=8, help="default: 8")
    parser.add_argument("--seed", type=int, help="seed of the agent's randomness and of a random side (default: a new one)")
    arguments = parser.parse_args(argv)
    rng = np.random.default_rng(arguments.seed)
    side = {"black": BLACK, "white": WHITE}.get(arguments.color, int(rng.integers(2)))
    try:
        opponent = make_agent(arguments.agent)
        human = HumanAgent(input, print)
        black, white = (human, opponent) if side == BLACK else (opponent, human)
        game = play_game(black, white, Position.start(arguments.board_size), rng=rng, write=print)
    except KeyboardInterrupt:
        sys.exit(130)
    except ValueError as error:
        sys.exit(f"play: {error}")
    print(render_text(game.final, last_move=game.moves[-1] if game.moves else None))
    print(f"Transcript: {game}")


if __name__ == "__main__":
    main()
