"""Average ranks over data sets (Rank-AE's last row of Table 2): python -m benchmarks.table [--methods mnn dxml ...]

Every registered method on every data set, by P@1, P@3 and P@5; a method's rank score is its mean place among them.
Finished cells are kept in table.jsonl under --out, so that the table can be run in pieces, `--methods` and `--data` at
a time; `--finished` runs nothing and shows what is there of them. The cheap methods come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.small import KS, Record, cell, compare, finished, parser_of
from zipfel.bench.runner import machine
from zipfel.methods import method_names

DATA = ("bibtex", "delicious", "debian-tags", "debian-deps", "eurlex57k")
CHEAP = ("popular", "centroid", "knn", "ova")
"""Run before the others, which are trained."""
FILE = "table.jsonl"


def mean_places(values: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Mean place of each system over tables {table: {system: value}}, 1 is best; equal values share their places."""
    places: dict[str, list[float]] = {}
    for table in values.values():
        for system, value in table.items():
            above = sum(other > value for other in table.values())
            equal = sum(other == value for other in table.values())
            places.setdefault(system, []).append(above + (equal + 1) / 2)
    return {system: sum(found) / len(found) for system, found in places.items()}


def lines(found: Mapping[str, Mapping[str, Sequence[Record]]]) -> list[str]:
    """The table in Markdown: a row for each data set and metric, then the places over the data sets that all have."""
    methods = sorted({name for cells in found.values() for name in cells}, key=_order)
    shown = [f"| data | metric | {' | '.join(methods)} |", f"|---|---|{'---|' * len(methods)}"]
    values = {}
    for data, cells in found.items():
        for metric in (f"P@{k}" for k in KS):
            means = {name: float(np.mean([r[metric] for r in cells[name]])) for name in cells}
            texts = [cell(r[metric] for r in cells[name]) if name in cells else "-" for name in methods]
            if len(cells) == len(methods):  # where some are missing, nobody is best
                values[f"{data} {metric}"], best = means, max(means.values())
                texts = [f"**{t}**" if means[name] == best else t for name, t in zip(methods, texts, strict=True)]
            shown.append(f"| {data} | {metric} | {' | '.join(texts)} |")
    places = mean_places(values)
    complete = [data for data, cells in found.items() if len(cells) == len(methods)]
    ends = [f"{places[name]:.2f}" if places else "-" for name in methods]
    return [*shown, f"| {', '.join(complete)} | mean place | {' | '.join(ends)} |"]


def _order(method: str) -> tuple[bool, int]:
    known = method_names()
    return method not in CHEAP, known.index(method) if method in known else len(known)


def main() -> None:
    parser = parser_of(__doc__ or "", points=0, seeds=1)
    parser.set_defaults(test_points=0)
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("--methods", nargs="+", default=sorted(method_names(), key=_order))
    parser.add_argument("--finished", action="store_true", help="run nothing; show the cells that are finished")
    asked = parser.parse_args()
    if asked.finished:
        known = finished(asked.out / FILE)
        cells = {data: known.get(data, {}) for data in asked.data}
        found = {data: {m: mine[m] for m in asked.methods if m in mine} for data, mine in cells.items() if mine}
    else:
        found = compare(asked, {m: m for m in asked.methods}, FILE)
    print("\n{cpu}, {cores} cores, {memory_gb} GB, Python {python}\n".format(**machine()))
    print("\n".join(lines(found)))


if __name__ == "__main__":
    main()
