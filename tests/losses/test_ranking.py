"""Marginal ranking loss: numbers worked out by hand, and autograd."""

import pytest
import torch

from zipfel.losses.ranking import marginal_ranking, marginal_ranking_plain


def test_numbers_worked_out_by_hand():
    # positives 0.9, 0.4; negatives 0.5, 0.1; m = 0.2
    # L_P: (0.2+0.5-0.4)=0.3, (0.2+0.1-0.4)<0 -> 0.3.  L_N: (0.2+0.5-0.9)<0, (0.2+0.5-0.4)=0.3 -> 0.3
    scores = torch.tensor([[0.9, 0.5, 0.4, 0.1]])
    truth = torch.tensor([[1, 0, 1, 0]], dtype=torch.int8)
    torch.testing.assert_close(marginal_ranking(scores, truth, 0.2), torch.tensor([0.6]))


def test_a_row_that_is_ranked_with_room_costs_nothing():
    scores = torch.tensor([[0.9, 0.1, 0.8]], requires_grad=True)
    loss = marginal_ranking(scores, torch.tensor([[1, 0, 1]], dtype=torch.int8), 0.5)
    loss.sum().backward()
    assert loss.item() == 0
    assert not scores.grad.any()


@pytest.mark.parametrize("hardest", [True, False])
def test_gradient_agrees_with_finite_differences(hardest):
    generator = torch.Generator().manual_seed(0)
    scores = torch.rand(4, 11, dtype=torch.float64, generator=generator, requires_grad=True)
    truth = (torch.rand(4, 11, generator=generator) < 0.3).to(torch.int8)
    truth[:, 0] = -1
    assert torch.autograd.gradcheck(lambda s: marginal_ranking(s, truth, 0.4, hardest=hardest), (scores,))


def test_gradient_by_hand_through_a_weighted_sum():
    scores = torch.tensor([[0.9, 0.5, 0.4, 0.1], [0.2, 0.8, 0.5, 0.1]], requires_grad=True)
    truth = torch.tensor([[1, 0, 1, 0], [1, 0, -1, 0]], dtype=torch.int8)
    (marginal_ranking(scores, truth, 0.2) * torch.tensor([1.0, 10.0])).sum().backward()
    # row 0: the pair (0.5, 0.4) in both parts; row 1: L_P has both negatives active, L_N the pair (0.8, 0.2)
    expected = torch.tensor([[0.0, 2.0, -2.0, 0.0], [-30.0, 20.0, 0.0, 10.0]])
    torch.testing.assert_close(scores.grad, expected)


@pytest.mark.parametrize("hardest", [True, False])
def test_kernel_equals_its_plain_twin(hardest):
    generator = torch.Generator().manual_seed(1)
    scores = torch.rand(40, 13, generator=generator)
    truth = (torch.rand(40, 13, generator=generator) < 0.2).to(torch.int8)
    truth[:, 3], truth[0], truth[1] = -1, 0, 1
    fused, plain = scores.clone().requires_grad_(), scores.clone().requires_grad_()
    one = marginal_ranking(fused, truth, 0.3, hardest=hardest)
    other = marginal_ranking_plain(plain, truth, 0.3, hardest=hardest)
    torch.testing.assert_close(one, other)
    (one * torch.arange(40)).sum().backward()
    (other * torch.arange(40)).sum().backward()
    torch.testing.assert_close(fused.grad, plain.grad)
