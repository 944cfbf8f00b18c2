"""Errors of the rules and the records: `ValueError` subclasses, one for each cause. `othello_env.agent.AgentError` is that of agents."""

from __future__ import annotations


class IllegalMoveError(ValueError):
    """A move that the rules do not allow in its position. The state is unchanged."""


class RecordFormatError(ValueError):
    """A text or file that does not follow its format. The message says where (character, line or byte)."""
