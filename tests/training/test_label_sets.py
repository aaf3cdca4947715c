"""Equal label sets, and those that only look alike."""

import numpy as np
import scipy.sparse as sp

from zipfel.training.label_sets import fingerprints, same_sets


def test_only_equal_label_sets_are_the_same():
    sets = [{0, 1}, {0}, {0, 1}, {2}, {0, 2}, set(), {0}, set()]
    Y = sp.csr_matrix(np.array([[float(label in mine) for label in range(3)] for mine in sets], np.float32))
    assert same_sets(Y).tolist() == [[mine == other for other in sets] for mine in sets]


def test_fingerprints_are_equal_for_equal_sets_only() -> None:
    Y = sp.csr_matrix(np.array([[1, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 0]], dtype=np.float32))
    prints = fingerprints(Y)
    assert prints[0] == prints[2]
    assert len(set(prints.tolist())) == 3
