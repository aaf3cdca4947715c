"""Where a training step goes: each fused part beside its plain twin, and the whole beside dense torch.

    python -m benchmarks.engine [--dim 256] [--batch 512] [--threads 1]

Synthetic rows shaped like a package index (40 features and 6 labels a point, 30,000 features, 20,000 labels).
CPU seconds, best of several, so that other work on the machine disturbs it little.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from benchmarks import Bar
from zipfel.data.synthetic import synth
from zipfel.losses.bce import candidate_bce, candidate_bce_plain
from zipfel.nn.bag import bag, bag_plain
from zipfel.nn.score import candidate_scores
from zipfel.nn.table import Table, _adam_plain
from zipfel.system.threads import set_threads
from zipfel.training import Batches, CandidateSampler


def best_of(work: Callable[[], object], times: int = 7) -> float:
    """Least CPU milliseconds of several calls, after one that does not count."""
    work()
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return 1000 * min(found)


def main(dim: int = 256, batch: int = 512, threads: int = 1) -> list[Bar]:
    set_threads(threads)
    torch.set_num_threads(threads)
    data = synth(4 * batch, 30_000, 20_000, features_per_point=40, labels_per_point=6, seed=0)
    batches = Batches(data.X, data.Y, size=batch, seed=0, candidates=CandidateSampler(data.Y, n_sampled=1500), keep=0.8)
    one = next(iter(batches.epoch(0)))
    found = one.candidates
    assert found is not None
    features, labels = (Table.normal(n, dim, 0.1, np.random.default_rng(0)) for n in (30_000, 20_000))
    rows, columns = found.rows, found.columns
    tokens, classifiers = features.rows(one.X.ids), labels.rows(found.labels)
    hidden = bag(tokens, one.X).detach().requires_grad_()
    logits = candidate_scores(hidden, classifiers).detach().requires_grad_()
    grad = torch.randn_like(tokens)
    print(f"{len(one.X.ids):,} features and {len(found.labels):,} candidates for {batch} rows, dim {dim}")

    numbers = (1e-3, 0.9, 0.999, 1e-8, 0.0)
    parts: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "bag, forward and backward": (
            lambda: bag(tokens, one.X).sum().backward(),
            lambda: bag_plain(tokens, one.X).sum().backward(),
        ),
        "BCE, forward and backward": (
            lambda: candidate_bce(logits, rows, columns).backward(),
            lambda: candidate_bce_plain(logits, rows, columns).backward(),
        ),
        "scores": (lambda: candidate_scores(hidden, classifiers), lambda: hidden @ classifiers.T),
        "row-Adam": (
            lambda: features.update(one.X.ids, grad, 1e-3),
            lambda: _adam_plain(features, one.X.ids, grad, numbers),
        ),
    }
    bars = []
    for name, (fused, plain) in parts.items():
        ours, theirs = best_of(fused), best_of(plain)
        print(f"{name:<28} {ours:8.2f} ms   plain {theirs:8.2f} ms")
        bars.append(Bar(f"engine: {name}, fused against plain", theirs / ours, 1.0))
    build = best_of(lambda: batches._build(one.rows, 0, 0))
    gather = best_of(lambda: (features.rows(one.X.ids), labels.rows(found.labels)))
    print(f"{'building the batch':<28} {build:8.2f} ms\n{'gathering rows':<28} {gather:8.2f} ms")
    return bars


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for option, default in (("--dim", 256), ("--batch", 512), ("--threads", 1)):
        parser.add_argument(option, type=int, default=default)
    main(**vars(parser.parse_args()))
