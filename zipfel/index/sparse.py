"""Exact neighbours among sparse rows, by cosine, through inverted lists: cost follows the non-zeros, never N x N."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.kernels.sparse_product import SparseProduct
from zipfel.kernels.sparse_rows import canonical, row_lengths, with_values
from zipfel.kernels.sparse_topk import Lists, sparse_topk


class SparseIndex:
    """n sparse rows, searched by the cosine with sparse queries.

    rows: (n, n_features) CSR float32 of unit length, see `unit_csr`. A row that shares no feature with a query is no
    neighbour.
    """

    def __init__(self, rows: sp.csr_matrix) -> None:
        self.rows = rows
        self._lists = rows.T.tocsr()  # (n_features, n): for each feature the rows that have it

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def search(self, queries: sp.csr_matrix, k: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """(n, k) ids, best first, -1 where there are fewer; (n, k) cosines, -inf there. Ties: the lowest id."""
        return sparse_topk(unit_csr(queries), self._searched, k)

    def search_own(self, queries: sp.csr_matrix, k: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """The same, where the queries are what the rows were made of, in their order: none is its own neighbour."""
        return sparse_topk(unit_csr(queries), self._searched, k, others=True)

    def cosines(self, queries: sp.csr_matrix) -> npt.NDArray[np.float32]:
        """(n, len(self)): dense, for few rows."""
        return self._product(unit_csr(queries))

    def steady_cosines(self, queries: sp.csr_matrix) -> npt.NDArray[np.float32]:
        """The same, a little slower: to the last bit what each query has alone."""
        return self._steady_product(unit_csr(queries))

    @cached_property
    def _searched(self) -> Lists:
        return Lists.of(self._lists)

    @cached_property
    def _steady_product(self) -> SparseProduct:
        return SparseProduct(self._lists, frequent=1.0)

    @cached_property
    def _product(self) -> SparseProduct:
        return SparseProduct(self._lists)


def unit_csr(X: sp.csr_matrix) -> sp.csr_matrix:
    """Rows scaled to length one; an empty row stays empty. Duplicate entries are summed first. What is of unit length
    already is returned as it is."""
    if not isinstance(X, sp.csr_matrix) or X.dtype != np.float32:
        X = sp.csr_matrix(X, dtype=np.float32)
    X = canonical(X)
    lengths = row_lengths(X)
    lengths[(lengths == 0) | (np.abs(lengths - 1) < 1e-6)] = 1.0  # so that scaling twice is scaling once
    if (lengths == 1).all():
        return X
    return with_values(X, (X.data / np.repeat(lengths, np.diff(X.indptr))).astype(np.float32))
