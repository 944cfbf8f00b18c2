"""Render modes of the environments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import gymnasium

from othello_env.options import check_choice
from othello_env.position import Position
from othello_env.rendering.pixels import Frame, draw_board
from othello_env.rendering.text import render_text

if TYPE_CHECKING:
    from othello_env.rendering.window import Window

RENDER_MODES: Final = ("human", "ansi", "rgb_array")
FRAMES_PER_SECOND: Final = 2


class Renderer:
    """Draws positions in one render mode: None, "ansi", "rgb_array" or "human".

    "human" opens a window for the first frame. Raises `ValueError` for any other mode.
    """

    def __init__(self, mode: str | None) -> None:
        check_choice("render_mode", mode, (None, *RENDER_MODES))
        self.mode = mode
        self._window: Window | None = None

    def render(self, position: Position, last_move: int | None) -> str | Frame | None:
        """Return the text or the frame; None with "human", and, with a warning, without a mode."""
        if self.mode is None:
            gymnasium.logger.warn("render() was called, but the environment was made without a render_mode")
            return None
        if self.mode == "ansi":
            return render_text(position, last_move=last_move)
        frame = draw_board(position, last_move=last_move)
        if self.mode == "rgb_array":
            return frame
        if self._window is None:
            from othello_env.rendering.window import Window

            self._window = Window("Othello")
        self._window.show(frame, FRAMES_PER_SECOND)
        return None

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._window is not None:
            self._window.close()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the window: copies and pickles open their own."""
        return {"mode": self.mode, "_window": None}
