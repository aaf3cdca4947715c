from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.data import Dataset, ReadReport, binary, label_matrix
from zipfel.errors import DataError

Y = label_matrix(np.array([0, 0, 1]), np.array([2, 0, 1]), (3, 3))


def small() -> Dataset:
    return Dataset(Y=Y, texts=["x", "y", "z"], label_names=["a", "b", "c"], ids=["1", "2", "3"])


def test_parts_must_agree() -> None:
    with pytest.raises(DataError, match="features X or texts"):
        Dataset(Y=Y)
    with pytest.raises(DataError, match="texts has 2 rows but Y has 3"):
        Dataset(Y=Y, texts=["x", "y"])
    with pytest.raises(DataError, match="there are 1 label names for 3 columns"):
        Dataset(Y=Y, texts=["x", "y", "z"], label_names=["a"])


def test_take_keeps_order_and_columns() -> None:
    taken = small().take(np.array([2, 0]))
    assert (taken.texts, taken.ids, taken.n_labels) == (["z", "x"], ["3", "1"], 3)
    assert taken.Y.toarray().tolist() == [[0, 0, 0], [1, 0, 1]]


def test_relabel_drops_or_extends() -> None:
    dropped = small().relabel(["c", "q", "b"])
    assert dropped.label_names == ["c", "q", "b"]
    assert dropped.Y.toarray().tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    extended = small().relabel(["c", "q"], extend=True)
    assert extended.label_names == ["c", "q", "a", "b"]
    assert extended.Y.toarray().tolist() == [[1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    with pytest.raises(DataError, match="has none"):
        Dataset(Y=Y, texts=["x", "y", "z"]).relabel(["a"])


def test_counts_and_fingerprint() -> None:
    assert small().label_counts().tolist() == [1, 1, 1]
    assert small().fingerprint() == small().fingerprint()
    assert small().fingerprint() != small().take(np.array([0, 2, 1])).fingerprint()


def test_labels_are_ones() -> None:
    assert label_matrix(np.array([0, 0]), np.array([1, 1]), (1, 2)).data.tolist() == [1.0]
    assert binary(sp.csr_matrix(np.array([[0.5, 0, -2]]))).toarray().tolist() == [[1, 0, 1]]


def test_reports_speak_only_of_what_was_mended() -> None:
    assert ReadReport().sentences() == []
    assert ReadReport(1200, 2, 3, 4).sentences() == [
        "1,200 duplicate features in a row were summed",
        "2 duplicate labels in a row were merged",
        "3 rows have no labels; they are kept",
        "4 rows have no features; they are kept",
    ]
