"""Window that shows frames. Only this file imports pygame, and only when a window opens."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from othello_env.command import missing_extra
from othello_env.rendering.pixels import Frame


class Window:
    """A window of the size of its frames, which the user may close.

    pygame has a single window: the `Window` that shows a frame takes it over from the others.
    Raises `ImportError`, naming the extra, without pygame; pygame-ce works as well.
    """

    _owner: ClassVar[Window | None] = None

    def __init__(self, title: str) -> None:
        try:
            import pygame
        except ImportError:
            raise missing_extra("pygame", 'render_mode="human"') from None
        self._pygame: Any = pygame
        self._title = title
        self._dismissed = False
        self._clock: Any = pygame.time.Clock()

    def show(self, frame: Frame, frames_per_second: float) -> None:
        """Show a frame (H, W, 3) and wait until the next frame is due.

        Does nothing after the user has closed the window.
        """
        pygame = self._pygame
        if self._dismissed:
            return
        if Window._owner is not self or not pygame.display.get_init():
            pygame.display.init()
            pygame.display.set_caption(self._title)
            pygame.display.set_mode((frame.shape[1], frame.shape[0]))
            Window._owner = self
        pygame.surfarray.blit_array(pygame.display.get_surface(), np.swapaxes(frame, 0, 1))
        pygame.display.flip()
        if any(event.type == pygame.QUIT for event in pygame.event.get()):
            self._dismissed = True
            self._release()
            return
        self._clock.tick(frames_per_second)

    def close(self) -> None:
        """Close the window; a later frame opens a new one."""
        self._dismissed = False
        self._release()

    def _release(self) -> None:
        if Window._owner is self:
            self._pygame.display.quit()
            Window._owner = None
