"""Held-out rows and the company they keep."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.training.holdout import held_out_rows


def test_near_rows_are_held_out_together() -> None:
    pairs = np.repeat(np.eye(60, dtype=np.float32), 2, axis=0)  # rows 2i and 2i + 1 are the same
    rows = held_out_rows(sp.csr_matrix(pairs), 20, np.random.default_rng(0))
    assert len(rows) == 20
    assert np.array_equal(np.unique(rows // 2, return_counts=True)[1], np.full(10, 2))


def test_one_large_group_does_not_fill_it() -> None:
    X = np.eye(100, dtype=np.float32)
    X[:50] = X[0]
    rows = held_out_rows(sp.csr_matrix(X), 20, np.random.default_rng(1))
    assert (rows >= 50).sum() >= 4
    assert len(rows) == 20


@pytest.mark.parametrize("n_points", [2, 3, 200])
@pytest.mark.parametrize("empty", [False, True])
def test_both_sides_have_rows(n_points: int, empty: bool) -> None:
    X = (
        sp.csr_matrix((n_points, 4), dtype=np.float32)
        if empty
        else sp.csr_matrix(np.ones((n_points, 4), np.float32) / 2)
    )
    for n in (0, 1, n_points, 10 * n_points):
        rows = held_out_rows(X, n, np.random.default_rng(0))
        assert 1 <= len(rows) < n_points
        assert np.array_equal(rows, np.unique(rows))
