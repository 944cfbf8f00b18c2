"""Engines as agents: external Othello programs that speak GTP or the NBoard protocol."""
