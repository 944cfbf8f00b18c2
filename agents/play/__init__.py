"""Playing and watching games: `python -m agents.play` in the terminal."""
