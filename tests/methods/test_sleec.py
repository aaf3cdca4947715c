"""SLEEC beside Algorithm 2, with any number of clusters; the contract suite has the rest."""

import numpy as np
import pytest

from tests.contract import fit, known
from zipfel.metrics import evaluate


@pytest.mark.parametrize("params", [{"cluster": 1000}, {"cluster": 30, "n_neighbors": 3}])
def test_any_number_of_clusters_learns(params):
    method = fit("sleec", known().train, params=params)
    assert evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"] > 0.8


def test_prediction_is_algorithm_2_point_by_point():
    """Nearest cluster, z = x V, k neighbours among the codes of its points, their labels summed; learners averaged."""
    method = fit("sleec", known().train, params={"cluster": 40, "learners": 2, "n_neighbors": 5})
    X, Y = known().test.X.toarray(), method.Y_.toarray()
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    votes = np.zeros((len(X), Y.shape[1]))
    for learner in method.learners_:
        assert len(learner.centres) > 1
        for row, x in enumerate(X):
            cluster = int(np.argmin([np.linalg.norm(x - centre) for centre in learner.centres]))
            z = x @ learner.maps[cluster]
            points = np.flatnonzero(learner.mine == cluster)
            distances = np.linalg.norm(learner.codes[points] - z / np.linalg.norm(z), axis=1)
            near = points[np.argsort(distances, kind="stable")[:5]]
            votes[row] += Y[near].sum(axis=0) / (5 * len(method.learners_))
    ranking = method.predict(known().test.X, 1)
    np.testing.assert_allclose(ranking.scores[:, 0], votes.max(axis=1), rtol=1e-5)
    np.testing.assert_allclose(votes[np.arange(len(X)), ranking.labels[:, 0]], votes.max(axis=1), rtol=1e-5)
