from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import fit
from tests.methods.conftest import Loader
from zipfel.methods import Points
from zipfel.metrics import evaluate

X = sp.csr_matrix(np.array([[1, 0, 0], [0.6, 0.8, 0], [0, 0, 1]], dtype=np.float32))
Y = sp.csr_matrix(np.array([[1, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]], dtype=np.float32))


def test_cosines_with_the_mean_directions_by_hand() -> None:
    ranking = fit("centroid", Points(X, Y)).predict(X[1], 4)
    # mu_0 = (1.6, 0.8, 0) / sqrt(3.2), mu_2 = (0.6, 0.8, 0), label 1 was never seen, label 3 shares no feature.
    np.testing.assert_array_equal(ranking.labels, [[2, 0, -1, -1]])
    np.testing.assert_allclose(ranking.scores[0, :2], [1, (1.6 * 0.6 + 0.8 * 0.8) / np.sqrt(3.2)], rtol=1e-6)


def test_width_keeps_the_largest_entries() -> None:
    narrow = fit("centroid", Points(X, Y), params={"width": 1}).predict(X[1], 2)
    # mu_0 is (1, 0, 0) now, and mu_2 (0, 1, 0)
    np.testing.assert_array_equal(narrow.labels, [[2, 0]])
    np.testing.assert_allclose(narrow.scores, [[0.8, 0.6]], rtol=1e-6)


@pytest.mark.shared
def test_floor_on_real_data(real: Loader) -> None:
    train, test = real("bibtex", "tfidf")
    assert evaluate(fit("centroid", train).predict(test.X, 1), test.Y, ks=(1,))["P@1"] >= 0.57
