"""Policy-value network: a small residual convolutional network in PyTorch.

Instead of batch normalization, each residual block is initialized as the identity. At these depths
this trains as well, costs less on a CPU, and the network computes the same function in training and
in play.
"""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.device import Device
from agents.weight_file import CheckpointError, read_weights, write_weights
from othello_env.bitboard import BitboardArray
from othello_env.observation import ObservationFormat
from othello_env.squares import BOARD_SIZES

KIND: Final = "policy_value"
NUM_PLANES: Final = 3

_LAYOUTS: Final = {n: ObservationFormat(n, dtype="uint8", legal_plane=True) for n in BOARD_SIZES}
_VALUE_CHANNELS: Final = 8
_VALUE_UNITS: Final = 64


class Outputs(NamedTuple):
    """Outputs of the network for L positions, from the perspective of the side to move.

    policy_logits: [L, A] with A = n*n + 1; the pass is last and its logit is always 0.
    value_logits: [L], 2 artanh(value) for values in [-1, 1]; if the value is the outcome alone,
    this is the logit of the probability of winning. ownership_logits: [L, n*n], logits of the
    probability that the side to move owns a square at the end of the game.
    """

    policy_logits: Tensor
    value_logits: Tensor
    ownership_logits: Tensor


@dataclass(frozen=True, slots=True)
class Architecture:
    """Size of a network, and the meaning of its value. Raises `ValueError` for invalid fields.

    blocks: number of residual blocks. channels: channels of each convolution. margin_share: share
    of the final disc difference in the value; see `agents.search.mcts.SearchSettings`.
    """

    board_size: int = 8
    blocks: int = 2
    channels: int = 32
    margin_share: float = 0.0

    def __post_init__(self) -> None:
        if self.board_size not in BOARD_SIZES:
            raise ValueError(f"board_size {self.board_size}: expected one of {', '.join(map(str, BOARD_SIZES))}")
        if not 1 <= self.blocks <= 100 or not 1 <= self.channels <= 4096:
            raise ValueError(f"{self.blocks} blocks of {self.channels} channels: expected 1 to 100 of 1 to 4096")
        if not 0 <= self.margin_share <= 1:
            raise ValueError(f"margin_share {self.margin_share}: expected 0 to 1")


class PolicyValueNetwork(nn.Module):
    """Maps planes to policy, value and, for training only, ownership.

    The initial weights are drawn from PyTorch's global generator.
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.architecture = architecture
        channels, num_squares = architecture.channels, architecture.board_size**2
        self.stem = nn.Conv2d(NUM_PLANES, channels, 3, padding=1)
        self.blocks = nn.ModuleList(ResidualBlock(channels) for _ in range(architecture.blocks))
        self.policy_hidden = nn.Conv2d(channels, channels, 1)
        self.policy = nn.Conv2d(channels, 1, 1)
        self.value_hidden = nn.Conv2d(channels, _VALUE_CHANNELS, 1)
        self.value_units = nn.Linear(_VALUE_CHANNELS * num_squares, _VALUE_UNITS)
        self.value = nn.Linear(_VALUE_UNITS, 1)
        self.ownership = nn.Conv2d(channels, 1, 1)
        for head in (self.policy, self.value, self.ownership):  # start with a uniform policy and values of 0
            nn.init.zeros_(head.weight)

    def forward(self, planes: Tensor) -> Outputs:
        """Return the outputs for L positions.

        planes: [L, 3, n, n]: own discs, the opponent's discs, legal moves.
        """
        features = functional.relu(self.stem(planes))
        for block in self.blocks:
            features = block(features)
        policy_logits = self.policy(functional.relu(self.policy_hidden(features))).flatten(1)
        units = functional.relu(self.value_units(functional.relu(self.value_hidden(features)).flatten(1)))
        return Outputs(
            functional.pad(policy_logits, (0, 1)),
            self.value(units).squeeze(1),
            self.ownership(features).flatten(1),
        )

    def save(self, path: Path, metadata: dict[str, Any] | None = None) -> None:
        """Write the network and metadata atomically as a safetensors file."""
        about = {**(metadata or {}), "architecture": asdict(self.architecture)}
        write_weights(path, KIND, tensors=to_arrays(self), about=about)

    @classmethod
    def load(cls, path: Path) -> PolicyValueNetwork:
        """Load a network from a file written by `save`.

        Raises `CheckpointError` if the file is missing, damaged or of another kind.
        """
        tensors, about = read_weights(path, KIND)
        try:
            network = cls(Architecture(**about["architecture"]))
            from_arrays(network, tensors)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{str(path)!r}: not a network ({type(error).__name__}: {error})") from None
        return network


class ResidualBlock(nn.Module):
    """Residual block of two 3x3 convolutions. The weights of the second start at zero."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        nn.init.zeros_(self.second.weight)

    def forward(self, features: Tensor) -> Tensor:
        """Return the output of the block: [L, C, n, n]. features: [L, C, n, n]."""
        added: Tensor = self.second(functional.relu(self.first(features)))
        return functional.relu(features + added)


def new_network(architecture: Architecture, *, seed: int, device: torch.device) -> PolicyValueNetwork:
    """Return a network on a device, with random weights drawn from `seed`.

    The state of PyTorch's CPU generator is preserved.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = PolicyValueNetwork(architecture)
    network.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network


def find_device(device: Device) -> torch.device:
    """Return the PyTorch device for a name; "auto" is the GPU if PyTorch finds one, else the CPU.

    Raises `ValueError` for "cuda" if PyTorch finds no GPU, and if the GPU found does not work.
    """
    found = device != "cpu" and torch.cuda.is_available()
    if device == "cuda" and not found:
        raise ValueError("device cuda: PyTorch finds no CUDA device here")
    if found:
        try:
            torch.zeros(1, device="cuda")
        except (AssertionError, RuntimeError) as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(f"device {device}: the CUDA device that PyTorch finds does not work, cpu may: {reason}") from None
    return torch.device("cuda" if found else "cpu")


def repeat_exactly(device: torch.device) -> None:
    """Make convolutions on a GPU deterministic, so that training is reproducible."""
    if device.type == "cuda":
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False


def to_arrays(module: nn.Module) -> dict[str, npt.NDArray[Any]]:
    """Return a copy of a module's weights by name."""
    return {name: tensor.detach().cpu().contiguous().numpy().copy() for name, tensor in module.state_dict().items()}


def from_arrays(module: nn.Module, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Copy weights into a module.

    Raises `ValueError` if names or shapes differ from the module's, or a weight is not finite.
    """
    state = module.state_dict()
    found = {name: array.shape for name, array in arrays.items()}
    expected = {name: tuple(tensor.shape) for name, tensor in state.items()}
    if found != expected:
        different = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
        raise ValueError(f"{different[0]} is of shape {found.get(different[0])}; expected {expected.get(different[0])}")
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name}: not all of its weights are finite numbers")
        state[name].copy_(torch.from_numpy(array.astype(np.float32)))


def planes_of(own: BitboardArray, opp: BitboardArray, *, legal_moves: BitboardArray, board_size: int) -> Tensor:
    """Return the input of the network: [L, 3, n, n] uint8 of 0 and 1, in channels-last format.

    own, opp, legal_moves: [L] uint64.
    """
    planes = _LAYOUTS[board_size].observe_batch(own, opp, legal_moves)["observation"]
    return torch.from_numpy(planes).permute(0, 3, 1, 2)


def inference_copy(network: PolicyValueNetwork, device: torch.device, *, dtype: torch.dtype) -> PolicyValueNetwork:
    """Return a copy for inference on a device, in the given dtype, without gradients."""
    copied = copy.deepcopy(network).to(device=device, dtype=dtype, memory_format=torch.channels_last)  # type: ignore[call-overload]
    for parameter in copied.parameters():
        parameter.requires_grad_(False)
    evaluating: PolicyValueNetwork = copied.eval()
    return evaluating
