from __future__ import annotations

import pytest
import torch

from training.schedule import set_learning_rate


def test_the_learning_rate_falls_along_half_a_cosine_to_a_twentieth() -> None:
    optimizer = torch.optim.AdamW([{"params": [torch.zeros(1)]}, {"params": [torch.zeros(2)]}], lr=1.0)
    rates = []
    for progress in (0.0, 0.25, 0.5, 1.0, 1.2):
        set_learning_rate(optimizer, 0.2, progress=progress)
        assert len({group["lr"] for group in optimizer.param_groups}) == 1
        rates.append(optimizer.param_groups[0]["lr"])
    # (1 + cos(pi / 4)) / 2 = 0.853553, and 0.05 + 0.95 * 0.853553 = 0.860876
    assert rates == pytest.approx([0.2, 0.2 * 0.860876, 0.2 * 0.525, 0.01, 0.01], abs=1e-6)
