"""k-means of sparse rows by cosine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.base import unit_rows

Floats = npt.NDArray[np.float32]
_ROUNDS = 10


def sparse_clusters(X: sp.csr_matrix, n_clusters: int, rng: np.random.Generator) -> Floats:
    """(C, n_features) centres of unit length of spherical k-means; an empty cluster takes a random row."""
    centres: Floats = X[np.sort(rng.permutation(X.shape[0])[:n_clusters])].toarray()
    for _ in range(_ROUNDS if n_clusters > 1 else 1):
        mine = nearest_centre(X, centres)
        member = sp.csr_matrix((np.ones(len(mine), np.float32), (mine, np.arange(len(mine)))), (n_clusters, len(mine)))
        centres = unit_rows(np.asarray((member @ X).toarray(), dtype=np.float32))
        for empty in np.flatnonzero(np.bincount(mine, minlength=n_clusters) == 0):
            centres[empty] = X[int(rng.integers(X.shape[0]))].toarray()[0]
    return centres


def nearest_centre(X: sp.csr_matrix, centres: Floats) -> npt.NDArray[np.int64]:
    """(n,) cluster with the largest cosine."""
    nearest: npt.NDArray[np.int64] = np.argmax(X @ centres.T, axis=1).astype(np.int64)
    return nearest
