from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.device import Device
from agents.networks import (
    Architecture,
    PolicyValueNetwork,
    find_device,
    from_arrays,
    inference_copy,
    planes_of,
    to_arrays,
)
from agents.weight_file import CheckpointError, read_weights, write_weights
from othello_env import Position, PositionBatch
from othello_env.observation import ObservationFormat


def network_of(board_size: int = 6, *, seed: int = 0, blocks: int = 2, channels: int = 8) -> PolicyValueNetwork:
    """A network all of whose weights are random."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = PolicyValueNetwork(Architecture(board_size, blocks, channels))
        for parameter in network.parameters():
            torch.nn.init.normal_(parameter, std=0.2)
    return network


def batch_of(board_size: int, rng: np.random.Generator, count: int = 40) -> PositionBatch:
    """Positions of all stages of random games."""
    games = PositionBatch.start(count, board_size)
    for _ in range(board_size**2 - 6):
        going = np.flatnonzero(rng.random(count) < 0.6)
        games.step(games.take(going).sample_moves(rng), going)
    return games.take(~games.is_over)


@pytest.mark.parametrize("board_size", [4, 6, 8])
def test_planes_are_those_of_the_environment(board_size: int, rng: np.random.Generator) -> None:
    batch = batch_of(board_size, rng)
    planes = planes_of(batch.own, batch.opp, legal_moves=batch.legal_moves, board_size=board_size)
    observed = ObservationFormat(board_size, channels="first", legal_plane=True).observe_batch(batch.own, batch.opp, batch.legal_moves)
    np.testing.assert_array_equal(planes.numpy(), observed["observation"])
    assert planes.dtype == torch.uint8


@pytest.mark.parametrize("board_size", [4, 6, 8])
def test_outputs_have_their_shapes_and_the_pass_a_logit_of_0(board_size: int, rng: np.random.Generator) -> None:
    batch = batch_of(board_size, rng)
    planes = planes_of(batch.own, batch.opp, legal_moves=batch.legal_moves, board_size=board_size).float()
    outputs = network_of(board_size)(planes)
    count, squares = len(batch), board_size**2
    assert outputs.policy_logits.shape == (count, squares + 1)
    assert outputs.value_logits.shape == (count,)
    assert outputs.ownership_logits.shape == (count, squares)
    assert not outputs.policy_logits[:, -1].any()
    assert outputs.policy_logits[:, :-1].std() > 0.01


def test_a_new_network_has_a_uniform_policy_and_even_values() -> None:
    start = PositionBatch.start(3)
    outputs = PolicyValueNetwork(Architecture())(planes_of(start.own, start.opp, legal_moves=start.legal_moves, board_size=8).float())
    assert torch.equal(outputs.policy_logits[:, 1:-1], outputs.policy_logits[:, :-2])
    assert outputs.value_logits.abs().max() < 1


def test_one_position_is_answered_as_in_a_batch(rng: np.random.Generator) -> None:
    batch, network = batch_of(6, rng), network_of()
    planes = planes_of(batch.own, batch.opp, legal_moves=batch.legal_moves, board_size=6).float()
    together = network(planes)
    for row in (0, 7):
        alone = network(planes[row : row + 1])
        for one, all_of_them in zip(alone, together, strict=True):
            torch.testing.assert_close(one[0], all_of_them[row], rtol=1e-4, atol=1e-4)


def test_a_saved_network_is_read_back(tmp_path: Path) -> None:
    network = network_of()
    network.save(tmp_path / "net", {"games": 7})
    read = PolicyValueNetwork.load(tmp_path / "net")
    assert read.architecture == network.architecture
    for name, array in to_arrays(network).items():
        np.testing.assert_array_equal(to_arrays(read)[name], array)
    assert read_weights(tmp_path / "net", "policy_value")[1]["games"] == 7


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors, about: tensors.pop("stem.bias"),
        lambda tensors, about: tensors.update(more=np.zeros(3, dtype=np.float32)),
        lambda tensors, about: tensors.update({"stem.bias": np.zeros(3, dtype=np.float32)}),
        lambda tensors, about: tensors.update({"stem.bias": np.full(8, np.inf, dtype=np.float32)}),
        lambda tensors, about: about.pop("architecture"),
        lambda tensors, about: about["architecture"].update(board_size=5),
        lambda tensors, about: about["architecture"].update(blocks=0),
        lambda tensors, about: about["architecture"].update(channels=1 << 30),
        lambda tensors, about: about["architecture"].update(colour="red"),
        lambda tensors, about: about.update(architecture=3),
    ],
)
def test_a_file_with_other_things_in_it_is_refused(tmp_path: Path, change: Any) -> None:
    network_of().save(tmp_path / "net")
    tensors, about = read_weights(tmp_path / "net", "policy_value")
    change(tensors, about)
    write_weights(tmp_path / "net", "policy_value", tensors=tensors, about=about)
    with pytest.raises(CheckpointError, match="not a network"):
        PolicyValueNetwork.load(tmp_path / "net")


def test_a_copy_for_inference_does_not_follow_the_training(rng: np.random.Generator) -> None:
    network, batch = network_of(), batch_of(6, rng)
    planes = planes_of(batch.own, batch.opp, legal_moves=batch.legal_moves, board_size=6)
    copied = inference_copy(network, torch.device("cpu"), dtype=torch.float32)
    before = copied(planes.float()).value_logits
    torch.testing.assert_close(before, network(planes.float()).value_logits, rtol=1e-4, atol=1e-4)
    with torch.no_grad():
        network.stem.weight += 1
    torch.testing.assert_close(copied(planes.float()).value_logits, before)
    assert not any(parameter.requires_grad for parameter in copied.parameters())


def test_weights_of_other_shapes_are_refused_by_their_name() -> None:
    with pytest.raises(ValueError, match=r"blocks.0.first.bias is of shape \(8,\); expected \(9,\)"):
        from_arrays(network_of(channels=9), to_arrays(network_of(channels=8)))


def test_devices_are_found_by_their_names() -> None:
    assert find_device("cpu").type == "cpu"
    if torch.cuda.is_available():
        assert find_device("auto").type == find_device("cuda").type == "cuda"
    else:
        assert find_device("auto").type == "cpu"
        with pytest.raises(ValueError, match="device cuda: PyTorch finds no CUDA device here"):
            find_device("cuda")


def test_a_device_that_does_not_work_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> torch.Tensor:
        raise RuntimeError("CUDA error: all CUDA-capable devices are busy or unavailable\nCompile with TORCH_USE_CUDA_DSA")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "zeros", broken)
    devices: tuple[Device, ...] = ("auto", "cuda")
    for device in devices:
        with pytest.raises(ValueError, match=f"device {device}: .* does not work, cpu may: CUDA error: all") as caught:
            find_device(device)
        assert "\n" not in str(caught.value)
    assert find_device("cpu").type == "cpu"


@pytest.mark.parametrize(("blocks", "channels", "board_size"), [(0, 8, 8), (101, 8, 8), (1, 0, 8), (1, 5000, 8), (1, 8, 5)])
def test_an_impossible_architecture_is_refused(blocks: int, channels: int, board_size: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        Architecture(board_size, blocks, channels)


def test_a_value_is_between_a_loss_and_a_win() -> None:
    position = PositionBatch.from_positions([Position.start(6)])
    outputs = network_of()(planes_of(position.own, position.opp, legal_moves=position.legal_moves, board_size=6).float() * 1e4)
    assert -1 <= torch.tanh(outputs.value_logits / 2).item() <= 1
