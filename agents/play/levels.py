"""Playing levels for people: named agents of rising strength.

On 8x8 each level scores about .88 against the one below; docs/tutorials/play.md has the figures.
"""

from __future__ import annotations

from typing import Final

from agents.analysis import Searcher
from agents.registry import make_agent

_SPECS: Final = {
    "easy": "beginner",
    "medium": "alpha_beta:evaluation=heuristics,depth=2,solver=9",
    "hard": "alpha_beta:evaluation=ntuple,depth=2",
    "expert": "alpha_beta:evaluation=ntuple,depth=4,solver=12",
}
# The shipped network plays on 8x8 only.
_SMALL_BOARD_SPECS: Final = {
    **_SPECS,
    "hard": "alpha_beta:evaluation=heuristics,depth=4",
    "expert": "alpha_beta:evaluation=heuristics,depth=6,solver=12",
}

LEVELS: Final = tuple(_SPECS)
"""The names of the levels, weakest first."""


def analyst_spec(board_size: int = 8, *, is_quick: bool = False) -> str:
    """Return the spec of the agent that rates moves.

    is_quick: True for limits of time on each position, for people who wait for a hint; the scores
    may then differ from one call to the next.
    """
    evaluation = "ntuple" if board_size == 8 else "heuristics"
    limits = "depth=6,seconds=0.2,solver=14,solver_seconds=0.3" if is_quick else "depth=8,solver=16"
    return f"alpha_beta:evaluation={evaluation},{limits}"


def analyst(board_size: int = 8) -> Searcher:
    """Return the agent that rates moves without limits of time; see `analyst_spec`."""
    agent = make_agent(analyst_spec(board_size))
    assert isinstance(agent, Searcher)
    return agent


def level_spec(level: str, board_size: int = 8) -> str:
    """Return the spec of the agent that plays a level. Raises `ValueError` for an unknown level."""
    specs = _SPECS if board_size == 8 else _SMALL_BOARD_SPECS
    if level not in specs:
        raise ValueError(f"level {level!r}: expected one of {', '.join(LEVELS)}")
    return specs[level]
