"""Average ranks over data sets (Rank-AE's last row of Table 2): python -m benchmarks.table [--methods mnn dxml ...]

Every registered method on every data set, by P@1, P@3 and P@5; a method's rank score is its mean place among them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from zipfel.bench.runner import Bench, machine
from zipfel.bench.sources import find_sources
from zipfel.bench.systems import our_methods
from zipfel.bench.table import Column, Summary, summarise
from zipfel.methods import method_names

DATA = ("bibtex", "delicious", "debian-tags", "debian-deps", "eurlex57k")
COLUMNS = tuple(Column(f"P@{k}", f"P@{k}") for k in (1, 3, 5))


def mean_places(values: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Mean place of each system over tables {table: {system: value}}, 1 is best; equal values share their places."""
    places: dict[str, list[float]] = {}
    for table in values.values():
        for system, value in table.items():
            above = sum(other > value for other in table.values())
            equal = sum(other == value for other in table.values())
            places.setdefault(system, []).append(above + (equal + 1) / 2)
    return {system: sum(found) / len(found) for system, found in places.items()}


def show(found: Mapping[str, Sequence[Summary]]) -> None:
    systems = list(dict.fromkeys(summary.system for summaries in found.values() for summary in summaries))
    values, lines = {}, []
    for data, summaries in found.items():
        by_system = {summary.system: summary for summary in summaries}
        for column in COLUMNS:
            values[f"{data} {column.title}"] = {name: s.mean(column) for name, s in by_system.items()}
            cells = [by_system[name].cell(column) if name in by_system else "-" for name in systems]
            lines.append(f"| {data} | {column.title} | {' | '.join(cells)} |")
    places = mean_places(values)
    print("{cpu}, {cores} cores, {memory_gb} GB, Python {python}\n".format(**machine()))
    print(f"| data | metric | {' | '.join(systems)} |\n|---|---|{'---|' * len(systems)}")
    print("\n".join(lines))
    print(f"| | mean place | {' | '.join(f'{places[name]:.2f}' for name in systems)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("..") / "shared" / "data", help="where the data sets are")
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("--methods", nargs="+", default=method_names())
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("bench-out"))
    asked = parser.parse_args()
    folders = [str(asked.shared / name) if (asked.shared / name).is_dir() else name for name in asked.data]
    bench = Bench(asked.out, asked.threads, range(1, asked.seeds + 1))
    show(summarise(bench.run(find_sources(folders), our_methods(asked.methods))))


if __name__ == "__main__":
    main()
