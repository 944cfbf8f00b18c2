from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from training.losses import clipped_policy_loss, entropy, masked_log_softmax, ownership_loss, policy_loss, value_loss


def logs(*probabilities: float) -> Tensor:
    return torch.tensor(probabilities, dtype=torch.float32).log()


def test_the_policy_covers_legal_actions_only() -> None:
    logits = torch.tensor([[math.log(1), math.log(3), 50.0], [5.0, 7.0, -9.0]])
    mask = torch.tensor([[True, True, False], [False, False, True]])
    log_policy = masked_log_softmax(logits, mask)
    torch.testing.assert_close(log_policy.exp(), torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]]))
    assert torch.isfinite(log_policy).all()
    assert (log_policy[~mask] == torch.finfo(torch.float32).min).all()


def test_forbidden_actions_have_no_gradient() -> None:
    logits = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    mask = torch.tensor([[True, True, False]])
    log_policy = masked_log_softmax(logits, mask)
    (log_policy[:, 0].sum() + entropy(log_policy).sum()).backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[0, 2] == 0
    assert logits.grad[0, 0] != 0


def test_entropy_counts_allowed_actions_alone() -> None:
    mask = torch.tensor([[True, True, False, False], [True, False, False, False], [True, True, True, True]])
    log_policy = masked_log_softmax(torch.zeros(3, 4), mask)
    torch.testing.assert_close(entropy(log_policy), torch.tensor([math.log(2), 0.0, math.log(4)]))
    # 0.25 and 0.75: -(0.25 ln 0.25 + 0.75 ln 0.75)
    assert entropy(logs(0.25, 0.75)[None]).item() == pytest.approx(0.5623351446)


def test_the_clipped_loss_is_the_one_worked_out_by_hand() -> None:
    for ratio, advantage, loss in (
        (1.0, 2.0, -2.0),
        (1.1, 2.0, -2.2),
        (1.5, 2.0, -2.4),  # no more is gained beyond 1.2
        (0.5, 2.0, -1.0),  # but what is lost counts in full
        (1.5, -2.0, 3.0),
        (0.5, -2.0, 1.6),
    ):
        found = clipped_policy_loss(logs(0.4 * ratio), logs(0.4), advantage=torch.tensor([advantage]), clip_coef=0.2)
        assert found.item() == pytest.approx(loss, rel=1e-5)
    # The mean of several.
    found = clipped_policy_loss(logs(0.6, 0.2), logs(0.4, 0.4), advantage=torch.tensor([2.0, 2.0]), clip_coef=0.2)
    assert found.item() == pytest.approx((-2.4 - 1.0) / 2, rel=1e-5)


@pytest.mark.parametrize(("ratio", "advantage", "moves"), [(1.5, 2.0, False), (0.5, 2.0, True), (1.5, -2.0, True), (0.5, -2.0, False)])
def test_beyond_the_clip_only_the_way_back_has_a_gradient(ratio: float, advantage: float, moves: bool) -> None:
    log_probability = logs(0.4 * ratio).requires_grad_()
    clipped_policy_loss(log_probability, logs(0.4), advantage=torch.tensor([advantage]), clip_coef=0.2).backward()  # type: ignore[no-untyped-call]
    assert log_probability.grad is not None
    assert (log_probability.grad.item() != 0) == moves


def test_the_policy_loss_is_a_divergence_weighted_by_row() -> None:
    logits = torch.stack([logs(0.25, 0.75, 1.0), logs(0.5, 0.5, 1.0)])
    mask = torch.tensor([[True, True, False]]).expand(2, 3)
    target = torch.tensor([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    # 0.5 ln(0.5 / 0.25) + 0.5 ln(0.5 / 0.75); the second row is equal to its target.
    divergence = 0.5 * math.log(2) + 0.5 * math.log(2 / 3)
    assert policy_loss(logits, mask, target=target, weight=torch.tensor([1.0, 1.0])).item() == pytest.approx(divergence / 2, rel=1e-5)
    assert policy_loss(logits, mask, target=target, weight=torch.tensor([3.0, 1.0])).item() == pytest.approx(divergence * 3 / 4, rel=1e-5)
    assert policy_loss(logits, mask, target=target, weight=torch.tensor([0.0, 1.0])).item() == pytest.approx(0, abs=1e-6)
    assert policy_loss(logits, mask, target=target, weight=torch.tensor([0.0, 0.0])).item() == 0


def test_a_target_may_leave_out_allowed_actions() -> None:
    found = policy_loss(logs(0.25, 0.75)[None], torch.tensor([[True, True]]), target=torch.tensor([[1.0, 0.0]]), weight=torch.ones(1))
    assert found.item() == pytest.approx(math.log(4), rel=1e-5)


def test_the_value_loss_is_the_cross_entropy_of_winning() -> None:
    logit = torch.tensor([math.log(3)])  # wins with 0.75
    for target, loss in ((1.0, -math.log(0.75)), (-1.0, -math.log(0.25)), (0.0, -(math.log(0.75) + math.log(0.25)) / 2)):
        assert value_loss(logit, torch.tensor([target])).item() == pytest.approx(loss, rel=1e-5)


def test_the_value_loss_is_least_where_the_value_is_the_target() -> None:
    logits = torch.linspace(-4, 4, 801)
    losses = torch.stack([value_loss(logit[None], torch.tensor([0.5])) for logit in logits])
    assert torch.tanh(logits[losses.argmin()] / 2).item() == pytest.approx(0.5, abs=0.01)


def test_the_ownership_loss_is_the_mean_over_squares() -> None:
    logits, target = torch.tensor([[math.log(3), 0.0, math.log(3)]]), torch.tensor([[1.0, 1.0, 0.5]])
    expected = (-math.log(0.75) - math.log(0.5) - (math.log(0.75) + math.log(0.25)) / 2) / 3
    assert ownership_loss(logits, target).item() == pytest.approx(expected, rel=1e-5)
