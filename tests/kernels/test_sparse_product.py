"""The dense product of sparse matrices against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.kernels.sparse_product import SparseProduct


@pytest.mark.parametrize("density", [0.0, 0.02, 0.08, 0.3, 1.0])
def test_it_equals_scipy(density: float) -> None:
    """Rows of the right from rare to frequent, so that both ways are taken."""
    rng = np.random.default_rng(0)
    left = sp.random(40, 30, density=0.2, format="csr", dtype=np.float32, rng=rng)
    right = sp.random(30, 50, density=density, format="csr", dtype=np.float32, rng=rng)
    np.testing.assert_allclose(SparseProduct(right)(left), (left @ right).toarray(), atol=1e-5)


def test_columns_that_the_right_does_not_have_count_nothing() -> None:
    left = sp.csr_matrix(np.array([[1, 0, 5], [0, 0, 7]], dtype=np.float32))
    right = sp.csr_matrix(np.array([[2, 0], [0, 3]], dtype=np.float32))
    np.testing.assert_array_equal(SparseProduct(right)(left), [[2, 0], [0, 0]])


def test_with_no_frequent_rows_each_row_is_to_the_last_bit_what_it_is_alone() -> None:
    rng = np.random.default_rng(1)
    left = sp.random(40, 30, density=0.5, format="csr", dtype=np.float32, rng=rng)
    right = sp.random(30, 50, density=0.6, format="csr", dtype=np.float32, rng=rng)
    product = SparseProduct(right, frequent=1.0)
    together = product(left)
    np.testing.assert_allclose(together, (left @ right).toarray(), atol=1e-5)
    np.testing.assert_array_equal(together, np.vstack([product(row) for row in left]))
