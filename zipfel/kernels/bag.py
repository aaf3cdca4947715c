"""Sums of table rows weighted by a sparse batch, and the renumbering of a batch's columns to those that occur."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.system.threads import over_blocks

Array = npt.NDArray[Any]


@njit(cache=True, nogil=True)
def bag_sum(indptr: Array, indices: Array, values: Array, table: Array, out: Array, start: int, stop: int) -> None:
    """out[i] = sum over the stored (i, j) of values * table[j], for i in start..stop; plain twin: csr @ table.

    Its own backward too: called with the transposed batch and the gradient of `out`, it gives that of `table`.
    """
    dim = table.shape[1]
    for i in range(start, stop):
        for d in range(dim):
            out[i, d] = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            row, weight = indices[at], values[at]
            for d in range(dim):
                out[i, d] += weight * table[row, d]


@njit(cache=True, nogil=True)
def localise(indptr: Array, indices: Array, values: Array, place: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Columns renumbered 0, 1, ... in order of first occurrence, and the transposed of the renumbered matrix.

    place: (n_columns,) int32 scratch, all -1. Returns ids (u,), local indices (nnz,), and by column:
    indptr (u + 1,), indices (nnz,), values (nnz,). Plain twin: np.unique with its inverse, and scipy's transpose.
    """
    nnz = indices.shape[0]
    ids = np.empty(nnz, np.int64)
    local = np.empty(nnz, np.int32)
    count = 0
    for at in range(nnz):
        column = indices[at]
        if place[column] < 0:
            place[column] = count
            ids[count] = column
            count += 1
        local[at] = place[column]
    by_indptr = np.zeros(count + 1, np.int64)
    for at in range(nnz):
        by_indptr[local[at] + 1] += 1
    for j in range(count):
        by_indptr[j + 1] += by_indptr[j]
    fill = by_indptr[:-1].copy()
    by_indices = np.empty(nnz, np.int32)
    by_values = np.empty(nnz, np.float32)
    for i in range(indptr.shape[0] - 1):
        for at in range(indptr[i], indptr[i + 1]):
            j = local[at]
            by_indices[fill[j]] = i
            by_values[fill[j]] = values[at]
            fill[j] += 1
    return ids[:count].copy(), local, by_indptr, by_indices, by_values


def encode_bag(X: sp.csr_matrix, table: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """(n, dim) = X @ table for prediction, straight on the whole table."""
    out = np.empty((X.shape[0], table.shape[1]), dtype=np.float32)
    sum_into(
        X.indptr.astype(np.int64),
        X.indices.astype(np.int32, copy=False),
        X.data.astype(np.float32, copy=False),
        table,
        out,
    )
    return out


def sum_into(indptr: Array, indices: Array, values: Array, table: Array, out: Array) -> None:
    """`bag_sum` over all rows, on all threads where that pays."""
    parts = None if len(indices) > 4096 else 1
    over_blocks(lambda a, b: bag_sum(indptr, indices, values, table, out, a, b), len(out), parts=parts)
