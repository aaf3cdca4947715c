"""Exact neighbours among sparse rows, by cosine, through inverted lists: cost follows the non-zeros, never N x N."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.executor import Executor, current_executor
from zipfel.kernels.sparse_product import SparseProduct
from zipfel.kernels.sparse_rows import canonical, row_lengths, with_values
from zipfel.kernels.sparse_topk import Lists, sparse_topk
from zipfel.system.threads import blocks

_TASKS_A_WORKER = 4
_WORTH_SENDING = 5_000
"""Rows from which on an executor's workers search for the neighbours of all."""


class SparseIndex:
    """n sparse rows, searched by the cosine with sparse queries.

    rows: (n, n_features) CSR float32 of unit length, see `unit_csr`. A row that shares no feature with a query is no
    neighbour. keeps_rows: whether they stay in memory beside the lists.
    """

    def __init__(self, rows: sp.csr_matrix, *, keeps_rows: bool = True) -> None:
        self._rows = rows if keeps_rows else None
        self._lists = rows.T.tocsr()  # (n_features, n): for each feature the rows that have it

    def __len__(self) -> int:
        return int(self._lists.shape[1])

    @property
    def rows(self) -> sp.csr_matrix:
        """Where they are not kept they are made anew."""
        return self._lists.T.tocsr() if self._rows is None else self._rows

    def search(self, queries: sp.csr_matrix, k: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """(n, k) ids, best first, -1 where there are fewer; (n, k) cosines, -inf there. Ties: the lowest id."""
        return sparse_topk(unit_csr(queries), self._searched, k)

    def search_own(self, queries: sp.csr_matrix, k: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """The same, where the queries are what the rows were made of, in their order: none is its own neighbour."""
        executor = current_executor()
        if executor is not None and len(self) >= _WORTH_SENDING:
            return self._search_own_by(executor, unit_csr(queries), k)
        return sparse_topk(unit_csr(queries), self._searched, k, others=True)

    def _search_own_by(
        self, executor: Executor, queries: sp.csr_matrix, k: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """`search_own` by an executor's workers, a run of queries each."""
        own = self.rows
        shared = own.indptr, own.indices, own.data, own.shape[0], own.shape[1], k, _digest(own)
        tasks = []
        for start, stop in blocks(queries.shape[0], _TASKS_A_WORKER * executor.n_workers):
            run = queries[start:stop]
            tasks.append((run.indptr, run.indices, run.data, start))
        ids, cosines = zip(*executor.map(search_own_rows, shared, tasks), strict=True)
        return np.concatenate(ids), np.concatenate(cosines)

    def cosines(self, queries: sp.csr_matrix) -> npt.NDArray[np.float32]:
        """(n, len(self)): dense, for few rows."""
        return self._product(unit_csr(queries))

    def steady_cosines(self, queries: sp.csr_matrix) -> npt.NDArray[np.float32]:
        """The same, a little slower: to the last bit what each query has alone."""
        return self._steady_product(unit_csr(queries))

    @cached_property
    def _searched(self) -> Lists:
        return Lists.of(self._lists)

    @cached_property
    def _steady_product(self) -> SparseProduct:
        return SparseProduct(self._lists, frequent=1.0)

    @cached_property
    def _product(self) -> SparseProduct:
        return SparseProduct(self._lists)


def search_own_rows(
    indptr: npt.NDArray[Any],
    indices: npt.NDArray[Any],
    values: npt.NDArray[Any],
    n: int,
    width: int,
    k: int,
    token: str,
    *run: Any,
) -> tuple[npt.NDArray[Any], ...]:
    """(ids, cosines) of a run of an index's own rows. The first six make the index, `token` names it: a worker makes it
    once. run: the queries' CSR arrays, and the number of the first one."""
    if token not in _indexes:
        _indexes.clear()
        _indexes[token] = SparseIndex(sp.csr_matrix((values, indices, indptr), shape=(n, width)))
    *arrays, start = run
    queries = sp.csr_matrix((arrays[2], arrays[1], arrays[0]), shape=(len(arrays[0]) - 1, width))
    ids, cosines = sparse_topk(queries, _indexes[token]._searched, k + 1)
    own = ids == np.arange(start, start + len(ids))[:, None]
    own[~own.any(axis=1), -1] = True  # where it was not found, the last one goes
    return ids[~own].reshape(len(ids), k), cosines[~own].reshape(len(ids), k)


def _digest(rows: sp.csr_matrix) -> str:
    found = hashlib.blake2b(digest_size=16)
    for array in (rows.indptr, rows.indices, rows.data):
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


_indexes: dict[str, SparseIndex] = {}
"""The index that this worker has made, by its token."""


def unit_csr(X: sp.csr_matrix) -> sp.csr_matrix:
    """Rows scaled to length one; an empty row stays empty. Duplicate entries are summed first. What is of unit length
    already is returned as it is."""
    if not isinstance(X, sp.csr_matrix) or X.dtype != np.float32:
        X = sp.csr_matrix(X, dtype=np.float32)
    X = canonical(X)
    lengths = row_lengths(X)
    lengths[(lengths == 0) | (np.abs(lengths - 1) < 1e-6)] = 1.0  # so that scaling twice is scaling once
    if (lengths == 1).all():
        return X
    return with_values(X, (X.data / np.repeat(lengths, np.diff(X.indptr))).astype(np.float32))
