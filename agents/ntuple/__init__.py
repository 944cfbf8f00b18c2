"""N-tuple networks: tables of weights looked up by the contents of squares."""
