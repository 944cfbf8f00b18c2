"""Sample agents: everything that chooses moves. They run from the checkout, `make_agent` builds them from a spec."""

from agents.base import Agent
from agents.registry import AgentSpecError, agent_specs, make_agent
from othello_env.command import explain_import_errors

__all__ = ["Agent", "AgentSpecError", "agent_specs", "make_agent"]

explain_import_errors()
