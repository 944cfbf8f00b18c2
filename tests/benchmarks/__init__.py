"""Measurements. Nothing here is a test: `python -m tests.benchmarks.peers` prints, and fails at nothing."""
