"""Compiled game-tree search: alpha-beta, exact endgames and Monte Carlo tree search."""
