"""Variants of a method on a part of a data set, over seeds, in one process: what the ablations of the methods share.

Each seed draws its own points of train; the method holds out some of them for its choices and is measured on test.
What was measured is kept, a line each, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from zipfel.bench.runner import append_record, machine, read_records
from zipfel.bench.sources import find_sources, prepare
from zipfel.bench.systems import parse_method
from zipfel.methods import Points, make_method
from zipfel.metrics import evaluate
from zipfel.run import Run
from zipfel.system.threads import use_threads

KS = (1, 3, 5)
Record = dict[str, Any]


def arguments(description: str, data: Sequence[str], *, points: int, seeds: int = 3) -> argparse.Namespace:
    parser = parser_of(description, points, seeds)
    parser.add_argument("--data", nargs="+", default=list(data), help="names under --shared, or folders of their own")
    return parser.parse_args()


def parser_of(description: str, points: int, seeds: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("..") / "shared" / "data", help="where the data sets are")
    parser.add_argument("--points", type=int, default=points, help="points of train that a seed draws; 0: all")
    parser.add_argument("--test-points", type=int, default=2000, help="points of test, the same for all; 0: all")
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="parameters of all variants")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="where rows and results are kept")
    return parser


class Cells:
    """Measured cells in a file, by their key: what is there is not measured again."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file, self._known = file, {record["key"]: record for record in read_records(file)}

    def get(self, key: Mapping[str, Any], measure: Callable[[], Mapping[str, float]]) -> Record:
        name = json.dumps(key, sort_keys=True)
        if name not in self._known:
            self._known[name] = {"key": name, "status": "ok", **key, **measure()}
            append_record(self._file, self._known[name])
        return self._known[name]


def rows(asked: argparse.Namespace, word: str) -> tuple[str, Points, Points]:
    """(name, train, test) of a data set, the test set cut to --test-points."""
    (source,) = find_sources([str(asked.shared / word) if (asked.shared / word).is_dir() else word])
    made = prepare(source, asked.out, "auto", asked.threads)
    train, test = (Points(made.matrix(part, "X"), made.matrix(part, "Y")) for part in ("train", "test"))
    return made.name, train, drawn(test, asked.test_points, 0)


def drawn(points: Points, n: int, seed: int) -> Points:
    """n random points, in their order; all where n is 0."""
    return points.take(np.sort(np.random.default_rng(seed).permutation(points.n_points)[:n])) if n else points


def settings(asked: argparse.Namespace) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in asked.set)


def sizes(asked: argparse.Namespace) -> dict[str, Any]:
    """What else a result depends on."""
    return {"points": asked.points, "test": asked.test_points, "set": settings(asked)}


def measured(
    method: str, params: Mapping[str, Any], train: Points, test: Points, run: Run, valid: Points | None = None
) -> dict[str, float]:
    """P@k and nDCG@k on test in per cent, and the CPU seconds of fitting. method: a word as for `zipfel bench`."""
    name, preset, own = parse_method(method)
    made = make_method(name, {**params, **own}, preset)
    with use_threads(run.threads):
        start = time.process_time()
        made.fit(train, valid, run)
        seconds = time.process_time() - start
        found = evaluate(made.predict(test.X, max(KS)), test.Y, ks=KS)
    quality = {f"{name}@{k}": round(100 * found[f"{name}@{k}"], 3) for name in ("P", "nDCG") for k in KS}
    return {**quality, "cpu": round(seconds, 2)}


def compare(asked: argparse.Namespace, variants: Mapping[str, str], file: str) -> dict[str, dict[str, list[Record]]]:
    """{data: {variant: a record for each seed}}. variants: words as for `zipfel bench`, by the name to show."""
    cells, found = Cells(asked.out / file), dict[str, dict[str, list[Record]]]()
    for word in asked.data:
        data, train, test = rows(asked, word)
        for seed in range(1, asked.seeds + 1):
            part, run = drawn(train, asked.points, seed), Run(seed=seed, threads=asked.threads)
            for name, method in variants.items():
                key = {"data": data, "method": method, "seed": seed, **sizes(asked)}
                record = cells.get(key, partial(measured, method, settings(asked), part, test, run))
                found.setdefault(data, {}).setdefault(name, []).append(record)
                print(f"{data} seed {seed} {name}: P@1 {record['P@1']:.2f}, {record['cpu']:.1f} s", flush=True)
    return found


def finished(file: Path) -> dict[str, dict[str, list[Record]]]:
    """Every cell in the file, as `compare` gives them."""
    found: dict[str, dict[str, list[Record]]] = {}
    for record in read_records(file):
        found.setdefault(record["data"], {}).setdefault(record["method"], []).append(record)
    return found


def cell(values: Iterable[float], digits: int = 2) -> str:
    """Mean and sample standard deviation."""
    values = list(values)
    spread = f" ±{np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"


def show(found: Mapping[str, Mapping[str, Sequence[Record]]]) -> None:
    """A table: for each data set the variants, mean and standard deviation over seeds."""
    print("\n{cpu}, {cores} cores, {memory_gb} GB, Python {python}\n".format(**machine()))
    print("| data | variant | P@1 | P@3 | P@5 | CPU s |\n|---|---|---|---|---|---|")
    for data, variants in found.items():
        for name, records in variants.items():
            cells = [cell(r[f"P@{k}"] for r in records) for k in KS]
            print(f"| {data} | {name} | {' | '.join(cells)} | {np.mean([r['cpu'] for r in records]):.0f} |")
