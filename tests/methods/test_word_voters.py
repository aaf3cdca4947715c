"""Voters by words: who is found, which damping wins, and what is left after saving."""

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.methods import Points
from zipfel.methods.word_voters import DAMPINGS, WordVoters

X = sp.csr_matrix(np.array([[1, 0, 0], [0.6, 0.8, 0], [0, 0, 1]], np.float32))


def drowned(rng, *, misled, n=120, topics=4, own=6):
    """Four of six light words tell the topic; a heavy one tells it, too, or where it misleads anything."""
    topic = rng.integers(0, topics, n)
    heavy = rng.integers(0, topics, n) if misled else topic
    dense = np.zeros((n, topics * own + topics), np.float32)
    for row in range(n):
        dense[row, topic[row] * own + rng.permutation(own)[:4]] = 0.4
        dense[row, topics * own + heavy[row]] = 1.0
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    return Points(sp.csr_matrix(dense), sp.csr_matrix(np.eye(topics, dtype=np.float32)[topic]))


def test_the_nearest_come_first_and_nobody_is_found_twice_or_without_a_word_in_common():
    ids, cosines = WordVoters.of(X, 1.0).finder(X)(0, 2, 3)
    assert ids.tolist() == [[0, 1, -1], [1, 0, -1]]
    np.testing.assert_allclose(cosines, [[1, 0.6, -np.inf], [1, 0.6, -np.inf]], atol=0.01)  # a byte a value


def test_damping_is_chosen_where_one_word_drowns_the_others():
    rng = np.random.default_rng(0)
    assert WordVoters.chosen(drowned(rng, misled=False), drowned(rng, misled=True)).damping == 0.6
    plain = Points(X, sp.csr_matrix(np.eye(3, dtype=np.float32)))
    assert WordVoters.chosen(plain, plain).damping == DAMPINGS[0]  # no difference: as they are


def test_saved_voters_find_the_same_and_a_damping_of_nowhere_is_refused():
    voters = WordVoters.of(X, 0.6)
    again = WordVoters.restored(voters.state(), 3, 3)
    for mine, other in zip(voters.finder(X)(0, 3, 2), again.finder(X)(0, 3, 2), strict=True):
        np.testing.assert_array_equal(mine, other)
    with pytest.raises(ValueError, match="damping"):
        WordVoters.restored({**voters.state(), "damping": np.array([np.nan])}, 3, 3)
