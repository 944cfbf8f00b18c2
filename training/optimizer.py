"""Optimizer of policy-value networks: steps, learning rate schedule, and checkpoint state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW, Optimizer

from training.checkpoints import Arrays, TrainingDivergedError

FINAL_LEARNING_RATE: Final = 0.05
"""Learning rate at the end of a run, as a fraction of the initial one."""

_MOMENTS: Final = ("exp_avg", "exp_avg_sq")


def optimizer_step(optimizer: Optimizer, losses: Tensor, *, weights: Sequence[float], max_grad_norm: float) -> list[float]:
    """Take one step on the weighted sum of the losses, and return the losses.

    losses: [L]. max_grad_norm: a gradient with a larger norm is scaled down to it. Raises
    `TrainingDivergedError`, and leaves the parameters unchanged, if a loss or the gradient is not
    finite.
    """
    optimizer.zero_grad(set_to_none=True)
    (losses * torch.tensor(weights, device=losses.device)).sum().backward()  # type: ignore[no-untyped-call]
    norm = clip_grad_norm_([parameter for group in optimizer.param_groups for parameter in group["params"]], max_grad_norm)
    found: list[float] = torch.cat([losses.detach(), norm.reshape(1)]).tolist()  # a single device-to-host synchronization
    if not all(map(math.isfinite, found)):
        raise TrainingDivergedError(f"training has diverged: losses and gradient norm {found}")
    optimizer.step()
    return found[:-1]


def set_learning_rate(optimizer: Optimizer, initial: float, *, progress: float) -> None:
    """Set the learning rate, which falls from `initial` to a twentieth along half a cosine.

    progress: fraction of the run that is done, from 0 to 1.
    """
    fraction = FINAL_LEARNING_RATE + (1 - FINAL_LEARNING_RATE) * (1 + math.cos(math.pi * min(1.0, progress))) / 2
    for group in optimizer.param_groups:
        group["lr"] = initial * fraction


def check_finite(network: torch.nn.Module) -> None:
    """Raise `TrainingDivergedError`, with the name of the parameter, if a weight is not finite."""
    parameters = dict(network.named_parameters())
    # A single device-to-host synchronization.
    finite = torch.stack([torch.isfinite(parameter).all() for parameter in parameters.values()]).tolist()
    if not all(finite):
        raise TrainingDivergedError(f"training has diverged: weights that are not finite, in {list(parameters)[finite.index(False)]}")


def optimizer_arrays(optimizer: AdamW) -> Arrays:
    """Return Adam's moments and step counts by parameter number, for a checkpoint.

    The result is empty before the first step.
    """
    arrays: Arrays = {}
    for number, state in optimizer.state_dict()["state"].items():
        arrays[f"{number}.step"] = np.array([float(state["step"])])
        for name in _MOMENTS:
            arrays[f"{number}.{name}"] = state[name].cpu().contiguous().numpy().copy()
    return arrays


def restore_optimizer(optimizer: AdamW, arrays: Arrays) -> int:
    """Restore the result of `optimizer_arrays`, and return the number of steps taken.

    Raises `ValueError` for arrays that do not fit the parameters, are not finite, or cannot be
    moments.
    """
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if not arrays:
        return 0
    expected = {f"{number}.{name}" for number in range(len(parameters)) for name in ("step", *_MOMENTS)}
    if different := sorted(arrays.keys() ^ expected):
        raise ValueError(f"optimizer state: {different[0]} is missing, or not of the {len(parameters)} parameters")
    steps, *others = {tuple(arrays[f"{number}.step"].ravel().tolist()) for number in range(len(parameters))}
    if others or len(steps) != 1 or not 1 <= steps[0] < 2**53 or steps[0] % 1:
        raise ValueError("optimizer state: expected one number of steps, the same for all parameters")
    state = {}
    for number, parameter in enumerate(parameters):
        moments = {name: arrays[f"{number}.{name}"] for name in _MOMENTS}
        for name, moment in moments.items():
            if moment.shape != tuple(parameter.shape) or moment.dtype != np.float32:
                raise ValueError(f"optimizer state: {number}.{name} is {moment.dtype} of shape {moment.shape}")
            if not np.isfinite(moment).all() or (name == "exp_avg_sq" and (moment < 0).any()):
                raise ValueError(f"optimizer state: {number}.{name} is not finite, or negative")
        # In the parameter's own memory layout, so that the arithmetic is the same to the last bit.
        laid_out = {name: torch.empty_like(parameter).copy_(torch.from_numpy(moment.copy())) for name, moment in moments.items()}
        state[number] = {"step": torch.tensor(float(steps[0])), **laid_out}
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return int(steps[0])
