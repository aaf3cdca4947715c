"""Variants of a method against each other, over data sets and seeds, as one table: what the ablations share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from zipfel.bench.runner import Bench, machine
from zipfel.bench.sources import find_sources
from zipfel.bench.systems import our_methods
from zipfel.bench.table import Column, Summary, summarise

COLUMNS = tuple(Column(name, name) for name in ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5"))


def arguments(description: str, data: Sequence[str]) -> argparse.Namespace:
    """--data names the folders (each with train.* and test.*), --seeds how many, --out where results are kept."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("..") / "shared" / "data", help="where the data sets are")
    parser.add_argument("--data", nargs="+", default=list(data), help="names under --shared, or folders of their own")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("bench-out"))
    return parser.parse_args()


def run(asked: argparse.Namespace, variants: Mapping[str, str]) -> dict[str, list[Summary]]:
    """variants: words for `zipfel bench`, by the name that the table shows. What --out has already is not run again."""
    folders = [str(asked.shared / name) if (asked.shared / name).is_dir() else name for name in asked.data]
    bench = Bench(asked.out, asked.threads, range(1, asked.seeds + 1))
    return summarise(bench.run(find_sources(folders), our_methods(list(variants.values()))))


def show(
    found: Mapping[str, Sequence[Summary]], variants: Mapping[str, str], columns: Sequence[Column] = COLUMNS
) -> None:
    """A table for each data set, mean and standard deviation over seeds."""
    names = {word: name for name, word in variants.items()}
    print("{cpu}, {cores} cores, {memory_gb} GB, Python {python}".format(**machine()))
    for data, summaries in found.items():
        print(f"\n{data}\n\n| variant | {' | '.join(column.title for column in columns)} |")
        print("|---|" + "---|" * len(columns))
        for summary in summaries:
            cells = " | ".join(summary.cell(column) for column in columns)
            print(f"| {names.get(summary.system, summary.system)} | {cells} |")
