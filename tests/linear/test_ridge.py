"""Ridge regression against the normal equations."""

import numpy as np
import scipy.sparse as sp

from zipfel.linear.ridge import ridge


def test_the_map_is_ridge_regression():
    rng = np.random.default_rng(0)
    X = sp.random(40, 12, 0.4, "csr", dtype=np.float32, random_state=0)
    Z = rng.standard_normal((40, 3)).astype(np.float32)
    dense = X.toarray()
    expected = np.linalg.solve(dense.T @ dense + 0.5 * np.eye(12), dense.T @ Z)
    np.testing.assert_allclose(ridge(X, Z, 0.5), expected, atol=1e-4)
