"""A regression on a document's nearest training points, solved for each document. Near-duplicates count as one vote,
and a neighbour that differs from the others counts more.

    K = cos(x_i, x_j), k = cos(x, x_i)               neighbours i, j of x, by words
    w = (K + ridge I)^-1 k
    r(l) = sum_i w_i y_il                            their joint vote for label l, which may be negative

Votes by cosines (`neighbors/words.py`) count ten copies of one document ten times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.config import Config, param
from zipfel.kernels.sparse_rows import row_ends
from zipfel.kernels.sparse_topk import kernel_arrays
from zipfel.neighbors.votes import FAINT
from zipfel.neighbors.words import WordIndex
from zipfel.system.threads import over_blocks

Array = npt.NDArray[Any]
MOST = 1000


@dataclass(frozen=True)
class JointConfig(Config):
    neighbors: int = param(50, "nearest training points by words that count", low=1, high=MOST)
    ridge: float = param(0.1, "weight of the penalty on the regression", low=1e-3, high=1e3)


@dataclass(frozen=True)
class JointNeighbors:
    neighbors: int
    ridge: float

    OPINIONS: ClassVar[tuple[str, ...]] = ("joint neighbours", "log joint neighbours")

    @classmethod
    def of(cls, config: JointConfig) -> JointNeighbors:
        return cls(config.neighbors, config.ridge)

    def opinions(
        self, near: tuple[Array, Array], labels: Array, words: WordIndex, Y: sp.csr_matrix
    ) -> list[npt.NDArray[np.float32]]:
        """OPINIONS of the labels (n, c) of each document, by its neighbours (n, m), nearest first, -1 for none, and
        their cosines."""
        out = np.zeros(labels.shape, dtype=np.float32)
        ids, cosines = (np.ascontiguousarray(part) for part in near)
        rows, its_labels = kernel_arrays(words.unit_rows), (row_ends(Y), Y.indices)
        asked = ids.astype(np.int64, copy=False), cosines.astype(np.float32, copy=False)
        numbers = self.neighbors, np.float32(self.ridge)
        n_features, n_labels = (int(matrix.shape[1]) for matrix in (words.unit_rows, Y))

        def work(start: int, stop: int) -> None:
            dense, slots = np.zeros(n_features, dtype=np.float32), np.zeros(n_labels, dtype=np.int32)
            _regress_labels(start, stop, *asked, *rows, *its_labels, labels, *numbers, dense, slots, out)

        over_blocks(work, len(ids))
        return [out, np.log(np.maximum(out, 0) + np.float32(FAINT))]


@njit(cache=True, nogil=True)
def _likeness(rows: Array, n: int, ptr: Array, features: Array, values: Array, dense: Array, K: Array) -> None:
    """K[a, b], b < a, cosines of some training points with each other; dense: (n_features,) zeros, left as zeros."""
    for a in range(1, n):
        for t in range(ptr[rows[a]], ptr[rows[a] + 1]):
            dense[features[t]] = values[t]
        for b in range(a):
            total = np.float32(0.0)
            for t in range(ptr[rows[b]], ptr[rows[b] + 1]):
                total += dense[features[t]] * values[t]
            K[a, b] = total
        for t in range(ptr[rows[a]], ptr[rows[a] + 1]):
            dense[features[t]] = 0.0


@njit(cache=True, nogil=True)
def _solve(K: Array, w: Array, n: int) -> None:
    """w = K^-1 w by Cholesky's factor, which takes the place of the lower half of K."""
    for a in range(n):
        for b in range(a + 1):
            total = K[a, b]
            for t in range(b):
                total -= K[a, t] * K[b, t]
            if a == b:
                K[a, a] = np.sqrt(max(total, np.float32(1e-6)))
            else:
                K[a, b] = total / K[b, b]
        for b in range(a):
            w[a] -= K[a, b] * w[b]
        w[a] /= K[a, a]
    for a in range(n - 1, -1, -1):
        w[a] /= K[a, a]
        for b in range(a):
            w[b] -= K[a, b] * w[a]


@njit(cache=True, nogil=True)
def _regress_labels(
    start: int,
    stop: int,
    ids: Array,
    cosines: Array,
    ptr: Array,
    features: Array,
    values: Array,
    y_ptr: Array,
    y_idx: Array,
    labels: Array,
    neighbors: int,
    ridge: float,
    dense: Array,
    slots: Array,
    out: Array,
) -> None:
    """Rows start..stop of out (n, c), zeros before: r(l) of the labels (n, c), -1 pads. dense: (n_features,), slots:
    (n_labels,), zeros, left as zeros. Plain twin: the sums in the module, by numpy.linalg.solve."""
    most = min(neighbors, ids.shape[1])
    rows, w = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.float32)
    K = np.empty((most, most), dtype=np.float32)
    for i in range(start, stop):
        n = np.int64(0)
        for j in range(ids.shape[1]):
            if n < most and ids[i, j] >= 0:
                rows[n] = ids[i, j]
                w[n] = cosines[i, j]
                n += 1
        _likeness(rows, n, ptr, features, values, dense, K)
        for a in range(n):
            K[a, a] = np.float32(1.0) + ridge
        _solve(K, w, n)
        for c in range(labels.shape[1]):
            if labels[i, c] >= 0:
                slots[labels[i, c]] = c + 1
        for a in range(n):
            for t in range(y_ptr[rows[a]], y_ptr[rows[a] + 1]):
                if slots[y_idx[t]] > 0:
                    out[i, slots[y_idx[t]] - 1] += w[a]
        for c in range(labels.shape[1]):
            if labels[i, c] >= 0:
                slots[labels[i, c]] = 0
