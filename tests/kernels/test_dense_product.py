"""A product over threads is the product."""

import numpy as np
import pytest

from zipfel.kernels.dense_product import product
from zipfel.system.threads import use_threads


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("rows", [0, 1, 2, 500])
def test_it_is_the_product(rows: int, threads: int) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.random((rows, 20), dtype=np.float32), rng.random((20, 7), dtype=np.float32)
    with use_threads(threads):
        np.testing.assert_allclose(product(left, right), left @ right, rtol=1e-5)
        np.testing.assert_allclose(product(right.T, left.T), right.T @ left.T, rtol=1e-5)
    assert product(left, right.astype(np.float64)).dtype == np.float64
