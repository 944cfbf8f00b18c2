from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from training.checkpoints import Arrays, TrainingDivergedError, read_checkpoint, write_checkpoint
from training.optimizer import check_finite, optimizer_arrays, optimizer_step, restore_optimizer, set_learning_rate


def network_of(layout: torch.memory_format) -> torch.nn.Module:
    torch.manual_seed(0)
    network: torch.nn.Module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.Flatten(), torch.nn.Linear(32, 1))
    return network.to(memory_format=layout)  # type: ignore[call-overload,no-any-return]


def train(network: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
    for step in range(steps):
        planes = torch.rand(5, 3, 4, 4, generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        network(planes).square().sum().backward()
        optimizer.step()


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("steps", [0, 3])
def test_a_restored_optimizer_continues_exactly(layout: torch.memory_format, steps: int, tmp_path: Path) -> None:
    old = network_of(layout)
    old_optimizer = torch.optim.AdamW(old.parameters(), lr=0.01)
    train(old, old_optimizer, steps)
    write_checkpoint(tmp_path / "state", "test", parts={"optimizer": optimizer_arrays(old_optimizer)}, about={"steps": steps})
    parts, about = read_checkpoint(tmp_path / "state", "test")
    assert about["steps"] == steps
    new = network_of(layout)
    new.load_state_dict(old.state_dict())
    new_optimizer = torch.optim.AdamW(new.parameters(), lr=0.01)
    assert restore_optimizer(new_optimizer, parts.get("optimizer", {})) == steps
    train(old, old_optimizer, 4)
    train(new, new_optimizer, 4)
    for one, other in zip(old.parameters(), new.parameters(), strict=True):
        assert torch.equal(one, other)
    for name, array in optimizer_arrays(old_optimizer).items():
        np.testing.assert_array_equal(optimizer_arrays(new_optimizer)[name], array)


def test_the_state_of_another_network_is_refused() -> None:
    network = network_of(torch.contiguous_format)
    optimizer = torch.optim.AdamW(network.parameters())
    train(network, optimizer, 1)
    arrays = optimizer_arrays(optimizer)
    other = torch.optim.AdamW(torch.nn.Linear(3, 1).parameters())
    with pytest.raises(ValueError, match=r"2\.exp_avg is missing, or not of the 2 parameters"):
        restore_optimizer(other, arrays)
    with pytest.raises(ValueError, match=r"0\.exp_avg is float32 of shape"):
        restore_optimizer(other, {name: array for name, array in arrays.items() if name[0] in "01"})


def with_change(change: Callable[[Any], Any]) -> Callable[[Arrays, str], Arrays]:
    """A change to one array, by its name."""
    return lambda arrays, name: arrays | {name: change(arrays[name].copy())}


def put(array: Any, value: float) -> Any:
    array.flat[-1] = value
    return array


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("2.exp_avg", lambda arrays, name: {other: array for other, array in arrays.items() if other != name}),
        ("1.exp_avg_sq", lambda arrays, name: {other: array for other, array in arrays.items() if other != name}),
        ("3.step", lambda arrays, name: {other: array for other, array in arrays.items() if other != name}),
        ("4.step", lambda arrays, name: arrays | {name: arrays["0.step"]}),
        ("0.momentum", lambda arrays, name: arrays | {name: arrays["0.exp_avg"]}),
        ("3.exp_avg", with_change(lambda array: put(array, np.nan))),
        ("3.exp_avg_sq", with_change(lambda array: put(array, np.inf))),
        ("0.exp_avg_sq", with_change(lambda array: put(array, -1e-3))),
        ("1.exp_avg", with_change(lambda array: array[:-1])),
        ("1.exp_avg_sq", with_change(lambda array: array[..., None])),
        ("2.exp_avg", with_change(lambda array: array.astype(np.float64))),
        ("2.step", with_change(lambda array: array + 1)),
        ("2.step", with_change(lambda array: np.repeat(array, 2))),
        ("0.step", with_change(lambda array: array[:0])),
        ("2.step", with_change(lambda array: array * np.nan)),
        *(
            ("step", lambda arrays, name, value=value: arrays | {f"{number}.{name}": np.array([value]) for number in range(4)})
            for value in (0.0, -1.0, 1.5, 1e30, math.inf, math.nan)
        ),
    ],
)
def test_one_wrong_moment_or_number_of_steps_is_refused(name: str, change: Callable[[Arrays, str], Arrays]) -> None:
    network = network_of(torch.channels_last)
    optimizer = torch.optim.AdamW(network.parameters())
    train(network, optimizer, 2)
    arrays = optimizer_arrays(optimizer)
    fresh = torch.optim.AdamW(network.parameters())
    with pytest.raises(ValueError, match="optimizer state"):
        restore_optimizer(fresh, change(arrays, name))
    assert optimizer_arrays(fresh) == {}
    assert restore_optimizer(fresh, arrays) == 2


def test_a_negative_first_moment_is_restored() -> None:
    network = network_of(torch.contiguous_format)
    optimizer = torch.optim.AdamW(network.parameters())
    train(network, optimizer, 1)
    arrays = optimizer_arrays(optimizer)
    assert any((array < 0).any() for name, array in arrays.items() if name.endswith(".exp_avg"))
    assert restore_optimizer(torch.optim.AdamW(network.parameters()), arrays) == 1


def test_a_weight_that_is_not_finite_is_named() -> None:
    network = network_of(torch.contiguous_format)
    check_finite(network)
    names = [name for name, _ in network.named_parameters()]
    with torch.no_grad():
        list(network.parameters())[2].flatten()[0] = math.inf
    with pytest.raises(TrainingDivergedError, match=f"not finite, in {names[2]}"):
        check_finite(network)


@pytest.mark.parametrize("max_grad_norm", [0.5, 100.0])
def test_a_step_minimizes_the_weighted_sum_with_a_clipped_gradient(max_grad_norm: float) -> None:
    parameter = torch.tensor([3.0, -4.0], requires_grad=True)
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    found = optimizer_step(optimizer, torch.stack([(parameter**2).sum(), parameter.sum()]), weights=(0.5, 2.0), max_grad_norm=max_grad_norm)
    assert found == [25.0, -1.0]
    gradient = torch.tensor([5.0, -2.0])  # of half the squares, and twice the sum
    scaled = gradient * min(1.0, max_grad_norm / float(gradient.norm()))
    torch.testing.assert_close(parameter.detach(), torch.tensor([3.0, -4.0]) - scaled)


@pytest.mark.parametrize(("first", "second"), [(math.nan, 0.0), (0.0, math.inf), (1e38, 1e38)])
def test_a_step_that_would_not_be_finite_leaves_the_parameters_unchanged(first: float, second: float) -> None:
    """The last losses are finite, and their gradient is not."""
    parameter = torch.tensor([1.0, 1.0], requires_grad=True)
    optimizer = torch.optim.AdamW([parameter], lr=0.1)
    with pytest.raises(TrainingDivergedError, match="diverged: losses and gradient norm"):
        optimizer_step(optimizer, parameter * torch.tensor([first, second]), weights=(10.0, 1.0), max_grad_norm=1.0)
    assert parameter.tolist() == [1.0, 1.0]


def test_the_learning_rate_falls_along_half_a_cosine_to_a_twentieth() -> None:
    optimizer = torch.optim.AdamW([{"params": [torch.zeros(1)]}, {"params": [torch.zeros(2)]}], lr=1.0)
    rates = []
    for progress in (0.0, 0.25, 0.5, 1.0, 1.2):
        set_learning_rate(optimizer, 0.2, progress=progress)
        assert len({group["lr"] for group in optimizer.param_groups}) == 1
        rates.append(optimizer.param_groups[0]["lr"])
    # (1 + cos(pi / 4)) / 2 = 0.853553, and 0.05 + 0.95 * 0.853553 = 0.860876
    assert rates == pytest.approx([0.2, 0.2 * 0.860876, 0.2 * 0.525, 0.01, 0.01], abs=1e-6)
