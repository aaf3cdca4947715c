"""Auto on long documents in an order: what words mean changes along the file; whole models with drift and neighbours
that share a voice are saved, explained and go on."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.index.sparse import unit_csr
from zipfel.methods import Points, make_method
from zipfel.methods.auto import Auto, AutoConfig
from zipfel.run import Run

N, N_TOPICS, N_TIMES = 1200, 8, 300
WHOLE = {"codes": False, "forest": False, "conjunctions": False, "valid_share": 0.25}  # enough for products


@pytest.fixture(autouse=True)
def _small_documents_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfel.methods.auto_parts._FEW_LONG", 100)
    monkeypatch.setattr("zipfel.methods.auto_parts._FEW_FEATURES", 50)
    monkeypatch.setattr("zipfel.evidence.setting._LONG", 5)


def _changing(seed: int, n: int = N) -> Points:
    """Two words of topics and eight of the time; in the second half of the file a topic has the label that the next
    one had in the first: no sum over words tells both."""
    rng = np.random.default_rng(seed)
    place = np.linspace(0, 1, n)
    topics = rng.integers(N_TOPICS, size=(n, 2))
    times = N_TOPICS + np.clip(rng.normal(place[:, None] * N_TIMES, 12, (n, 8)), 0, N_TIMES - 1).astype(int)
    words = np.hstack([topics, topics, times])
    X = sp.csr_matrix((np.ones(words.size), (np.repeat(np.arange(n), words.shape[1]), words.ravel())))
    X.resize(n, N_TOPICS + N_TIMES)
    labels = (topics + (place > 0.5)[:, None]) % N_TOPICS
    Y = sp.csr_matrix((np.ones(2 * n), (np.repeat(np.arange(n), 2), labels.ravel())), shape=(n, N_TOPICS))
    Y.data[:] = 1
    return Points(unit_csr(sp.csr_matrix(X, dtype=np.float32)), sp.csr_matrix(Y, dtype=np.float32))


def _fitted(train: Points, **params: bool) -> Auto:
    method = make_method("auto", {**WHOLE, **params})
    assert isinstance(method, Auto)
    method.fit(train, None, Run(seed=1, threads=1))
    return method


def _hits(method: Auto, points: Points) -> float:
    best = method.predict(points.X, 1).labels[:, 0]
    return float(np.mean([points.Y[i, label] > 0 for i, label in enumerate(best)]))


def test_classifiers_alone_know_what_words_mean_where_a_document_stands() -> None:
    train, test = _changing(0), _changing(1, 400)
    alone = {"votes": False, "prior": False, "neighbourhood": False}
    drifting, plain = _fitted(train, **alone), _fitted(train, drift=False, **alone)
    assert drifting.drift_ is not None
    assert plain.drift_ is None
    assert np.abs(drifting.ranker_.weights_.data).min() > 0.09 > np.abs(plain.ranker_.weights_.data).min()
    assert _hits(drifting, test) > _hits(plain, test) + 0.1


def test_a_file_in_no_order_has_no_drift() -> None:
    train = _changing(0).take(np.random.default_rng(0).permutation(N))
    assert _fitted(train).drift_ is None


def test_with_drift_it_is_saved_and_single_documents_are_answered_as_among_others() -> None:
    train, test = _changing(0), _changing(1, 40)
    method, again = _fitted(train), Auto(AutoConfig.from_dict(WHOLE))
    assert method.drift_ is not None
    assert method.further_.neighbourhood is not None
    state = method.state()
    again.restore(state, train.n_features, train.n_labels)
    whole = method.predict(test.X, 5)
    np.testing.assert_array_equal(again.predict(test.X, 5).scores, whole.scores)
    for i in (0, 17, 39):
        np.testing.assert_array_equal(method.predict(test.X[[i]], 5).labels[0], whole.labels[i])
    state.arrays["drift.places"] = state.arrays["drift.places"][1:]
    with pytest.raises(ModelFileError, match="places"):
        Auto(AutoConfig.from_dict(WHOLE)).restore(state, train.n_features, train.n_labels)


def test_with_drift_reasons_add_up_word_by_word() -> None:
    train = _changing(0)
    method = _fitted(train)
    x = train.X[[900]]
    ranking = method.predict(x, 3)
    labels = ranking.labels[0].tolist()
    found = method.explain(x, labels)
    for label, score in zip(labels, ranking.scores[0], strict=True):
        assert sum(found.evidence[label].values()) == pytest.approx(float(score), abs=1e-4)
    best = labels[0]
    assert found.top(best, 1)[0][0] == (best - 1) % N_TOPICS  # the topic's word of the second half, at its knots
    assert "neighbourhood" in found.evidence[best]
    assert found.evidence[best]["evidence together"] != 0
    without = _fitted(train, products=False)
    assert without.blend_.products is None
    assert without.explain(x, labels).evidence[best]["evidence together"] == 0


def test_new_points_and_labels_join_where_their_words_place_them() -> None:
    train = _changing(0)
    method = _fitted(train)
    new = _changing(2, 30).X.tolil()
    new[:, :N_TOPICS] = 0
    new[:, 3], new[:, 4] = 1, 1  # two topics in each, always
    rows = unit_csr(sp.csr_matrix(new, dtype=np.float32))
    joining = sp.csr_matrix((np.ones(30), (range(30), [N_TOPICS] * 30)), shape=(30, N_TOPICS + 1))
    method.partial_fit(Points(rows, sp.csr_matrix(joining, dtype=np.float32)))
    assert method.drift_ is not None
    assert len(method.drift_.places) == N + 30
    np.testing.assert_array_equal(method.drift_.places[N:], method.drift_.place(rows))
    assert (method.predict(rows, 3).labels == N_TOPICS).any(axis=1).mean() > 0.8
    again = Auto(AutoConfig.from_dict(WHOLE))
    again.restore(method.state(), train.n_features, N_TOPICS + 1)
    np.testing.assert_array_equal(again.predict(rows, 3).scores, method.predict(rows, 3).scores)


def test_a_validation_set_has_no_say_in_the_order() -> None:
    """Its points stand behind those of train, but not in the file."""
    train, valid = _changing(0), _changing(1, 200)
    method = make_method("auto", WHOLE)
    assert isinstance(method, Auto)
    method.fit(train, valid, Run(seed=1, threads=1))
    assert method.drift_ is not None
    assert np.abs(method.drift_.places[N:] - np.linspace(0, 1, 200)).mean() < 0.1


def test_without_classifiers_or_time_there_is_no_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    train = _changing(0)
    method = _fitted(train, classifiers=False)
    assert method.drift_ is None
    assert method.predict(train.X[:3], 2).labels.shape == (3, 2)
    monkeypatch.setattr("zipfel.methods.auto._REST", 1e9)
    hurried = make_method("auto", WHOLE)
    assert isinstance(hurried, Auto)
    hurried.fit(train, None, Run(seed=1, threads=1, time_budget=60))
    assert hurried.drift_ is None
    assert hurried.further_.neighbourhood is None


def test_candidates_behind_the_best_stay_behind_when_many_are_asked_for() -> None:
    """And words that no point of train has, in a validation set, make a model all the same."""
    train = _changing(0)
    method = _fitted(train)
    ranking = method.predict(train.X[:20], N_TOPICS)
    assert (np.diff(ranking.scores, axis=1) <= 0).all()
    strange = sp.csr_matrix(np.roll(np.eye(400, train.n_features + 400, dtype=np.float32), train.n_features, axis=1))
    known = train.X.copy()
    known.resize(N, train.n_features + 400)
    answers = []
    for products in (True, False):
        model = make_method("auto", {**WHOLE, "drift": False, "products": products})
        model.fit(Points(known, train.Y), Points(strange, train.Y[:400]), Run(seed=1, threads=1))
        answers.append(model.predict(known[:50], 3).labels)
    np.testing.assert_array_equal(*answers)
