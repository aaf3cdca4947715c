from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.shard_plan import Curve, Plan, makespan, memberships, played

ROWS = [
    {"system": "quick", "labels": n, "points": 1.5 * n, "fit": n / 5000, "peak_mb": 125 + n / 50, "model_mb": n / 500}
    for n in (3_000, 10_000, 100_000)
]


def test_the_curve_and_a_shard() -> None:
    others = {"labels": 10_000, "fit": 9, "peak_mb": 999, "model_mb": 9}
    thin, auto = {"system": "quick", "points": 1500, **others}, {"system": "auto", "points": 15_000, **others}
    curve = Curve.fitted([*ROWS, thin, auto])
    assert curve.seconds == pytest.approx((2e-4, 1.0))
    plan = Plan(points=3e6, labels=1e6, shards=10, copies=2.0, asked=4)
    one = plan.shard(curve)
    assert (one["labels"], one["points"]) == (1e5, 6e5)
    assert one["cpu_seconds"] == pytest.approx(4 * 20)  # four times the curve's points a label
    assert one["held_gb"] == pytest.approx(4 * 2)
    whole = plan.whole(curve, 8)
    assert whole["core_hours"] == pytest.approx(800 / 3600)
    assert whole["hours"] == pytest.approx(100 / 3600)
    assert whole["kb_a_document"] == pytest.approx(4 * (450 + 60) / 1000)


def test_a_plan_is_simulated() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(8, size=400)
    X = sp.csr_matrix(np.eye(8, dtype=np.float32)[label])
    found = played(X, X.copy(), Plan(3e6, 1e6, 4, 1.0, 2), Curve.fitted(ROWS), 4, 0.0)
    assert found["copies"] == 1.0
    assert found["found_by_means"][1] == found["found_by_both"][1] == found["found_by_one_machine"] == 1.0
    assert found["hours_if_even"] <= found["hours"] <= 2.1 * found["hours_if_even"]


def test_memberships() -> None:
    Y = sp.csr_matrix(np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 1]], dtype=np.float32))
    assert memberships(Y, np.array([0, 0, 1, 1]), 2).toarray().tolist() == [[2, 0], [0, 2], [1, 1]]


def test_tasks_on_cores() -> None:
    rng = np.random.default_rng(0)
    assert makespan(np.array([3.0, 1, 1, 1]), 2, 0.0, rng) == (3.0, 0)
    assert makespan(np.ones(5), 2, 0.0, rng) == (3.0, 0)
    end, died = makespan(np.ones(1000), 10, 0.1, rng)
    assert 80 < died < 140
    assert 100 + died / 10 * 0.3 < end < 100 + died / 10
