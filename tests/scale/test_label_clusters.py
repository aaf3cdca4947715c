"""Labels in clusters: similar ones together, and the work shared evenly."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.linear import LinearClassifiers
from zipfel.scale.label_clusters import balanced_clusters, positive_directions


def test_similar_labels_share_a_cluster_and_the_work_is_even() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(4, size=200)
    vectors = sp.csr_matrix(np.eye(4, dtype=np.float32)[group] + 0.01 * rng.random((200, 4)).astype(np.float32))
    work = np.ones(200)
    for value in range(4):  # groups of the same weight
        work[group == value] = 50 / (group == value).sum()
    cluster = balanced_clusters(vectors, work, 4, rng)
    assert sorted(np.unique(cluster)) == [0, 1, 2, 3]
    assert np.bincount(cluster, work).max() < 56
    assert np.mean([np.bincount(group[cluster == i]).max() / (cluster == i).sum() for i in range(4)]) > 0.8
    assert balanced_clusters(vectors[:1], work[:1], 4, rng).tolist() == [0]


@pytest.mark.parametrize("n", [1, 3, 5])
def test_any_number_of_clusters_shares_the_work(n: int) -> None:
    rng = np.random.default_rng(0)
    vectors, work = sp.csr_matrix(rng.random((300, 8), dtype=np.float32)), rng.random(300) + 0.1
    cluster = balanced_clusters(vectors, work, n, np.random.default_rng(1))
    shares = np.bincount(cluster, work, minlength=n) / work.sum()
    assert len(shares) == n
    assert np.allclose(shares, 1 / n, atol=0.02)
    assert np.array_equal(cluster, balanced_clusters(vectors, work, n, np.random.default_rng(1)))


def test_few_labels_and_equal_ones() -> None:
    blank = sp.csr_matrix((3, 2), dtype=np.float32)
    assert len(np.unique(balanced_clusters(blank, np.ones(3), 2, np.random.default_rng(0)))) == 2
    assert len(np.unique(balanced_clusters(blank, np.ones(3), 8, np.random.default_rng(0)))) == 3
    assert balanced_clusters(blank[:0], np.ones(0), 2, np.random.default_rng(0)).shape == (0,)


def test_a_label_s_direction_is_its_positive_weights() -> None:
    weights = np.array([[3.0, -1, 4], [0, -1, 0]], dtype=np.float32)
    state = {
        "indptr": np.array([0, 3, 4]),
        "features": np.array([0, 1, 2, 1], dtype=np.int32),
        "weights": weights[weights != 0],
        "scale": np.ones(2, dtype=np.float32),
        "bias": np.zeros(2, dtype=np.float32),
    }
    classifiers = LinearClassifiers.restored(state, 3, 2)
    assert np.allclose(positive_directions(classifiers).toarray(), [[0.6, 0, 0.8], [0, 0, 0]])
