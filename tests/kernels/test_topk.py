"""Running top-k against a full sort, ties included."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from zipfel.kernels.topk import merge_topk, score_pairs, sort_topk, topk


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(0, 40), st.integers(1, 12), st.integers(1, 9), st.integers(0, 10_000))
def test_blocks_give_what_a_full_sort_gives(n: int, width: int, k: int, step: int, seed: int) -> None:
    scores = np.random.default_rng(seed).integers(-3, 4, size=(n, width)).astype(np.float32)
    best, ids = np.full((n, k), -np.inf, dtype=np.float32), np.full((n, k), -1, dtype=np.int64)
    for start in range(0, width, step):
        merge_topk(np.ascontiguousarray(scores[:, start : start + step]), start, best, ids, 0, n)
    sort_topk(best, ids, 0, n)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    kept = min(k, width)
    assert np.array_equal(ids[:, :kept], order)
    assert np.array_equal(best[:, :kept], np.take_along_axis(scores, order, 1))
    assert np.all(ids[:, kept:] == -1)
    whole = topk(scores, k)
    assert np.array_equal(whole[0], ids)
    assert np.array_equal(whole[1], best)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3), st.integers(60, 400), st.integers(1, 12), st.integers(2, 60), st.integers(0, 10_000))
def test_runs_that_are_passed_over_hide_nothing(n: int, width: int, k: int, values: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, values, size=(n, width)).astype(np.float32)
    scores[rng.random(scores.shape) < 0.3] = -np.inf
    ids, best = topk(scores, k)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    expected = np.take_along_axis(scores, order, 1)
    assert np.array_equal(best, expected)
    assert np.array_equal(ids, np.where(np.isneginf(expected), -1, order))


def test_pairs_are_inner_products_and_no_place_is_no_candidate() -> None:
    rng = np.random.default_rng(0)
    queries, vectors = rng.standard_normal((5, 9)).astype(np.float32), rng.standard_normal((20, 9)).astype(np.float32)
    places = rng.integers(-1, 20, size=(5, 7))
    out = np.empty((5, 7), dtype=np.float32)
    score_pairs(queries, vectors, places, out, 0, 5)
    plain = np.where(places >= 0, np.einsum("nd,ncd->nc", queries, vectors[np.maximum(places, 0)]), -np.inf)
    assert np.allclose(out, plain, atol=1e-5)
