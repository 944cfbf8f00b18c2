"""Loss functions of the policy-value networks."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def masked_log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Return the log-probabilities of the policy over the legal actions, [N, A].

    logits: [N, A]. mask: [N, A] bool, with a True in each row. Illegal actions get the lowest
    finite number, which times a probability of 0 is 0 and not NaN.
    """
    lowest = torch.finfo(logits.dtype).min
    log_policy = functional.log_softmax(logits.masked_fill(~mask, lowest), dim=1)
    return log_policy.masked_fill(~mask, lowest)


def policy_loss(logits: Tensor, mask: Tensor, *, target: Tensor, weight: Tensor) -> Tensor:
    """Weighted mean of the Kullback-Leibler divergence of the policy from its target.

    The divergence is 0 if they are equal. logits: [N, A]. mask: [N, A] bool. target: [N, A],
    probabilities per row, 0 for illegal actions. weight: [N], not negative; the mean is 0 if all
    weights are 0.
    """
    log_policy = masked_log_softmax(logits, mask)
    divergences = (torch.xlogy(target, target) - target * log_policy).sum(dim=1)
    return (weight * divergences).sum() / weight.sum().clamp_min(1e-9)


def value_loss(value_logits: Tensor, target: Tensor) -> Tensor:
    """Mean binary cross-entropy of winning.

    value_logits: [N], logits of winning. target: [N], from -1 to 1.
    """
    return functional.binary_cross_entropy_with_logits(value_logits, (1 + target) / 2)


def ownership_loss(ownership_logits: Tensor, target: Tensor) -> Tensor:
    """Mean binary cross-entropy of the ownership of the squares.

    ownership_logits: [N, S]. target: [N, S], 1 own, 0 opponent, 0.5 empty.
    """
    return functional.binary_cross_entropy_with_logits(ownership_logits, target)


def clipped_policy_loss(log_probability: Tensor, old_log_probability: Tensor, *, advantage: Tensor, clip_coef: float) -> Tensor:
    """Negative clipped surrogate objective of PPO (Schulman et al. 2017).

    All arrays are [N]; the log-probabilities are those of the actions that were taken.
    """
    ratio = (log_probability - old_log_probability).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip_coef, 1 + clip_coef) * advantage).mean()


def entropy(log_policy: Tensor) -> Tensor:
    """Return the entropies, [N], of policies given by their log-probabilities, [N, A]."""
    return -(log_policy.exp() * log_policy).sum(dim=1)
