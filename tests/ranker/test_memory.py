"""Votes of neighbours against a plain count."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from zipfel.index.base import unit_rows
from zipfel.ranker.matcher import Encoder
from zipfel.ranker.memory import Memory


def _memory() -> tuple[Memory, np.ndarray, sp.csr_matrix]:
    rng = np.random.default_rng(0)
    Y = sp.csr_matrix((rng.random((50, 8)) < 0.3).astype(np.float32))
    encoder = Encoder(rng.standard_normal((5, 6)).astype(np.float32), rng.standard_normal((8, 6)).astype(np.float32), 6)
    points = unit_rows(rng.standard_normal((50, 6)).astype(np.float32))
    return Memory(encoder, points, Y), points, Y


def test_neighbours_have_the_largest_mean_of_both_cosines() -> None:
    memory, points, _ = _memory()
    ids, weights = memory.search(points[:4], 7)
    mean = (points[:4] @ points.T + points[:4] @ memory.sets.T) / 2
    mean[:, np.setdiff1d(np.arange(50), memory.voters)] = -np.inf
    np.testing.assert_array_equal(ids, np.argsort(-mean, axis=1)[:, :7])
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


def test_a_point_is_not_its_own_neighbour() -> None:
    memory, points, _ = _memory()
    own = memory.voters[:5]
    ids, _ = memory.search(points[own], 49, own=own)
    assert not (ids == own[:, None]).any()
    assert (ids >= 0).sum(axis=1).tolist() == [len(memory.voters) - 1] * 5


def test_votes_are_the_weighted_counts() -> None:
    memory, points, Y = _memory()
    ids, weights = memory.search(points[:6], 9)
    labels, votes = memory.vote(ids, weights, 10)
    plain = np.einsum("nms,nml->nls", weights, Y.toarray()[ids])
    assert (labels[:, -1] == -1).all()  # there are 8 labels only
    for i in range(6):
        known = labels[i] >= 0
        np.testing.assert_allclose(votes[i, known], plain[i, labels[i, known]], atol=1e-5)
        totals = votes[i, known].sum(axis=1)
        assert (np.diff(totals) <= 1e-6).all()
        assert set(labels[i, known]) == set(np.flatnonzero(plain[i].sum(axis=1) > 0))
