"""Label vectors: groups of labels come out as groups, and no label is left with zeros."""

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.graph.embedding import deepwalk, ppmi_svd, random_vectors
from zipfel.graph.label_graph import LabelGraph


def grouped(n_groups=4, size=6, n_points=400, seed=0):
    """Points draw three labels of one group; the last label is never used."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((n_points, n_groups * size + 1), np.float32)
    for row in Y:
        row[rng.integers(n_groups) * size + rng.choice(size, 3, replace=False)] = 1
    return sp.csr_matrix(Y)


def within_and_between(vectors, n_groups=4, size=6):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit[:-1] @ unit[:-1].T
    same = np.kron(np.eye(n_groups), np.ones((size, size))) > 0
    return cosine[same & ~np.eye(len(cosine), dtype=bool)].min(), cosine[~same].max()


@pytest.mark.parametrize("weighted", [False, True])
def test_deepwalk_keeps_groups_together(weighted):
    graph = LabelGraph.from_labels(grouped(), weighted=weighted)
    vectors = deepwalk(graph, 16, walks=40, length=20, passes=5, seed=1)
    low, high = within_and_between(vectors)
    assert low > high + 0.3


def test_ppmi_keeps_groups_together():
    low, high = within_and_between(ppmi_svd(grouped(), 4))
    assert low > high + 0.3


def test_no_label_is_left_with_a_zero_vector():
    Y = grouped()
    for vectors in (deepwalk(LabelGraph.from_labels(Y), 8, walks=5, passes=1), ppmi_svd(Y, 8), random_vectors(25, 8)):
        assert vectors.shape == (25, 8)
        assert vectors.dtype == np.float32
        assert (np.linalg.norm(vectors, axis=1) > 0).all()
        assert np.isfinite(vectors).all()


def test_the_same_seed_gives_the_same_vectors():
    Y = grouped()
    graph = LabelGraph.from_labels(Y)
    first, again = (deepwalk(graph, 8, walks=3, passes=2, seed=4) for _ in range(2))
    assert (first == again).all()
    assert (ppmi_svd(Y, 8, seed=1) == ppmi_svd(Y, 8, seed=1)).all()


@pytest.mark.parametrize("n_labels", [1, 2])
def test_a_label_or_two_are_enough(n_labels):
    Y = sp.csr_matrix(np.ones((3, n_labels), np.float32))
    assert deepwalk(LabelGraph.from_labels(Y), 8, walks=2, passes=1).shape == (n_labels, 8)
    assert ppmi_svd(Y, 8).shape == (n_labels, 8)
