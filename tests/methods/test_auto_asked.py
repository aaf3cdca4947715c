"""Documents that nothing is known of are answered by the labels' frequencies, until points with their features come."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import N_FEATURES, QUICK, known, round_trip
from zipfel.linear import LinearClassifiers
from zipfel.methods import Points, make_method
from zipfel.methods.auto import Auto
from zipfel.methods.auto_asked import known_features, without_lost
from zipfel.methods.popular import label_priors
from zipfel.neighbors.words import WordIndex
from zipfel.run import Run

UNSEEN = N_FEATURES - 1


def test_only_rows_without_any_known_feature_are_emptied() -> None:
    X = sp.csr_matrix(np.array([[1, 0, 2, 0], [0, 3, 0, 0], [0, 0, 0, 0], [0, 4, 0, 5]], dtype=np.float32))
    known = np.array([True, False, False, True])
    wanted = X.toarray()
    wanted[1] = 0
    np.testing.assert_array_equal(without_lost(X, known).toarray(), wanted)
    assert without_lost(X[[0, 3]], known).nnz == 4


def test_known_is_what_neighbours_or_classifiers_know() -> None:
    memory = WordIndex.whole(sp.csr_matrix(np.array([[1, 0, 0, 2]], dtype=np.float32)))
    weights = sp.csr_matrix(np.array([[0, 1, 0, 0, 0, 1]], dtype=np.float32))  # with two columns of drift behind
    np.testing.assert_array_equal(known_features(memory, None), [True, False, False, True])
    np.testing.assert_array_equal(known_features(memory, LinearClassifiers.of(weights)), [True, True, False, True])


@pytest.mark.parametrize("classifiers", [True, False])
def test_strange_documents_have_the_most_frequent_labels_also_after_loading(classifiers: bool) -> None:
    method = make_method("auto", {**QUICK["auto"], "classifiers": classifiers})
    assert isinstance(method, Auto)
    train = known().train
    method.fit(train, None, Run(seed=1, threads=1))
    strange = sp.csr_matrix(([1.0], ([0], [UNSEEN])), shape=(1, N_FEATURES), dtype=np.float32)
    frequent = np.argsort(-label_priors(train.Y), kind="stable")[:3]
    again = make_method("auto", method.config.to_dict())
    again.restore(round_trip(method.state()), train.n_features, train.n_labels)
    for one in (method, again):
        np.testing.assert_array_equal(one.predict(strange, 3).labels[0], frequent)
    parts = method.explain(strange, frequent.tolist())
    assert not any(parts.voters.values())

    rarest = int(np.argmin(label_priors(train.Y)))
    owner = sp.csr_matrix(([1.0], ([0], [rarest])), shape=(1, train.n_labels), dtype=np.float32)
    method.partial_fit(Points(strange, owner))
    assert method.predict(strange, 1).labels[0, 0] == rarest


def test_documents_with_few_neighbours_have_the_most_frequent_labels_as_candidates() -> None:
    """Of a feature that one point has, with its rarest label alone."""
    train = known().train
    rarest, frequent = (int(at(label_priors(train.Y))) for at in (np.argmin, np.argmax))
    odd = sp.csr_matrix(([1.0], ([0], [UNSEEN])), shape=(1, N_FEATURES), dtype=np.float32)
    owner = sp.csr_matrix(([1.0], ([0], [rarest])), shape=(1, train.n_labels), dtype=np.float32)
    method = make_method("auto", {**QUICK["auto"], "codes": False, "forest": False})
    method.fit(
        Points(sp.vstack([train.X, odd], "csr"), sp.vstack([train.Y, owner], "csr")), None, Run(seed=1, threads=1)
    )
    found = method.predict(odd, train.n_labels).labels[0].tolist()
    assert found[0] == rarest
    assert frequent in found
