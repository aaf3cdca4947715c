"""Words two by two: rows against plain loops, hashes, classifiers that only a pair can tell, labels that came later."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.evidence.conjunctions import MOST_WORDS, PLACES, ConjunctionConfig, Conjunctions, place_of, with_pairs
from zipfel.linear import LinearConfig, Problems

Array = npt.NDArray[Any]


def _rows(n: int = 40, d: int = 60, seed: int = 0) -> sp.csr_matrix:
    """Of unit length; the first has no word, the second one, the third negative values."""
    dense = sp.random(n, d, density=0.3, dtype=np.float32, rng=np.random.default_rng(seed)).toarray()
    dense[0], dense[1] = 0, np.eye(d)[3]
    dense[2] *= np.where(np.arange(d) % 2, -1, 1)
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    return sp.csr_matrix(dense / np.where(lengths == 0, 1, lengths), dtype=np.float32)


@pytest.mark.parametrize("words", [2, 5, 50])
def test_rows_have_their_words_and_the_pairs_of_the_weightiest(words: int) -> None:
    X = _rows()
    found = with_pairs(X, words)
    assert found.shape == (40, 60 + PLACES)
    for i in range(40):
        x = X[i].toarray().ravel()
        best = np.sort(np.argsort(-np.abs(x), kind="stable")[: min(words, np.count_nonzero(x))])
        pairs: dict[int, float] = {}
        for one, other in itertools.combinations(best, 2):
            place = 60 + place_of(one, other)
            assert place not in pairs  # none of these fall together
            pairs[place] = float(np.sign(x[one] * x[other]) * np.sqrt(abs(x[one] * x[other])))
        length = np.sqrt(sum(value**2 for value in pairs.values()))
        row = dict(zip(found[i].indices.tolist(), found[i].data.tolist(), strict=True))
        share = np.sqrt(0.5) if pairs else 1.0
        wanted = {int(j): float(x[j]) * share for j in np.flatnonzero(x)}
        wanted |= {place: value / length * share for place, value in pairs.items()}
        assert row == pytest.approx(wanted, abs=1e-6)
        assert (np.diff(found[i].indices) > 0).all()


def test_pairs_that_fall_on_one_place_are_told_apart() -> None:
    seen: dict[int, tuple[int, int]] = {}
    for one, other in itertools.combinations(range(3000), 2):
        place = place_of(one, other)
        if place in seen and not {one, other} & set(seen[place]):
            break
        seen[place] = (one, other)
    ids = sorted({one, other, *seen[place]})
    X = sp.csr_matrix((np.full(4, 0.5, dtype=np.float32), ids, [0, 4]), shape=(1, 3000))
    found = with_pairs(X, 4)
    assert found.nnz == 4 + 6
    assert (np.diff(found.indices) > 0).all()
    assert {3000 + place, 3000 + place + 1} <= set(found.indices.tolist())


def test_the_last_place_has_room_behind_it() -> None:
    """A pair whose place is taken is moved on, and stays within the matrix."""
    words = MOST_WORDS
    X = sp.csr_matrix(np.ones((1, words), dtype=np.float32))
    assert max(place_of(i, j) for i in range(2000) for j in range(i)) + words * (words - 1) // 2 < PLACES
    assert with_pairs(X, words).nnz == words + words * (words - 1) // 2


def test_rows_of_any_length_give_the_same() -> None:
    X = _rows()
    np.testing.assert_allclose(with_pairs(X * np.float32(50), 5).data, with_pairs(X, 5).data, rtol=1e-5)


def _either() -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Label 0 where one of two words stands alone, label 1 where both or none do: no sum over words tells."""
    rng = np.random.default_rng(0)
    words = (rng.random((400, 2)) < 0.5).astype(np.float32)
    noise = (rng.random((400, 12)) < 0.2).astype(np.float32)
    X = np.column_stack([words, 1 - words, noise])  # what is not there is a word, too
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    is_one = words.sum(axis=1) == 1
    return sp.csr_matrix(X), sp.csr_matrix(np.column_stack([is_one, ~is_one]).astype(np.float32))


def _fitted() -> tuple[Conjunctions, sp.csr_matrix, sp.csr_matrix]:
    X, Y = _either()
    problems = Problems.build(Y, np.tile(np.arange(2, dtype=np.int32), (400, 1)))
    config = ConjunctionConfig(words=8, threshold=0.0)
    return Conjunctions.fit(config, LinearConfig(cost=10.0), with_pairs(X, 8), problems, seed=0), X, Y


def test_pairs_tell_what_no_single_word_does() -> None:
    judge, X, Y = _fitted()
    labels, plain = np.tile(np.arange(2), (400, 1)), np.zeros((400, 2), dtype=np.float32)
    doubt, trust = judge.opinions(X, labels, plain)
    assert (doubt <= 0).all()
    assert (trust >= 0).all()
    assert (((doubt + trust) > 0) == Y.toarray().astype(bool)).mean() > 0.95


def test_labels_that_came_later_have_what_single_words_say() -> None:
    judge, X, _ = _fitted()
    doubt, trust = judge.opinions(X[:3], np.array([[0, 7, -1]] * 3), np.full((3, 3), -0.25, dtype=np.float32))
    np.testing.assert_allclose(doubt[:, 1:], -0.25)
    np.testing.assert_allclose(trust[:, 1:], 0)
    X, Y = _either()
    Y = sp.csr_matrix((Y.data, Y.indices, Y.indptr), shape=(400, 3))  # label 2 is declared, and has no points yet
    problems = Problems.build(Y, np.tile(np.arange(2, dtype=np.int32), (400, 1)))
    config = ConjunctionConfig(words=8, threshold=0.0)
    judge = Conjunctions.fit(config, LinearConfig(cost=10.0), with_pairs(X, 8), problems, seed=0)
    doubt, _ = judge.opinions(X[:1], np.array([[2]]), np.array([[-0.25]], dtype=np.float32))
    np.testing.assert_allclose(doubt, -0.25)


def test_it_is_restored_as_it_was_and_damage_is_refused() -> None:
    judge, X, _ = _fitted()
    labels, plain = np.tile(np.arange(2), (400, 1)), np.zeros((400, 2), dtype=np.float32)
    again = Conjunctions.restored(judge.state(), X.shape[1], 5)
    np.testing.assert_array_equal(again.opinions(X, labels, plain)[0], judge.opinions(X, labels, plain)[0])
    for name, array in {
        "words": np.array([1]),
        "features": judge.state()["features"] + np.int32(PLACES + 16),
        "bias": np.zeros(6, dtype=np.float32),
        "scale": np.zeros(0, dtype=np.float32),
    }.items():
        with pytest.raises(ModelFileError, match="damaged"):
            Conjunctions.restored({**judge.state(), name: array}, X.shape[1], 5)
