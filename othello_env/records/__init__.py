"""Games and positions as files and texts that other programs read and write."""
