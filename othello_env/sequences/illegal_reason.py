"""Reasons why a move is illegal."""

from __future__ import annotations

from enum import IntEnum


class IllegalReason(IntEnum):
    """Reasons why a move is illegal, from the view of the side to move."""

    NONE = 0
    """The move is legal."""
    OCCUPIED = 1
    """A disc lies on the square."""
    NO_FLIPS = 2
    """The square is empty, and neither side would flip a disc there."""
    OTHER_SIDE = 3
    """The square is empty, and only the other side would flip discs there."""
    AFTER_END = 4
    """The game was over before the move."""
    PASS = 5
    """A pass by a side that can move, or a forced pass written twice."""
    NO_SQUARE = 6
    """A number that is neither a square, the pass, nor padding."""
    AFTER_PADDING = 7
    """A move after padding, which ends a game."""
