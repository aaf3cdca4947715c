"""What every method that holds out points of train owes to their labels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import known
from zipfel.methods import Points, make_method
from zipfel.run import Run


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
