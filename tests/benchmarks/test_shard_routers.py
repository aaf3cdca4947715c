from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.shard_routers import (
    by_classifiers,
    by_means,
    by_neighbours,
    found_in_best,
    found_in_candidates,
    neighbour_votes,
    routed,
)

X = sp.csr_matrix(np.array([[1, 0], [0, 1], [1, 1], [1, 0], [0, 1]], dtype=np.float32))
INSIDE = sp.csr_matrix(np.array([[2, 0], [0, 2], [1, 1], [2, 0], [0, 1]], dtype=np.float32))


@pytest.mark.parametrize("kind", ["means", "neighbours", "classifiers"])
def test_each_router_finds_the_shard_of_similar_points(kind: str) -> None:
    if kind == "means":
        scores = by_means(X, INSIDE, 2)
    elif kind == "neighbours":
        scores = by_neighbours(neighbour_votes(X, 2), INSIDE)
    else:
        scores = by_classifiers(X, INSIDE, 2)
    assert scores.shape == (2, 2)
    assert found_in_best(scores, INSIDE, (1, 2)) == {1: 1.0, 2: 1.0}


def test_shares_of_true_labels() -> None:
    assert found_in_best(np.array([[0, 1], [1, 0]]), INSIDE, (1, 2)) == {1: 0.0, 2: 1.0}
    votes = sp.csr_matrix(np.array([[1.0, 0, 0]]))
    Y = sp.csr_matrix(np.array([[1, 1, 0], [0, 0, 1], [0, 0, 1], [1, 0, 1]], dtype=np.float32))
    assert found_in_candidates(votes, Y) == 0.5


def test_all_routers_are_compared() -> None:
    found = routed(X, INSIDE, INSIDE, 2)
    assert set(found) == {f"found_by_{name}" for name in ("means", "neighbours", "classifiers", "both", "one_machine")}
    assert all(0 <= found[name][1] <= found[name][2] == 1 for name in found if name != "found_by_one_machine")
