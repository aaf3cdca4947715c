"""Clusters: all of them probed is exact; few probed still find k; new points join without moving any."""

import numpy as np
import pytest

from zipfel.index.clusters import Clusters


def blobs(n=300, dim=8, groups=5, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((groups, dim))[rng.integers(groups, size=n)] * 3 + rng.standard_normal((n, dim))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def exact(queries, vectors, k):
    return np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :k]


def test_all_clusters_probed_is_exact():
    vectors, queries = blobs(), blobs(20, seed=1)
    clusters = Clusters.fit(vectors, 7, seed=0)
    ids, scores = clusters.search(queries, 10, n_probe=7)
    assert (ids == exact(queries, vectors, 10)).mean() > 0.99  # equal but for the last bit
    np.testing.assert_allclose(scores, np.sort(queries @ vectors.T, axis=1)[:, ::-1][:, :10], rtol=1e-5)
    assert clusters.sizes().sum() == 300


def test_one_probe_looks_in_the_nearest_cluster_only():
    vectors = blobs()
    clusters = Clusters.fit(vectors, 5, seed=0)
    nearest = ((vectors[:, None] - clusters.centres[None]) ** 2).sum(2).argmin(1)
    ids, _ = clusters.search(vectors[:30], 3, n_probe=1)
    assert (nearest[ids] == nearest[:30, None]).all()


def test_a_small_cluster_looks_further_until_it_has_k():
    lonely = np.array([[-1.0] + [0.0] * 7], np.float32)
    crowd = np.abs(blobs())  # all on the other side
    clusters = Clusters(np.stack([lonely[0], crowd.mean(0)]), np.concatenate([crowd, lonely]))
    ids, _ = clusters.search(lonely, 20, n_probe=1)
    assert ids[0, 0] == 300
    assert (ids >= 0).all()


def test_more_neighbours_than_points_are_padded():
    ids, scores = Clusters.fit(blobs(4), 9, seed=0).search(blobs(2, seed=3), 6, n_probe=1)
    assert (ids[:, 4:] == -1).all()
    assert np.isneginf(scores[:, 4:]).all()
    assert (np.sort(ids[:, :4], axis=1) == np.arange(4)).all()


def test_new_points_are_found_and_nothing_else_moves():
    vectors, new = blobs(), blobs(5, seed=9)
    clusters = Clusters.fit(vectors, 6, seed=0)
    before, _ = clusters.search(vectors, 2, n_probe=6)
    centres = clusters.centres.copy()
    clusters.add(new)
    assert (clusters.search(new, 1, n_probe=1)[0][:, 0] == np.arange(300, 305)).all()
    after, _ = clusters.search(vectors, 7, n_probe=6)
    old = [[i for i in row if i < 300][:2] for row in after.tolist()]
    assert old == before.tolist()
    assert (clusters.centres == centres).all()


@pytest.mark.parametrize("n_queries", [0, 1])
def test_one_point_in_one_cluster(n_queries):
    ids, _ = Clusters.fit(blobs(1), 3, seed=0).search(blobs(n_queries, seed=2), 2, n_probe=1)
    assert ids.shape == (n_queries, 2)


def test_the_same_seed_gives_the_same_clusters():
    one, two = (Clusters.fit(blobs(), 6, seed=4).centres for _ in range(2))
    assert (one == two).all()
