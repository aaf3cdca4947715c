"""Splits of points into those to learn from and those to choose on."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import known
from zipfel.methods import Points, make_method
from zipfel.run import Run


def _points(labels: np.ndarray) -> Points:
    """A feature of its own for each point."""
    n = len(labels)
    Y = sp.csr_matrix((np.ones(n, dtype=np.float32), (np.arange(n), labels)))
    return Points(sp.identity(n, dtype=np.float32, format="csr"), Y)


def test_no_label_is_held_out_as_a_whole() -> None:
    labels = np.concatenate([np.zeros(60, dtype=np.int64), np.arange(1, 41)])  # forty labels of one point each
    rest, held = _points(labels).split_runs(30, np.random.default_rng(0))
    assert rest.n_points + held.n_points == 100
    assert 0 < held.n_points < 30
    assert set(rest.Y.indices) == set(labels.tolist())


def test_runs_are_held_out_where_nothing_is_lost() -> None:
    rest, held = _points(np.arange(200) % 2).split_runs(20, np.random.default_rng(0))
    rows = held.X.indices
    assert len(rows) == 20
    assert (np.diff(rows) == 1).sum() >= 16
    assert set(rows) | set(rest.X.indices) == set(range(200))


@pytest.mark.parametrize("name", ["lightdxml", "glas"])
def test_a_label_of_a_single_point_is_known(name: str) -> None:
    """Whichever points a method holds out for itself."""
    train, n = known().train, known().train.n_points
    rare = np.zeros((n, 40), dtype=np.float32)
    rare[np.arange(0, n, max(1, n // 40))[:40], np.arange(40)] = 1
    method = make_method(name, {"dim": 16, "epochs": 2, "batch": 16})
    method.fit(Points(train.X, sp.csr_matrix(sp.hstack([train.Y, rare]))), None, Run(seed=1, threads=1))
    answered = method.predict(train.X, train.n_labels + 40).labels
    assert set(range(train.n_labels, train.n_labels + 40)) <= set(answered.ravel())
