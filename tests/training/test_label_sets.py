"""Equal label sets, those that only look alike, and the negatives that are drawn."""

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.nn.bag import LocalRows
from zipfel.training import Batch
from zipfel.training.label_sets import SetDraws, fingerprints, same_sets


def test_only_equal_label_sets_are_the_same():
    sets = [{0, 1}, {0}, {0, 1}, {2}, {0, 2}, set(), {0}, set()]
    Y = sp.csr_matrix(np.array([[float(label in mine) for label in range(3)] for mine in sets], np.float32))
    assert same_sets(Y).tolist() == [[mine == other for other in sets] for mine in sets]


def test_fingerprints_are_equal_for_equal_sets_only() -> None:
    Y = sp.csr_matrix(np.array([[1, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 0]], dtype=np.float32))
    prints = fingerprints(Y)
    assert prints[0] == prints[2]
    assert len(set(prints.tolist())) == 3


@pytest.mark.parametrize(("exclude", "expected"), [("identical", [0, 1]), ("overlapping", [0, 1, 2])])
def test_sets_that_are_no_negatives_and_h_samples_a_row(exclude: str, expected: list[int]) -> None:
    Y = sp.csr_matrix(np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]], dtype=np.float32))
    batch = Batch(np.arange(4), LocalRows.from_csr(Y), Y, (0,))
    SetDraws(Y, exclude=exclude, sampled=50)(batch, np.random.default_rng(0))
    assert np.flatnonzero(batch.extra["excluded"][0].numpy()).tolist() == expected
    assert batch.extra["sampled"].shape == (4, 50)
    assert np.unique(batch.extra["sampled"]).tolist() == [0, 1, 2, 3]
    assert batch.extra["sets"].counts.tolist() == [2, 2, 1, 1]
