"""Labels cut into clusters of equal work, so that labels of similar documents lie in one cluster.

Balanced 2-means: the labels are halved, and the halves again. Each label goes to the nearer of two directions, the
means of the halves. The border is where the halves have their shares of the work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.sparse import unit_csr
from zipfel.kernels.sparse_rows import with_entries
from zipfel.linear import LinearClassifiers

Array = npt.NDArray[Any]
_ROUNDS = 10
"""Rounds of 2-means at most."""


def balanced_clusters(vectors: sp.csr_matrix, work: Array, n: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """(n_labels,) the cluster, from 0 to n - 1, of each label; a cluster is empty only where labels are fewer.

    vectors: (n_labels, n_features) of unit length. work: (n_labels,) above 0, which clusters share evenly.

    >>> vectors = sp.csr_matrix(np.eye(2, dtype=np.float32)[[0, 1, 0, 1]])
    >>> a, b, c, d = balanced_clusters(vectors, np.ones(4), 2, np.random.default_rng(0))
    >>> bool(a == c), bool(b == d), bool(a == b)
    (True, True, False)
    """
    cluster = np.zeros(vectors.shape[0], dtype=np.int32)
    groups = [(np.arange(len(cluster)), 0, n)]
    while groups:
        own, first, parts = groups.pop()
        cluster[own] = first
        if parts > 1 and len(own) > 1:
            left = parts // 2
            one, other = _halves(vectors[own], work[own], left / parts, rng)
            groups += [(own[one], first, left), (own[other], first + left, parts - left)]
    return cluster


def positive_directions(classifiers: LinearClassifiers) -> sp.csr_matrix:
    """(n_labels, n_features) the positive weights of each label, of unit length: the features of its documents."""
    weights = classifiers.weights_
    return unit_csr(with_entries(weights, weights.data > 0))


def _halves(vectors: sp.csr_matrix, work: Array, share: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two runs of positions; the first has this share of the work. Neither is empty."""
    n = len(work)
    one, other = rng.choice(n, 2, replace=False)
    towards = np.asarray((vectors[other] - vectors[one]).todense(), dtype=np.float32).ravel()
    first = np.zeros(0, dtype=np.int64)
    for _ in range(_ROUNDS):
        order = np.argsort(vectors @ towards, kind="stable")
        done = np.cumsum(work[order])
        cut = int(np.clip(np.searchsorted(done, share * done[-1]), 1, n - 1))
        before, first, second = first, np.sort(order[:cut]), np.sort(order[cut:])
        if np.array_equal(before, first):
            break
        towards = _direction(vectors[second]) - _direction(vectors[first])
    return first, second


def _direction(vectors: sp.csr_matrix) -> npt.NDArray[np.float32]:
    """Their mean, of unit length."""
    total = np.asarray(vectors.sum(axis=0), dtype=np.float32).ravel()
    length = float(np.linalg.norm(total))
    return total / length if length else total
