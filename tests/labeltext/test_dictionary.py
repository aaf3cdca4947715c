"""Words that speak for words of label names."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.labeltext import Name, NameMatcher
from zipfel.labeltext.dictionary import Dictionary


def learnt() -> Dictionary:
    """Features: 0 "quantum", 1 "cryptology", 2 "the"; labels 0 and 2 share a name's word, and 2 has one document."""
    names = NameMatcher.fit([Name(0, "Kryptologie"), Name(1, "Physik"), Name(2, "Kryptologie Quanten")], [], 3).names
    X = np.zeros((400, 3), dtype=np.float32)
    Y = np.zeros((400, 3), dtype=np.float32)
    X[:10, 1] = Y[:10, 0] = 1
    X[10:20, 0] = Y[10:20, 1] = 1
    X[20:21] = Y[20:21] = [[1, 1, 0]]
    Y[20] = [0, 0, 1]
    X[:, 2] = 1
    return Dictionary.learn(sp.csr_matrix(X), sp.csr_matrix(Y), names)


def test_probabilities_are_shares_of_documents() -> None:
    found = learnt()
    krypto = 0  # the first stem
    assert found.pairs[1, krypto] == pytest.approx(11 / 14)
    assert found.pairs[2].nnz == 0  # "the" is no better than chance
    np.testing.assert_allclose(found.shares.sum(axis=1), 1, rtol=1e-6)


def test_labels_with_a_word_in_common_speak_for_each_other() -> None:
    found = learnt()
    x = sp.csr_matrix(np.array([[0, 1, 1]], dtype=np.float32))
    labels = np.array([[0, 1, 2, -1, 99]])
    strongest, together = found.scores(x, labels)[0].T
    assert strongest[0] == pytest.approx(11 / 14)
    assert strongest[0] > strongest[2] > strongest[1] == 0
    assert together[0] == pytest.approx(-np.log(1 - 11 / 14), rel=1e-5)
    assert strongest[3:].tolist() == [0, 0]
    again = found.scores(sp.vstack([x, sp.csr_matrix((1, 3)), x], format="csr"), np.repeat(labels, 3, axis=0))
    np.testing.assert_array_equal(again[0], again[2])
    assert not again[1].any()


def test_it_is_kept() -> None:
    found = learnt()
    again = Dictionary.restored(found.state(), 3, 5)
    x, labels = sp.csr_matrix(np.array([[0, 1, 1]], dtype=np.float32)), np.array([[0, 1, 2]])
    np.testing.assert_array_equal(again.scores(x, labels), found.scores(x, labels))
