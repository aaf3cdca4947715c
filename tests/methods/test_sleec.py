"""SLEEC: its map and its clusters by hand; the contract suite has the rest."""

import pytest

from tests.contract import fit, known
from zipfel.metrics import evaluate


@pytest.mark.parametrize("params", [{"cluster": 1000}, {"cluster": 30, "n_neighbors": 3}])
def test_any_number_of_clusters_learns(params):
    method = fit("sleec", known().train, params=params)
    assert evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"] > 0.8
