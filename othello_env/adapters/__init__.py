"""Adapters for training libraries; import only the one whose library is installed."""
