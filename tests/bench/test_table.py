from __future__ import annotations

import math
from typing import Any

import pytest

from zipfel.bench.table import COSTS, DETAILS, QUALITY, Column, markdown, ratios, summarise

TRAIN = Column("train_seconds", "train s", more_is_better=False)
P1 = Column("P@1", "P@1")
MACHINE = {"cpu": "Abacus", "cores": 2, "memory_gb": 4, "system": "Linux", "python": "3.11"}


def record(system: str, p1: float, seconds: float, *, seed: int = 1, ours: bool = False, **more: Any) -> dict[str, Any]:
    measures = {column.key: seconds for column in COSTS}
    metrics = {column.key: p1 for column in (*QUALITY, *DETAILS)}
    facts = {"data": "bibtex", "seed": seed, "threads": 2, "status": "ok", "version": "1", "machine": MACHINE}
    return {**facts, "system": system, "ours": ours, **measures, "metrics": metrics, **more}


def test_mean_and_spread_over_seeds() -> None:
    (summary,) = summarise([record("a", 0.5, 2, seed=1), record("a", 0.52, 4, seed=2)])["bibtex"]
    assert summary.mean(P1) == pytest.approx(51)
    assert summary.spread(P1) == pytest.approx(math.sqrt(2))
    assert summary.cell(P1) == "51.00 ±1.41"
    assert summary.cell(TRAIN) == "3.00 ±1.41"


def test_one_seed_has_no_spread() -> None:
    (summary,) = summarise([record("a", 0.5, 123.4)])["bibtex"]
    assert summary.cell(TRAIN) == "123"
    assert summary.spread(TRAIN) == 0


def test_ratio_is_to_the_best_peer_of_each_column() -> None:
    found = summarise([record("ours", 0.66, 3, ours=True), record("fast", 0.5, 2), record("good", 0.6, 10)])["bibtex"]
    assert ratios(found, (P1, TRAIN)) == {"ours": {"P@1": pytest.approx(1.1), "train s": pytest.approx(1.5)}}


def test_no_ratio_without_peers() -> None:
    assert ratios(summarise([record("ours", 0.6, 3, ours=True)])["bibtex"], (P1,)) == {}


def test_markdown_marks_the_best_and_tells_what_failed() -> None:
    runs = [record("ours", 0.66, 3, ours=True), record("peer", 0.6, 2)]
    text = markdown([*runs, record("late", 0, 0, status="given up after 5 s")])
    assert "Abacus, 2 cores, 4 GB" in text
    assert "| ours | **66.00** |" in text
    assert "| *ours / best peer* | *1.1* |" in text
    assert "- late, seed 1: given up after 5 s" in text
    rows = [line for line in text.splitlines() if line.startswith("| peer")]
    assert "**2.00**" in rows[0]
    assert "60.00" in rows[0]
    assert "**60.00**" not in rows[0]


def test_nothing_is_bold_where_all_are_equal() -> None:
    assert "**" not in markdown([record("a", 0.5, 1), record("b", 0.5, 1)])


def test_nothing_run() -> None:
    assert "Nothing was run." in markdown([])
