"""What neighbours say together: against numpy's solver, with and without places; hand-worked shares of a voice."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.neighbors.joint import Along, JointConfig, JointNeighbors
from zipfel.neighbors.words import WordIndex


def _memory(seed: int = 0) -> tuple[WordIndex, sp.csr_matrix]:
    rng = np.random.default_rng(seed)
    X = sp.random(60, 40, density=0.3, dtype=np.float32, rng=rng, format="csr")
    return WordIndex.whole(X), sp.csr_matrix((rng.random((60, 9)) < 0.3).astype(np.float32))


def test_copies_share_a_voice() -> None:
    """Two of three neighbours are one document: with cosines of 0.6, nothing in common else, and a ridge of 0.1, each
    copy has 0.6 / (1 + 1 + 0.1), the third alone 0.6 / 1.1."""
    X = sp.csr_matrix(np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=np.float32))
    Y = sp.csr_matrix(np.array([[1, 0, 0], [1, 0, 1], [0, 1, 0]], dtype=np.float32))
    near = np.array([[0, 1, 2]]), np.array([[0.6, 0.6, 0.6]], dtype=np.float32)
    judge = JointNeighbors.of(JointConfig())
    found, log = judge.opinions(near, np.array([[0, 1, 2, -1]]), WordIndex.whole(X), Y, None)
    np.testing.assert_allclose(found, [[1.2 / 2.1, 0.6 / 1.1, 0.6 / 2.1, 0]], rtol=1e-5)
    np.testing.assert_allclose(log[:, :3], np.log(found[:, :3] + 0.001), rtol=1e-5)


@pytest.mark.parametrize("neighbors", [1, 4, 30])
@pytest.mark.parametrize("has_places", [False, True])
def test_it_is_what_a_solver_says(neighbors: int, has_places: bool) -> None:
    memory, Y = _memory()
    rng = np.random.default_rng(1)
    X = sp.random(20, 40, density=0.3, dtype=np.float32, rng=rng, format="csr")
    ids, cosines = memory.search(X, 12)
    hidden = rng.random(ids.shape) < 0.3  # as held-out points are
    ids, cosines = np.where(hidden, -1, ids), np.where(hidden, np.float32(0), cosines)
    ids[0], cosines[0] = -1, 0  # a document without neighbours
    along = Along(rng.random(20).astype(np.float32), rng.random(60).astype(np.float32)) if has_places else None
    labels = np.array([rng.permutation(9)[:5] for _ in range(20)])
    labels[3, 2:] = -1
    judge = JointNeighbors.of(JointConfig(neighbors=neighbors, ridge=0.2, reach=0.3))
    found, _ = judge.opinions((ids, cosines), labels, memory, Y, along)
    rows = memory.unit_rows.toarray()
    for i in range(20):
        kept = np.flatnonzero(ids[i] >= 0)[:neighbors]
        who, k = ids[i, kept], cosines[i, kept].astype(float)
        K = (rows[who] @ rows[who].T).astype(float)
        if along is not None:
            K *= np.exp(-np.abs(along.known[who][:, None] - along.known[who][None]) / 0.3)
            k *= np.exp(-np.abs(along.asked[i] - along.known[who]) / 0.3)
        said = Y[who].toarray().T @ np.linalg.solve(K + 0.2 * np.eye(len(who)), k)
        np.testing.assert_allclose(found[i], np.where(labels[i] < 0, 0, said[labels[i]]), atol=2e-5)


def test_one_document_is_answered_as_among_others() -> None:
    memory, Y = _memory()
    X = sp.random(20, 40, density=0.3, dtype=np.float32, rng=np.random.default_rng(1), format="csr")
    near, labels = memory.search(X, 12), np.tile(np.arange(9), (20, 1))
    judge = JointNeighbors.of(JointConfig())
    whole = judge.opinions(near, labels, memory, Y, None)[0]
    for i in range(20):
        alone = judge.opinions((near[0][[i]], near[1][[i]]), labels[[i]], memory, Y, None)[0]
        np.testing.assert_array_equal(alone[0], whole[i])


def test_it_is_restored_and_damage_is_refused() -> None:
    judge = JointNeighbors.of(JointConfig(ridge=0.3))
    assert JointNeighbors.restored(judge.state()) == judge
    for name, array in {
        "neighbors": np.array([0]),
        "numbers": np.array([0.1, np.nan], dtype=np.float32),
    }.items():
        with pytest.raises(ModelFileError, match="damaged"):
            JointNeighbors.restored({**judge.state(), name: array})
    with pytest.raises(ModelFileError, match="damaged"):
        JointNeighbors.restored({})
