"""Writes benchmarks/results/methods.jsonl of a `zipfel bench`: `python scripts/methods_table.py OUT/runs.jsonl`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docs_tables import RESULTS
from peers_table import of_run, read

from zipfel.methods import method_names

CHEAP = ("popular", "centroid", "knn", "ova")


def main(path: str) -> None:
    """Methods in the registry's order, cheap ones first; a preset follows the method's default."""
    rows = [{**of_run(run), "system": run["system"]} for run in read(Path(path)) if method(run) in method_names()]
    order = [*CHEAP, *(name for name in method_names() if name not in CHEAP)]
    rows.sort(key=lambda row: (row["data"], order.index(method(row)), row["system"]))
    (RESULTS / "methods.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def method(row: Mapping[str, Any]) -> str:
    """The name without preset and settings."""
    return re.split(r"[:\[]", str(row["system"]))[0]


if __name__ == "__main__":
    main(sys.argv[1])
