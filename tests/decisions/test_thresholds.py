"""Thresholds: learnt on held-out documents, applied to rankings, kept in models."""

from __future__ import annotations

import numpy as np
import pytest

from zipfel.decisions import Thresholds, parse_threshold
from zipfel.decisions.thresholds import kept_labels
from zipfel.errors import ModelFileError, ParameterError
from zipfel.ranking import Ranking


def drawn(n: int = 3000, c: int = 8, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that mean what they say, and hits drawn by them."""
    rng = np.random.default_rng(seed)
    p = np.sort(rng.beta(0.4, 1.2, (n, c)), axis=1)[:, ::-1]
    return p, rng.random((n, c)) < p


def micro_f1(given: np.ndarray, hits: np.ndarray, n_true: int) -> float:
    return float(2 * (given & hits).sum() / (given.sum() + n_true))


def test_the_best_threshold_of_true_probabilities_is_half_of_f1() -> None:
    p, hits = drawn()
    found = Thresholds.fit(p, hits, np.full(p.shape, 50), hits.sum(axis=1))
    best = max(micro_f1(p >= t, hits, hits.sum()) for t in np.linspace(0.01, 0.99, 99))
    torso = found.micro[1]
    assert micro_f1(p >= torso, hits, hits.sum()) >= best - 1e-3
    assert torso == pytest.approx(best / 2, abs=0.03)
    assert found.f1[1] == pytest.approx(best, abs=1e-3)


def test_the_best_threshold_is_found_exactly() -> None:
    p = np.array([[0.9, 0.6, 0.2], [0.8, 0.6, 0.1]])
    hits = np.array([[True, True, False], [True, False, False]])
    found = Thresholds.fit(p, hits, np.full(p.shape, 50), np.array([2, 1]))
    # given 2: 2*2/(2+3) = 0.8; given 4, for 0.6 is there twice: 6/7
    share = 3 / 203
    assert found.micro[1] == pytest.approx(share * 0.4 + (1 - share) * 0.4)
    p[1, 1] = 0.3
    assert Thresholds.fit(p, hits, np.full(p.shape, 50), np.array([2, 1])).document == pytest.approx(0.6, abs=0.01)


def test_documents_get_one_label_at_least() -> None:
    p, hits = drawn()
    found = Thresholds.fit(p, hits, np.full(p.shape, 50), hits.sum(axis=1))
    ranking = Ranking(np.tile(np.arange(8), (3, 1)), np.array([p[0] / 1000, p[1], p[2]], dtype=np.float32))
    counts = np.full(8, 50)
    assert found.accepted(ranking, counts, "auto:document").sum(axis=1).min() >= 1
    assert found.accepted(ranking, counts, "auto")[0].sum() == 0


def test_buckets_have_thresholds_of_their_own() -> None:
    p, hits = drawn(8000)
    counts = np.where(np.arange(p.shape[1]) % 2, 500, 2)
    too_sure = np.where(counts == 2, p**0.5, p)  # rare labels' probabilities are too high
    found = Thresholds.fit(too_sure, hits, np.broadcast_to(counts, p.shape), hits.sum(axis=1))
    assert found.micro[2] > found.micro[0] + 0.1
    ranking = Ranking(np.tile(np.arange(8), (len(p), 1)), too_sure.astype(np.float32))
    by_bucket = micro_f1(found.accepted(ranking, counts, "auto"), hits, hits.sum())
    assert by_bucket > max(micro_f1(too_sure >= t, hits, hits.sum()) for t in np.linspace(0.01, 0.99, 99)) + 0.001


def test_pads_and_limits() -> None:
    ranking = Ranking(np.array([[3, 1, 0], [2, -1, -1]]), np.array([[0.6, 0.7, 0.5], [0.1, -np.inf, -np.inf]]))
    accepted = Thresholds().accepted(ranking, np.full(4, 10), 0.5)
    assert kept_labels(ranking, accepted).labels.tolist() == [[3, 1, 0], [-1, -1, -1]]
    assert kept_labels(ranking, accepted, 1).labels.tolist() == [[3], [-1]]
    assert kept_labels(ranking, np.zeros((2, 3), dtype=bool)).labels.tolist() == [[-1], [-1]]


def test_words_are_checked() -> None:
    assert parse_threshold("0.25") == 0.25
    assert parse_threshold("auto:document") == "auto:document"
    for wrong in ("half", "1.5", "nan", -1, True):
        with pytest.raises(ParameterError, match="a threshold is"):
            parse_threshold(wrong)


def test_they_are_kept_and_checked() -> None:
    p, hits = drawn(200)
    found = Thresholds.fit(p, hits, np.full(p.shape, 50), hits.sum(axis=1))
    assert Thresholds.from_facts(found.facts()) == found
    assert Thresholds.from_facts(None) == Thresholds()
    nothing = Thresholds.fit(np.full((3, 2), -np.inf), np.zeros((3, 2), bool), np.zeros((3, 2)), np.zeros(3))
    assert nothing == Thresholds()
    for wrong in (
        {},
        {**found.facts(), "micro": [0.5]},
        {**found.facts(), "document": 2},
        {**found.facts(), "f1": "x"},
    ):
        with pytest.raises(ModelFileError, match="thresholds"):
            Thresholds.from_facts(wrong)
