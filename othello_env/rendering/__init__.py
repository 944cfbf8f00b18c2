"""Pictures of positions. Everything here draws a `Position` and contains no rules."""
