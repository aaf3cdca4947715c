"""What is remarked about data that look wrong, and what is not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel import Zipfel
from zipfel.data import Dataset
from zipfel.data.remarks import remarks_on, remarks_on_unknown
from zipfel.errors import DataWarning
from zipfel.estimator.inputs import as_dataset

N = 60
TEXTS = [f"text number {i}" for i in range(N)]


def test_sound_data_have_no_remarks() -> None:
    assert not remarks_on(as_dataset(TEXTS, [[f"label {i % 7}"] for i in range(N)]))
    assert not remarks_on(as_dataset(TEXTS, [[f"law, part {i % 29}"] for i in range(N)]))


def test_few_documents_are_an_example() -> None:
    assert not remarks_on(as_dataset(TEXTS[:10], [[str(i)] for i in range(10)]))


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([[f"{i}"] for i in range(N)], "every document has a label of its own (60 labels in 60 documents)"),
        ([[f"{min(i, 57)}"] for i in range(N)], "nearly every document has a label of its own (58 labels"),
        ([[f"{i}", f"other {i}"] for i in range(N)], "each of the 120 labels occurs only once"),
        ([[f"a{i % 6};b{i // 6 % 6}"] for i in range(N)], "labels look like several in one, such as 'a0;b0'"),
    ],
)
def test_labels(labels: list[list[str]], sentence: str) -> None:
    assert [sentence in remark for remark in remarks_on(as_dataset(TEXTS, labels))] == [True]


@pytest.mark.parametrize("numbers", [False, True])
def test_copies(numbers: bool) -> None:
    Y = sp.csr_matrix(np.eye(5, dtype=np.float32)[np.arange(N) % 5])
    X = sp.random(30, 50, 0.3, format="csr", random_state=0, dtype=np.float32)
    texts = [*TEXTS[:30], *TEXTS[:30]]
    data = Dataset(Y=Y, X=sp.vstack([X, X]).tocsr() if numbers else None, texts=None if numbers else texts)
    (remark,) = remarks_on(data)
    assert remark.startswith("30 of 60 documents are copies")


def test_unknown_labels() -> None:
    truth = sp.csr_matrix(np.eye(4, dtype=np.float32))
    assert not remarks_on_unknown(truth, np.ones(4, dtype=bool))
    (some,) = remarks_on_unknown(truth, np.array([True, True, False]))
    assert some.startswith("50 % of the true labels are unknown")
    (every,) = remarks_on_unknown(truth, np.zeros(2, dtype=bool), ["a", "b"], ["x", "y", "z"])
    assert every.endswith("the model has 'a', 'b', the test data 'x', 'y', 'z'")
    (none,) = remarks_on_unknown(sp.csr_matrix((3, 2), dtype=np.float32), np.ones(2, dtype=bool))
    assert "no document of the test data has a label" in none


def test_an_estimator_warns_at_the_users_line() -> None:
    with pytest.warns(DataWarning, match="label of its own") as told:
        model = Zipfel("knn").fit(TEXTS, [[str(i)] for i in range(N)])
    assert {warning.filename for warning in told} == {__file__}
    with pytest.warns(DataWarning, match="100 %|all of the true labels are unknown"):
        model.evaluate(TEXTS[:3], [["unknown"]] * 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Zipfel("knn").fit(TEXTS, [[str(i % 5)] for i in range(N)])
