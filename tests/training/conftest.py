from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """As in training: the arrays are small, and PyTorch's threads would contend with NumPy's."""
    torch.set_num_threads(1)
