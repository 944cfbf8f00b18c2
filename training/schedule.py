"""How the learning rate falls in the course of a run."""

from __future__ import annotations

import math
from typing import Final

from torch.optim import Optimizer

LAST_SHARE: Final = 0.05
"""What the learning rate falls to, as a share of what it begins with."""


def set_learning_rate(optimizer: Optimizer, first: float, *, progress: float) -> None:
    """Set what the rate is when this share of the run is done: it falls from `first` to a twentieth along half a cosine."""
    share = LAST_SHARE + (1 - LAST_SHARE) * (1 + math.cos(math.pi * min(1.0, progress))) / 2
    for group in optimizer.param_groups:
        group["lr"] = first * share
