"""The product of sparse rows with a sparse matrix of few columns, as a dense array.

Columns of the left matrix that are frequent in the right one form a small dense matrix and are multiplied as such. The
other columns are added list by list. Most of a long document's time goes into the few frequent words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.kernels.sparse_topk import dense_rows, kernel_arrays
from zipfel.system.threads import over_products

Array = npt.NDArray[Any]
_FREQUENT = 0.1


class SparseProduct:
    """right: (n_inner, n_columns) CSR. frequent: share of filled columns from which on a row counts as frequent. With 1
    no row does; each row of the product is then bit for bit independent of the other rows."""

    def __init__(self, right: sp.csr_matrix, *, frequent: float = _FREQUENT) -> None:
        self._place, self._dense = dense_rows(right, frequent, int(right.shape[1]))
        self._right = kernel_arrays(right)

    def __call__(self, left: sp.csr_matrix) -> npt.NDArray[np.float32]:
        """left @ right, (n, n_columns). Columns of `left` that have no row in `right` count nothing."""
        n = left.shape[0]
        front = np.zeros((n, len(self._dense)), dtype=np.float32)
        rest = np.zeros((n, self._dense.shape[1]), dtype=np.float32)
        rows = kernel_arrays(left)

        def add(a: int, b: int) -> None:
            _add_rows(*rows, *self._right, self._place, a, b, front, rest)
            if len(self._dense):
                rest[a:b] += front[a:b] @ self._dense

        over_products(add, n)
        return rest


@njit(cache=True, nogil=True)
def _add_rows(a_ptr, a_ids, a_values, b_ptr, b_ids, b_values, place, start, stop, front, rest):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        sums = rest[row]
        for j in range(a_ptr[row], a_ptr[row + 1]):
            inner, value = a_ids[j], a_values[j]
            if inner >= len(place):
                continue
            if place[inner] >= 0:
                front[row, place[inner]] += value
                continue
            for t in range(b_ptr[inner], b_ptr[inner + 1]):
                sums[b_ids[t]] += value * b_values[t]
