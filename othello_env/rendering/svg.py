"""Positions and games as SVG: pictures for notebooks and web pages, animations of games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from othello_env.game import Game
from othello_env.position import COLOR_NAMES, Position
from othello_env.rendering.text import format_status
from othello_env.squares import format_square, pass_square

_CELL: Final = 50
_MARGIN: Final = 28
_COLORS: Final = {"black": "#161618", "white": "#f4f3ee"}
_EDGES: Final = {"black": "#46464a", "white": "#b0aea6"}


def board_svg(position: Position, *, size: int = 360, last_move: int | None = None, show_legal: bool = True) -> str:
    """Return the board with coordinates as an SVG document, `size` pixels wide.

    last_move: the square to mark with a red dot. show_legal: True to mark the legal squares of the
    side to move with a small dot of its color.
    """
    n = position.board_size
    parts = []
    for square in range(n * n):
        x, y = _center(square, n)
        if (position.black | position.white) >> square & 1:
            color = "black" if position.black >> square & 1 else "white"
            parts.append(f'<circle cx="{x}" cy="{y}" r="21" {_paint(color)}/>')
        elif show_legal and position.legal_moves >> square & 1:
            parts.append(f'<circle cx="{x}" cy="{y}" r="5" {_paint(COLOR_NAMES[position.side_to_move])} opacity="0.7"/>')
    if last_move is not None and last_move != pass_square(n):
        x, y = _center(last_move, n)
        parts.append(f'<circle cx="{x}" cy="{y}" r="4.5" fill="#d63a2e"/>')
    return _document(n, size, format_status(position, last_move=last_move), parts)


def game_svg(game: Game, *, size: int = 360, seconds_per_move: float = 0.8) -> str:
    """Return a game as an animated SVG document that repeats, with a pause at the end.

    seconds_per_move: time per position. Raises `ValueError` unless it is above 0 and at most 3600.
    """
    if not 0 < seconds_per_move <= 3600:
        raise ValueError(f"seconds_per_move {seconds_per_move}: must be above 0, and 3600 at most")
    n = game.start.board_size
    positions = game.positions()
    frames = len(positions) + 3  # the last position stays for three more
    duration = frames * seconds_per_move
    parts = []
    for square in range(n * n):
        colors = [_fill(position, square) for position in positions]
        x, y = _center(square, n)
        if set(colors) != {"transparent"}:
            parts.append(f'<circle cx="{x}" cy="{y}" r="21" fill="{colors[-1]}">{_steps("fill", colors, frames, duration)}</circle>')
    if game.moves:
        places = [_center(move, n) for move in game.moves]
        places.insert(0, places[0])
        steps = _steps("cx", [str(x) for x, _ in places], frames, duration) + _steps("cy", [str(y) for _, y in places], frames, duration)
        steps += _steps("opacity", ["0", *["1"] * len(game.moves)], frames, duration)
        parts.append(f'<circle cx="{places[-1][0]}" cy="{places[-1][1]}" r="4.5" fill="#d63a2e">{steps}</circle>')
    return _document(n, size, f"{len(game.moves)} moves: {game}", parts)


def _paint(color: str) -> str:
    """Return the fill and stroke attributes of a disc.

    A style element would affect the whole page that contains the picture.
    """
    return f'fill="{_COLORS[color]}" stroke="{_EDGES[color]}"'


def _fill(position: Position, square: int) -> str:
    if position.black >> square & 1:
        return _COLORS["black"]
    return _COLORS["white"] if position.white >> square & 1 else "transparent"


def _steps(attribute: str, values: Sequence[str], frames: int, duration: float) -> str:
    """Return the animation of an attribute, with a step at each frame where its value changes."""
    changes = [0, *(number for number in range(1, len(values)) if values[number] != values[number - 1])]
    if len(changes) == 1:
        return ""
    times = ";".join(f"{number / frames:.5g}" for number in changes)
    shown = ";".join(values[number] for number in changes)
    return (
        f'<animate attributeName="{attribute}" calcMode="discrete" dur="{duration:g}s" repeatCount="indefinite" '
        f'keyTimes="{times}" values="{shown}"/>'
    )


def _center(square: int, n: int) -> tuple[int, int]:
    row, column = divmod(square, n)
    return _MARGIN + column * _CELL + _CELL // 2, _MARGIN + row * _CELL + _CELL // 2


def _document(n: int, size: int, title: str, parts: Sequence[str]) -> str:
    """Return the board with shapes on it. Raises `ValueError` for a size that is not above 0."""
    if not size > 0:
        raise ValueError(f"size {size}: must be above 0")
    width, inner = n * _CELL + 2 * _MARGIN, n * _CELL
    lines = "".join(f'<path d="M{_MARGIN} {at}h{inner}M{at} {_MARGIN}v{inner}"/>' for at in range(_MARGIN, _MARGIN + inner + 1, _CELL))
    labels = "".join(
        f'<text x="{across}" y="{along}">{label}</text>'
        for line in range(n)
        for near in (_MARGIN // 2, width - _MARGIN // 2)
        for across, along, label in (
            (_MARGIN + line * _CELL + _CELL // 2, near, format_square(line, n)[0]),
            (near, _MARGIN + line * _CELL + _CELL // 2, line + 1),
        )
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" viewBox="0 0 {width} {width}">'
        f"<title>{title}</title>"
        f'<rect width="{width}" height="{width}" rx="8" fill="#2b2018"/>'
        f'<rect x="{_MARGIN}" y="{_MARGIN}" width="{inner}" height="{inner}" fill="#187648"/>'
        f'<g stroke="#0a3a23" stroke-width="1.5">{lines}</g>'
        f'<g fill="#ded0b8" font-family="sans-serif" font-size="15" text-anchor="middle" dominant-baseline="central">{labels}</g>'
        f"{''.join(parts)}</svg>"
    )


Position._repr_svg_ = board_svg
Game._repr_svg_ = game_svg
