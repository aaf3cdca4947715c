"""Probabilities from raw scores: pools by hand, a known curve, what is kept and refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from zipfel.calibration import Calibration, HeldOutRanking, isotonic
from zipfel.errors import ModelFileError
from zipfel.metrics import reliability


def test_pools_by_hand() -> None:
    """3, 1 is out of order and becomes (1/2, 1/2); the mean score of a pool stands for it."""
    values, means = isotonic(np.array([0.1, 0.2, 0.4, 0.8, 0.9]), np.array([0, 1, 0, 1, 1]))
    np.testing.assert_allclose(values, [0.1, 0.3, 0.85])
    np.testing.assert_allclose(means, [0, 0.5, 1])


def test_equal_scores_are_one_pool_and_means_rise() -> None:
    values, means = isotonic(np.array([2.0, 1.0, 2.0, 1.0]), np.array([0, 1, 0, 0]))
    np.testing.assert_allclose(values, [1.5])
    np.testing.assert_allclose(means, [0.25])
    rng = np.random.default_rng(0)
    scores = rng.random(500)
    values, means = isotonic(scores, rng.random(500) < scores**2)
    assert (np.diff(values) > 0).all()
    assert (np.diff(means) > 0).all()


def drawn(n: int, bent: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(scores, hits, probabilities) of n documents with eight labels each, best first."""
    rng = np.random.default_rng(1)
    odds = -np.sort(-rng.normal(-1, 2, (n, 8)), axis=1)
    p = 1 / (1 + np.exp(-odds))
    scores = p**6 if bent else 3 * odds + 1  # a sixth power is far from log-odds
    return scores.astype(np.float32), rng.random((n, 8)) < p, p


@pytest.mark.parametrize("bent", [False, True])
def test_scores_become_probabilities(bent: bool) -> None:
    scores, hits, p = drawn(3000, bent)
    found = Calibration.fit(scores, hits)
    assert bool(found.knots) == bent
    given = found(scores, np.zeros(scores.shape, dtype=np.int64))
    assert 0 <= given.min() <= given.max() <= 1
    assert np.abs(given - p).mean() < 0.02
    assert reliability(given.ravel(), hits.ravel()).error < 0.01


def test_buckets_count_where_they_pay() -> None:
    scores, hits, _ = drawn(2000, False)
    counts = np.random.default_rng(2).choice([3, 1000], scores.shape)
    assert not Calibration.fit(scores, hits, counts).is_bucketed
    rarely = hits & ((counts == 1000) | (np.random.default_rng(3).random(hits.shape) < 0.3))
    found = Calibration.fit(scores, rarely, counts)
    assert found.is_bucketed
    tail, head = (found(scores, np.full(scores.shape, n)).mean() for n in (3, 1000))
    assert tail < 0.6 * head


def test_pads_stay_pads_and_nothing_to_learn_from_is_no_error() -> None:
    scores = np.array([[1.0, 0.5, -np.inf]], dtype=np.float32)
    found = Calibration.fit(scores, np.array([[True, False, False]]))(scores, np.zeros((1, 3), dtype=np.int64))
    assert np.isneginf(found[0, 2])
    assert 0 <= found[0, 1] <= found[0, 0] <= 1
    empty = HeldOutRanking(*(np.zeros((0, 5), dtype=t) for t in (np.int64, np.float32, bool, np.int64)))
    assert empty.calibration()(scores, np.zeros((1, 3), dtype=np.int64))[0, 0] == 0.5


@pytest.mark.parametrize("bent", [False, True])
def test_what_is_kept_gives_the_same(bent: bool) -> None:
    scores, hits, _ = drawn(500, bent)
    counts = np.zeros(scores.shape, dtype=np.int64)
    found = Calibration.fit(scores, hits)
    again = Calibration.from_facts(json.loads(json.dumps(found.facts())))
    np.testing.assert_array_equal(found(scores, counts), again(scores, counts))


@pytest.mark.parametrize(
    "change",
    [
        {"mean": "x"},
        {"spread": 0.0},
        {"spread": float("nan")},
        {"knots": [[1.0, 0.0], [0.0, 1.0]]},
        {"knots": [[1.0]]},
        {"blend": {"names": ["a"], "weights": [1.0], "bias": 0.0}},
        {"blend": None},
    ],
)
def test_damaged_facts_are_refused(change: dict[str, object]) -> None:
    scores, hits, _ = drawn(50, False)
    with pytest.raises(ModelFileError):
        Calibration.from_facts({**Calibration.fit(scores, hits).facts(), **change})
