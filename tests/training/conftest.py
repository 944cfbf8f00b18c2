from __future__ import annotations

import pytest
import torch

from agents.networks import Device


@pytest.fixture(params=["cpu", *(["cuda"] if torch.cuda.is_available() else [])])
def device(request: pytest.FixtureRequest) -> Device:
    """Each device that a network can learn on here."""
    found: Device = request.param
    return found


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """As in training: the arrays are small, and PyTorch's threads would contend with NumPy's."""
    torch.set_num_threads(1)
