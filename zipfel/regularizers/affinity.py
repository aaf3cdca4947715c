"""How near two labels ought to be: U, from the co-occurrence of labels in the whole training set."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from zipfel.regularizers.gram import submatrix

Array = npt.NDArray[Any]
_BLOCK = 4096
"""Labels whose rows of A are made at a time."""
AFFINITIES = ("arithmetic", "geometric", "pmi", "jaccard")


_WHOLE = 50_000_000
"""Pairs of labels on one point, counted over all points, up to which U is made whole: 0.6 GB at most."""


class Affinity:
    """U between any labels of the training set. It is made whole where that takes little room, else as it is asked.

    Y: (n, L) ones. On Delicious-200K, whose points have 75 labels, Y'Y would take 10 to 25 GB.
    """

    def __init__(self, Y: sp.csr_matrix, kind: str = "arithmetic", *, whole: int = _WHOLE) -> None:
        self._by_label, self._n_points, self._kind = Y.T.tocsr(), Y.shape[0], kind
        self._counts = np.diff(self._by_label.indptr).astype(np.float64)
        pairs = int(np.square(np.diff(Y.indptr).astype(np.int64)).sum())
        self._U = label_affinity(Y, kind) if pairs <= whole else None

    def between(self, labels: npt.NDArray[np.integer], dtype: torch.dtype = torch.float32) -> Tensor:
        """(b, b) sparse tensor of the given distinct labels, in their order. Costs what their points have in common."""
        if self._U is not None:
            return submatrix(self._U, labels, dtype)
        mine, counts = self._by_label[labels], self._counts[labels]
        U = _affinity(mine @ mine.T, counts, self._kind, self._n_points)
        return submatrix(U, np.arange(len(labels)), dtype)


def label_affinity(Y: sp.csr_matrix, kind: str = "arithmetic") -> sp.csr_matrix:
    """U (L, L), sparse and symmetric, in [0, 1], with ones on the diagonal of every label that occurs.

    With A = Y'Y and F(y|y') = A_yy' / A_y'y' (Guo et al., section 3.2):
        arithmetic  (F(y|y') + F(y'|y)) / 2                   the paper's choice, Eq. 3
        geometric   sqrt(F(y|y') F(y'|y))                     Theorem B.1
        pmi         log(p_yy' / p_y p_y') / -log p_yy', positive part (normalised, to be a cosine)
        jaccard     A_yy' / (A_yy + A_y'y' - A_yy')
    Y: (n, L) ones. A stands in memory for a block of labels at a time.
    """
    by_label, counts = Y.T.tocsr(), np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.float64)
    blocks = [
        _affinity(by_label[a : a + _BLOCK] @ Y, counts, kind, Y.shape[0], first=a)
        for a in range(0, max(1, Y.shape[1]), _BLOCK)
    ]
    return sp.vstack(blocks, "csr")


def _affinity(together: sp.csr_matrix, counts: Array, kind: str, n_points: int, first: int = 0) -> sp.csr_matrix:
    """Rows first, first + 1, ... of U, by those of A; counts: (L,)."""
    A = together.tocoo()
    both, one, other = A.data.astype(np.float64), counts[A.row + first], counts[A.col]
    if kind == "arithmetic":
        values = 0.5 * (both / one + both / other)
    elif kind == "geometric":
        values = both / np.sqrt(one * other)
    elif kind == "jaccard":
        values = both / (one + other - both)
    elif kind == "pmi":
        values = _normalised_pmi(both, one, other, n_points)
    else:
        raise ValueError(f"affinity must be one of {', '.join(AFFINITIES)}, got {kind!r}")
    U = sp.csr_matrix((values.astype(np.float32), (A.row, A.col)), shape=A.shape)
    U.eliminate_zeros()
    U.sort_indices()
    return U


def _normalised_pmi(together: Array, one: Array, other: Array, n_points: int) -> Array:
    surprise = -np.log(together / n_points)  # 0 where two labels are on every row: they could not be nearer
    pmi = np.log(together * n_points / (one * other))
    return np.where(surprise > 0, np.maximum(pmi, 0) / np.where(surprise > 0, surprise, 1), 1.0)
