"""SLEEC: its map and its clusters by hand; the contract suite has the rest."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import fit, known
from zipfel.methods.sleec import nearest_centre, ridge, sparse_clusters
from zipfel.metrics import evaluate


def test_the_map_is_ridge_regression():
    rng = np.random.default_rng(0)
    X = sp.random(40, 12, 0.4, "csr", dtype=np.float32, random_state=0)
    Z = rng.standard_normal((40, 3)).astype(np.float32)
    dense = X.toarray()
    expected = np.linalg.solve(dense.T @ dense + 0.5 * np.eye(12), dense.T @ Z)
    np.testing.assert_allclose(ridge(X, Z, 0.5), expected, atol=1e-4)


def test_clusters_take_documents_apart_that_share_no_word():
    X = sp.csr_matrix(np.kron(np.eye(2), np.ones((5, 3))).astype(np.float32))
    mine = nearest_centre(X, sparse_clusters(X, 2, np.random.default_rng(1)))
    assert len(set(mine[:5])) == len(set(mine[5:])) == 1
    assert mine[0] != mine[5]


@pytest.mark.parametrize("params", [{"cluster": 1000}, {"cluster": 30, "n_neighbors": 3}])
def test_any_number_of_clusters_learns(params):
    method = fit("sleec", known().train, params=params)
    assert evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"] > 0.8
