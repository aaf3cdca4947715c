from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from zipfel.index.votes import ballots, sharpened, vote


def test_sharpened_by_hand() -> None:
    similarities = np.array([[0.9, 0.5, -np.inf], [-np.inf] * 3], dtype=np.float32)
    weights = sharpened(similarities, 2.0)
    np.testing.assert_allclose(weights, [[1, np.exp(-0.8), 0], [0, 0, 0]], rtol=1e-6)
    assert weights.dtype == np.float32
    np.testing.assert_array_equal(sharpened(similarities, 0.0), [[1, 1, 0], [0, 0, 0]])


def test_scores_are_weighted_shares_and_ties_go_to_the_lowest_label() -> None:
    Y = sp.csr_matrix(np.array([[1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 0, 0]], dtype=np.float32))
    neighbours = np.array([[0, 1, 2], [2, -1, -1], [-1, -1, -1]])
    weights = np.array([[2.0, 1.0, 1.0], [3.0, 7.0, 7.0], [1.0, 1.0, 1.0]])
    ranking = vote(neighbours, weights, Y, 4)
    np.testing.assert_array_equal(ranking.labels, [[0, 1, 3, -1], [0, -1, -1, -1], [-1] * 4])
    np.testing.assert_array_equal(ranking.scores[0, :3], [0.75, 0.75, 0.25])
    assert ranking.scores[1, 0] == 1.0


def test_equals_a_dense_count() -> None:
    rng = np.random.default_rng(0)
    Y = sp.random(40, 25, 0.15, "csr", np.float32, random_state=rng)
    Y.data[:] = 1
    neighbours = np.stack([rng.permutation(40)[:6] for _ in range(30)])
    weights = rng.random((30, 6)).astype(np.float32)
    ranking = vote(neighbours, weights, Y, 5)
    for row in range(30):
        counts = (weights[row] / weights[row].sum()) @ Y.toarray()[neighbours[row]]
        np.testing.assert_allclose(ranking.scores[row], np.sort(counts)[::-1][:5], rtol=1e-5)
        np.testing.assert_allclose(counts[ranking.labels[row]], ranking.scores[row], rtol=1e-5)


def test_no_neighbours_at_all() -> None:
    ranking = vote(np.zeros((2, 0), dtype=np.int64), np.zeros((2, 0)), sp.csr_matrix((3, 4), dtype=np.float32), 2)
    assert (ranking.labels == -1).all()


def test_ballots_are_labels_then_points() -> None:
    Y = sp.csr_matrix(np.array([[0, 1]], dtype=np.float32))
    assert ballots(Y).toarray().tolist() == [[1, 0], [0, 1], [0, 1]]
