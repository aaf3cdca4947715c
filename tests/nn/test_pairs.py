"""Pairs of rows and labels: merged by hand, scored and differentiated as torch does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from zipfel.nn.pairs import Pairs, pair_scores, pair_scores_plain
from zipfel.system.threads import use_threads


def _pairs() -> Pairs:
    shortlists = np.array([[5, 1, 5, -1], [2, 0, 3, 1], [-1, -1, -1, -1]])
    return Pairs.of(np.array([0, 2, 3, 3]), np.array([1, 4, 3]), shortlists, 6)


def test_positives_and_shortlist_are_united_and_a_positive_is_never_a_negative() -> None:
    pairs = _pairs()
    labels = pairs.ids.numpy()[pairs.columns]
    assert labels.tolist() == [1, 4, 5, 3, 2, 0, 1]
    assert pairs.truth.tolist() == [1, 1, 0, 1, 0, 0, 0]
    assert pairs.ends.tolist() == [0, 3, 7, 7]
    assert pairs.row_of.tolist() == [0, 0, 0, 1, 1, 1, 1]
    by_column = [labels[pairs.order[a:b]].tolist() for a, b in zip(pairs.by_ends[:-1], pairs.by_ends[1:], strict=True)]
    assert by_column == [[1, 1], [4], [5], [3], [2], [0]]


@pytest.mark.parametrize("threads", [1, 2])
def test_scores_equal_their_plain_twin_with_both_gradients(threads: int) -> None:
    rng = np.random.default_rng(0)
    indptr = np.arange(41) * 2
    pairs = Pairs.of(indptr, rng.permutation(200)[:80], rng.integers(-1, 200, (40, 120)), 200)
    leaves = [_leaves(len(pairs.ids)) for _ in range(2)]
    with use_threads(threads):
        scores = pair_scores(*leaves[0], pairs)
        scores.sin().sum().backward()
    twin = pair_scores_plain(*leaves[1], pairs)
    twin.sin().sum().backward()
    torch.testing.assert_close(scores, twin)
    for one, other in zip(*leaves, strict=True):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-4, rtol=1e-4)


def _leaves(n_labels: int) -> list[torch.Tensor]:
    """(40, 7) rows and (n_labels, 7) label vectors."""
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(n, 7, generator=draw).requires_grad_() for n in (40, n_labels)]
