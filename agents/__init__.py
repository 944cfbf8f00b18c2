"""Sample agents, which run from a clone of the repository.

`make_agent` builds an agent from its spec.
"""

from agents.base import Agent
from agents.registry import AgentSpecError, agent_specs, make_agent
from othello_env.command import explain_import_errors

__all__ = ["Agent", "AgentSpecError", "agent_specs", "make_agent"]

explain_import_errors()
