"""Agents as engines: `python -m agents.serve` lets other programs play against an agent over GTP or the NBoard protocol."""
