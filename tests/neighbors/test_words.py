"""Neighbours by words against plain cosines, and their votes against a plain count."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.index.dense import is_dense
from zipfel.index.votes import sharpened
from zipfel.neighbors import words
from zipfel.neighbors.votes import cast_votes, vote_weights
from zipfel.neighbors.words import WordIndex, weights_by_cosine


def _rows(n: int = 60, width: int = 12, seed: int = 0) -> sp.csr_matrix:
    return sp.random(n, width, 0.4, format="csr", dtype=np.float32, random_state=seed)


def _cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(left, axis=1)[:, None] * np.linalg.norm(right, axis=1)[None]
    return left @ right.T / np.where(lengths > 0, lengths, 1)


def test_the_nearest_by_cosine_are_found() -> None:
    X = _rows()
    memory = WordIndex.build(X, np.ones(60, dtype=bool))
    asked = _rows(5, seed=1)
    ids, cosines = memory.search(asked, 6)
    expected = _cosines(asked.toarray(), memory.rows.toarray())
    np.testing.assert_allclose(cosines, -np.sort(-expected, axis=1)[:, :6], atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(expected, ids, 1), cosines, atol=1e-5)
    assert np.abs(expected - _cosines(asked.toarray(), X.toarray())).max() < 0.01  # a byte a value is enough


def test_the_index_of_many_points_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    X = _rows()
    kept, made = (WordIndex.build(X, np.ones(60, dtype=bool)) for _ in range(2))
    expected = kept.search_own(X, 6)
    monkeypatch.setattr(words, "_MANY", 0)
    for found, same in zip(made.search_own(X, 6), expected, strict=True):
        np.testing.assert_array_equal(found, same)
    assert "_index" in vars(kept)
    assert "_index" not in vars(made)


def test_no_point_is_its_own_neighbour_and_all_others_are_there() -> None:
    X = _rows(30)
    ids, cosines = WordIndex.build(X, np.ones(30, dtype=bool)).search_own(X, 40)
    assert ids.shape == (30, 40)
    assert not (ids == np.arange(30)[:, None]).any()
    expected = _cosines(X.toarray(), X.toarray())
    np.fill_diagonal(expected, 0)
    for i in range(30):
        assert set(ids[i, ids[i] >= 0]) == set(np.flatnonzero(expected[i] > 0))
        assert (np.diff(cosines[i]) <= 0).all()


def test_rows_that_do_not_vote_are_not_found() -> None:
    X = _rows()
    ids, _ = WordIndex.build(X, np.arange(60) < 10).search(X, 20)
    assert ids.max() < 10


def test_frequent_words_are_passed_over_where_they_cost_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere = sp.hstack([sp.csr_matrix(np.ones((60, 1), dtype=np.float32)), _rows()], format="csr")
    assert 0 in WordIndex.build(everywhere, np.ones(60, dtype=bool)).rows.indices
    monkeypatch.setattr(words, "ALL_ADDITIONS", 60 * 59)  # a word of all 60 documents alone costs 60 * 60
    monkeypatch.setattr(words, "FEWEST_ADDITIONS", 0)
    kept = WordIndex.build(everywhere, np.ones(60, dtype=bool)).rows.indices
    assert 0 not in kept
    assert len(kept) > 0


def test_joined_rows_are_found_behind_the_others() -> None:
    X, more = _rows(), _rows(7, seed=3)
    memory = WordIndex.build(X, np.ones(60, dtype=bool)).joined(more, np.arange(7) != 2)
    together = WordIndex.build(sp.vstack([X, more], format="csr"), np.arange(67) != 62)
    assert (memory.rows != together.rows).nnz == 0
    assert memory.search(more, 1)[0][:, 0].tolist() == [60, 61, memory.search(more[2], 1)[0][0, 0], 63, 64, 65, 66]


def test_joined_rows_have_no_words_that_were_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere = sp.hstack([sp.csr_matrix(np.ones((60, 1), dtype=np.float32)), _rows()], format="csr")
    unseen = sp.csr_matrix(([1.0, 1.0], ([0, 0], [0, 13])), shape=(1, 14), dtype=np.float32)
    wide = sp.csr_matrix((everywhere.data, everywhere.indices, everywhere.indptr), shape=(60, 14))
    assert WordIndex.build(wide, np.ones(60, dtype=bool)).joined(unseen, np.array([True])).rows[60].nnz == 2
    monkeypatch.setattr(words, "ALL_ADDITIONS", 60 * 59)
    monkeypatch.setattr(words, "FEWEST_ADDITIONS", 0)
    assert WordIndex.build(wide, np.ones(60, dtype=bool)).joined(unseen, np.array([True])).rows[60].nnz == 0


def test_a_memory_is_restored_as_it_was() -> None:
    X = _rows()
    memory = WordIndex.build(X, np.ones(60, dtype=bool))
    again = WordIndex.restored(memory.state(), 60, 12)
    for mine, theirs in zip(memory.search(X, 5), again.search(X, 5), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("part", ["indptr", "features", "values"])
def test_a_damaged_memory_is_refused(part: str) -> None:
    state = WordIndex.build(_rows(), np.ones(60, dtype=bool)).state()
    with pytest.raises(ModelFileError):
        WordIndex.restored({**state, part: state[part][:-1]}, 60, 12)
    with pytest.raises(ModelFileError):
        WordIndex.restored({name: a for name, a in state.items() if name != part}, 60, 12)


def test_weights_are_shares_and_powers_of_the_cosine() -> None:
    cosines = np.array([[0.8, 0.4, 0.0], [0.0, 0.0, 0.0]], dtype=np.float32)
    weights = weights_by_cosine(cosines)
    np.testing.assert_allclose(weights[0, :, 0], [2 / 3, 1 / 3, 0], atol=1e-6)
    np.testing.assert_allclose(weights[0, :, 1], [8 / 9, 1 / 9, 0], atol=1e-6)
    assert not weights[1].any()


def test_votes_are_the_weighted_counts() -> None:
    rng = np.random.default_rng(0)
    Y = sp.csr_matrix((rng.random((50, 8)) < 0.3).astype(np.float32))
    ids, weights = rng.integers(-1, 50, (6, 9)), rng.random((6, 9, 3)).astype(np.float32)
    labels, votes = cast_votes(ids, weights, Y, 10)
    plain = np.einsum("nms,nml->nls", weights * (ids >= 0)[:, :, None], Y.toarray()[ids])
    assert (labels[:, -1] == -1).all()  # there are 8 labels only
    for i in range(6):
        known = labels[i] >= 0
        np.testing.assert_allclose(votes[i, known], plain[i, labels[i, known]], atol=1e-5)
        assert (np.diff(votes[i, known].sum(axis=1)) <= 1e-6).all()
        assert set(labels[i, known]) == set(np.flatnonzero(plain[i].sum(axis=1) > 0))


def test_weights_of_votes_are_what_sharpened_similarities_give() -> None:
    similar = np.random.default_rng(0).random((5, 7)).astype(np.float32)
    similar[2, 3:] = similar[4] = -np.inf
    weights = vote_weights(similar, (15.0, 4.0))
    for s, sharpness in enumerate((15.0, 4.0)):
        plain = sharpened(similar, sharpness)
        total = plain.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(weights[:, :, s], plain / np.where(total > 0, total, 1), rtol=1e-5)


def test_negative_values_count() -> None:
    X = _rows()
    X.data -= np.float32(0.5)
    memory = WordIndex.build(X, np.ones(60, dtype=bool))
    memory = WordIndex.restored(memory.state(), 60, 12).joined(abs(_rows(7, seed=3)), np.ones(7, dtype=bool))
    memory = WordIndex.restored(memory.state(), 67, 12)
    asked = _rows(5, seed=1)
    ids, cosines = memory.search(asked, 6)
    expected = _cosines(asked.toarray(), np.vstack([X.toarray(), _rows(7, seed=3).toarray()]))
    np.testing.assert_allclose(cosines, -np.sort(-expected, axis=1)[:, :6], atol=0.02)
    np.testing.assert_allclose(np.take_along_axis(expected, ids, 1), cosines, atol=0.02)


def test_dense_rows_are_searched_with_all_of_their_features() -> None:
    rng = np.random.default_rng(0)
    places = rng.standard_normal((20, 16))
    X = sp.csr_matrix((places[rng.integers(0, 20, 5000)] + 0.5 * rng.standard_normal((5000, 16))).astype(np.float32))
    memory = WordIndex.build(X, np.arange(5000) > 0)
    assert memory.rows.nnz > 0.95 * X.nnz
    ids, cosines = memory.search_own(X[:5000], 10)
    expected = _cosines(X.toarray(), X.toarray())
    np.fill_diagonal(expected, -1)
    expected[:, 0] = -1  # does not vote
    best = np.argsort(-expected, axis=1)[:, :10]
    assert np.mean([len(set(a) & set(b)) / 10 for a, b in zip(ids.tolist(), best.tolist(), strict=True)]) > 0.9
    np.testing.assert_allclose(np.take_along_axis(expected, ids.astype(np.int64), 1), cosines, atol=0.03)
    np.testing.assert_allclose(memory.cosines(X[:3])[:, 1:], _cosines(X[:3].toarray(), X.toarray())[:, 1:], atol=0.03)


@pytest.mark.parametrize(
    ("n", "share", "dense"),
    [(1000, 0.12, True), (999, 0.12, False), (999, 0.6, True), (100, 0.6, True), (99, 1, False)],
)
def test_few_rows_count_as_dense_where_most_values_are_there(n: int, share: float, dense: bool) -> None:
    rows = sp.random(n, 50, share, "csr", np.float32, random_state=np.random.default_rng(0))
    assert is_dense(rows) == dense


@pytest.mark.parametrize(("share", "dense"), [(0.12, False), (0.6, True)])
def test_many_rows_count_as_dense_where_an_array_is_no_larger_than_they_are(share: float, dense: bool) -> None:
    n, d = 300_000, 1000  # more values than an array of mostly zeros may have
    size = round(share * d)
    rows = sp.csr_matrix((n, d), dtype=np.float32)
    rows.indptr = np.arange(0, n * size + 1, size)
    rows.data = np.broadcast_to(np.float32(1), n * size)
    rows.indices = np.broadcast_to(np.int32(0), n * size)
    assert is_dense(rows) == dense
