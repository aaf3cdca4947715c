"""Rows held out of train for choices, together with those that are nearly the same."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

_NEAR = 0.6
_RUN = 40
_CHUNK = 64


def held_out_rows(X: sp.csr_matrix, n: int, rng: np.random.Generator, *, near: float = _NEAR) -> npt.NDArray[np.int64]:
    """About n rows of X (n_points, n_features; rows of unit length), sorted; never all of them.

    A random row takes along all rows with a cosine above `near` with it. A document that train knows almost verbatim
    would ask what the model remembers, and the answer would flatter whatever remembers best. Rows with more company
    than a hundredth of n are passed over, until there are no others: a few large families would be all that is asked
    about.
    """
    n_points = X.shape[0]
    n = max(1, min(n, n_points - 1))
    largest = max(1, n // 100)
    order = rng.permutation(n_points)
    taken = np.zeros(n_points, dtype=bool)
    large: list[int] = []
    for start in range(0, n_points, _CHUNK):
        seeds = order[start : start + _CHUNK]
        similar = sp.csc_matrix(X @ X[seeds].T)  # (n_points, seeds)
        for column, seed in enumerate(seeds):
            run = slice(similar.indptr[column], similar.indptr[column + 1])
            company = np.union1d(similar.indices[run][similar.data[run] > near], [seed])
            if len(company) > largest + 1:
                large.append(int(seed))
            elif not taken[seed]:
                taken[company[: n - int(taken.sum())]] = True
            if taken.sum() >= n:
                return np.flatnonzero(taken)
    taken[[seed for seed in large if not taken[seed]][: n - int(taken.sum())]] = True
    return np.flatnonzero(taken)
