from __future__ import annotations

import importlib.util

import pytest

from agents.device import Device

HAS_TORCH = importlib.util.find_spec("torch") is not None

# The trainers of policy-value networks need the extra [torch]; all other tests of this folder run
# without it.
NEED_TORCH = ("alphazero", "losses", "opponent_pool", "optimizer", "ppo", "self_play")
collect_ignore = [] if HAS_TORCH else [f"test_{name}.py" for name in NEED_TORCH]


def devices() -> list[Device]:
    """Each device that a network can learn on here; none without PyTorch."""
    if not HAS_TORCH:
        return []
    import torch

    return ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@pytest.fixture(params=devices())
def device(request: pytest.FixtureRequest) -> Device:
    found: Device = request.param
    return found


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """As in training: the arrays are small, and PyTorch's threads would contend with NumPy's."""
    if HAS_TORCH:
        import torch

        torch.set_num_threads(1)
