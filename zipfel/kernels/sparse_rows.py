"""Sparse rows as kernels want them: columns that rise, their lengths, other values or fewer entries."""

from __future__ import annotations

import copy
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.system.threads import over_blocks

Array = npt.NDArray[Any]


_MANY = 1 << 12
_converted: dict[int, tuple[weakref.ref[Array], Array]] = {}


def row_ends(X: sp.csr_matrix) -> Array:
    """(n + 1,) the matrix's indptr as int64. That of a matrix of many rows is converted once and kept as long as the
    matrix: for one document it would take longer than the rest. Nobody may change it in place."""
    ends: Array = X.indptr
    if ends.dtype == np.int64:
        return ends
    known = _converted.get(id(ends))
    if known is not None and known[0]() is ends:
        return known[1]
    found = ends.astype(np.int64)
    if len(ends) > _MANY:
        key = id(ends)
        _converted[key] = weakref.ref(ends, lambda _: _converted.pop(key, None)), found
    return found


def canonical(X: sp.csr_matrix) -> sp.csr_matrix:
    """X with columns that rise and are distinct, itself where it is so."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


@njit(cache=True, nogil=True)
def _lengths(indptr: Array, data: Array, out: Array, start: int, stop: int) -> None:
    for i in range(start, stop):
        total = 0.0
        for t in range(indptr[i], indptr[i + 1]):
            total += np.float64(data[t]) * np.float64(data[t])
        out[i] = np.sqrt(total)


def row_lengths(X: sp.csr_matrix) -> npt.NDArray[np.float64]:
    """(n,) Euclidean; 0 for an empty row. Plain twin: scipy.sparse.linalg.norm(X, axis=1)."""
    out = np.empty(X.shape[0])
    indptr, data = X.indptr.astype(np.int64, copy=False), X.data.astype(np.float32, copy=False)
    over_blocks(lambda a, b: _lengths(indptr, data, out, a, b), len(out))
    return out


def with_values(X: sp.csr_matrix, data: npt.NDArray[np.float32]) -> sp.csr_matrix:
    """A matrix with X's non-zeros and these values (nnz,) in their place; it shares X's indices. The constructor would
    check them again, which takes as long as scoring a short document."""
    found = copy.copy(X)
    found.data = data
    return found


def with_entries(X: sp.csr_matrix, kept: Array) -> sp.csr_matrix:
    """X with only those of its entries (nnz,) that are kept."""
    before = np.concatenate([[0], np.cumsum(kept)])
    return sp.csr_matrix((X.data[kept], X.indices[kept], before[X.indptr]), shape=X.shape)


def with_columns(X: sp.csr_matrix, n_columns: int) -> sp.csr_matrix:
    """X with only its first columns, or with empty ones behind its own; X itself where it has so many. A row that loses
    entries keeps its length, unless it loses all."""
    if X.shape[1] == n_columns:
        return X
    kept = X.indices < n_columns
    if kept.all():
        return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_columns))
    cut = with_entries(X, kept)
    cut = sp.csr_matrix((cut.data, cut.indices, cut.indptr), shape=(X.shape[0], n_columns))
    before, after = row_lengths(X), row_lengths(cut)
    factor = np.where(after > 0, before / np.where(after > 0, after, 1), 1)
    cut.data = (cut.data * np.repeat(factor, np.diff(cut.indptr))).astype(np.float32)
    return cut


def has_entries(X: sp.csr_matrix, columns: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """(n,) which rows have an entry that is not 0 in one of the columns (n_columns,)."""
    counts = np.append(0, np.cumsum(columns[X.indices] & (X.data != 0)))
    found: npt.NDArray[np.bool_] = np.diff(counts[X.indptr]) > 0
    return found


def values_at(matrix: sp.csr_matrix, row: int, columns: Array) -> Array:
    """The row's entries in these columns, 0 where it has none; its indices must be rising."""
    start, stop = matrix.indptr[row], matrix.indptr[row + 1]
    own, values = matrix.indices[start:stop], matrix.data[start:stop]
    if len(own) == 0:
        return np.zeros(len(columns), dtype=np.float32)
    place = np.minimum(np.searchsorted(own, columns), len(own) - 1)
    found: Array = np.where(own[place] == columns, values[place], np.float32(0))
    return found


def without_unknown(X: sp.csr_matrix, known: Array) -> sp.csr_matrix:
    """X (n, n_features) with rows without any known feature empty; X itself if there are none."""
    is_known = known[X.indices]
    if is_known.all():  # the usual case, kept fast for single documents
        return X
    counts = np.append(0, np.cumsum(is_known))
    unknown = np.diff(counts[X.indptr]) == 0
    return with_entries(X, np.repeat(~unknown, np.diff(X.indptr))) if unknown.any() else X
