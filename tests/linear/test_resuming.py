"""Classifiers that go on with old and new documents, against numbers worked out by hand and a fit of all documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.linear import LinearClassifiers, LinearConfig, Problems, continued, resumed, resuming, with_new_documents

EXACT = LinearConfig(cost=1.0, tolerance=1e-6, iterations=2000, threshold=0.0, precision="float32", damping=1.0)


def _csr(rows: Any) -> sp.csr_matrix:
    return sp.csr_matrix(np.array(rows, dtype=np.float32))


def _everywhere(Y: sp.csr_matrix) -> np.ndarray:
    return np.tile(np.arange(Y.shape[1], dtype=np.int32), (Y.shape[0], 1))


def _points(n: int = 90, d: int = 20, labels: int = 6) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    rng = np.random.default_rng(3)
    X = sp.random(n, d, 0.4, format="csr", dtype=np.float32, random_state=rng)
    scores = X @ rng.standard_normal((d, labels))
    return X, sp.csr_matrix((scores > np.quantile(scores, 0.7, axis=0)).astype(np.float32))


def test_the_old_dual_variable_falls_as_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """One positive document x = 1, with the bias of length 2: 2 a - 1 + a / 2 = 0 gives a = 0.4. With a second one like
    it, 4 a - 1 + a / 2 = 0 gives a = 2 / 9 for both. If the old one stays 0.4, the new one is 0.08."""
    monkeypatch.setattr(resuming, "PASSES", 2000)
    none = np.full((1, 1), -1, dtype=np.int32)
    problems = Problems.build(_csr([[1]]), none)
    model = LinearClassifiers(EXACT).fit(_csr([[1]]), problems)
    assert problems.dual == pytest.approx([0.4], abs=1e-4)
    new = Problems.build(_csr([[1]]), none)
    assert continued(model, _csr([[1]]), new, share=1.0).weights_[0, 0] == pytest.approx(0.48, abs=1e-4)
    assert new.dual == pytest.approx([0.08], abs=1e-4)
    both = with_new_documents(problems, Problems.build(_csr([[1]]), none), 1, _csr([[1], [1]]))
    found = resumed(model, _csr([[1], [1]]), both, np.array([0]))
    assert both.dual == pytest.approx([2 / 9, 2 / 9], abs=1e-4)
    assert found.weights_[0, 0] == pytest.approx(4 / 9, abs=1e-4)
    assert found.bias_ == pytest.approx([4 / 9], abs=1e-4)


def test_it_comes_near_to_the_fit_of_all_documents_and_leaves_other_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "PASSES", 2000)
    X, Y = _points()
    solved, new = (Problems.build(part, _everywhere(part)) for part in (Y[:60], Y[60:]))
    model = LinearClassifiers(EXACT).fit(X[:60], solved)
    whole = LinearClassifiers(EXACT).fit(X, Problems.build(Y, _everywhere(Y)))
    problems = with_new_documents(solved, new, 60, Y)
    before = problems.dual.copy()
    asked = np.array([1, 4])
    found = resumed(model, X, problems, asked)
    far, near = (np.abs((each.weights_ - whole.weights_).toarray()).max(axis=1) for each in (model, found))
    assert (near[asked] < far[asked] / 4).all()  # shrinking, which a start from duals begins with, leaves a little
    others = np.setdiff1d(np.arange(6), asked)
    np.testing.assert_array_equal(found.weights_[others].toarray(), model.weights_[others].toarray())
    np.testing.assert_array_equal(found.bias_[others], model.bias_[others])
    for label in range(6):
        own = slice(problems.ptr[label], problems.ptr[label + 1])
        assert np.array_equal(problems.dual[own], before[own]) == (label in others)


def test_without_labels_the_model_stays() -> None:
    X, Y = _points()
    problems = Problems.build(Y, _everywhere(Y))
    model = LinearClassifiers(EXACT).fit(X, problems)
    assert resumed(model, X, problems, np.zeros(0, dtype=np.int64)) is model


def test_problems_of_old_and_new_documents() -> None:
    """All positives of both; negatives of the old ones only if they count, of the new ones all."""
    old = Problems.build(_csr([[1, 0], [0, 1], [0, 0]]), np.array([[1], [-1], [0]], dtype=np.int32))
    old.dual[:] = [0.5, 0.25, 0.0, 0.75]  # label 0: document 0, not 2; label 1: document 1, not 0
    new = Problems.build(_csr([[1, 0]]), np.array([[1]], dtype=np.int32))
    found = with_new_documents(old.without_zeros(), new, 3, _csr([[1, 0], [0, 1], [0, 0], [1, 0]]))
    assert found.ptr.tolist() == [0, 3, 6]
    assert found.n_positive.tolist() == [2, 1]
    assert found.docs.tolist() == [0, 3, 2, 1, 0, 3]
    assert found.dual.tolist() == [0.5, 0, 0.25, 0, 0.75, 0]


def test_labels_are_picked_and_joined() -> None:
    X, Y = _points()
    problems = Problems.build(Y, _everywhere(Y))
    LinearClassifiers(EXACT).fit(X, problems)
    parts = [problems.of_labels(np.array(labels)) for labels in ([0, 1, 2], [3, 4, 5])]
    found = parts[0].joined(parts[1])
    for name in ("ptr", "docs", "n_positive", "dual"):
        np.testing.assert_array_equal(getattr(found, name), getattr(problems, name))
    empty = problems.joined(Problems.empty(2)).of_labels(np.array([7, 2]))
    assert np.diff(empty.ptr).tolist() == [0, np.diff(problems.ptr)[2]]


def test_stored_problems_come_back_as_they_were_used() -> None:
    X, Y = _points()
    problems = Problems.build(Y, _everywhere(Y))
    LinearClassifiers(EXACT).fit(X, problems)
    kept = problems.as_stored()
    assert 0 < len(kept.docs) < len(problems.docs)
    again = Problems.restored(kept.state(), 90, 6)
    assert kept.state()["docs"].dtype == np.uint16
    far = replace(kept, docs=kept.docs + (1 << 16))
    np.testing.assert_array_equal(Problems.restored(far.state(), 1 << 17, 6).docs, far.docs)
    for name in ("ptr", "docs", "n_positive", "dual"):
        np.testing.assert_array_equal(getattr(again, name), getattr(kept, name))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("docs", lambda a: a + 90),
        ("docs", lambda a: a - 90),
        ("docs", lambda a: a[:-1]),
        ("ptr", lambda a: a[::-1].copy()),
        ("ptr", lambda a: a.astype(np.int32)),
        ("n_positive", lambda a: a + 1000),
        ("n_positive", lambda a: -a),
        ("dual", lambda a: -a),
        ("dual", lambda a: a * np.float16(np.nan)),
    ],
)
def test_damaged_problems_are_refused(name: str, change: Any) -> None:
    X, Y = _points()
    problems = Problems.build(Y, _everywhere(Y))
    LinearClassifiers(EXACT).fit(X, problems)
    state = problems.as_stored().state()
    with pytest.raises(ModelFileError, match="problems in the model are damaged"):
        Problems.restored({**state, name: change(state[name])}, 90, 6)
    with pytest.raises(ModelFileError, match="lack"):
        Problems.restored({"docs": state["docs"]}, 90, 6)
