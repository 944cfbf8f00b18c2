"""N-tuple networks: value functions that sum table entries, looked up by the contents of tuples of squares."""
