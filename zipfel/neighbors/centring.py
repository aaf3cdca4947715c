"""Dense features less their means.

Dense features, such as embeddings, are often all positive. Every cosine is then near one, and classifiers spend their
weights on what all points share. Without the means, points lie on all sides. Sparse features are not centred: their
zeros mean that a word is absent, and would be lost.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.dense import is_dense
from zipfel.index.sparse import unit_csr

_COMMON = 0.5
"""Share of the points that must have a value for a feature to be centred."""
_BLOCK = 4096

Centre = npt.NDArray[np.float32]


def centre_of(X: sp.csr_matrix) -> Centre | None:
    """(n_features,) means of the features that most points have, 0 for the others; None where nothing is centred: X is
    sparse, or has no such feature."""
    if not is_dense(X):
        return None
    common = np.bincount(X.indices, minlength=X.shape[1]) >= _COMMON * X.shape[0]
    if not common.any():
        return None
    means = np.bincount(X.indices, X.data, minlength=X.shape[1]) / X.shape[0]
    return np.where(common, means, 0).astype(np.float32)


def with_features(centre: Centre | None, n_features: int) -> Centre | None:
    """The centre with zeros for features that came with an update."""
    return centre if centre is None else np.pad(centre, (0, n_features - len(centre)))


def centred(X: sp.csr_matrix, centre: Centre | None) -> sp.csr_matrix:
    """Rows less the centre, of unit length; a row without values stays without. X itself where there is no centre."""
    if centre is None:
        return X
    parts = []
    for start in range(0, max(1, X.shape[0]), _BLOCK):
        rows = X[start : start + _BLOCK].toarray().astype(np.float32, copy=False)
        rows[rows.any(axis=1)] -= centre
        parts.append(sp.csr_matrix(rows))
    return unit_csr(sp.vstack(parts, format="csr") if len(parts) > 1 else parts[0])
