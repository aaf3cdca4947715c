"""LightDXML Eq. 2 by hand, and its gradient by autograd's own check."""

from __future__ import annotations

import math

import pytest
import torch

from zipfel.losses.log_distance import log_distance


def test_value_by_hand() -> None:
    points, labels = torch.tensor([[0.0, 0.0], [1.0, 0.0]]), torch.tensor([[3.0, 4.0], [1.0, 0.0]])
    loss = log_distance(points, labels, torch.tensor([0, 1, 1]), torch.tensor([0, 1, 0]))
    assert loss.item() == pytest.approx((math.log(26) + 0.0 + math.log(21)) / 2)


def test_gradient() -> None:
    draw = torch.Generator().manual_seed(0)
    points, labels = torch.randn(3, 2, generator=draw).double(), torch.randn(4, 2, generator=draw).double()
    rows, columns = torch.tensor([0, 1, 2, 2]), torch.tensor([3, 1, 0, 2])
    checked = (points.requires_grad_(), labels.requires_grad_())
    assert torch.autograd.gradcheck(lambda p, z: log_distance(p, z, rows, columns), checked)


def test_few_and_many_positives_are_computed_alike() -> None:
    draw = torch.Generator().manual_seed(1)
    points, labels = torch.randn(40, 3, generator=draw), torch.randn(30, 3, generator=draw)
    rows, columns = torch.arange(10), torch.arange(10)
    few = log_distance(points, labels, rows, columns) * 40
    many = log_distance(points[:10], labels[:10], rows, columns) * 10
    assert few.item() == pytest.approx(many.item(), rel=1e-5)
