"""Agents as engines for other programs, over GTP or the NBoard protocol.

`python -m agents.serve` starts a server.
"""
