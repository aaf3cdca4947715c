"""How near two labels ought to be: U, from the co-occurrence of labels in the whole training set."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

AFFINITIES = ("arithmetic", "geometric", "pmi", "jaccard")


def label_affinity(Y: sp.csr_matrix, kind: str = "arithmetic") -> sp.csr_matrix:
    """U (L, L), sparse and symmetric, in [0, 1], with ones on the diagonal of every label that occurs.

    With A = Y'Y and F(y|y') = A_yy' / A_y'y' (Guo et al., section 3.2):
        arithmetic  (F(y|y') + F(y'|y)) / 2                   the paper's choice, Eq. 3
        geometric   sqrt(F(y|y') F(y'|y))                     Theorem B.1
        pmi         log(p_yy' / p_y p_y') / -log p_yy', positive part (normalised, to be a cosine)
        jaccard     A_yy' / (A_yy + A_y'y' - A_yy')
    Y: (n, L) ones.
    """
    A = (Y.T @ Y).tocoo()
    together = A.data.astype(np.float64)
    count = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.float64)
    one, other = count[A.row], count[A.col]
    if kind == "arithmetic":
        values = 0.5 * (together / one + together / other)
    elif kind == "geometric":
        values = together / np.sqrt(one * other)
    elif kind == "jaccard":
        values = together / (one + other - together)
    elif kind == "pmi":
        values = _normalised_pmi(together, one, other, Y.shape[0])
    else:
        raise ValueError(f"affinity must be one of {', '.join(AFFINITIES)}, got {kind!r}")
    U = sp.csr_matrix((values.astype(np.float32), (A.row, A.col)), shape=A.shape)
    U.eliminate_zeros()
    U.sort_indices()
    return U


def _normalised_pmi(together: np.ndarray, one: np.ndarray, other: np.ndarray, n_points: int) -> np.ndarray:
    surprise = -np.log(together / n_points)  # 0 where two labels are on every row: they could not be nearer
    pmi = np.log(together * n_points / (one * other))
    return np.where(surprise > 0, np.maximum(pmi, 0) / np.where(surprise > 0, surprise, 1), 1.0)
