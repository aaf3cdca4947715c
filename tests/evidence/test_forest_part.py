"""The forest as a part: which leaves it looks up for training points."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from tests.neighbors.test_forest import CONFIG, N, _points, _seen
from zipfel.evidence.part import Asked
from zipfel.evidence.parts.forest import ForestPart
from zipfel.evidence.training_set import TrainingSet
from zipfel.neighbors.forest import Forest
from zipfel.neighbors.words import WordIndex


def test_points_without_labels_come_to_the_leaves_of_their_words() -> None:
    """Otherwise the judge would learn that a document without labels has no evidence from the forest."""
    X, Y = _points()
    labelled = np.arange(N) % 5 > 0
    Y = sp.csr_matrix(Y.toarray() * labelled[:, None])
    words, whole = WordIndex.build(X, np.diff(Y.indptr) > 0), WordIndex.whole(X)
    forest = Forest.fit(CONFIG, words, Y, _seen(), seed=3)
    points = np.flatnonzero(~_seen() & (np.diff(X.indptr) > 0))
    leaves = ForestPart(forest)._leaves(Asked(X[points], TrainingSet(words, Y, int(X.shape[1])), 10, rows=points))
    np.testing.assert_array_equal(leaves, forest.find(words, whole.rows[points]))
    assert (leaves[~labelled[points]] != forest.leaves[points[~labelled[points]]]).any()
