"""Documents that auto is asked about and knows nothing of: those whose features no training point has.

All that its parts could say of them is chance: which codes nothing is nearest to. They are answered like documents
without features, by the labels' frequencies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.kernels.sparse_rows import with_entries
from zipfel.linear import LinearClassifiers
from zipfel.neighbors.words import WordIndex

Array = npt.NDArray[Any]
_BLOCK = 1 << 20
"""Weights that are looked at at a time: of a million points there are a hundred million."""


def known_features(memory: WordIndex, classifiers: LinearClassifiers | None) -> npt.NDArray[np.bool_]:
    """(n_features,): what neighbours are found by, and what classifiers, which know the most frequent ones, too, have
    weights for."""
    n_features = int(memory.rows.shape[1])
    known = np.bincount(memory.rows.indices, minlength=n_features) > 0
    if classifiers is None or known.all():
        return known
    weighed = classifiers.weights_.indices
    known = np.append(known, np.zeros(classifiers.weights_.shape[1] - n_features, dtype=bool))  # behind: those of drift
    for start in range(0, len(weighed), _BLOCK):
        known[weighed[start : start + _BLOCK]] = True
    return known[:n_features]


def without_lost(X: sp.csr_matrix, known: Array) -> sp.csr_matrix:
    """X (n, n_features), in which rows without any known feature are empty; itself where there are none."""
    is_known = known[X.indices]
    if is_known.all():  # as most are; a single document has no time for more
        return X
    counts = np.append(0, np.cumsum(is_known))
    lost = np.diff(counts[X.indptr]) == 0
    return with_entries(X, np.repeat(~lost, np.diff(X.indptr))) if lost.any() else X
