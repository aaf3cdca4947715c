"""Tables 1 and 2 of GLaS's paper, remade: python -m benchmarks.glas_ablation [--data debian-deps eurlex57k] [--seeds 3]

One parameter is changed at a time. `gap` is P@1 on a sample of train minus P@1 on test. --rows takes a random part of
train, the same for all, for those who can't wait; the regulariser's share of a step is printed at the end.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from zipfel.bench.runner import machine
from zipfel.bench.sources import find_sources
from zipfel.data import read
from zipfel.methods import Points, make_method
from zipfel.metrics import evaluate
from zipfel.run import Run
from zipfel.threads import use_threads

BASE: dict[str, Any] = {"networks": 1, "rarity": 0.0, "keep": 0.8, "dropout": 0.0, "tokens": "random"}
BASE |= {"votes": False, "sparse": False}
"""The paper's base, but for softmax and label vectors that start at their centroids."""
VARIANTS: dict[str, dict[str, Any]] = {
    "base: GLaS, lambda 10, rho 0.8, ReLU": {},
    "no regulariser": {"regularizer": "none"},
    "spread-out": {"regularizer": "spread_out"},
    "gravity": {"regularizer": "gravity"},
    "lambda 1": {"weight": 1.0},
    "lambda 100": {"weight": 100.0},
    "lambda 1000": {"weight": 1000.0},
    "lambda 10000": {"weight": 10000.0},
    "spread-out, lambda 1000": {"regularizer": "spread_out", "weight": 1000.0},
    "gravity, lambda 1000": {"regularizer": "gravity", "weight": 1000.0},
    "rho 1.0": {"keep": 1.0},
    "rho 0.6": {"keep": 0.6},
    "linear": {"activation": "linear"},
}
MORE: dict[str, dict[str, Any]] = {
    "d 128": {"dim": 128},
    "geometric mean": {"affinity": "geometric"},
    "Jaccard": {"affinity": "jaccard"},
    "PMI": {"affinity": "pmi"},
    "Eq. 1's loss": {"loss": "margin", "positives": "one"},
    "label vectors start at random": {"start": "random"},
}


def main() -> None:
    asked = arguments()
    print("{cpu}, {cores} cores, {memory_gb} GB, Python {python}".format(**machine()))
    for name in asked.data:
        files = find_sources([str(asked.shared / name)])[0].files or ()
        train, test = (read(path) for path in files)
        whole, held = Points(train.X, train.Y), Points(test.X, test.Y)
        print(f"\n{name}, {asked.rows or whole.n_points:,} rows of train, {asked.seeds} seeds\n")
        print("| variant | train P@1 | P@1 | gap | P@5 | PSP@1 | PSP@5 |\n|---|---|---|---|---|---|---|")
        known = VARIANTS | MORE
        for variant in asked.only or (known if asked.more else VARIANTS):
            found = [measure(whole, held, known[variant], seed + 1, asked) for seed in range(asked.seeds)]
            print(f"| {variant} | {cells(np.array(found))} |", flush=True)
    print(f"\nregulariser of 20,000 labels: {share():.1%} of the training of one network, with the defaults")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("..") / "shared" / "data", help="where the data sets are")
    parser.add_argument("--data", nargs="*", default=["debian-deps", "eurlex57k"])
    parser.add_argument("--only", nargs="*", choices=[*VARIANTS, *MORE], metavar="VARIANT")
    parser.add_argument("--more", action="store_true", help="dimension, affinities, loss and start, too")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="points of train, the same ones for every seed")
    parser.add_argument(
        "--set", nargs="*", default=[], metavar="KEY=VALUE", help="for all variants, e.g. epochs=4 dim=128"
    )
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def measure(train: Points, test: Points, params: dict[str, Any], seed: int, asked: argparse.Namespace) -> list[float]:
    """train P@1, then on test P@1, gap, P@5, PSP@1, PSP@5, in per cent."""
    counts, n_points = np.bincount(train.Y.indices, minlength=train.n_labels), train.n_points
    if asked.rows and asked.rows < n_points:
        train = train.take(np.sort(np.random.default_rng(0).permutation(n_points)[: asked.rows]))
    method = make_method("glas", BASE | dict(pair.split("=", 1) for pair in asked.set) | params)
    with use_threads(asked.threads):
        method.fit(train, None, Run(seed=seed, threads=asked.threads))
        ranking = method.predict(test.X, 5)
    truth = test.Y[:, : train.n_labels]
    found = evaluate(ranking, truth, train_counts=counts, n_train=n_points, ks=(1, 5))
    learned = float(method.state().facts["gap"]["train P@1"])
    values = (learned, found["P@1"], learned - found["P@1"], found["P@5"], found["PSP@1"], found["PSP@5"])
    return [100 * value for value in values]


def cells(found: np.ndarray) -> str:
    """Mean, and deviation over seeds where there are several."""
    if len(found) == 1:
        return " | ".join(f"{value:.2f}" for value in found[0])
    return " | ".join(f"{m:.2f} ± {s:.2f}" for m, s in zip(found.mean(axis=0), found.std(axis=0), strict=True))


def share(n_labels: int = 20_000, n_points: int = 8000) -> float:
    """CPU time of training with the regulariser less that without it, as a share of the former; one epoch."""
    from zipfel.data import synth

    data = synth(n_points, 20_000, n_labels, features_per_point=50, labels_per_point=6, seed=0)
    points = Points(sp.csr_matrix(data.X), data.Y)

    def seconds(regularizer: str) -> float:
        times = []
        for _ in range(3):
            method = make_method("glas", BASE | {"epochs": 1, "regularizer": regularizer})
            start = time.process_time()
            with use_threads(1):
                method.fit(points, None, Run(seed=1, threads=1))
            times.append(time.process_time() - start)
        return min(times)

    seconds("glas")  # kernels are compiled
    whole = seconds("glas")
    return (whole - seconds("none")) / whole


if __name__ == "__main__":
    main()
