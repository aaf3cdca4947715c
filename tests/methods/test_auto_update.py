"""auto takes in new points without training: their like get their labels, known or new, and the rest stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.contract import N_FEATURES, N_LABELS, assert_same, fit, known, round_trip
from zipfel.evidence.parts import classifiers
from zipfel.evidence.parts.classifiers import ClassifiersPart, is_solved_again
from zipfel.evidence.training_set import joined_labels, label_counts, new_labels
from zipfel.linear import LinearClassifiers, Problems
from zipfel.methods import Points, make_method
from zipfel.methods.auto import Auto
from zipfel.metrics import evaluate
from zipfel.state import State
from zipfel.system.threads import use_threads

NEW = N_LABELS  # the first label behind those of train
UNUSED = N_FEATURES - 1


def _fitted(**params: Any) -> Auto:
    method = fit("auto", known().train, params=params)
    assert isinstance(method, Auto)
    return method


def _part(method: Auto) -> ClassifiersPart:
    part = method.ensemble_.part("classifiers")
    assert isinstance(part, ClassifiersPart)
    return part


def _classifiers(method: Auto) -> LinearClassifiers:
    return _part(method).model


def _more(n: int, label: int, n_labels: int) -> Points:
    """Points of one label, on the last two features of noise and, one time in two, one that train has never used."""
    X = np.zeros((n, N_FEATURES), dtype=np.float32)
    X[:, UNUSED - 4], X[:, UNUSED - 3], X[::2, UNUSED] = 1.0, 0.8, 0.7
    Y = sp.csr_matrix((np.ones(n, dtype=np.float32), (np.arange(n), np.full(n, label))), shape=(n, n_labels))
    return Points(sp.csr_matrix(X), Y)


@pytest.mark.parametrize("effort", ["quick", "default"])
@pytest.mark.parametrize("label", [1, N_LABELS - 1, NEW], ids=["known", "never seen", "new"])
def test_the_like_of_a_new_point_get_its_label(label: int, effort: str) -> None:
    method, more = _fitted(effort=effort), _more(4, label, max(N_LABELS, label + 1))
    twin = more.X[:1] * np.float32(0.5)
    before = method.predict(known().test.X, 1)
    assert method.predict(twin, 1).labels[0, 0] != label
    method.partial_fit(more)
    assert method.predict(twin, 1).labels[0, 0] == label
    after = method.predict(known().test.X, 1)
    assert (after.labels == before.labels).mean() > 0.9  # others hardly notice
    assert method.training_.n_points == known().train.n_points + 4


@pytest.mark.parametrize("without", ["classifiers", "tree", "frequency"])
def test_every_part_may_be_missing(without: str) -> None:
    method = _fitted(without=without)
    method.partial_fit(_more(3, NEW, NEW + 2))  # and a label behind it that no point has
    assert method.predict(known().test.X, NEW + 2).labels.max() <= NEW
    assert evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"] > 0.7


@pytest.mark.parametrize("precision", ["float16", "float32"])
def test_weights_of_any_precision_take_new_labels(precision: str) -> None:
    method = _fitted(**{"classifiers.precision": precision})
    method.partial_fit(_more(4, NEW, NEW + 1))
    assert method.predict(_more(1, NEW, NEW + 1).X, 1).labels[0, 0] == NEW


@pytest.mark.parametrize("effort", ["quick", "default"])
def test_saved_before_or_after_it_answers_the_same(effort: str) -> None:
    method, X = _fitted(effort=effort), known().test.X
    loaded = make_method("auto", method.config.to_dict())
    assert isinstance(loaded, Auto)
    loaded.restore(round_trip(method.state()), N_FEATURES, N_LABELS)
    for each in (method, loaded):
        each.partial_fit(_more(4, NEW, NEW + 1))
        each.partial_fit(known().valid)
    assert_same(method.predict(X, 5), loaded.predict(X, 5))
    again = make_method("auto", method.config.to_dict())
    again.restore(round_trip(method.state()), N_FEATURES, NEW + 1)
    assert_same(method.predict(X, 5), again.predict(X, 5))
    sizes = [sum(array.nbytes for array in each.state().arrays.values()) for each in (method, _fitted(effort=effort))]
    assert sizes[0] < 1.6 * sizes[1]  # 34 points for 120, each of them as narrow as before


def test_classifiers_of_known_labels_learn_from_new_points() -> None:
    method = _fitted(effort="quick")
    before = _classifiers(method)
    method.partial_fit(_more(4, 1, NEW))
    after = _classifiers(method)
    assert after.weights_[1, UNUSED - 4] > before.weights_[1, UNUSED - 4]
    assert after.weights_[1, UNUSED] > 0  # a feature that no training point had


def test_classifiers_of_other_labels_stay() -> None:
    method = _fitted(effort="quick", **{"classifiers.random_negatives": 0, "classifiers.shortlist": 1})
    before = _classifiers(method)
    method.partial_fit(_more(4, NEW, NEW + 2))
    after = _classifiers(method)
    same = [label for label in range(N_LABELS) if (after.weights_[label] != before.weights_[label]).nnz == 0]
    assert len(same) >= N_LABELS - 2
    np.testing.assert_array_equal(after.bias_[same], before.bias_[same])
    assert after.weights_[NEW, UNUSED - 4] > 0
    assert after.bias_[NEW + 1] == -1
    assert after.weights_[NEW + 1].nnz == 0


def test_a_label_is_solved_again_with_the_points_before_once_it_has_grown() -> None:
    """Known points count again for a label whose points have become many more, and only for such a label."""
    method = _fitted(effort="quick")
    solved, n_before = _part(method).solved, method.training_.n_points
    assert solved is not None
    few, many = 0, 1
    more = _more(40, many, N_LABELS)
    method.partial_fit(more)
    after = _part(method).solved
    assert after is not None

    def known(problems: Problems, label: int) -> dict[int, float]:
        own = slice(problems.ptr[label], problems.ptr[label + 1])
        pairs = zip(problems.docs[own].tolist(), problems.dual[own].tolist(), strict=True)
        return {doc: dual for doc, dual in pairs if doc < n_before}

    assert known(after, few) == known(solved, few)
    assert known(after, many) != known(solved, many)
    positives = after.docs[after.ptr[many] : after.ptr[many] + after.n_positive[many]]
    assert (positives >= n_before).any()


@pytest.mark.parametrize(("size", "before", "again"), [(1, 100, False), (10, 100, True), (1, 3, True), (0, 3, False)])
def test_a_label_is_solved_again_when_it_passes_a_power_of_the_growth(size: int, before: int, again: bool) -> None:
    """1.1^48 = 97.0, 1.1^49 = 106.7; 1.1^11 = 2.9, 1.1^12 = 3.1"""
    counts = sp.csr_matrix(np.ones((before + size, 1), dtype=np.float32))
    new = Problems.build(counts[before:], np.zeros((size, 0), dtype=np.int32))
    assert is_solved_again(label_counts(counts), new).tolist() == [again]


@pytest.mark.parametrize("why", ["older model", "too few words"])
def test_without_the_points_before_it_learns_from_the_new_ones_alone(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method = _fitted(effort="quick")
    if why == "older model":
        state = method.state()
        arrays = {name: array for name, array in state.arrays.items() if ".solved." not in name}
        method.restore(round_trip(State(arrays, state.facts)), N_FEATURES, N_LABELS)
    else:
        monkeypatch.setattr(classifiers, "_SHARE_OF_WORDS", 1.1)
    before = _classifiers(method)
    method.partial_fit(_more(4, 1, NEW))
    assert _part(method).solved is None
    assert _classifiers(method).weights_[1, UNUSED] > before.weights_[1, UNUSED]


def test_updates_are_the_same_on_one_and_two_threads() -> None:
    found = []
    for threads in (1, 2):
        method = _fitted(effort="quick")
        with use_threads(threads):
            method.partial_fit(known().valid)
        found.append(_classifiers(method))
    assert (found[0].weights_ != found[1].weights_).nnz == 0
    np.testing.assert_array_equal(found[0].bias_, found[1].bias_)


@pytest.mark.parametrize("effort", ["quick", "default"])
def test_new_features_count(effort: str) -> None:
    method, X = _fitted(effort=effort), known().test.X
    before = method.predict(X, 1)
    new = sp.csr_matrix((np.ones(3, np.float32), (np.arange(3), np.full(3, N_FEATURES + 1))), (3, N_FEATURES + 2))
    Y = sp.csr_matrix((np.ones(3, np.float32), (np.arange(3), np.full(3, NEW))), (3, NEW + 1))
    method.partial_fit(Points(new, Y))
    assert method.predict(new[:1], 1).labels[0, 0] == NEW
    wide = sp.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], N_FEATURES + 2))
    assert (method.predict(wide, 1).labels == before.labels).mean() > 0.95
    again = make_method("auto", method.config.to_dict())
    again.restore(round_trip(method.state()), N_FEATURES + 2, NEW + 1)
    assert_same(method.predict(wide, 5), again.predict(wide, 5))
    again.partial_fit(Points(new, Y))
    assert again.predict(new[:1], 1).labels[0, 0] == NEW


def test_rows_without_features_or_labels_do_no_harm() -> None:
    method = _fitted()
    empty = Points(sp.csr_matrix((2, N_FEATURES), dtype=np.float32), known().train.Y[:2])
    method.partial_fit(empty)
    method.partial_fit(Points(known().test.X[:2], sp.csr_matrix((2, N_LABELS), dtype=np.float32)))
    method.partial_fit(Points(empty.X[:0], empty.Y[:0]))
    assert evaluate(method.predict(known().test.X, 1), known().test.Y, ks=(1,))["P@1"] > 0.9


def test_new_labels_are_those_that_only_new_points_have() -> None:
    Y = joined_labels(sp.csr_matrix([[1.0, 0, 0]]), sp.csr_matrix([[1.0, 1, 0, 0, 1], [0, 0, 0, 0, 1]]))
    assert Y.shape == (3, 5)
    assert new_labels(Y, 1).tolist() == [1, 4]
