"""Construction of the agents that play a match or tournament.

Every error is reported in one line, and the board size is checked.
"""

from __future__ import annotations

from collections.abc import Callable

from agents import AgentSpecError, make_agent
from agents.base import check_board_size
from othello_env.agent import Agent, describe_error

Player = str | Callable[[], Agent]
"""A spec, or a function that constructs the agent; for worker processes the function must be
importable there."""


class PlayerError(ValueError):
    """Player that cannot be constructed, or cannot play on the board.

    The message is one line that begins with the name of the player.
    """


def build_player(name: str, player: Player, board_size: int) -> Agent:
    """Construct an agent that can play. Raises `AgentSpecError` or `PlayerError`."""
    try:
        agent = make_agent(player) if isinstance(player, str) else player()
        can_move = callable(getattr(agent, "select_moves", None))
    except AgentSpecError:  # names the spec
        raise
    except (Exception, SystemExit) as error:  # whatever a function of the user's raises
        raise PlayerError(f"{name}: {describe_error(error)}") from error
    if not can_move:
        raise PlayerError(f"{name}: {type(agent).__name__} is no agent: it has no method select_moves")
    try:
        check_board_size(agent, board_size)
    except Exception as error:
        raise PlayerError(f"{name}: {error}") from error
    return agent
