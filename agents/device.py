"""Names of the devices on which networks run.

This module does not import PyTorch, so that every command can offer the devices.
"""

from __future__ import annotations

from typing import Literal

Device = Literal["cpu", "cuda", "auto"]
"""auto: the GPU if PyTorch finds one, otherwise the CPU. See `agents.networks.find_device`."""
