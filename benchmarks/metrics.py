"""Metrics of 100,000 rows of 5 predictions over 1,000,000 labels, against napkinXC's: python -m benchmarks.metrics"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from benchmarks import Bar
from zipfel.data import label_matrix
from zipfel.metrics import Propensity, evaluate
from zipfel.ranking import Ranking

N_POINTS, N_LABELS, K = 100_000, 1_000_000, 5


def main() -> list[Bar]:
    ranking, truth, counts = synthetic(np.random.default_rng(0))
    inverse = Propensity().inverse(counts, N_POINTS)
    answers = ranking.labels.tolist()
    true = [row.tolist() for row in np.split(truth.indices, truth.indptr[1:-1])]  # what napkinXC is fastest with

    def theirs() -> None:
        from napkinxc import metrics as napkin

        napkin.precision_at_k(true, answers, K)
        napkin.recall_at_k(true, answers, K)
        napkin.ndcg_at_k(true, answers, K)
        napkin.psprecision_at_k(true, answers, inverse, K)
        napkin.psndcg_at_k(true, answers, inverse, K)
        napkin.coverage_at_k(true, answers, K)

    ours = seconds(lambda: evaluate(ranking, truth, counts, N_POINTS, buckets=False), 5)
    per_bucket = seconds(lambda: evaluate(ranking, truth, counts, N_POINTS), 5)
    napkin_seconds = seconds(theirs, 2)
    print(f"metrics, {N_POINTS:,} rows x {K} over {N_LABELS:,} labels")
    print(f"  zipfel, 7 metrics at 1, 3, 5:                {ours:6.2f} s")
    print(f"  zipfel, the same and per bucket:             {per_bucket:6.2f} s")
    print(f"  napkinXC, 6 of them (without macro-F1):      {napkin_seconds:6.2f} s")
    print(f"  ratio: {napkin_seconds / ours:.1f} times as fast; with buckets {napkin_seconds / per_bucket:.1f} times")
    return [
        Bar("all metrics, per bucket too", per_bucket, 1, at_least=False, unit="s"),
        Bar("all metrics, against napkinXC", napkin_seconds / per_bucket, 1),
    ]


def synthetic(rng: np.random.Generator) -> tuple[Ranking, sp.csr_matrix, np.ndarray]:
    """Power-law truth with 5 labels a row, half of which are predicted."""
    labels = (N_LABELS * rng.random((N_POINTS, 2 * K)) ** 3).astype(np.int64)
    truth = label_matrix(np.repeat(np.arange(N_POINTS), K), labels[:, :K].ravel(), (N_POINTS, N_LABELS))
    predicted = np.where(rng.random((N_POINTS, K)) < 0.5, labels[:, :K], labels[:, K:])
    scores = np.tile(np.linspace(1, 0.1, K, dtype=np.float32), (N_POINTS, 1))
    return Ranking(predicted, scores), truth, np.bincount(truth.indices, minlength=N_LABELS)


def seconds(work: Callable[[], object], times: int) -> float:
    """Best of so many."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


if __name__ == "__main__":
    main()
