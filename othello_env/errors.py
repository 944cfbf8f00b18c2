"""The errors that the rules and the records raise: `ValueError` subclasses, one for each cause."""

from __future__ import annotations


class IllegalMoveError(ValueError):
    """A move that the rules do not allow in the position it was offered in. The state is unchanged."""


class RecordFormatError(ValueError):
    """A text or file that does not follow its format. The message says where (character, line or byte)."""


class OpponentError(ValueError):
    """An opponent that was given to an environment failed, or chose an action that is not legal. The state is unchanged."""
