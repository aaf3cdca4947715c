"""Targets by hand."""

import numpy as np
import scipy.sparse as sp

from zipfel.graph import Targets


def test_targets_by_hand():
    vectors = np.array([[1, 0], [0, 2], [4, 4]], np.float32)
    Y = sp.csr_matrix(np.array([[1, 1, 0], [0, 0, 1]], np.float32))
    plain = [[0.5, 1], [4, 4]]
    np.testing.assert_allclose(Targets.of(vectors, Y, "plain")(Y), plain)
    np.testing.assert_allclose(Targets.of(vectors, Y, "unit")(Y)[1], [0.5**0.5, 0.5**0.5], rtol=1e-6)
    less = np.array(plain) - [2.25, 2.5]
    expected = less / np.linalg.norm(less, axis=1, keepdims=True)
    np.testing.assert_allclose(Targets.of(vectors, Y, "centred")(Y), expected, rtol=1e-6)


def test_a_row_without_labels_has_no_place():
    empty = sp.csr_matrix((1, 3), dtype=np.float32)
    assert not Targets(np.ones((3, 2), np.float32), unit=True)(empty).any()
