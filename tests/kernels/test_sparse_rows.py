"""Lengths of sparse rows, and rows with other values or fewer entries."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from zipfel.kernels.sparse_rows import canonical, row_lengths, with_entries, with_values


def _rows() -> sp.csr_matrix:
    return sp.random(20, 30, density=0.1, format="csr", dtype=np.float32, random_state=0)


def test_lengths_are_scipys_and_empty_rows_have_none() -> None:
    X = sp.vstack([_rows(), sp.csr_matrix((2, 30), dtype=np.float32)], format="csr")
    assert np.allclose(row_lengths(X), sp.linalg.norm(X, axis=1))
    assert row_lengths(X)[-1] == 0


def test_other_values_leave_the_matrix_as_it_is() -> None:
    X = _rows()
    before = X.toarray()
    twice = with_values(X, X.data * 2)
    assert np.array_equal(twice.toarray(), before * 2)
    assert np.array_equal(X.toarray(), before)


def test_canonical_rows_rise_and_what_is_so_is_not_copied() -> None:
    twice = sp.csr_matrix((np.ones(3, dtype=np.float32), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 4))
    found = canonical(twice)
    assert found.indices.tolist() == [0, 2]
    assert found.data.tolist() == [1, 2]
    assert twice.nnz == 3
    assert canonical(found) is found


def test_entries_that_are_not_kept_are_gone() -> None:
    X = sp.csr_matrix(np.array([[1, 2, 0], [0, 0, 0], [3, 0, 4]], dtype=np.float32))
    found = with_entries(X, np.array([False, True, False, True]))
    np.testing.assert_array_equal(found.toarray(), [[0, 2, 0], [0, 0, 0], [0, 0, 4]])
    assert found.nnz == 2
