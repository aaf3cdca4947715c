"""Writes benchmarks/results/peers.jsonl as a table into README.md; the site makes its own.

`python scripts/peers_table.py [RUNS.jsonl]`: with RUNS.jsonl, the file that `zipfel bench --out` makes, the figures of
its systems are replaced first.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from docs_tables import chosen_systems_table

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "peers.jsonl", ROOT / "README.md"
SHOWN = ("debian-tags", "eurlex57k")
"""Data sets of the README's table."""
NAMES = {"auto": "zipfel", "auto:quick": "zipfel quick", "omikuji-parabel": "omikuji Parabel"}
NAMES |= {"omikuji-bonsai": "omikuji Bonsai", "pecos-xrlinear": "PECOS XR-Linear", "napkinxc-plt": "napkinXC PLT"}
NAMES |= {"sklearn-ovr": "scikit-learn one-vs-rest"}
START, END = "<!-- systems -->", "<!-- /systems -->"


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def of_run(run: dict[str, Any]) -> dict[str, Any]:
    metrics = {name: round(100 * run["metrics"][name], 2) for name in ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")}
    costs = {
        "train_s": run["train_seconds"],
        **{name: run[name] for name in ("model_mb", "peak_mb", "batch_ms", "single_ms")},
    }
    rounded = {name: float(f"{value:.3g}") for name, value in costs.items()}
    return {"data": run["data"], "system": NAMES.get(run["system"], run["system"]), **metrics, **rounded}


def main(words: list[str]) -> None:
    rows = read(RESULTS)
    for word in words:
        fresh = [of_run(run) for run in read(Path(word))]
        keys = {(row["data"], row["system"]) for row in fresh}
        rows = [row for row in rows if (row["data"], row["system"]) not in keys] + fresh
    order = list(dict.fromkeys(row["data"] for row in [*read(RESULTS), *rows]))
    systems = list(dict.fromkeys(row["system"] for row in [*read(RESULTS), *rows]))
    rows.sort(key=lambda row: (order.index(row["data"]), systems.index(row["system"])))
    RESULTS.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    block = f"{START}\n{chosen_systems_table(SHOWN)}\n{END}"
    PAGE.write_text(re.sub(f"{START}.*{END}", lambda _: block, text, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
