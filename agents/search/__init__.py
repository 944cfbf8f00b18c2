"""Compiled game-tree search: alpha-beta, exact endgame solver and Monte Carlo tree search."""
