from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.kernels import sparse_topk as module
from zipfel.kernels.sparse_topk import Lists, plain_topk, sparse_topk
from zipfel.system.threads import use_threads


def random_csr(rng: np.random.Generator, n: int, m: int, density: float, integers: bool = False) -> sp.csr_matrix:
    matrix = sp.random(n, m, density, "csr", np.float32, random_state=rng)
    if integers:  # sums are exact then, and ties are many
        matrix.data = rng.integers(-2, 4, matrix.nnz).astype(np.float32)
    return matrix


@pytest.mark.parametrize("density", [0.002, 0.05, 0.5])
@pytest.mark.parametrize("columns", [150, 1605])  # runs of columns are fewer than k, and more
@pytest.mark.parametrize("k", [1, 7, 200])
def test_equals_the_plain_product_with_ties_and_cancellation(density: float, columns: int, k: int) -> None:
    rng = np.random.default_rng(3)
    left, right = random_csr(rng, 90, 60, density, True), random_csr(rng, 60, columns, density, True)
    ids, scores = sparse_topk(left, right, k)
    plain_ids, plain_scores = plain_topk(left, right, k)
    np.testing.assert_array_equal(ids, plain_ids)
    np.testing.assert_array_equal(scores, plain_scores)


@pytest.mark.parametrize("columns", [150, 1605])
@pytest.mark.parametrize("inner", [3, 60])  # fewer dense rows than are added at once, and more
@pytest.mark.parametrize("k", [1, 7, 200])
def test_lists_of_frequent_words_may_be_dense(columns: int, inner: int, k: int) -> None:
    rng = np.random.default_rng(6)
    right = sp.vstack([random_csr(rng, inner, columns, 0.4, True), random_csr(rng, inner, columns, 0.01, True)], "csr")
    left, lists = random_csr(rng, 90, 2 * inner + 5, 0.3, True)[:, : 2 * inner], Lists.of(right)
    assert (lists.place >= 0).sum() == inner == len(lists.dense)
    ids, scores = sparse_topk(left, lists, k)
    plain_ids, plain_scores = plain_topk(left, right, k)
    np.testing.assert_array_equal(ids, plain_ids)
    np.testing.assert_array_equal(scores, plain_scores)


def test_dense_lists_are_the_most_frequent_that_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    right = sp.csr_matrix(np.tri(6, 6, dtype=np.float32))  # rows with one to six columns
    width = Lists.of(right).dense.shape[1]
    monkeypatch.setattr(module, "_ROOM", 2 * width)
    assert np.flatnonzero(Lists.of(right).place >= 0).tolist() == [4, 5]
    np.testing.assert_array_equal(Lists.of(right).dense[Lists.of(right).place[4], :6], right[4].toarray()[0])


def test_values_of_another_type_are_cast() -> None:
    right = sp.csr_matrix(np.array([[1, 2], [0, 3]], dtype=np.float32))
    right.data = right.data.astype(np.float16)  # as in a model file
    for lists in (right, Lists.of(right)):
        ids, scores = sparse_topk(sp.csr_matrix(np.ones((1, 2), dtype=np.float32)), lists, 2)
        assert (ids.tolist(), scores.tolist()) == ([[1, 0]], [[5, 1]])


def test_threads_do_not_change_the_answer() -> None:
    rng = np.random.default_rng(4)
    left, right = random_csr(rng, 200, 80, 0.1), random_csr(rng, 80, 300, 0.1)
    with use_threads(1):
        one = sparse_topk(left, right, 9)
    with use_threads(3):
        three = sparse_topk(left, right, 9)
    np.testing.assert_array_equal(one[0], three[0])
    np.testing.assert_array_equal(one[1], three[1])


def test_unsorted_and_duplicate_indices_are_summed() -> None:
    left = sp.csr_matrix((np.array([1, 2, 1], dtype=np.float32), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    right = sp.csr_matrix(np.array([[1, 0, 3], [4, 5, 0]], dtype=np.float32))
    ids, scores = sparse_topk(left, right, 3)
    np.testing.assert_array_equal(ids, [[0, 1, 2]])  # 2*1 + 2*4 = 10 ties with 2*5 = 10
    np.testing.assert_array_equal(scores, [[10, 10, 6]])


def test_columns_without_a_row_on_the_right_count_nothing() -> None:
    left = sp.csr_matrix(np.array([[0, 1, 5], [0, 0, 5]], dtype=np.float32))
    right = sp.csr_matrix(np.array([[1, 0], [0, 2]], dtype=np.float32))
    ids, scores = sparse_topk(left, right, 2)
    np.testing.assert_array_equal(ids, [[1, -1], [-1, -1]])
    np.testing.assert_array_equal(scores, [[2, -np.inf], [-np.inf, -np.inf]])


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 4), (2, 3, 0)])
def test_empty_sides(shape: tuple[int, int, int]) -> None:
    n, inner, columns = shape
    ids, scores = sparse_topk(sp.csr_matrix((n, inner)), sp.csr_matrix((inner, columns)), 2)
    assert ids.shape == scores.shape == (n, 2)
    assert (ids == -1).all()


@pytest.mark.parametrize("density", [0.01, 0.3])
def test_a_row_is_not_its_own_neighbour(density: float) -> None:
    rng = np.random.default_rng(5)
    rows = random_csr(rng, 70, 40, density, True)
    ids, scores = sparse_topk(rows, rows.T.tocsr(), 5, others=True)
    product = (rows @ rows.T).toarray()
    np.fill_diagonal(product, 0)
    plain = plain_topk(sp.csr_matrix(product), sp.identity(70, np.float32, "csr"), 5)
    np.testing.assert_array_equal(ids, plain[0])
    np.testing.assert_array_equal(scores, plain[1])


def test_one_column_may_be_added_to_more_than_once() -> None:
    ids, scores = sparse_topk(sp.csr_matrix(np.ones((1, 3), np.float32)), sp.csr_matrix(np.ones((3, 1), np.float32)), 2)
    np.testing.assert_array_equal(ids, [[0, -1]])
    np.testing.assert_array_equal(scores, [[3, -np.inf]])
