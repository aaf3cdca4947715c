"""Softmax cross-entropy by hand, its correction for sampling, and autograd."""

import math

import pytest
import torch

from zipfel.losses.softmax import softmax_cross_entropy


def test_equals_the_cross_entropy_worked_by_hand() -> None:
    scores = torch.tensor([[0.0, math.log(3)], [0.0, 0.0]])
    target = torch.tensor([[0.5, 0.5], [1.0, 0.0]])
    first = -0.5 * math.log(0.25) - 0.5 * math.log(0.75)
    assert softmax_cross_entropy(scores, target).item() == pytest.approx((first + math.log(2)) / 2)


def test_a_row_without_labels_adds_nothing() -> None:
    scores = torch.tensor([[5.0, -5.0]], requires_grad=True)
    loss = softmax_cross_entropy(scores, torch.zeros(1, 2))
    loss.backward()
    assert loss.item() == 0
    assert scores.grad is not None
    assert scores.grad.abs().sum() == 0


def test_the_correction_makes_the_sampled_normaliser_right_on_average() -> None:
    """Sampling each negative with probability q and taking log q away keeps E[sum exp] = the full sum."""
    generator = torch.Generator().manual_seed(0)
    scores, q = torch.randn(50, generator=generator), torch.linspace(0.1, 0.9, 50)
    drawn = torch.rand(20_000, 50, generator=generator) < q
    estimates = (drawn * torch.exp(scores - q.log())).sum(dim=1)
    assert estimates.mean().item() == pytest.approx(scores.exp().sum().item(), rel=0.02)
    target = torch.zeros(1, 50)
    target[0, 3] = 1
    corrected = softmax_cross_entropy(scores[None], target, q.log())
    expected = torch.logsumexp(scores - q.log(), 0) - (scores[3] - q[3].log())
    assert corrected.item() == pytest.approx(expected.item(), rel=1e-5)


def test_gradcheck() -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(3, 5, dtype=torch.double, generator=generator, requires_grad=True)
    target = torch.rand(3, 5, dtype=torch.double, generator=generator)
    frequency = torch.rand(5, dtype=torch.double, generator=generator).log()
    assert torch.autograd.gradcheck(lambda s: softmax_cross_entropy(s, target, frequency), (scores,))
