"""`ValueError` subclasses of the rules and the records, one per cause.

Agents raise `othello_env.agent.AgentError`.
"""

from __future__ import annotations


class IllegalMoveError(ValueError):
    """A move that is illegal in its position. The state is unchanged."""


class RecordFormatError(ValueError):
    """Text or file that violates its format; the message names the character, line or byte."""
