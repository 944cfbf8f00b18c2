"""Checkpoints: all that a run needs in order to go on as if nothing had happened, in one safetensors file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from agents.weight_file import CheckpointError, read_weights, write_weights

Arrays = dict[str, npt.NDArray[Any]]

_MOMENTS: Final = ("exp_avg", "exp_avg_sq")


class TrainingDivergedError(ValueError):
    """Weights or losses that are no finite numbers any more."""


def write_checkpoint(path: Path, kind: str, *, parts: dict[str, Arrays], about: dict[str, Any]) -> None:
    """Write named parts of arrays and a description, which must be JSON, by an atomic rename."""
    tensors = {f"{part}/{name}": array for part, arrays in parts.items() for name, array in arrays.items()}
    write_weights(path, kind, tensors=tensors, about=about)


def read_checkpoint(path: Path, kind: str) -> tuple[dict[str, Arrays], dict[str, Any]]:
    """Read what `write_checkpoint` wrote. Raises `CheckpointError` for a file that is missing, damaged, or of another kind."""
    tensors, about = read_weights(path, kind)
    parts: dict[str, Arrays] = {}
    for key, array in tensors.items():
        part, _, name = key.partition("/")
        parts.setdefault(part, {})[name] = array
    return parts, about


@contextmanager
def checkpoint(path: Path, kind: str) -> Iterator[tuple[dict[str, Arrays], dict[str, Any]]]:
    """`read_checkpoint`, to go on from: what is found not to fit in the body of the `with` is a `CheckpointError` too."""
    parts, about = read_checkpoint(path, kind)
    try:
        yield parts, about
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CheckpointError(f"{str(path)!r}: not a checkpoint to go on from ({type(error).__name__}: {error})") from None


def check_finite(network: torch.nn.Module) -> None:
    """Raise `TrainingDivergedError` where a weight is no finite number, with its name."""
    parameters = dict(network.named_parameters())
    finite = torch.stack([torch.isfinite(parameter).all() for parameter in parameters.values()]).tolist()  # one answer of the device
    if not all(finite):
        raise TrainingDivergedError(f"training has diverged: weights that are not finite, in {list(parameters)[finite.index(False)]}")


def optimizer_arrays(optimizer: torch.optim.AdamW) -> Arrays:
    """The moments and step counts of Adam, by the parameters' numbers; none before the first step."""
    arrays: Arrays = {}
    for number, state in optimizer.state_dict()["state"].items():
        arrays[f"{number}.step"] = np.array([float(state["step"])])
        for name in _MOMENTS:
            arrays[f"{number}.{name}"] = state[name].cpu().contiguous().numpy().copy()
    return arrays


def restore_optimizer(optimizer: torch.optim.AdamW, arrays: Arrays) -> None:
    """Put back what `optimizer_arrays` gave. Raises `ValueError` or `KeyError` for arrays that do not fit the parameters."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    numbers = sorted({int(name.partition(".")[0]) for name in arrays})
    if numbers not in ([], list(range(len(parameters)))):
        raise ValueError(f"the optimiser's state is of {len(numbers)} parameters; expected {len(parameters)}")
    state = {}
    for number in numbers:
        moments = {name: torch.from_numpy(arrays[f"{number}.{name}"].copy()) for name in _MOMENTS}
        if any(moment.shape != parameters[number].shape for moment in moments.values()):
            raise ValueError(f"the optimiser's state of parameter {number} is of another shape")
        # In the parameter's own layout, so that the arithmetic is the same to the last bit.
        laid_out = {name: torch.empty_like(parameters[number]).copy_(moment) for name, moment in moments.items()}
        state[number] = {"step": torch.tensor(float(arrays[f"{number}.step"].item())), **laid_out}
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
