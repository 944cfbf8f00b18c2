"""Engines as agents: other programs that play Othello and speak GTP or the NBoard protocol."""
