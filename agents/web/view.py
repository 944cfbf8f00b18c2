"""A game as JSON for the page: everything that it draws, so that it needs no rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.analysis import Line, format_score
from agents.play.session import GameSession, Turn
from agents.web.games import ActiveGame
from othello_env.bitboard import squares_of
from othello_env.position import COLOR_NAMES, Position
from othello_env.squares import format_square, pass_square

PERSON = "person"


def game_view(game: ActiveGame) -> dict[str, Any]:
    """Return the state of a game. Squares are names, colors are "black" and "white"."""
    session = game.session
    position, result, turns = session.position, session.result, session.turns
    n = session.board_size
    return {
        "id": game.id,
        "revision": session.revision,
        "board_size": n,
        "names": [format_square(square, n) for square in range(n * n)],
        "squares": str(position)[: n * n],
        "legal": [] if result else _names(position.legal_moves, n),
        "side_to_move": None if result else COLOR_NAMES[position.side_to_move],
        "agent_to_move": result is None and session.player is not None,
        "discs": dict(zip(COLOR_NAMES, position.discs, strict=True)),
        "players": {
            color: {"key": key, "name": name} for color, key, name in zip(COLOR_NAMES, game.keys, session.player_names, strict=True)
        },
        "turns": [_turn_view(turn, n) for turn in turns],
        "message": session.describe(turns[-1]) if turns else _start_message(session),
        "result": None if result is None else {"winner": _color(result.winner), "reason": result.reason, "text": result.text},
        "transcript": str(session.game),
        "start": str(session.game.start),
        "start_is_standard": session.game.start == Position.start(n),
        "can_undo": session.can_undo,
        "can_redo": session.can_redo,
        "can_resign": result is None and resigning_color(session) is not None,
    }


def hint_view(lines: Sequence[Line], board_size: int) -> list[dict[str, Any]]:
    """Return the values of the legal moves, best first, for the side to move."""
    found = []
    for line in lines:
        square = next(square for square in line.pv if square != pass_square(board_size))
        found.append(
            {"square": format_square(square, board_size), "value": format_score(line), "decided": line.decided, "exact": line.exact}
        )
    return found


def resigning_color(session: GameSession) -> int | None:
    """Return the color of the person who can resign, the side to move if possible.

    None without people.
    """
    side = session.position.side_to_move
    return next((color for color in (side, 1 - side) if session.players[color] is None), None)


def _turn_view(turn: Turn, n: int) -> dict[str, Any]:
    return {
        "color": COLOR_NAMES[turn.color],
        "square": format_square(turn.square, n),
        "flipped": _names(turn.flipped, n),
        "passes": turn.passes,
    }


def _start_message(session: GameSession) -> str:
    start = session.game.start
    return f"{COLOR_NAMES[start.side_to_move].capitalize()} must pass" if start.must_pass else ""


def _names(squares: int, n: int) -> list[str]:
    return [format_square(square, n) for square in squares_of(squares)]


def _color(color: int | None) -> str | None:
    return None if color is None else COLOR_NAMES[color]
