"""Average ranks by hand; noise that drops and replaces as many labels as it says."""

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.label_noise import noisy
from benchmarks.table import mean_places


def test_places_by_hand():
    tables = {"a P@1": {"x": 3.0, "y": 2.0, "z": 1.0}, "a P@3": {"x": 1.0, "y": 1.0, "z": 5.0}, "b P@1": {"x": 9.0}}
    assert mean_places(tables) == {"x": pytest.approx((1 + 2.5 + 1) / 3), "y": 2.25, "z": 2.0}


@pytest.mark.parametrize("kind", ["missing", "both"])
def test_noise_takes_the_share_it_is_given(kind):
    rng = np.random.default_rng(0)
    Y = sp.csr_matrix((rng.random((400, 300)) < 0.05).astype(np.float32))
    found = noisy(Y, 0.4, kind, rng)
    kept = found.multiply(Y).nnz / Y.nnz
    assert abs(kept - 0.6) < 0.03
    assert found.shape == Y.shape
    added = found.nnz - found.multiply(Y).nnz
    assert added == 0 if kind == "missing" else abs(added / Y.nnz - 0.4) < 0.05
    assert (noisy(Y, 0.0, kind, rng) != Y).nnz == 0
