"""Pictures of positions. Everything here draws a `Position` and knows no rules."""
