"""Places in a file, told from words; rows that classifiers see there against plain loops; files in no order."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.evidence.drift import Drift, DriftConfig
from zipfel.linear.classifiers import LinearClassifiers
from zipfel.run import Run


def _in_order(n: int = 900, seed: int = 0) -> sp.csr_matrix:
    """Documents of twenty words of a hundred, which come and go along the file."""
    rng = np.random.default_rng(seed)
    words = np.clip(rng.normal(np.linspace(0, 99, n)[:, None], 12, (n, 20)), 0, 99).astype(int)
    counts = sp.csr_matrix((np.ones(words.size, np.float32), (np.repeat(np.arange(n), 20), words.ravel())), (n, 100))
    return sp.csr_matrix(counts / sp.linalg.norm(counts, axis=1)[:, None], dtype=np.float32)


def _learnt(**params: int) -> tuple[Drift, sp.csr_matrix]:
    X = _in_order()
    drift = Drift.learn(DriftConfig(**params), X, X.shape[0], Run(seed=0))
    assert drift is not None
    return drift, X


def test_words_tell_where_documents_stand() -> None:
    drift, X = _learnt()
    truth = np.linspace(0, 1, X.shape[0])
    assert np.abs(drift.places - truth).mean() < 0.05
    others = _in_order(seed=1)
    assert np.abs(drift.place(others) - truth).mean() < 0.05
    assert drift.place(others).dtype == drift.places.dtype == np.float32


def test_training_points_are_placed_by_classifiers_that_have_not_seen_them() -> None:
    """A document whose words none of the other parts of the file has is placed nowhere; seen, it has its place."""
    X = _in_order().tolil()
    X[40] = 0
    X[:, 98] = 0
    X[40, 98] = 1.0
    drift = Drift.learn(DriftConfig(), sp.csr_matrix(X), 900, Run(seed=0))
    assert drift is not None
    assert abs(drift.places[40] - 0.5) < 0.2  # and not near 40 / 900
    assert drift.place(sp.csr_matrix(X[40]))[0] < drift.places[40]


def test_points_behind_the_ordered_ones_are_placed_by_their_words() -> None:
    """A validation set has an order of its own."""
    X, more = _in_order(), _in_order(60, seed=1)
    drift = Drift.learn(DriftConfig(), sp.vstack([X, more], format="csr"), 900, Run(seed=0))
    assert drift is not None
    np.testing.assert_array_equal(drift.places[900:], drift.place(more))
    assert np.abs(drift.places[900:] - np.linspace(0, 1, 60)).mean() < 0.06


@pytest.mark.parametrize("n", [0, 50, 900])
def test_files_in_no_order_have_no_drift(n: int) -> None:
    X = _in_order()[np.random.default_rng(0).permutation(900)[:n]]
    assert Drift.learn(DriftConfig(), X, n, Run(seed=0)) is None


@pytest.mark.parametrize(("words", "knots"), [(1, 2), (3, 6), (50, 4)])
def test_rows_have_their_weightiest_words_at_two_knots(words: int, knots: int) -> None:
    drift, _ = _learnt(words=words, knots=knots)
    rng = np.random.default_rng(3)
    X = sp.random(40, 30, density=0.3, dtype=np.float32, rng=rng).tolil()
    X[0], X[1] = 0, 1.0  # no words at all; all of one size
    X[2] = -X[2]
    X = sp.csr_matrix(X)
    places = np.append([0.0, 1.0, 0.5], rng.random(37)).astype(np.float32)
    found = drift.rows(X, places)
    assert found.shape == (40, 30 * (1 + knots)) == (40, drift.n_columns(30))
    for i in range(40):
        x = X[i].toarray().ravel()
        best = np.argsort(-np.abs(x), kind="stable")[:words]
        bent = np.where(np.isin(np.arange(30), best), x, 0)
        tents = np.maximum(0, 1 - np.abs(places[i] * (knots - 1) - np.arange(knots)))
        wanted = np.concatenate([x, *(tent * bent for tent in tents)])
        wanted /= np.linalg.norm(wanted) or 1
        np.testing.assert_allclose(found[[i]].toarray().ravel(), wanted, atol=1e-6)
        assert (np.diff(found[[i]].indices) > 0).all()


def test_more_points_get_places_and_all_is_restored() -> None:
    drift, _ = _learnt()
    more = _in_order(30, seed=2)
    joined = drift.joined(more)
    assert len(joined.places) == 930
    np.testing.assert_array_equal(joined.places[900:], drift.place(more))
    again = Drift.restored(joined.state(), 930, 100)
    np.testing.assert_array_equal(again.place(more), joined.place(more))
    np.testing.assert_array_equal(again.places, joined.places)
    assert (again.knots, again.words) == (6, 50)


def test_damage_is_refused() -> None:
    state = _learnt()[0].state()
    with pytest.raises(ModelFileError, match="damaged"):
        Drift.restored({**state, "shape": np.array([6, 2**34])}, 900, 100)
    wrong = {
        "shape": np.array([1, 50]),
        "places": np.full(900, 2, dtype=np.float32),
        "bias": np.zeros(300, dtype=np.float32),
        "features": state["features"] + np.uint16(100),
    }
    for name, array in wrong.items():
        with pytest.raises(ModelFileError, match="damaged"):
            Drift.restored({**state, name: array}, 900, 100)
    for name in state:
        with pytest.raises(ModelFileError):
            Drift.restored({key: array for key, array in state.items() if key != name}, 900, 100)


def test_a_ranker_of_known_weights_may_have_biases() -> None:
    weights = sp.csr_matrix(np.array([[1.0, 0.0], [0.0, 2.0]], dtype=np.float32))
    ranker = LinearClassifiers.of(weights, bias=np.array([0.5, -1.0], dtype=np.float32))
    found = ranker.score(sp.csr_matrix(np.array([[1.0, 1.0]], dtype=np.float32) / np.sqrt(2)), np.array([[0, 1]]))
    np.testing.assert_allclose(found, [[0.5**0.5 + 0.5, 2**0.5 - 1]], rtol=1e-5)


def test_too_many_features_or_no_time_left_have_no_drift() -> None:
    X = _in_order()
    wide = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(900, 3_000_000))
    assert Drift.learn(DriftConfig(), wide, 900, Run(seed=0)) is None
    assert Drift.learn(DriftConfig(), X, 900, Run(seed=0, time_budget=1e-9)) is None


def test_weights_that_are_infinite_both_ways_place_documents_somewhere() -> None:
    state, every_word = _learnt()[0].state(), sp.csr_matrix(np.full((1, 100), 0.1, dtype=np.float32))
    with np.errstate(all="ignore"):
        wrong = Drift.restored({**state, "scale": np.full_like(state["scale"], 3e38)}, 900, 100)
        places = wrong.place(every_word)
    assert 0 <= places[0] <= 1
