"""N-tuple networks: value functions that sum table entries indexed by the contents of tuples."""
