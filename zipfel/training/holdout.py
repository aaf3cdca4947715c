"""Rows held out of train for choices, together with those that are nearly the same."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

_NEAR = 0.6
_CHUNK = 64


def held_out_rows(X: sp.csr_matrix, n: int, rng: np.random.Generator, *, near: float = _NEAR) -> npt.NDArray[np.int64]:
    """About n rows of X (n_points, n_features; rows of unit length), sorted; never all of them.

    A random row takes the rows with a cosine above `near` with it (at most a tenth of n). A document that train knows
    almost verbatim would ask what the model remembers, and the answer would flatter whatever remembers best.
    """
    n_points = X.shape[0]
    n = max(1, min(n, n_points - 1))
    order = rng.permutation(n_points)
    taken = np.zeros(n_points, dtype=bool)
    for start in range(0, n_points, _CHUNK):
        seeds = order[start : start + _CHUNK]
        similar = sp.csc_matrix(X @ X[seeds].T)  # (n_points, seeds)
        for column, seed in enumerate(seeds):
            if taken[seed]:
                continue
            run = slice(similar.indptr[column], similar.indptr[column + 1])
            company = similar.indices[run][similar.data[run] > near]
            company = company[~taken[company] & (company != seed)][: max(0, min(n // 10, n - 1 - int(taken.sum())))]
            taken[seed], taken[company] = True, True
            if taken.sum() >= n:
                return np.flatnonzero(taken)
    return np.flatnonzero(taken)
