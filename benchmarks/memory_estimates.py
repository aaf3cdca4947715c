"""What `fit --max-memory` estimates, beside what the fit then takes: megabytes, for several data sets.

    python -m benchmarks.memory_estimates ../shared/data/bibtex ../shared/data/delicious [--preset quick]
                                          [--limit 8GB] [--threads 1] [--out benchmarks/results/memory_estimates.jsonl]

Each fit is a command of its own. Estimates come from samples of the documents, and nothing is fitted to their errors.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from zipfel.bench.runner import append_record


def train_file(folder: Path) -> Path:
    """The training set of a folder of `shared/data`."""
    return next(file for file in sorted(folder.iterdir()) if file.name.startswith("train."))


def measured(file: Path, preset: str, limit: str, threads: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        words = ["fit", str(file), "--max-memory", limit, "--out", str(model), "--seed", "1", "--threads", str(threads)]
        words += [] if preset == "default" else ["--preset", preset]
        subprocess.run([sys.executable, "-m", "zipfel", *words], check=True, stdout=sys.stderr)
        config = json.loads((model / "config.json").read_text())
    memory = config["training"]["memory"]
    return {
        "data": file.parent.name, "preset": preset, "documents": config["training"]["n_points"],
        "estimated_mb": round(memory["estimate"] / 1e6), "measured_mb": round(memory["peak"] / 1e6),
        "changes": memory["changes"],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--preset", default="quick")
    parser.add_argument("--limit", default="8GB")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    print("| data | preset | documents | estimated MB | measured MB | too much by |\n|---|---|---|---|---|---|")
    for folder in asked.folders:
        row = measured(train_file(folder), asked.preset, asked.limit, asked.threads)
        error = row["estimated_mb"] / row["measured_mb"] - 1
        cells = f"{row['documents']:,} | {row['estimated_mb']:,} | {row['measured_mb']:,} | {error:+.0%}"
        print(f"| {row['data']} | {row['preset']} | {cells} |", flush=True)
        if asked.out:
            append_record(asked.out, row)


if __name__ == "__main__":
    main()
