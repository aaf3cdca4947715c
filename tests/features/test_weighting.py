"""Weights of ready-made features, by hand and against scikit-learn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from zipfel.errors import DataError, ModelFileError, NotFittedError, ParameterError
from zipfel.features import Weighting, weighting
from zipfel.system.threads import use_threads

X = sp.csr_matrix(np.array([[3, 4, 0], [0, 2, 0], [0, 0, 0]], dtype=np.float32))


def test_none_and_l2_by_hand() -> None:
    assert Weighting("none").fit_transform(X).toarray().tolist() == X.toarray().tolist()
    np.testing.assert_allclose(
        Weighting("l2").fit_transform(X).toarray(), [[0.6, 0.8, 0], [0, 1, 0], [0, 0, 0]], rtol=1e-6
    )


def test_tfidf_by_hand() -> None:
    first, second = 3 * (math.log(4 / 2) + 1), 4 * (math.log(4 / 3) + 1)
    length = math.hypot(first, second)
    expected = [[first / length, second / length, 0], [0, 1, 0], [0, 0, 0]]
    np.testing.assert_allclose(Weighting("tfidf").fit_transform(X).toarray(), expected, rtol=1e-6)


def test_a_stored_zero_is_no_occurrence() -> None:
    stored = sp.csr_matrix((np.float32([1, 0]), [0, 0], [0, 1, 2]), shape=(2, 1))
    assert Weighting("tfidf").fit(stored).arrays()["idf"].tolist() == pytest.approx([math.log(3 / 2) + 1])


def test_equal_to_sklearn_on_new_rows_and_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighting, "_BLOCK", 100)
    rows = sp.random(300, 50, 0.1, "csr", dtype=np.float32, random_state=0)
    train, new = rows[:200], rows[200:]
    before = new.copy()
    expected = TfidfTransformer().fit(train).transform(new)
    for threads in (1, 3):
        with use_threads(threads):
            found = Weighting("tfidf").fit(train).transform(new)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-6)
    assert (new != before).nnz == 0


def test_duplicates_are_summed_and_columns_sorted() -> None:
    messy = sp.csr_matrix((np.float32([1, 4, 2]), [2, 0, 2], [0, 3]), shape=(1, 3))
    found = Weighting("l2").transform(messy)
    assert found.indices.tolist() == [0, 2]
    np.testing.assert_allclose(found.data, [0.8, 0.6], rtol=1e-6)
    assert messy.nnz == 3


def test_huge_and_tiny_values_keep_their_direction() -> None:
    extreme = sp.csr_matrix(np.float32([[3e38, 3e38], [1e-40, 0]]))
    np.testing.assert_allclose(Weighting("l2").transform(extreme).toarray(), [[0.5**0.5, 0.5**0.5], [1, 0]], rtol=1e-3)


@pytest.mark.parametrize("kind", ["none", "l2", "tfidf"])
def test_restored_is_the_same(kind: str) -> None:
    fitted = Weighting(kind).fit(X)
    again = Weighting.restore(kind, fitted.arrays(), 3)
    np.testing.assert_array_equal(again.transform(X).toarray(), fitted.transform(X).toarray())


@pytest.mark.parametrize(
    "idf",
    [
        None,
        np.float32([1, 2]),
        np.float64([1, 2, 3]),
        np.float32([1, np.nan, 2]),
        np.float32([1, np.inf, 2]),
        np.float32([0, 1, 1]),
    ],
    ids=str,
)
def test_a_damaged_state_is_refused(idf: Any) -> None:
    with pytest.raises(ModelFileError, match="idf"):
        Weighting.restore("tfidf", {} if idf is None else {"idf": idf}, 3)


def test_wrong_use_is_told_in_words() -> None:
    with pytest.raises(ParameterError, match="did you mean 'tfidf'"):
        Weighting("tfid")
    with pytest.raises(ModelFileError):
        Weighting.restore("bm25", {}, 3)
    with pytest.raises(NotFittedError):
        Weighting("tfidf").transform(X)
    with pytest.raises(DataError, match="2 features, but 3"):
        Weighting("tfidf").fit(X).transform(X[:, :2])
