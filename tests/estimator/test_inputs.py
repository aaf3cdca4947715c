"""What users hand in as X and Y."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.data import Dataset
from zipfel.errors import DataError
from zipfel.estimator.inputs import as_csr, as_dataset, as_features, as_labels, with_columns


def test_labels_in_every_form_are_the_same() -> None:
    want = np.array([[1, 0, 1], [0, 1, 0]], dtype=np.float32)
    names = [["a", "c", "a"], ["b"]]
    for given in (want, sp.csr_matrix(want * 7), sp.coo_array(want), [[0, 2], [1]], [np.array([2, 0]), (1,)]):
        found, labels = as_labels(given)
        np.testing.assert_array_equal(found.toarray(), want)
        assert labels is None
    found, labels = as_labels(names)
    np.testing.assert_array_equal(found.toarray(), want)
    assert labels == ["a", "b", "c"]


def test_given_names_set_the_columns() -> None:
    found, labels = as_labels([["a"], []], ["z", "a"])
    assert found.toarray().tolist() == [[0, 1], [0, 0]]
    assert labels == ["z", "a"]
    with pytest.raises(DataError, match="'q'"):
        as_labels([["q"]], ["z", "a"])
    with pytest.raises(DataError, match="label id 5"):
        as_labels([[5]], ["z", "a"])


@pytest.mark.parametrize("bad", [[["a", 1]], [[-1]], [[True]], [None], [[1.5]]])
def test_bad_labels_are_refused(bad: object) -> None:
    with pytest.raises(DataError):
        as_labels(bad)


def test_features_are_copied_and_cleaned() -> None:
    given = sp.csr_matrix(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    found = as_csr(given)
    assert found.toarray().tolist() == [[0, 3], [0, 0]]
    assert found.dtype == np.float32
    assert found.nnz == 1
    found.data[:] = 9
    assert given.toarray().tolist() == [[0, 3], [0, 0]]


@pytest.mark.parametrize(
    "bad", ["one text", [["a"]], ["a", 3], 5, np.ones(3), np.array([[1j]]), np.array([[np.nan]]), [[np.inf]]]
)
def test_bad_features_are_refused(bad: object) -> None:
    with pytest.raises(DataError):
        as_features(bad)


def test_a_dataset_brings_its_own_labels() -> None:
    data = Dataset(Y=sp.csr_matrix([[1.0]]), texts=["a"])
    assert as_dataset(data, None) is data
    with pytest.raises(DataError, match="leave Y out"):
        as_dataset(data, [[0]])
    with pytest.raises(DataError, match="requires y"):
        as_dataset(["a"], None)
    with pytest.raises(DataError, match="rows"):
        as_dataset(["a", "b"], [[0]])


def test_columns_are_cut_or_added() -> None:
    X = sp.csr_matrix(np.array([[1.0, 2.0], [0.0, 3.0]]))
    assert with_columns(X, 1).toarray().tolist() == [[1], [0]]
    assert with_columns(X, 3).toarray().tolist() == [[1, 2, 0], [0, 3, 0]]


@pytest.mark.parametrize(
    ("indices", "indptr"), [([0, 9], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 5, 2]), ([0, 1], [0, 1, 99])]
)
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.csr_array])
def test_a_malformed_matrix_is_an_error_and_no_crash(indices: list[int], indptr: list[int], kind: Any) -> None:
    matrix = kind(np.eye(2, dtype=np.float32))
    matrix.indices, matrix.indptr = np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32)
    with pytest.raises(DataError, match="malformed"):
        as_csr(matrix)
    with pytest.raises(DataError, match="malformed"):
        as_labels(matrix)
