"""The plan of auto for the bundled data, and the shapes of two data sets, for the tables of docs/how-auto-works.md.

python -m benchmarks.plan_snapshot [FOLDER ...] writes benchmarks/results/plan.json and shapes.json. Each FOLDER has a
train file and adds its shape; the shape of debian-tags comes from the package's own data.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from zipfel import Zipfel, datasets
from zipfel.bench.sources import find_source
from zipfel.data import Dataset, read

RESULTS = Path(__file__).resolve().parent / "results"
PLACES = 6
"""Decimal places of the numbers that are written."""


def rounded(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, PLACES) if isinstance(value, float) else value for name, value in facts.items()}


def facts_of(train: Dataset, preset: str | None = None) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """(the plan, the shape) of auto fitted on these documents with seed 1 and two threads."""
    facts = Zipfel(preset=preset, seed=1, threads=2).fit(train).method_.state().facts
    return [rounded(part) for part in facts["plan"]], rounded(facts["shape"])


def main(folders: list[str]) -> None:
    plan, shape = facts_of(datasets.load("debian-tags")[0])
    old = json.loads((RESULTS / "shapes.json").read_text(encoding="utf-8"))
    shapes = {**old, "debian-tags": shape}
    for folder in folders:
        files = find_source(folder).files
        assert files is not None
        text = next((file for file in sorted(Path(folder).glob("train.jsonl*"))), files[0])
        shapes[Path(folder).name] = facts_of(read(str(text)), "quick")[1]
    lines = ",\n".join(json.dumps(part) for part in plan)
    (RESULTS / "plan.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    (RESULTS / "shapes.json").write_text(json.dumps(shapes, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
