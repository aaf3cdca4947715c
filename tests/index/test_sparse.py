from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from zipfel.index.sparse import SparseIndex, unit_csr


def test_equals_dense_cosines() -> None:
    rng = np.random.default_rng(1)
    rows = sp.random(70, 25, 0.2, "csr", np.float32, random_state=rng)
    queries = sp.random(20, 25, 0.2, "csr", np.float32, random_state=rng)
    ids, cosines = SparseIndex(unit_csr(rows)).search(queries, 6)
    dense = unit_csr(queries).toarray() @ unit_csr(rows).toarray().T
    for row in range(20):
        n = min(6, int((dense[row] > 0).sum()))
        np.testing.assert_allclose(cosines[row, :n], np.sort(dense[row])[::-1][:n], rtol=1e-5)
        np.testing.assert_allclose(dense[row][ids[row, :n]], cosines[row, :n], rtol=1e-5)
        assert (ids[row, n:] == -1).all()


def test_equal_rows_come_in_the_order_of_their_ids() -> None:
    rows = sp.csr_matrix(np.tile(np.array([[0.3, 0, 0.4]], dtype=np.float32), (50, 1)))
    ids, cosines = SparseIndex(unit_csr(rows)).search(rows[:2], 7)
    np.testing.assert_array_equal(ids, [list(range(7))] * 2)
    np.testing.assert_allclose(cosines, 1, rtol=1e-6)


def test_unit_rows_leave_empty_rows_and_their_input_alone() -> None:
    X = sp.csr_matrix(np.array([[3, 4], [0, 0], [0, -2]], dtype=np.float32))
    np.testing.assert_allclose(unit_csr(X).toarray(), [[0.6, 0.8], [0, 0], [0, -1]])
    assert X[0, 0] == 3
    twice = unit_csr(unit_csr(X))
    np.testing.assert_array_equal(twice.data, unit_csr(X).data)


def test_unit_rows_sum_duplicates_first() -> None:
    X = sp.csr_matrix((np.array([1, 2, 4], dtype=np.float32), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 2))
    np.testing.assert_allclose(unit_csr(X).toarray(), [[0.6, 0.8]])
    assert X.nnz == 3
