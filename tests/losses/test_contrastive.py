"""Eq. 8-11 of MNN by hand, and against autograd."""

import pytest
import torch

from zipfel.losses.contrastive import hardest_negative, noise_contrastive


def test_equals_the_sum_worked_by_hand() -> None:
    positive = torch.tensor([0.6, 1.0])
    negatives = torch.tensor([[0.5, 0.3, -0.9], [0.1, 0.0, -1.0]])
    # row 0: 0.25 * 0.4^2 + 0.5^2 = 0.04 + 0.25; row 1: nothing above the margin, and a perfect positive
    assert noise_contrastive(positive, negatives, 0.2).item() == pytest.approx((0.29 + 0.0) / 2)


def test_a_negative_at_the_margin_costs_nothing() -> None:
    assert noise_contrastive(torch.ones(1), torch.tensor([[0.25]]), 0.25).item() == 0
    assert noise_contrastive(torch.ones(1), torch.tensor([[0.5]]), 0.25).item() == pytest.approx(0.25)


def test_only_the_hardest_negative_gets_a_gradient() -> None:
    negatives = torch.tensor([[0.5, 0.7, 0.6]], requires_grad=True)
    noise_contrastive(torch.ones(1), negatives, 0.2).backward()
    assert negatives.grad is not None
    assert negatives.grad.tolist() == [[0.0, pytest.approx(1.4), 0.0]]


def test_a_row_without_negatives_only_pulls() -> None:
    nothing = torch.full((1, 3), -torch.inf, requires_grad=True)
    loss = noise_contrastive(torch.tensor([0.0]), nothing, 0.0)
    assert loss.item() == pytest.approx(0.25)
    loss.backward()
    assert nothing.grad is not None
    assert not nothing.grad.isnan().any()


def test_gradcheck() -> None:
    generator = torch.Generator().manual_seed(0)
    positive = torch.rand(5, dtype=torch.double, generator=generator, requires_grad=True)
    negatives = torch.rand(5, 4, dtype=torch.double, generator=generator, requires_grad=True)
    assert torch.autograd.gradcheck(lambda p, n: noise_contrastive(p, n, 0.05), (positive, negatives))


def test_the_hardest_of_the_sampled_sets_by_hand() -> None:
    f_x = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]])  # (1, 3, 2)
    f_y = torch.tensor([[[1.0, 0.0], [0.6, 0.8], [0.8, 0.6]]])
    excluded = torch.eye(3, dtype=torch.bool)
    sampled = torch.tensor([[0, 1], [2, 2], [2, 2]])  # row 0 drew itself and 1; row 2 drew only itself
    found = hardest_negative(f_x, f_y, sampled, excluded)
    assert found[0].tolist() == [pytest.approx(0.6), pytest.approx(0.6), -torch.inf]
