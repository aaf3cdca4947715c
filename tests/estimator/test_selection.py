"""Choices made for the user on a split of train."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from zipfel.estimator.selection import choose_weighting
from zipfel.methods import Points
from zipfel.run import Run


def rows_with_common_words(common: int) -> Points:
    """Each label has two rare words of its own; every row also has `common` frequent words at random."""
    rng = np.random.default_rng(0)
    n, n_labels = 600, 40
    label = rng.integers(n_labels, size=n)
    X = np.zeros((n, 2 * n_labels + 60), dtype=np.float32)
    X[np.arange(n), 2 * label + rng.integers(2, size=n)] = 1
    for row in X:
        row[2 * n_labels + rng.permutation(60)[:common]] = 1
    return Points(sp.csr_matrix(X), sp.csr_matrix(np.eye(n_labels, dtype=np.float32)[label]))


def test_tfidf_where_common_words_drown_the_rare_ones() -> None:
    assert choose_weighting(rows_with_common_words(30), Run(seed=0, threads=1)) == "tfidf"


def test_l2_where_there_is_nothing_to_gain() -> None:
    assert choose_weighting(rows_with_common_words(0), Run(seed=0, threads=1)) == "l2"


def test_l2_for_a_handful_of_rows() -> None:
    assert choose_weighting(rows_with_common_words(30).take(np.arange(10)), Run(seed=0, threads=1)) == "l2"
