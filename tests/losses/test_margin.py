"""GLaS's margin losses by hand, and against autograd."""

import pytest
import torch

from zipfel.losses.margin import pairwise_margin, sampled_margin, stochastic_negative_mining

POSITIVE = torch.tensor([1.0, 0.0])
CANDIDATES = torch.tensor([[0.8, 0.2, 3.0], [-2.0, 0.5, 0.25]])
NEGATIVE = torch.tensor([[True, True, False], [True, True, True]])


def test_margin_equals_the_sum_worked_by_hand() -> None:
    # row 0: 0.8 - 1 + 0.5 = 0.3 and [0.2 - 1 + 0.5]_+ = 0; 3.0 is relevant. row 1: 0, 1.0, 0.75.
    assert sampled_margin(POSITIVE, CANDIDATES, NEGATIVE, 0.5).item() == pytest.approx((0.3 + 1.75) / 2)
    average = sampled_margin(POSITIVE, CANDIDATES, NEGATIVE, 0.5, average=True)
    assert average.item() == pytest.approx((0.3 / 2 + 1.75 / 3) / 2)


def test_mining_keeps_the_top_scoring_negatives() -> None:
    one = stochastic_negative_mining(POSITIVE, CANDIDATES, NEGATIVE, 0.5, 1)
    assert one.item() == pytest.approx((0.3 + 1.0) / 2)
    two = stochastic_negative_mining(POSITIVE, CANDIDATES, NEGATIVE, 0.5, 2)
    assert two.item() == pytest.approx((0.3 / 2 + 1.75 / 2) / 2)


def test_mining_more_than_there_are_is_the_sampled_margin() -> None:
    mined = stochastic_negative_mining(POSITIVE, CANDIDATES, NEGATIVE, 0.5, 99)
    assert mined.item() == pytest.approx(sampled_margin(POSITIVE, CANDIDATES, NEGATIVE, 0.5, average=True).item())


def test_a_row_without_negatives_costs_nothing() -> None:
    none = torch.zeros(2, 3, dtype=torch.bool)
    assert sampled_margin(POSITIVE, CANDIDATES, none, 0.5).item() == 0
    assert stochastic_negative_mining(POSITIVE, CANDIDATES, none, 0.5, 2).item() == 0


def test_equation_1_whole_by_hand() -> None:
    scores, relevant = (
        torch.tensor([[1.0, 0.8, 0.2, 0.9], [0.0, 1.0, 2.0, 3.0]]),
        torch.tensor([[1, 0, 1, 0], [1, 1, 1, 1]]),
    )
    # c = 0.5: y 0 against 1 and 3: 0.3 + 0.4; y 2 against 1 and 3: 1.1 + 1.2. The second row has no negative.
    assert pairwise_margin(scores, relevant, 0.5).item() == pytest.approx((0.3 + 0.4 + 1.1 + 1.2) / 2)
    average = pairwise_margin(scores, relevant, 0.5, average=True)
    assert average.item() == pytest.approx((0.3 + 0.4 + 1.1 + 1.2) / 4 / 2)


def test_with_one_relevant_label_it_is_the_sampled_margin() -> None:
    draw = torch.Generator().manual_seed(2)
    scores, relevant = torch.randn(4, 6, generator=draw), torch.eye(4, 6)
    for average in (True, False):
        one = sampled_margin(scores.diagonal(), scores, relevant == 0, 0.7, average=average)
        assert pairwise_margin(scores, relevant, 0.7, average=average).item() == pytest.approx(one.item())


def test_gradcheck() -> None:
    generator = torch.Generator().manual_seed(1)
    positive = torch.rand(3, dtype=torch.double, generator=generator, requires_grad=True)
    candidates = torch.rand(3, 5, dtype=torch.double, generator=generator, requires_grad=True)
    negative = torch.rand(3, 5, generator=generator) > 0.3
    assert torch.autograd.gradcheck(lambda p, c: sampled_margin(p, c, negative, 0.3), (positive, candidates))
    assert torch.autograd.gradcheck(
        lambda p, c: stochastic_negative_mining(p, c, negative, 0.3, 2), (positive, candidates)
    )
    relevant = (torch.rand(3, 5, generator=generator) > 0.5).double()
    for average in (True, False):
        assert torch.autograd.gradcheck(
            lambda c, a=average: pairwise_margin(c, relevant, 0.3, average=a), (candidates,)
        )
