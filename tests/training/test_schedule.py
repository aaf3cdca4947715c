"""Schedules at the points where their values are known."""

from __future__ import annotations

import pytest

from zipfel.errors import ParameterError
from zipfel.training import rate_at
from zipfel.training.schedule import epochs_for


@pytest.mark.parametrize(
    ("schedule", "warmup", "progress", "expected"),
    [
        ("constant", 0.0, 0.9, 1.0),
        ("linear", 0.0, 0.0, 1.0),
        ("linear", 0.0, 0.75, 0.25),
        ("linear", 0.2, 0.1, 0.5),
        ("linear", 0.2, 0.6, 0.5),
        ("cosine", 0.0, 0.5, 0.5),
        ("cosine", 0.5, 1.0, 0.0),
        ("linear", 0.0, 1.5, 0.0),
    ],
)
def test_rate(schedule: str, warmup: float, progress: float, expected: float) -> None:
    assert rate_at(progress, schedule, warmup) == pytest.approx(expected, abs=1e-9)


def test_unknown_schedule() -> None:
    with pytest.raises(ParameterError, match="constant, linear, cosine"):
        rate_at(0.5, "zigzag")


@pytest.mark.parametrize(("steps", "n_batches", "expected"), [(600, 100, 8), (600, 47, 13), (600, 3, 25), (600, 0, 25)])
def test_epochs_make_so_many_steps_within_limits(steps: int, n_batches: int, expected: int) -> None:
    assert epochs_for(steps, n_batches, (8, 25)) == expected
