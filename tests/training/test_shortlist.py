"""Shortlisted and scored labels: with an index as without one, and the fusion by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.ranking import Ranking
from zipfel.training import shortlist
from zipfel.training.shortlist import SHARES, Scored, ShortlistScorer, best_share, fused, rank_blocks, ranked


def _scorer(n: int = 200, dim: int = 6) -> ShortlistScorer:
    rng = np.random.default_rng(0)
    classifiers, codes = (rng.standard_normal((n, dim)).astype(np.float32) for _ in range(2))
    return ShortlistScorer(classifiers, codes, np.zeros(dim, np.float32), np.arange(n) * 2, np.array([5, 7]))


def _points(n: int = 9, dim: int = 6) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((n, dim)).astype(np.float32)


def _rank(scorer: ShortlistScorer, points: np.ndarray, width: int, beta: float, k: int = 5) -> Ranking:
    found = scorer.shortlist(points, width)
    return ranked(scorer.labels, found.places, fused(found, beta), k)


def test_fusion_by_hand() -> None:
    scored = Scored(None, np.array([[0.0, math.log(3)]], np.float32), np.array([[1.0, -1.0]], np.float32))
    ranking = ranked(np.array([4, 9]), None, fused(scored, 0.5), 2)
    by_hand = {4: 0.25 + 0.5 / (1 + math.exp(-1)), 9: 0.375 + 0.5 / (1 + math.exp(1))}
    assert ranking.labels.tolist() == [[4, 9]]
    assert ranking.scores[0].tolist() == pytest.approx([by_hand[4], by_hand[9]])


def test_a_long_shortlist_finds_what_scoring_all_finds() -> None:
    plain, points = _scorer(), _points()
    indexed = _scorer().indexed(0, "exact", points, 10, seed=0)
    assert indexed.index is not None
    for beta in (1.0, 0.3):
        one, other = _rank(plain, points, 500, beta), _rank(indexed, points, 500, beta)
        assert np.array_equal(one.labels, other.labels)
        assert np.allclose(one.scores, other.scores, atol=1e-6)


def test_head_labels_are_always_candidates_and_never_twice() -> None:
    indexed = _scorer().indexed(0, "exact", _points(), 10, seed=0)
    places = indexed.shortlist(_points(), 3).places
    assert places is not None
    for row in places:
        kept = row[row >= 0].tolist()
        assert {5, 7} <= set(kept)
        assert len(kept) == len(set(kept))
    ranking = _rank(indexed, _points(), 3, 0.5, 9)
    assert np.all((ranking.labels >= 0).sum(axis=1) <= 5)


def test_many_labels_are_searched_approximately(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortlist, "APPROXIMATE_FROM", 150)
    plain, points = _scorer(), _points()
    for n, kind in ((150, "exact"), (200, "ivfpq")):
        index = _scorer(n).indexed(0, "auto", points, 120, seed=0).index
        assert index is not None
        assert index.kind == kind
    indexed = _scorer().indexed(0, "auto", points, 120, seed=0)
    assert indexed.index is not None
    assert indexed.index.recall >= 0.8
    found, scored = indexed.shortlist(points, 120), plain.shortlist(points, 120)
    assert found.places is not None
    there = found.places >= 0
    expected = np.take_along_axis(scored.cosines, np.maximum(found.places, 0), axis=1)
    assert np.allclose(found.cosines[there], expected[there], atol=1e-6)


@pytest.mark.parametrize("kind", ["exact", "hnsw", "ivfpq"])
def test_saved_and_restored(kind: str) -> None:
    scorer = _scorer().indexed(0, kind, _points(), 10, seed=0)
    arrays, facts = scorer.state("float32")
    again = ShortlistScorer.restored(arrays, facts, 400, 6, 2)
    one, other = (_rank(s, _points(), 20, 0.7) for s in (scorer, again))
    assert np.array_equal(one.labels, other.labels)
    assert np.array_equal(one.scores, other.scores)
    with pytest.raises(ModelFileError, match="damaged"):
        ShortlistScorer.restored(arrays, facts, 100, 6, 2)


def test_the_best_share_is_the_largest_of_equals() -> None:
    truth = sp.csr_matrix(np.array([[0, 1, 0], [0, 0, 1]], dtype=np.float32))

    def rank(share: float) -> Ranking:
        """Right from 0.3 to 0.6 only."""
        labels = np.array([[1], [2]]) if 0.25 < share < 0.65 else np.array([[0], [0]])
        return Ranking(labels, np.ones((2, 1), np.float32))

    assert best_share(lambda shares: [rank(share) for share in shares], truth) == 0.6
    assert best_share(lambda shares: [rank(share) for share in shares], truth, 0.1) == 0.1
    assert best_share(lambda shares: [rank(0) for _ in shares], truth) == max(SHARES)


def test_blocks_of_rows_are_ranked_alike_and_a_row_without_features_gets_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shortlist, "_BLOCK", 2)
    X = sp.csr_matrix(np.array([[3], [0], [1], [2], [5]], dtype=np.float32))

    def rank(block: sp.csr_matrix) -> list[Ranking]:
        dense = block.toarray()
        return [Ranking(dense.astype(np.int64), dense), Ranking(dense.astype(np.int64) + 1, dense)]

    found, other = rank_blocks(X, rank)
    assert found.labels.ravel().tolist() == [3, -1, 1, 2, 5]
    assert other.labels.ravel().tolist() == [4, -1, 2, 3, 6]
    assert found.scores[1, 0] == other.scores[1, 0] == -np.inf
    assert len(rank_blocks(X[:0], rank)[0].labels) == 0
