"""Routers of a plan with many shards: which shards a document is sent to, and how many of its true labels lie there.

The last n_test points are asked; routers learn from the others. `inside` (n_points, n_shards) counts the labels of each
point in each shard.

    means          the cosine with each shard's mean point
    neighbours     votes of the 100 nearest points for the shards of their labels
    classifiers    a linear classifier a shard, learnt on its points and on random others
    both           m(x) + 0.3 log(v + 0.01), of the margin m of a shard's classifier and its votes v
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

ROUTED = (1, 2, 4, 8, 16, 32, 64)
CANDIDATES = 100
_NEIGHBOURS, _RANDOM, _COST = 100, 50, 1.0
_VOTES, _LEAST = 0.3, 0.01
"""Weight of the logarithm of the votes beside a margin, and what is added to the votes."""
Array = npt.NDArray[Any]


def routed(X: sp.csr_matrix, Y: sp.csr_matrix, inside: sp.csr_matrix, n_test: int) -> dict[str, Any]:
    """Shares of the true labels (n_points, n_labels) in the best shards by each router; beside them the share among the
    candidates that one machine finds for all labels."""
    votes = neighbour_votes(X, n_test)
    by_votes, margins = by_neighbours(votes, inside), by_classifiers(X, inside, n_test)
    routers = {
        "means": by_means(X, inside, n_test),
        "neighbours": by_votes,
        "classifiers": margins,
        "both": margins + _VOTES * np.log(by_votes + _LEAST),
    }
    found: dict[str, Any] = {f"found_by_{name}": found_in_best(s, inside, ROUTED) for name, s in routers.items()}
    return found | {"found_by_one_machine": found_in_candidates(votes, Y)}


def by_means(X: sp.csr_matrix, inside: sp.csr_matrix, n_test: int) -> Array:
    """(n_test, n) the cosine of each of the last points with each shard's mean point, which the others make."""
    train = X.shape[0] - n_test
    means = sp.csr_matrix((inside[:train] > 0).astype(np.float32).T @ X[:train])
    lengths = np.sqrt(np.asarray(means.multiply(means).sum(axis=1)).ravel())
    return np.asarray((X[train:] @ means.T).toarray() / np.maximum(lengths, 1e-9))


def neighbour_votes(X: sp.csr_matrix, n_test: int) -> sp.csr_matrix:
    """(n_test, n_train) cubed cosines of the nearest of the other points."""
    from zipfel.index.sparse import SparseIndex, unit_csr

    train = X.shape[0] - n_test
    ids, cosines = SparseIndex(unit_csr(X[:train])).search(X[train:], min(_NEIGHBOURS, train))
    rows, known = np.repeat(np.arange(n_test), ids.shape[1]), ids.ravel() >= 0
    return sp.csr_matrix((cosines.ravel()[known] ** 3, (rows[known], ids.ravel()[known])), shape=(n_test, train))


def by_neighbours(votes: sp.csr_matrix, inside: sp.csr_matrix) -> Array:
    """(n_test, n) votes for the shards of the neighbours' labels."""
    return np.asarray((votes @ inside[: votes.shape[1]]).toarray())


def by_classifiers(X: sp.csr_matrix, inside: sp.csr_matrix, n_test: int) -> Array:
    """(n_test, n) margins of a linear classifier a shard."""
    from zipfel.linear import LinearClassifiers, LinearConfig, Problems, with_random_negatives

    train, n = X.shape[0] - n_test, inside.shape[1]
    own = sp.csr_matrix((inside[:train] > 0).astype(np.float32))
    none = np.zeros((train, 0), dtype=np.int32)
    others = with_random_negatives(none, n, min(_RANDOM, n), np.random.default_rng(2))
    config = LinearConfig(cost=_COST, damping=1.0)
    classifiers = LinearClassifiers(config).fit(X[:train], Problems.build(own, others))
    return classifiers.score(X[train:], np.tile(np.arange(n), (n_test, 1)))


def found_in_best(scores: Array, inside: sp.csr_matrix, tops: Sequence[int]) -> dict[int, float]:
    """Share of the true labels of the last points that lie in the shards with the best scores (n_test, n)."""
    order = np.argsort(-scores, axis=1, kind="stable")
    found = np.take_along_axis(inside[inside.shape[0] - len(scores) :].toarray(), order, axis=1)
    return {top: round(float(found[:, :top].sum() / found.sum()), 4) for top in tops}


def found_in_candidates(votes: sp.csr_matrix, Y: sp.csr_matrix) -> float:
    """Share of the true labels among the CANDIDATES labels with the most votes of all."""
    from zipfel.linear.blend import is_true

    train, truth = votes.shape[1], sp.csr_matrix(Y[votes.shape[1] :])
    for_labels = sp.csr_matrix(votes @ Y[:train])
    best = np.full((len(truth.indptr) - 1, CANDIDATES), -1, dtype=np.int64)
    for i, row in enumerate(best):
        own = slice(for_labels.indptr[i], for_labels.indptr[i + 1])
        order = np.argsort(-for_labels.data[own], kind="stable")[:CANDIDATES]
        row[: len(order)] = for_labels.indices[own][order]
    return round(float(is_true(best, truth).sum() / truth.nnz), 4)
