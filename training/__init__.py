"""Trainers and evaluation; run from the checkout with `python -m training.NAME`."""
