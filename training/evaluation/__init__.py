"""Matches and what comes of them. No PyTorch in here."""
