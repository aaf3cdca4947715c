"""Scores of single labels, against a count by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import DataError
from zipfel.metrics.per_label import is_hit, label_scores
from zipfel.ranking import Ranking


def ranking(labels: list[list[int]]) -> Ranking:
    ids = np.array(labels, dtype=np.int64)
    return Ranking(ids, np.where(ids < 0, -np.inf, 1.0).astype(np.float32))


def test_by_hand() -> None:
    truth = sp.csr_matrix(np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0]]))
    found = label_scores(ranking([[0, 1], [1, -1], [2, 0]]), truth, k=2)
    assert found.support.tolist() == [2, 2, 1]
    assert found.predicted.tolist() == [2, 2, 1]
    assert found.hits.tolist() == [2, 1, 0]
    np.testing.assert_allclose(found.precision, [1, 0.5, 0])
    np.testing.assert_allclose(found.recall, [1, 0.5, 0])
    np.testing.assert_allclose(found.f1, [1, 0.5, 0])
    assert (found.missed.tolist(), found.wrong.tolist()) == ([0, 1, 1], [0, 1, 1])


def test_only_the_first_k_count() -> None:
    truth = sp.csr_matrix(np.array([[1, 1]]))
    assert label_scores(ranking([[0, 1]]), truth, k=1).predicted.tolist() == [1, 0]


def test_hits_with_padding_and_without_truth() -> None:
    assert is_hit(np.array([[0, -1]]), sp.csr_matrix(np.array([[1, 0]]))).tolist() == [[True, False]]
    assert not is_hit(np.array([[0, -1]]), sp.csr_matrix((1, 2))).any()


def test_as_many_rows_as_documents() -> None:
    with pytest.raises(DataError, match="2 rows, but 1"):
        label_scores(ranking([[0]]), sp.csr_matrix((2, 1)))
