"""The names of the devices on which networks run. Without PyTorch, so that every command can offer them."""

from __future__ import annotations

from typing import Literal

Device = Literal["cpu", "cuda", "auto"]
"""auto: a GPU if PyTorch finds one, otherwise the CPU. See `agents.networks.find_device`."""
