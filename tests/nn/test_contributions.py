"""What words add to a score, by hand."""

import pytest
import torch

from zipfel.nn.contributions import contributions


def test_parts_of_a_linear_score_add_up_to_it():
    words = torch.tensor([[1.0, 0.0], [2.0, 3.0]])
    weights = torch.tensor([[1.0, 10.0], [-1.0, 0.5]])
    found = contributions(words, lambda pooled: (pooled @ weights.T)[0], [0, 1])
    assert found == {0: [1.0, 32.0], 1: [-1.0, -0.5]}


def test_the_slope_is_taken_at_the_sum():
    found = contributions(torch.tensor([[1.0], [2.0]]), lambda pooled: pooled[0] ** 2, [0])
    assert found[0] == pytest.approx([6.0, 12.0])  # slope 2 * (1 + 2)
