"""Draws a data set's sides anew, to tell what one split says by chance.

    python scripts/draw_splits.py data/dep11 --out splits [--splits 8] [--run 10]

Rows of train.jsonl and test.jsonl together; in each split a quarter of their runs of --run rows, at
random, is for testing. Files that `build_archive_data.py` and `build_index_data.py` make have documents of one
source side by side.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

TEST_SHARE = 0.25


def sides(rows: list[str], run: int, seed: int) -> tuple[list[str], list[str]]:
    """For training, for testing."""
    n_runs = -(-len(rows) // run)
    drawn = set(random.Random(seed).sample(range(n_runs), round(n_runs * TEST_SHARE)))
    train = [row for i, row in enumerate(rows) if i // run not in drawn]
    return train, [row for i, row in enumerate(rows) if i // run in drawn]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with train.jsonl and test.jsonl")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for a folder of each split: NAME.0, NAME.1, ..."
    )
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--run", type=int, default=10, help="rows that stay together")
    args = parser.parse_args()
    files = [args.data / f"{name}.jsonl" for name in ("train", "test")]
    rows = [f"{row}\n" for file in files for row in file.read_text(encoding="utf-8").split("\n") if row]
    for seed in range(args.splits):
        folder = args.out / f"{args.data.name}.{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        for file, side in zip(files, sides(rows, args.run, seed), strict=True):
            (folder / file.name).write_text("".join(side), encoding="utf-8")


if __name__ == "__main__":
    main()
