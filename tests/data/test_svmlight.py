from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from tests.data.conftest import Put
from zipfel.data import read
from zipfel.errors import DataError


def test_rows_comments_and_empty_lines(good: Path) -> None:
    dataset = read(good / "rows.svm")
    assert dataset.X is not None
    assert dataset.X.toarray().tolist() == [[1, 0, 0, 0, 2, 0], [0, 0, 0, 0, 0, 1], [0] * 6]
    assert dataset.Y.toarray().tolist() == [[0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]]


def test_a_line_with_a_space_is_a_row(put) -> None:
    assert read(put("a.svm", "1 2:1\n \n\n0 1:1\n")).n_points == 3


def test_it_is_recognised_without_its_suffix(put) -> None:
    assert read(put("data.txt", "1,2 2:1\n0 1:1 7:0.5\n")).n_features == 8


def test_it_agrees_with_scikit_learn(put) -> None:
    rng = np.random.default_rng(0)
    X = sp.random(40, 30, 0.2, format="csr", random_state=0)
    Y = (rng.random((40, 6)) < 0.3).astype(int)
    Y[:, 0] = 1  # scikit-learn cannot read a row without labels
    buffer = io.BytesIO()
    dump_svmlight_file(X, Y, buffer, multilabel=True)
    dataset = read(put("s.svm", buffer.getvalue()))
    theirs, labels = load_svmlight_file(io.BytesIO(buffer.getvalue()), multilabel=True, zero_based=True)
    assert dataset.X is not None
    np.testing.assert_array_equal(dataset.X.toarray(), theirs.toarray().astype(np.float32))
    assert [tuple(map(float, row.indices)) for row in dataset.Y] == labels


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 2:1\n1 3:nan\n", ":2: .*'nan'"),
        ("1 2:1\n1 -3:1\n", ":2: .*'-3'"),
        ("1 2:1\n# fine\n1 qid:1\n", ":3: .*'qid'"),
        ("1 2:1\n1 4000000000:1\n", ":2: .*out of range: zipfel takes ids below 100,000,000"),
        ("1.5 2:1\n", ":1: .*'1.5'"),
        ("# only a remark\n", "has no rows"),
    ],
)
def test_broken_files(put, content: str, message: str) -> None:
    with pytest.raises(DataError, match="b.svm" + (message if message[0] == ":" else ".*" + message)):
        read(put("b.svm", content))


def test_a_label_that_stands_twice_counts_once(put: Put) -> None:
    found = read(put("rows.svm", "1,1,2 0:1\n"))
    assert found.Y.toarray().tolist() == [[0, 1, 1]]
    assert found.report.duplicate_labels == 1
