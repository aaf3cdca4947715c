"""The blend against what is known of logistic regression."""

from __future__ import annotations

import numpy as np
import pytest

from zipfel.errors import ModelFileError
from zipfel.linear.blend import Blend


def _pairs(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds 2 a - 1 b - 0.5, and a column c that says nothing."""
    rng = np.random.default_rng(seed)
    evidence = rng.standard_normal((20_000, 3)) * [1, 2, 5] + [3, 0, 1]
    odds = 2 * evidence[:, 0] - evidence[:, 1] - 6.5
    return evidence, rng.random(len(odds)) < 1 / (1 + np.exp(-odds))


def test_finds_the_weights_that_made_the_data() -> None:
    blend = Blend.fit(["a", "b", "c"], *_pairs())
    np.testing.assert_allclose(blend.weights, [2, -1, 0], atol=0.1)
    assert blend.bias == pytest.approx(-6.5, abs=0.3)


def test_monotone_evidence_never_speaks_against_a_label() -> None:
    blend = Blend.fit(["a", "b", "c"], *_pairs(), monotone=["a", "b"])
    assert blend.weights[1] == 0
    assert blend.weights[0] > 0.5


def test_score_is_the_weighted_sum() -> None:
    blend = Blend(("a", "b"), (2.0, 0.5), -1.0)
    assert blend(np.array([[[1, 2], [0, 4]]], dtype=np.float32)).tolist() == [[2.0, 1.0]]


def test_no_hit_at_all_is_survived() -> None:
    evidence, _ = _pairs()
    blend = Blend.fit(["a", "b", "c"], evidence[:50], np.zeros(50, dtype=bool))
    assert np.isfinite([*blend.weights, blend.bias]).all()


def test_facts_come_back() -> None:
    blend = Blend(("a", "b"), (2.0, 0.5), -1.0)
    assert Blend.from_facts(blend.facts(), ["a", "b"]) == blend
    for harm in ({"names": ["a"]}, {"weights": [1.0]}, {"bias": "x"}):
        with pytest.raises(ModelFileError):
            Blend.from_facts({**blend.facts(), **harm}, ["a", "b"])


def test_without_anything_to_learn_from_evidence_counts_alike() -> None:
    blend = Blend.fit_top(
        ["a", "b"], np.zeros((2, 3, 2)), np.zeros((2, 3), bool), np.zeros((2, 3), bool), monotone=["b"]
    )
    assert blend.weights == (0.0, 1.0)
    assert blend.bias == 0


def test_rounding_errors_are_no_evidence() -> None:
    evidence, hits = _pairs()
    noise = np.float32(-6.9) + 5e-7 * hits[:, None].astype(np.float32)
    blend = Blend.fit(["a", "b", "noise"], np.hstack([evidence[:, :2], noise]), hits)
    assert abs(blend.weights[2]) < 0.01


def test_a_start_that_is_far_off_leads_to_the_same_weights() -> None:
    names, pairs = ["a", "b", "c"], _pairs()
    blend = Blend.fit(names, *pairs)
    again = Blend.fit(names, *pairs, start=Blend(tuple(names), (40.0, 40.0, -40.0), 10.0))
    np.testing.assert_allclose(again.weights, blend.weights, atol=1e-4)
