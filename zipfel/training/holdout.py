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

    A random row takes along the rows with a cosine above `near` with it, the nearest first, at most a hundredth of n: a
    large family would be all that is asked about. A document that train knows almost verbatim would ask what the
    model remembers, and the answer would flatter whatever remembers best.
    """
    n_points = X.shape[0]
    n = max(1, min(n, n_points - 1))
    largest = max(1, n // 100)
    order = rng.permutation(n_points)
    taken = np.zeros(n_points, dtype=bool)
    for start in range(0, n_points, _CHUNK):
        seeds = order[start : start + _CHUNK]
        similar = sp.csc_matrix(X @ X[seeds].T)  # (n_points, seeds)
        for column, seed in enumerate(seeds):
            if taken[seed]:
                continue
            run = slice(similar.indptr[column], similar.indptr[column + 1])
            found, cosine = similar.indices[run], similar.data[run]
            found = found[np.argsort(-cosine, kind="stable")][: np.count_nonzero(cosine > near)]
            room = min(largest, n - 1 - int(taken.sum()))
            company = found[~taken[found] & (found != seed)][: max(0, room)]
            taken[seed], taken[company] = True, True
            if taken.sum() >= n:
                return np.flatnonzero(taken)
    return np.flatnonzero(taken)


def held_out_runs(n_points: int, n: int, rng: np.random.Generator, *, length: int = _RUN) -> npt.NDArray[np.int64]:
    """n of n_points rows, sorted, in runs of consecutive ones.

    Files are often sorted by source or by time, and next to a document stands its sister. Taken one by one, rows would
    leave their sisters in train, and new documents have none. In a shuffled file runs are as good as single rows.
    """
    length = max(1, min(length, n_points // 20))
    starts = rng.permutation(np.arange(0, n_points, length))
    rows = (starts[:, None] + np.arange(length)).ravel()
    return np.sort(rows[rows < n_points][:n])
