"""Neighbours by cosine among rows in which many features have a value: what `SparseIndex` does, with dense vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.bytes import ByteIndex
from zipfel.index.sparse import unit_csr
from zipfel.system.threads import blas_threads

_DENSE = ((0.1, 1000, 200_000_000), (0.5, 100, None))
"""A matrix counts as dense from this share of non-zero values and this many rows on, up to this many values (None: no
limit). With half of the values non-zero, an array is no larger than the CSR matrix."""
_BLOCK = 4096


def is_dense(rows: sp.csr_matrix) -> bool:
    """Whether inverted lists would be long: a tenth of the rows or more, on average; half where rows are few."""
    n, d = rows.shape
    return any(
        rows.nnz >= share * n * d and n >= least and (most is None or n * d <= most) for share, least, most in _DENSE
    )


class DenseRows:
    """rows: (n, n_features) CSR of unit length. Values are kept in a byte; of many rows only the clusters nearest to a
    question are looked at."""

    def __init__(self, rows: sp.csr_matrix) -> None:
        self._index = ByteIndex(rows.toarray())

    def search(self, queries: sp.csr_matrix, k: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """(n, k) ids, best first, -1 where there are fewer; (n, k) cosines, -inf there."""
        queries = unit_csr(queries)
        blocks = range(0, max(1, queries.shape[0]), _BLOCK)
        found = [self._index.search(queries[a : a + _BLOCK].toarray(), k) for a in blocks]
        ids, cosines = zip(*found, strict=True)
        return np.concatenate(ids), np.concatenate(cosines)

    def search_own(self, queries: sp.csr_matrix, k: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """The same, where the queries are what the rows were made of, in their order: none is its own neighbour."""
        ids, cosines = self.search(queries, k + 1)
        own = ids == np.arange(len(ids))[:, None]
        own[~own.any(axis=1), -1] = True  # where it was not found, the farthest goes
        return ids[~own].reshape(len(ids), -1), cosines[~own].reshape(len(ids), -1)

    def cosines(self, queries: sp.csr_matrix) -> npt.NDArray[np.float32]:
        """(n, len(rows))"""
        with blas_threads():
            found: npt.NDArray[np.float32] = unit_csr(queries).toarray() @ self._index.vectors.T
        return found

    def steady_cosines(self, queries: sp.csr_matrix) -> npt.NDArray[np.float32]:
        """The same: values that are not zero by chance do not tie."""
        return self.cosines(queries)
