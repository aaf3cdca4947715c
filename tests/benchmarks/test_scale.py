"""The table of the papers' sizes: rows as measured, and the whole set along the line through two shares."""

from __future__ import annotations

from typing import Any

from benchmarks.scale import SHAPES, markdown, whole_set

SHAPE = "amazontitles-670k"


def _row(share: float, cpu: float, gb: float) -> dict[str, Any]:
    points = round(share * SHAPES[SHAPE].points)
    return {
        "shape": SHAPE, "method": "astec", "share": share, "points": points,
        "labels": round(share * 600_000), "test": 1000,
        "train_cpu": cpu, "phases": {"module 1: features": cpu / 2}, "all_gb": gb, "model_mb": 100 * share,
        "predict_cpu": 2.0,
    }  # fmt: skip


def test_the_whole_set_lies_on_the_line_through_two_shares() -> None:
    found = whole_set(_row(0.1, 20, 1.0), _row(0.2, 35, 1.5))
    assert (found["points"], found["labels"]) == (485_176, 670_091)
    assert round(found["train_cpu"]) == 35 + 8 * 15
    assert round(found["model_mb"], 3) == round(20 + 10 * (670_091 - 120_000) / 60_000, 3)
    assert round(found["all_gb"], 3) == round(1.5 + 0.5 * (670_091 - 120_000) / 60_000, 3)  # by points: 5.5
    many = whole_set(_row(0.1, 20, 1.0) | {"labels": 200_000}, _row(0.2, 35, 1.5) | {"labels": 400_000})
    assert round(many["all_gb"], 3) == 5.5  # by labels: 2.2


def test_a_table_has_all_rows_and_the_whole_set_where_it_was_not_run() -> None:
    small, large, full = _row(0.1, 20, 1.0), _row(0.4, 35, 1.5), _row(1.0, 200, 6.0)
    failed = {"shape": SHAPE, "method": "mnn", "share": 1.0, "failed": -9}
    lines = markdown([large, failed, small]).splitlines()
    assert [line.count("along the line") for line in lines] == [0, 0, 0, 0, 1, 0]
    assert "module 1 10" in lines[2]
    assert "2.00" in lines[2]
    assert "exit code -9" in lines[-1]
    assert "along the line" not in markdown([small, full])
    assert "along the line" not in markdown([small, _row(0.2, 35, 1.5)])  # too near each other
