"""What neighbours say together: against numpy's solver, and by hand where two are copies."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.neighbors.joint import JointConfig, JointNeighbors
from zipfel.neighbors.words import WordIndex


def _memory(seed: int = 0) -> tuple[WordIndex, sp.csr_matrix]:
    rng = np.random.default_rng(seed)
    X = sp.random(60, 40, density=0.3, dtype=np.float32, rng=rng, format="csr")
    return WordIndex.whole(X), sp.csr_matrix((rng.random((60, 9)) < 0.3).astype(np.float32))


def test_copies_count_as_one_vote() -> None:
    """Two of three neighbours are one document: with cosines of 0.6, nothing in common else, and a ridge of 0.1, each
    copy has 0.6 / (1 + 1 + 0.1), the third alone 0.6 / 1.1."""
    X = sp.csr_matrix(np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=np.float32))
    Y = sp.csr_matrix(np.array([[1, 0, 0], [1, 0, 1], [0, 1, 0]], dtype=np.float32))
    near = np.array([[0, 1, 2]]), np.array([[0.6, 0.6, 0.6]], dtype=np.float32)
    judge = JointNeighbors.of(JointConfig())
    found, log = judge.opinions(near, np.array([[0, 1, 2, -1]]), WordIndex.whole(X), Y)
    np.testing.assert_allclose(found, [[1.2 / 2.1, 0.6 / 1.1, 0.6 / 2.1, 0]], rtol=1e-5)
    np.testing.assert_allclose(log[:, :3], np.log(found[:, :3] + 0.001), rtol=1e-5)


@pytest.mark.parametrize("neighbors", [1, 4, 30])
def test_it_is_what_a_solver_says(neighbors: int) -> None:
    words, Y = _memory()
    rng = np.random.default_rng(1)
    X = sp.random(20, 40, density=0.3, dtype=np.float32, rng=rng, format="csr")
    ids, cosines = words.search(X, 12)
    hidden = rng.random(ids.shape) < 0.3  # as held-out points are
    ids, cosines = np.where(hidden, -1, ids), np.where(hidden, np.float32(0), cosines)
    ids[0], cosines[0] = -1, 0  # a document without neighbours
    labels = np.array([rng.permutation(9)[:5] for _ in range(20)])
    labels[3, 2:] = -1
    judge = JointNeighbors.of(JointConfig(neighbors=neighbors, ridge=0.2))
    found, _ = judge.opinions((ids, cosines), labels, words, Y)
    rows = words.unit_rows.toarray()
    for i in range(20):
        kept = np.flatnonzero(ids[i] >= 0)[:neighbors]
        who, k = ids[i, kept], cosines[i, kept].astype(float)
        K = (rows[who] @ rows[who].T).astype(float)
        said = Y[who].toarray().T @ np.linalg.solve(K + 0.2 * np.eye(len(who)), k)
        np.testing.assert_allclose(found[i], np.where(labels[i] < 0, 0, said[labels[i]]), atol=2e-5)


def test_one_document_is_answered_as_among_others() -> None:
    words, Y = _memory()
    X = sp.random(20, 40, density=0.3, dtype=np.float32, rng=np.random.default_rng(1), format="csr")
    near, labels = words.search(X, 12), np.tile(np.arange(9), (20, 1))
    judge = JointNeighbors.of(JointConfig())
    whole = judge.opinions(near, labels, words, Y)[0]
    for i in range(20):
        alone = judge.opinions((near[0][[i]], near[1][[i]]), labels[[i]], words, Y)[0]
        np.testing.assert_array_equal(alone[0], whole[i])
