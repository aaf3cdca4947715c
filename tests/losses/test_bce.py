"""The fused BCE against torch's, and against a number worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from zipfel.losses.bce import candidate_bce, candidate_bce_plain
from zipfel.nn.score import candidate_scores, with_constant


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(5, 7), (130, 700)])
def test_equals_its_plain_twin_by_value_and_gradient(weighted: bool, shape: tuple[int, int]) -> None:
    draw = torch.Generator().manual_seed(0)
    logits = torch.randn(shape, generator=draw) * 12
    rows, columns = torch.tensor([0, 0, 3, 4]), torch.tensor([1, 6, 2, 0])
    weight = torch.rand(shape[1], generator=draw) * 5 if weighted else None
    fused, plain = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    one, other = candidate_bce(fused, rows, columns, weight), candidate_bce_plain(plain, rows, columns, weight)
    (one * 3).backward()
    (other * 3).backward()
    assert one.item() == pytest.approx(other.item(), rel=1e-5)
    assert fused.grad is not None
    assert plain.grad is not None
    assert torch.allclose(fused.grad, plain.grad, atol=1e-6, rtol=1e-4)


def test_value_by_hand() -> None:
    logits = torch.tensor([[0.0, 0.0], [math.log(3), 0.0]])
    loss = candidate_bce(logits, torch.tensor([0]), torch.tensor([0]), torch.tensor([1.0, 2.0]))
    by_hand = (math.log(2) + 2 * math.log(2) + math.log(4) + 2 * math.log(2)) / 2
    assert loss.item() == pytest.approx(by_hand, rel=1e-6)


def test_no_positives_and_huge_logits_stay_finite() -> None:
    none = torch.zeros(0, dtype=torch.int64)
    logits = torch.tensor([[-1e4, 1e4]], requires_grad=True)
    loss = candidate_bce(logits, none, none)
    loss.backward()
    assert loss.item() == pytest.approx(1e4)
    assert logits.grad is not None
    assert logits.grad.tolist() == [[pytest.approx(0, abs=1e-6), pytest.approx(1)]]


def test_scores_are_inner_products_and_the_constant_makes_a_bias() -> None:
    hidden, labels = torch.tensor([[1.0, 2.0, 9.0]]), torch.tensor([[1.0, 1.0, 0.5], [0.0, 2.0, -1.0]])
    assert candidate_scores(with_constant(hidden), labels).tolist() == [[3.5, 3.0]]
