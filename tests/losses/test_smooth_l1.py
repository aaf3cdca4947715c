"""Smooth L1: numbers worked out by hand, and autograd."""

import torch

from zipfel.losses.smooth_l1 import smooth_l1


def test_numbers_worked_out_by_hand():
    codes, targets = torch.tensor([[0.5, 3.0], [1.0, -1.0]]), torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    # row 0: 0.5 * 0.25 + (2 - 0.5) = 1.625; row 1: 0 + 0.5, on the seam of the two branches
    torch.testing.assert_close(smooth_l1(codes, targets), torch.tensor([1.625, 0.5]))


def test_agrees_with_torch_and_with_finite_differences():
    generator = torch.Generator().manual_seed(0)
    codes = 2 * torch.randn(5, 4, dtype=torch.float64, generator=generator, requires_grad=True)
    codes = codes.detach().requires_grad_()
    targets = torch.randn(5, 4, dtype=torch.float64, generator=generator)
    theirs = torch.nn.functional.smooth_l1_loss(codes, targets, reduction="none").sum(1)
    torch.testing.assert_close(smooth_l1(codes, targets), theirs)
    assert torch.autograd.gradcheck(lambda c: smooth_l1(c, targets), (codes,))


def test_an_outlier_pulls_no_harder_than_a_constant():
    codes = torch.tensor([[50.0], [5000.0]], requires_grad=True)
    smooth_l1(codes, torch.zeros(2, 1)).sum().backward()
    torch.testing.assert_close(codes.grad, torch.ones(2, 1))
