"""Any method behind the sparse ranker."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import QUICK, known, round_trip
from zipfel.methods import Points, make_method, method_class, method_names
from zipfel.metrics import evaluate
from zipfel.run import Run


@pytest.mark.parametrize("name", ["popular", "knn", "centroid"])
def test_the_ranker_lifts_a_plain_method(name: str) -> None:
    quality = []
    for enabled in (False, True):
        method = make_method(name, {"ranker.enabled": enabled})
        method.fit(known().train, None, Run(seed=1, threads=1))
        quality.append(evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"])
    assert quality[1] >= quality[0]
    assert quality[1] > 0.9


def test_saved_and_restored_it_answers_the_same() -> None:
    params = {"ranker.enabled": "true", "ranker.shortlist": 4}
    method = make_method("centroid", params)
    method.fit(known().train, None, Run(seed=1, threads=1))
    again = make_method("centroid", method.config.to_dict())
    again.restore(method.state(), known().train.n_features, known().train.n_labels)
    X = known().test.X
    np.testing.assert_array_equal(method.predict(X, 3).labels, again.predict(X, 3).labels)


WITH_RANKER = [
    n for n in method_names() if any(p.name == "ranker.enabled" for p in method_class(n).Config.parameters())
]


@pytest.mark.parametrize("name", WITH_RANKER)
def test_it_works_behind_every_method(name: str) -> None:
    """Saved and loaded, too; the two keep what they have learnt apart."""
    params = {**QUICK.get(name, {}), "ranker.enabled": True, "ranker.shortlist": 4}
    method = make_method(name, params)
    method.fit(known().train, None, Run(seed=1, threads=1))
    again, test = make_method(name, method.config.to_dict()), known().test
    again.restore(round_trip(method.state()), test.n_features, test.n_labels)
    found = method.predict(test.X, 3)
    np.testing.assert_array_equal(again.predict(test.X, 3).labels, found.labels)
    assert evaluate(found, test.Y, ks=(1,))["P@1"] > 0.7


def test_labels_that_came_later_are_ranked_without_an_opinion_of_them() -> None:
    method = make_method("knn", {"ranker.enabled": True})
    method.fit(known().train, None, Run(seed=1, threads=1))
    n_features, new = known().train.n_features, known().train.n_labels + 3
    X = np.zeros((5, n_features), dtype=np.float32)
    X[:, n_features - 1] = 1
    Y = sp.csr_matrix((np.ones(5, dtype=np.float32), (np.arange(5), np.full(5, new))), shape=(5, new + 1))
    method.partial_fit(Points(sp.csr_matrix(X), Y))
    assert method.predict(sp.csr_matrix(X[:1]), 1).labels[0, 0] == new
    assert evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"] > 0.9


def test_switched_off_nothing_is_kept() -> None:
    method = make_method("centroid")
    method.fit(known().train, None, Run(seed=1, threads=1))
    assert not [name for name in method.state().arrays if name.startswith("ranker.")]


def test_methods_with_a_ranker_of_their_own_stay_as_they_are() -> None:
    assert "ranker.enabled" not in [p.name for p in method_class("ova").Config.parameters()]
    assert "ranker.enabled" in [p.name for p in method_class("knn").Config.parameters()]


def test_fitted_methods_can_be_sent_to_another_process() -> None:
    """joblib pickles estimators, e.g. in GridSearchCV(n_jobs=2)."""
    import pickle

    method = make_method("centroid", {"width": 5})
    again = pickle.loads(pickle.dumps(method))
    assert type(again) is type(method)
    assert again.config == method.config
