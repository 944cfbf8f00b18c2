"""Matches, tournaments, ratings and reports. This package does not import PyTorch."""
