"""One epoch of LightDXML at the size of the largest public sets, and one document among all those labels.

    python -m benchmarks.scale [--points 1000000] [--labels 670000] [--features 135000] [--threads 2] [--share 1.0]

Prints seconds an epoch, time per example against the same at 20,000 labels, peak memory, and for the index over the
label table: build time, recall@100 against exact search, median milliseconds for one document on one thread.
`--share 0.1` takes a tenth of the points: time per example and memory of the tables are the same.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import torch

from benchmarks import Bar
from zipfel.data.synthetic import synth
from zipfel.index import build_index
from zipfel.kernels.bag import encode_bag
from zipfel.losses.bce import candidate_bce
from zipfel.nn.bag import bag
from zipfel.nn.score import candidate_scores, with_constant
from zipfel.nn.table import Table
from zipfel.run import Run
from zipfel.threads import set_threads, use_threads
from zipfel.training import Batch, Batches, CandidateSampler, Plan, Trainer

DIM, BATCH = 128, 512


def epoch(points: int, features: int, labels: int, threads: int) -> tuple[float, dict[str, Table], object]:
    """(seconds an example, tables, rows) of one epoch with 1,500 drawn labels a batch."""
    data = synth(points, features, labels, features_per_point=75, labels_per_point=5.5, seed=0)
    run = Run(seed=0, threads=threads)
    tables = {"features": Table.normal(features, DIM, 0.1, run.rng(1)), "labels": Table.zeros(labels, DIM)}
    batches = Batches(data.X, data.Y, size=BATCH, seed=0, candidates=CandidateSampler(data.Y, n_sampled=1500))

    def objective(batch: Batch, rows: dict[str, torch.Tensor]) -> torch.Tensor:
        assert batch.candidates is not None
        hidden = with_constant(bag(rows["features"], batch.X))
        found = batch.candidates
        return candidate_bce(candidate_scores(hidden, rows["labels"]), found.rows, found.columns)

    start = time.monotonic()
    Trainer(run, batches, objective, Plan(epochs=1, lr=3e-3), tables=tables).fit()  # type: ignore[arg-type]
    return (time.monotonic() - start) / points, tables, data.X


def search(tables: dict[str, Table], X: object) -> tuple[float, float, float]:
    """(build seconds, recall@100, median ms for one document on one thread) of the index over the labels."""
    vectors = tables["labels"].numpy()
    hidden = encode_bag(X[:1200], tables["features"].numpy())  # type: ignore[index]
    start = time.monotonic()
    index = build_index(vectors, metric="cosine", queries=hidden[:200], k=100, recall=0.9)
    built = time.monotonic() - start
    times = []
    with use_threads(1):
        for row in range(200, 400):
            start = time.monotonic()
            index.search(encode_bag(X[row], tables["features"].numpy()), 100)  # type: ignore[index]
            times.append(time.monotonic() - start)
    return built, index.recall, 1000 * float(np.median(times))


def main(
    points: int = 1_000_000, features: int = 135_000, labels: int = 670_000, threads: int = 2, share: float = 0.1
) -> list[Bar]:
    set_threads(threads)
    points = int(points * share)
    small, _, _ = epoch(min(points, 50_000), features, 20_000, threads)
    large, tables, X = epoch(points, features, labels, threads)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{points:,} points: {large * points:.0f} s an epoch, {1e6 * large:.0f} us an example, peak {peak:.1f} GB")
    print(f"at 20,000 labels: {1e6 * small:.0f} us an example")
    built, recall, single = search(tables, X)
    print(f"index over {labels:,} labels: built in {built:.0f} s, recall@100 {recall:.3f}, {single:.2f} ms a document")
    return [
        Bar("scale: time per example against 20,000 labels", large / small, 3.0, at_least=False),
        Bar("scale: peak memory of an epoch", peak, 16.0, at_least=False, unit="GB"),
        Bar("scale: one document among all labels", single, 5.0, at_least=False, unit="ms"),
        Bar("scale: recall@100 of the shortlist", recall, 0.9, unit=""),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for option, default in (("--points", 1_000_000), ("--features", 135_000), ("--labels", 670_000), ("--threads", 2)):
        parser.add_argument(option, type=int, default=default)
    parser.add_argument("--share", type=float, default=1.0)
    for bar in main(**vars(parser.parse_args())):
        print("  ".join(bar.cells()))
