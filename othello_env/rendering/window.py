"""A window that shows frames. The only file that imports pygame, and only when a window opens."""

from __future__ import annotations

from typing import Any

import numpy as np

from othello_env.rendering.pixels import Frame


class Window:
    """A window of the size of its first frame.

    Raises `ImportError`, naming the extra, without pygame; either of pygame and pygame-ce will do.
    """

    def __init__(self, title: str) -> None:
        try:
            import pygame
        except ImportError:
            raise ImportError('render_mode="human" needs pygame: pip install "othello-env[render]"') from None
        self._pygame: Any = pygame
        self._title = title
        self._surface: Any = None

    def show(self, frame: Frame, frames_per_second: float) -> None:
        """Show a frame (H, W, 3) and wait until it has been seen for its share of a second."""
        pygame = self._pygame
        if self._surface is None:
            pygame.display.init()
            pygame.display.set_caption(self._title)
            self._surface = pygame.display.set_mode((frame.shape[1], frame.shape[0]))
            self._clock = pygame.time.Clock()
        pygame.surfarray.blit_array(self._surface, np.swapaxes(frame, 0, 1))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(frames_per_second)

    def close(self) -> None:
        """Close the window; a later frame opens a new one."""
        if self._surface is not None:
            self._pygame.display.quit()
            self._surface = None
