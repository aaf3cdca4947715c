"""InfoNCE by hand, and against autograd."""

import math

import pytest
import torch

from zipfel.losses.infonce import info_nce


def test_equals_the_cross_entropy_worked_by_hand() -> None:
    similarity = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    first = -math.log(math.exp(2) / (math.exp(2) + 1))
    assert info_nce(similarity, 0.5).item() == pytest.approx((first + math.log(2)) / 2)


def test_excluded_columns_are_no_negatives_but_the_own_column_stays() -> None:
    similarity = torch.tensor([[0.3, 0.9], [0.2, 0.1]])
    everything = torch.ones(2, 2, dtype=torch.bool)
    assert info_nce(similarity, 0.1, everything).item() == 0
    one = torch.tensor([[False, True], [False, False]])
    assert info_nce(similarity, 0.1, one).item() == pytest.approx(math.log(1 + math.e) / 2)


def test_a_batch_of_one_has_nothing_to_tell_apart() -> None:
    assert info_nce(torch.tensor([[0.7]]), 0.05).item() == 0


def test_gradcheck() -> None:
    generator = torch.Generator().manual_seed(0)
    similarity = torch.rand(4, 4, dtype=torch.double, generator=generator, requires_grad=True)
    excluded = torch.zeros(4, 4, dtype=torch.bool)
    excluded[0, 2] = True
    assert torch.autograd.gradcheck(lambda s: info_nce(s, 0.3, excluded), (similarity,))
