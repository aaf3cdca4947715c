"""The linear kernel against all pairs, on scores with ties, ignored columns and one-sided rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfel.kernels.marginal_rank import marginal_rank
from zipfel.system.threads import use_threads


def by_pairs(scores, truth, margin, combine=np.max):
    """Eq. 2-4 as they are written, or with means for the maxima."""
    losses = []
    for y, t in zip(scores, truth, strict=True):
        positive, negative = y[t == 1], y[t == 0]
        pairs = np.maximum(margin + negative[:, None] - positive[None, :], 0)
        losses.append(combine(pairs, axis=1).sum() + combine(pairs, axis=0).sum() if pairs.size else 0.0)
    return np.array(losses)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.booleans())
def test_equals_the_definition_over_pairs(seed, margin, hardest):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random((5, 9)), 1)  # rounded, so that ties are common
    truth = rng.choice([-1, 0, 1], size=(5, 9), p=[0.2, 0.5, 0.3]).astype(np.int8)
    losses, gradient = marginal_rank(scores, truth, margin, hardest=hardest)
    expected = by_pairs(scores, truth, margin, np.max if hardest else np.mean)
    np.testing.assert_allclose(losses, expected, atol=1e-12)
    assert (gradient[truth == -1] == 0).all()
    np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-12)  # shifting all scores changes nothing


@pytest.mark.parametrize("value", [0, 1, -1])
def test_a_row_of_one_kind_costs_nothing(value):
    losses, gradient = marginal_rank(np.ones((2, 4)), np.full((2, 4), value, dtype=np.int8), 0.5)
    assert not losses.any()
    assert not gradient.any()


def test_threads_do_not_matter():
    rng = np.random.default_rng(0)
    scores, truth = rng.random((40, 60)).astype(np.float32), (rng.random((40, 60)) < 0.1).astype(np.int8)
    with use_threads(1):
        one = marginal_rank(scores, truth, 0.3)
    with use_threads(2):
        two = marginal_rank(scores, truth, 0.3)
    assert (one[0] == two[0]).all()
    assert (one[1] == two[1]).all()
