"""Loss functions of the policy-value networks."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def masked_log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """The log-probabilities of the policy over the legal actions. logits: [N, A]. mask: [N, A] bool, with a True in each row.

    Returns [N, A]; illegal actions get the lowest finite number, which times a probability of 0 is
    0 and not NaN.
    """
    lowest = torch.finfo(logits.dtype).min
    log_policy = functional.log_softmax(logits.masked_fill(~mask, lowest), dim=1)
    return log_policy.masked_fill(~mask, lowest)


def policy_loss(logits: Tensor, mask: Tensor, *, target: Tensor, weight: Tensor) -> Tensor:
    """The weighted mean of the Kullback-Leibler divergence of the policy from its target: 0 if they are equal.

    target: [N, A], probabilities per row, 0 for illegal actions. weight: [N], not negative; the
    mean is 0 if all weights are 0.
    """
    log_policy = masked_log_softmax(logits, mask)
    divergences = (torch.xlogy(target, target) - target * log_policy).sum(dim=1)
    return (weight * divergences).sum() / weight.sum().clamp_min(1e-9)


def value_loss(value_logits: Tensor, target: Tensor) -> Tensor:
    """The mean binary cross-entropy of winning. value_logits: [N], logits of winning. target: [N], from -1 to 1."""
    return functional.binary_cross_entropy_with_logits(value_logits, (1 + target) / 2)


def ownership_loss(ownership_logits: Tensor, target: Tensor) -> Tensor:
    """The mean binary cross-entropy over squares. ownership_logits: [N, S]. target: [N, S], 1 own, 0 opponent, 0.5 left empty."""
    return functional.binary_cross_entropy_with_logits(ownership_logits, target)


def clipped_policy_loss(log_probability: Tensor, old_log_probability: Tensor, *, advantage: Tensor, clip_coef: float) -> Tensor:
    """The negative clipped surrogate objective of PPO (Schulman et al. 2017). All [N], of the actions that were taken."""
    ratio = (log_probability - old_log_probability).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip_coef, 1 + clip_coef) * advantage).mean()


def entropy(log_policy: Tensor) -> Tensor:
    """The entropies of policies given by their log-probabilities: [N, A] to [N]."""
    return -(log_policy.exp() * log_policy).sum(dim=1)
