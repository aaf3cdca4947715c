"""The mean of a label's documents."""

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.neighbors import centroids
from zipfel.neighbors.centroids import label_centroids


@pytest.mark.parametrize("block", [1, 20_000])
def test_a_centroid_is_the_unit_sum_of_unit_rows_of_which_the_largest_are_kept(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(centroids, "_BLOCK", block)
    X = sp.csr_matrix(np.array([[3, 4, 0], [0, 0, 5], [1, 0, 0]], dtype=np.float32))
    Y = sp.csr_matrix(np.array([[1, 0, 1], [1, 0, 0], [0, 0, 1]], dtype=np.float32))
    found = label_centroids(X, Y, 2).toarray()
    sums = np.array([[0, 0.8, 1.0], [0, 0, 0], [1.6, 0.8, 0]])  # of the first, 0.6 is the smallest
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    np.testing.assert_allclose(found, sums / np.where(lengths, lengths, 1), atol=1e-6)
