"""Shared code of trainings without torch: batches of sparse rows, and tables of vectors. Adam updates only the rows
that a batch touches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.kernels.bag import bag_sum, localise
from zipfel.kernels.rows import adam_rows
from zipfel.kernels.sparse_rows import canonical

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.float32]
_BETAS, _EPS = (0.9, 0.999), 1e-8


class Rows(NamedTuple):
    """Some rows of a matrix: CSR arrays as kernels take them."""

    indptr: Array
    indices: Array
    values: Array

    @classmethod
    def of(cls, matrix: sp.csr_matrix) -> Rows:
        matrix = canonical(matrix)
        indptr, indices = matrix.indptr.astype(np.int64, copy=False), matrix.indices.astype(np.int32, copy=False)
        return cls(indptr, indices, matrix.data.astype(np.float32, copy=False))

    def take(self, rows: Array, kept: Array | None = None) -> Rows:
        """kept: (nnz,) which entries of the whole matrix are there."""
        starts, counts = self.indptr[rows], self.indptr[rows + 1] - self.indptr[rows]
        ends = np.cumsum(counts)
        at = np.repeat(starts - ends + counts, counts) + np.arange(ends[-1])
        row_of = np.repeat(np.arange(len(rows)), counts)
        if kept is not None:
            at, row_of = at[kept[at]], row_of[kept[at]]
        indptr = np.append(0, np.cumsum(np.bincount(row_of, minlength=len(rows))))
        return Rows(indptr, self.indices[at], self.values[at])


def drawn(n_rows: int, dim: int, spread: float, rng: np.random.Generator) -> Codes:
    """(n_rows, dim) normal numbers to begin with."""
    found: Codes = rng.standard_normal((n_rows, dim), dtype=np.float32) * np.float32(spread)
    return found


class Table:
    """weights: (n_rows, dim) vectors of features, labels or units, and Adam's moments."""

    def __init__(self, weights: Codes) -> None:
        self.weights = weights
        self._first, self._second = np.zeros_like(weights), np.zeros_like(weights)
        self._steps, self._place = np.zeros(len(weights), dtype=np.int32), np.full(len(weights), -1, dtype=np.int32)

    @property
    def learnt(self) -> Codes:
        """(n_rows, dim) weights; nothing for rows that no point has."""
        found: Codes = np.where((self._steps > 0)[:, None], self.weights, np.float32(0))
        return found

    def sums(self, rows: Rows | Codes) -> Codes:
        """(n, dim) sums of the vectors of each row's columns; rows may be dense (n, n_rows)."""
        if isinstance(rows, np.ndarray):
            return rows @ self.weights
        out = np.empty((len(rows.indptr) - 1, self.weights.shape[1]), dtype=np.float32)
        bag_sum(*rows, self.weights, out, 0, len(out))
        return out

    def learn_sums(self, rows: Rows | Codes, grad: Codes, lr: float) -> None:
        """One step along the gradient (n, dim) of `sums`."""
        if isinstance(rows, np.ndarray):
            self.learn(rows.T @ grad, lr)
            return
        ids, _, *by_column = localise(*rows, self._place)
        self._place[ids] = -1
        grads = np.empty((len(ids), grad.shape[1]), dtype=np.float32)
        bag_sum(*by_column, grad, grads, 0, len(ids))
        self.learn(grads, lr, ids)

    def learn(self, grads: Codes, lr: float, ids: Array | None = None) -> None:
        """One step of Adam along the gradients of the rows `ids`; of all, where none are given."""
        ids = np.arange(len(self.weights)) if ids is None else ids
        numbers = np.array([lr, *_BETAS, _EPS, 0.0])
        adam_rows(ids, grads, self.weights, self._first, self._second, self._steps, numbers, 0, len(ids))
