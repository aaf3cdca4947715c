"""Variants that differ only in how a fitted method predicts: it is fitted once for all of them, in this process."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import zipfel
from benchmarks.papers.rows import Variant
from zipfel.bench.runner import KS, Record, machine
from zipfel.bench.sources import Rows, Source, label_counts, prepare
from zipfel.bench.systems import parse_method
from zipfel.methods import Method, Points, make_method
from zipfel.metrics import Propensity, evaluate
from zipfel.run import Run
from zipfel.system.threads import use_threads


def shared_fits(
    variants: Sequence[Variant], source: Source, out: Path, seeds: Iterable[int], threads: int
) -> Iterator[tuple[str, Record]]:
    """(name of the variant, its record) for each seed and variant."""
    out.mkdir(parents=True, exist_ok=True)
    rows = prepare(source, out, "auto", threads)
    for method in dict.fromkeys(variant.method for variant in variants):
        mine = [variant for variant in variants if variant.method == method]
        for seed in seeds:
            yield from _of_one_fit(method, mine, rows, seed, threads)


def _of_one_fit(
    word: str, variants: Sequence[Variant], rows: Rows, seed: int, threads: int
) -> Iterator[tuple[str, Record]]:
    name, preset, settings = parse_method(word)
    method, run = make_method(name, settings, preset), Run(seed=seed, threads=threads)
    start = time.perf_counter()
    with use_threads(threads):
        method.fit(Points(rows.matrix("train", "X"), rows.matrix("train", "Y")), None, run)
    base: Record = {
        "system": word, "seed": seed, "threads": threads, "version": zipfel.__version__, "machine": machine(),
        "train_seconds": time.perf_counter() - start, "phases": dict(run.timings), "facts": _facts(method),
    }  # fmt: skip
    for variant in variants:
        record = {**base, **_predicted(method, variant.after or {}, rows, threads)}
        print(f"{rows.name} {word} seed {seed} {variant.name}: P@1 {100 * record['metrics']['P@1']:.2f}", flush=True)
        yield variant.name, record


def _facts(method: Method) -> dict[str, float]:
    """LightDXML's Eq. 2 before and after the first training of its label codes, and their spread at the end."""
    cycles: Sequence[Mapping[str, float]] = getattr(method, "facts_", {}).get("cycles", [])
    if not cycles:
        return {}
    first, last = cycles[0], cycles[-1]
    return {"Eq. 2 before": first["eq2_first"], "Eq. 2 after": first["eq2_last"], "spread": last["spread"]}


def _predicted(method: Method, after: Mapping[str, Any], rows: Rows, threads: int) -> dict[str, Any]:
    """Metrics, and milliseconds a document of the whole test set, with the names of `after` set for the while."""
    before = {name: _swap(method, name, value) for name, value in after.items()}
    X, Y = rows.matrix("test", "X"), rows.matrix("test", "Y")
    try:
        with use_threads(threads):
            method.predict(X[:100], max(KS))
            start = time.perf_counter()
            ranking = method.predict(X, max(KS))
        seconds = time.perf_counter() - start
    finally:
        for name, value in before.items():
            _swap(method, name, value)
    counts, n_train = label_counts(rows)
    constants = Propensity.of(rows.name)
    metrics = evaluate(ranking, sp.csr_matrix(Y), counts, n_train, ks=KS, propensity=constants, buckets=False)
    found = {name: round(float(np.float64(number)), 6) for name, number in metrics.items()}
    return {"metrics": found, "batch_ms": 1000 * seconds / max(1, X.shape[0])}


def _swap(method: Any, name: str, value: Any) -> Any:
    """Sets a name, which may go through parts as in scorer_.index; returns what was there."""
    *path, last = name.split(".")
    for part in path:
        method = getattr(method, part)
    found = getattr(method, last)
    setattr(method, last, value)
    return found
