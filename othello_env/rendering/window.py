"""A window that shows frames. The only file that imports pygame, and only when a window opens."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from othello_env.command import missing_extra
from othello_env.rendering.pixels import Frame


class Window:
    """A window of the size of its frames, which a person may close.

    pygame has one window: of several of these the one that shows a frame takes it over. Raises
    `ImportError`, naming the extra, without pygame; either of pygame and pygame-ce will do.
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
        """Show a frame (H, W, 3) and wait until it has been seen for its share of a second; nothing, once a person closed it."""
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
