"""Centroids of labels: the mean of the words of a label's documents."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from zipfel.index.sparse import unit_csr

_BLOCK = 20_000
"""Labels whose centroids are made at a time: the full sums never stand in memory together."""


def label_centroids(X: sp.csr_matrix, Y: sp.csr_matrix, width: int) -> sp.csr_matrix:
    """(n_labels, n_features): for each label the sum of its points' rows, these of unit length, its largest `width`
    entries, of unit length. X: (n, n_features), Y: (n, n_labels)."""
    X, by_label = unit_csr(X), Y.T.tocsr()
    parts = [_largest(by_label[a : a + _BLOCK] @ X, width) for a in range(0, max(1, Y.shape[1]), _BLOCK)]
    return sp.vstack(parts, "csr")


def _largest(sums: sp.csr_matrix, width: int) -> sp.csr_matrix:
    for row in np.flatnonzero(np.diff(sums.indptr) > width):
        entries = sums.data[sums.indptr[row] : sums.indptr[row + 1]]
        entries[np.argpartition(-np.abs(entries), width)[width:]] = 0
    sums.eliminate_zeros()
    return unit_csr(sums)
