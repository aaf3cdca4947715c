"""A sparse row times a table of sixteen columns, against scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.kernels.lanes import LANES, row_times_table


@njit
def _product(
    ptr: npt.NDArray[Any], ids: npt.NDArray[Any], values: npt.NDArray[Any], table: npt.NDArray[Any], out: Any
) -> None:
    for i in range(len(out)):
        row_times_table(ptr[i], ptr[i + 1], ids, values, table, out[i])


def test_rows_times_a_table_are_what_scipy_says() -> None:
    rng = np.random.default_rng(0)
    dense = sp.random(30, 50, density=0.2, dtype=np.float32, rng=rng).toarray()
    dense[3], dense[7] = 0, -dense[7]
    rows = sp.csr_matrix(dense)
    table = rng.normal(size=(50, LANES)).astype(np.float32)
    out = np.full((30, LANES), np.nan, dtype=np.float32)
    _product(rows.indptr, rows.indices, rows.data, table, out)
    np.testing.assert_allclose(out, rows @ table, atol=1e-5)
    assert not out[3].any()
