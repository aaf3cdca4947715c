"""Writes benchmarks/results/methods.jsonl of a `zipfel bench`: `python scripts/methods_table.py OUT/runs.jsonl`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from docs_tables import RESULTS
from peers_table import of_run, read

ORDER = ("popular", "centroid", "knn", "ova", "auto:quick", "auto")


def main(path: str) -> None:
    rows = [{**of_run(run), "system": run["system"]} for run in read(Path(path)) if run["system"] in ORDER]
    rows.sort(key=lambda row: ORDER.index(row["system"]))
    (RESULTS / "methods.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
