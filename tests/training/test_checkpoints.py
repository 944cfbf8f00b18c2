from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from agents.weight_file import CheckpointError
from training.checkpoints import Arrays, optimizer_arrays, read_checkpoint, restore_optimizer, write_checkpoint


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
def test_an_optimiser_goes_on_as_if_nothing_had_happened(layout: torch.memory_format, steps: int, tmp_path: Path) -> None:
    old = network_of(layout)
    old_optimizer = torch.optim.AdamW(old.parameters(), lr=0.01)
    train(old, old_optimizer, steps)
    write_checkpoint(tmp_path / "state", "test", parts={"optimizer": optimizer_arrays(old_optimizer)}, about={"steps": steps})
    parts, about = read_checkpoint(tmp_path / "state", "test")
    assert about["steps"] == steps
    new = network_of(layout)
    new.load_state_dict(old.state_dict())
    new_optimizer = torch.optim.AdamW(new.parameters(), lr=0.01)
    restore_optimizer(new_optimizer, parts.get("optimizer", {}))
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
    with pytest.raises(ValueError, match="of 4 parameters; expected 2"):
        restore_optimizer(other, arrays)
    with pytest.raises(ValueError, match="parameter 0 is of another shape"):
        restore_optimizer(other, {name: array for name, array in arrays.items() if name[0] in "01"})
    with pytest.raises(KeyError):
        restore_optimizer(optimizer, {name: array for name, array in arrays.items() if name != "2.exp_avg"})


def test_parts_keep_their_arrays_apart_and_another_kind_is_refused(tmp_path: Path) -> None:
    parts: dict[str, Arrays] = {"one": {"a": np.arange(3)}, "two": {"a": np.arange(4), "b/c": np.eye(2)}}
    write_checkpoint(tmp_path / "state", "mine", parts=parts, about={})
    read, _ = read_checkpoint(tmp_path / "state", "mine")
    assert {(part, name): array.tolist() for part, arrays in read.items() for name, array in arrays.items()} == {
        ("one", "a"): [0, 1, 2],
        ("two", "a"): [0, 1, 2, 3],
        ("two", "b/c"): [[1, 0], [0, 1]],
    }
    with pytest.raises(CheckpointError, match="holds 'mine'"):
        read_checkpoint(tmp_path / "state", "yours")
