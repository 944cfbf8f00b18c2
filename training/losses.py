"""What the networks are trained to make small, and the step that does it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer

from training.checkpoints import TrainingDivergedError


def masked_log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """The logarithms of the policy over the allowed actions. logits: [N, A]. mask: [N, A] bool, each row allows something.

    Returns [N, A], with the most negative finite number where the mask forbids: times a probability of 0 it gives 0, not NaN.
    """
    lowest = torch.finfo(logits.dtype).min
    log_policy = functional.log_softmax(logits.masked_fill(~mask, lowest), dim=1)
    return log_policy.masked_fill(~mask, lowest)


def policy_loss(logits: Tensor, mask: Tensor, *, target: Tensor, weight: Tensor) -> Tensor:
    """The weighted mean of the Kullback-Leibler divergence of the policy from its target: 0 where they are equal.

    target: [N, A], rows of probabilities, 0 where the mask forbids. weight: [N], not negative; the mean is 0 where all are 0.
    """
    log_policy = masked_log_softmax(logits, mask)
    divergences = (torch.xlogy(target, target) - target * log_policy).sum(dim=1)
    return (weight * divergences).sum() / weight.sum().clamp_min(1e-9)


def value_loss(value_logits: Tensor, target: Tensor) -> Tensor:
    """The mean cross-entropy of winning. value_logits: [N], of the probability to win. target: [N], from -1 to 1."""
    return functional.binary_cross_entropy_with_logits(value_logits, (1 + target) / 2)


def ownership_loss(ownership_logits: Tensor, target: Tensor) -> Tensor:
    """The mean cross-entropy over squares. ownership_logits: [N, S]. target: [N, S], 1 own, 0 the other's, 0.5 left empty."""
    return functional.binary_cross_entropy_with_logits(ownership_logits, target)


def clipped_policy_loss(log_probability: Tensor, old_log_probability: Tensor, *, advantage: Tensor, clip_coef: float) -> Tensor:
    """The clipped surrogate of PPO (Schulman et al. 2017), to be minimised. All [N], of the actions that were taken."""
    ratio = (log_probability - old_log_probability).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip_coef, 1 + clip_coef) * advantage).mean()


def entropy(log_policy: Tensor) -> Tensor:
    """The entropies of policies given by their logarithms: [N, A] to [N]."""
    return -(log_policy.exp() * log_policy).sum(dim=1)


def descend(optimizer: Optimizer, losses: Tensor, *, weights: Sequence[float], largest_gradient: float) -> list[float]:
    """Take one step of the optimiser down the weighted sum of losses, [L]. Returns them.

    largest_gradient: a longer one is shortened to that. Raises `TrainingDivergedError` where a loss or the gradient is not finite, and
    leaves the parameters as they were.
    """
    optimizer.zero_grad(set_to_none=True)
    (losses * torch.tensor(weights, device=losses.device)).sum().backward()  # type: ignore[no-untyped-call]
    gradient = clip_grad_norm_([parameter for group in optimizer.param_groups for parameter in group["params"]], largest_gradient)
    found: list[float] = torch.cat([losses.detach(), gradient.reshape(1)]).tolist()  # one answer of the device
    if not all(map(math.isfinite, found)):
        raise TrainingDivergedError(f"training has diverged: losses and gradient {found}")
    optimizer.step()
    return found[:-1]
