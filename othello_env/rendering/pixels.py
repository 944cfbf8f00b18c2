"""Positions as images, drawn with NumPy alone, without a display or a drawing library."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from othello_env.position import BLACK, Position
from othello_env.squares import format_square, pass_square

Frame = npt.NDArray[np.uint8]
Coverage = npt.NDArray[np.float64]

MIN_SIZE: Final = 64
DEFAULT_SIZE: Final = 512

_FRAME_COLOR: Final = (43, 32, 24)
_LABEL_COLOR: Final = (222, 208, 184)
_FELT_COLOR: Final = (24, 118, 72)
_LINE_COLOR: Final = (10, 58, 35)
_DISC_COLORS: Final = ((22, 22, 24), (244, 243, 238))  # black, white
_RIM_COLORS: Final = ((70, 70, 74), (176, 174, 166))
_LAST_MOVE_COLOR: Final = (214, 58, 46)

# Five columns by seven rows, one string per row; "#" is ink.
_GLYPHS: Final = {
    "a": ("", "", " ###", "    #", " ####", "#   #", " ####"),
    "b": ("#", "#", "####", "#   #", "#   #", "#   #", "####"),
    "c": ("", "", " ####", "#", "#", "#", " ####"),
    "d": ("    #", "    #", " ####", "#   #", "#   #", "#   #", " ####"),
    "e": ("", "", " ###", "#   #", "#####", "#", " ####"),
    "f": ("  ##", " #", "####", " #", " #", " #", " #"),
    "g": ("", " ####", "#   #", "#   #", " ####", "    #", " ###"),
    "h": ("#", "#", "####", "#   #", "#   #", "#   #", "#   #"),
    "1": ("  #", " ##", "  #", "  #", "  #", "  #", " ###"),
    "2": (" ###", "#   #", "    #", "   #", "  #", " #", "#####"),
    "3": (" ###", "#   #", "    #", "  ##", "    #", "#   #", " ###"),
    "4": ("   #", "  ##", " # #", "#  #", "#####", "   #", "   #"),
    "5": ("#####", "#", "####", "    #", "    #", "#   #", " ###"),
    "6": (" ###", "#", "####", "#   #", "#   #", "#   #", " ###"),
    "7": ("#####", "    #", "   #", "  #", "  #", " #", " #"),
    "8": (" ###", "#   #", " ###", "#   #", "#   #", "#   #", " ###"),
}


def draw_board(position: Position, *, size: int = DEFAULT_SIZE, last_move: int | None = None, show_legal: bool = True) -> Frame:
    """Draw the board from above, a1 at the top left, with coordinates if they fit.

    last_move: the square to mark with a red dot; a pass is not marked. show_legal: True to mark the
    legal squares of the side to move with a small dot of its color. Returns (size, size, 3) uint8,
    one pixel less per side if `size` is odd, because video codecs need even sides. Raises
    `ValueError` for a size under 64 and for a square outside the board.
    """
    if size < MIN_SIZE:
        raise ValueError(f"size {size}: must be at least {MIN_SIZE}")
    n = position.board_size
    if last_move is not None:
        format_square(last_move, n)  # raises for what is no square
    picture = _empty_board(n, size - size % 2).copy()
    margin, cell = _layout(n, len(picture))
    disc, rim, dot, mark = (_circle(cell, radius * cell) for radius in (0.42, 0.44, 0.1, 0.09))
    for square in range(n * n):
        row, column = divmod(square, n)
        top, left = margin + row * cell, margin + column * cell
        area = picture[top : top + cell, left : left + cell]
        if (position.black | position.white) >> square & 1:
            color = int(position.white >> square & 1)
            _paint(area, rim, _RIM_COLORS[color])
            _paint(area, disc, _DISC_COLORS[color])
        elif show_legal and position.legal_moves >> square & 1:
            _paint(area, dot * 0.75, _DISC_COLORS[0 if position.side_to_move == BLACK else 1])
        if square == last_move != pass_square(n):
            _paint(area, mark, _LAST_MOVE_COLOR)
    frame: Frame = np.rint(picture).astype(np.uint8)
    return frame


def _layout(n: int, size: int) -> tuple[int, int]:
    """Return the width of the border and the width of a square, in pixels."""
    cell = int(size * 0.88) // n
    return (size - cell * n) // 2, cell


@lru_cache(maxsize=8)
def _empty_board(n: int, size: int) -> npt.NDArray[np.float64]:
    """Return border, felt, lines and coordinates: (size, size, 3) float64. Not to be modified."""
    margin, cell = _layout(n, size)
    picture = np.empty((size, size, 3))
    picture[:] = _FRAME_COLOR
    picture[margin : margin + n * cell, margin : margin + n * cell] = _FELT_COLOR
    width = max(1, size // 256)
    for line in range(n + 1):
        at = margin + line * cell - width // 2
        picture[at : at + width, margin : margin + n * cell + width // 2 + 1] = _LINE_COLOR
        picture[margin : margin + n * cell + width // 2 + 1, at : at + width] = _LINE_COLOR
    scale = max(1, margin // 14)
    for line in range(n if margin > 8 else 0):  # no coordinates where they would not fit
        middle = margin + line * cell + cell // 2
        for near in (margin // 2, size - margin // 2):
            _write(picture, chr(ord("a") + line), near, middle, scale)
            _write(picture, str(line + 1), middle, near, scale)
    return picture


def _write(picture: npt.NDArray[np.float64], character: str, row: int, column: int, scale: int) -> None:
    """Draw one character centered on a point."""
    ink = np.array([[sign == "#" for sign in line.ljust(5)] for line in _GLYPHS[character]])
    ink = ink.repeat(scale, axis=0).repeat(scale, axis=1)
    top, left = max(0, row - len(ink) // 2), max(0, column - ink.shape[1] // 2)
    area = picture[top : top + len(ink), left : left + ink.shape[1]]
    area[ink[: area.shape[0], : area.shape[1]]] = _LABEL_COLOR


@lru_cache(maxsize=32)
def _circle(cell: int, radius: float) -> Coverage:
    """Return the share of each pixel of a square that a centered circle covers.

    The result is (cell, cell), from 0 to 1, antialiased.
    """
    away = np.arange(cell) - (cell - 1) / 2
    coverage: Coverage = np.clip(radius - np.hypot(away[:, None], away) + 0.5, 0, 1)
    return coverage


def _paint(area: npt.NDArray[np.float64], coverage: Coverage, color: tuple[int, int, int]) -> None:
    """Blend a color into an area, weighted by its coverage, in place."""
    area += coverage[..., None] * (np.array(color) - area)
