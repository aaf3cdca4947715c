from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from tests.contract import fit
from zipfel.methods import Points
from zipfel.methods.popular import fill_blank
from zipfel.ranking import Ranking

X = sp.csr_matrix(np.eye(4, dtype=np.float32))
Y = sp.csr_matrix(np.array([[0, 1, 1, 0, 0], [0, 1, 0, 0, 1], [0, 0, 1, 0, 0], [0, 0, 1, 0, 0]], dtype=np.float32))


def test_labels_by_frequency_and_none_that_was_never_seen() -> None:
    ranking = fit("popular", Points(X, Y)).predict(X[:2], 5)
    np.testing.assert_array_equal(ranking.labels, [[2, 1, 4, -1, -1]] * 2)
    np.testing.assert_array_equal(ranking.scores[0, :3], [0.75, 0.5, 0.25])


def test_ties_go_to_the_lowest_id() -> None:
    all_once = sp.csr_matrix(np.eye(4, dtype=np.float32)[::-1])
    ranking = fit("popular", Points(X, all_once)).predict(X[:1], 3)
    np.testing.assert_array_equal(ranking.labels, [[0, 1, 2]])


def test_only_rows_without_any_label_are_filled() -> None:
    found = Ranking(np.array([[3, -1], [-1, -1]]), np.array([[0.5, -np.inf], [-np.inf, -np.inf]], dtype=np.float32))
    filled = fill_blank(found, np.array([0.1, 0, 0.2, 0], dtype=np.float32))
    np.testing.assert_array_equal(filled.labels, [[3, -1], [2, 0]])
    np.testing.assert_allclose(filled.scores[1], [0.2, 0.1])
    assert fill_blank(found[:1], np.zeros(4, dtype=np.float32)) is not None
