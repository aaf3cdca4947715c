"""MNN's tables and figures: python -m benchmarks.papers.mnn [TABLE...]; `common` has the options."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.papers.common import DATA, Published, Special, Table, Variant, main
from benchmarks.papers.special import Row, fitted, points
from zipfel.data.synthetic import synth
from zipfel.methods import Method, Points
from zipfel.metrics import evaluate

TABLES_2_3 = Table(
    name="accuracy",
    title="Tables 2 and 3: P@k and nDCG@k",
    variants=[
        Variant("MNN", "mnn:paper"),
        Variant("MNN, two pairs of encoders", "mnn:paper[encoders=2]"),
        Variant("MNN, best", "mnn:best"),
        Variant("SLEEC", "sleec:paper"),
    ],
    data=DATA,
    published=[
        Published("bibtex", "MNN", {"P@1": 65.21, "P@3": 43.61, "P@5": 33.48, "nDCG@3": 60.76, "nDCG@5": 62.31}),
        Published("bibtex", "SLEEC", {"P@1": 65.08, "P@3": 39.64, "P@5": 28.87, "nDCG@3": 60.47, "nDCG@5": 62.64}),
        Published("delicious", "MNN", {"P@1": 68.88, "P@3": 62.44, "P@5": 57.85, "nDCG@3": 62.98, "nDCG@5": 60.53}),
        Published("delicious", "SLEEC", {"P@1": 67.59, "P@3": 61.38, "P@5": 56.56, "nDCG@3": 62.87, "nDCG@5": 59.28}),
        Published("Eurlex", "MNN", {"P@1": 81.02, "P@3": 65.17, "P@5": 53.81, "nDCG@3": 69.12, "nDCG@5": 62.99}),
        Published("Eurlex", "SLEEC", {"P@1": 79.26, "P@3": 64.30, "P@5": 52.33, "nDCG@3": 68.13, "nDCG@5": 61.60}),
    ],
)

OPEN = "negatives=25;keep=0.8"
READINGS = Table(
    name="open",
    title="What the paper leaves open: who ranks, h, m, p and the dimension",
    variants=[
        Variant("as chosen on held-out points", "mnn:paper"),
        *(Variant(f"ranking={who}", f"mnn:paper[ranking={who}]") for who in ("labels", "sets", "points")),
        Variant("h 25, p 0.8, m as chosen", f"mnn:paper[{OPEN}]"),
        *(Variant(f"h {h}", f"mnn:paper[negatives={h};keep=0.8]") for h in (1, 10, 100)),
        *(Variant(f"m {m}", f"mnn:paper[{OPEN};margin={m}]") for m in (0, 0.2, 0.4)),
        *(Variant(f"p {p}", f"mnn:paper[negatives=25;keep={p}]") for p in (1, 0.6, 0.4)),
        *(Variant(f"dim {d}", f"mnn:paper[{OPEN};dim={d}]") for d in (100, 600)),
        Variant("overlapping sets are no negatives", f"mnn:paper[{OPEN};exclude=overlapping]"),
        Variant("beyond the paper: InfoNCE", "mnn:paper[loss=infonce]"),
    ],
    data=("bibtex", "delicious"),
)

SIZES = {"wiki10": (14_146, 101_938, 30_938, 18.6), "amazon": (490_449, 135_909, 670_091, 5.45)}
"""N, D, L and labels a point of Table 1's sets that can't be had; DeliciousLarge's 15 million pairs take hours here."""


def tail(asked: argparse.Namespace, data: str) -> Iterator[Row]:
    """4.2.1's claim: on test points all of whose labels have at most `most` points in train, MNN leads SLEEC."""
    train, test = points(asked, data)
    counts = np.bincount(train.Y.indices, minlength=train.n_labels)
    for most in (5, 20, 100):
        Y = test.Y[:, : train.n_labels]
        largest = np.array([counts[row.indices].max(initial=0) for row in Y])
        chosen = np.flatnonzero((largest > 0) & (largest <= most))
        for seed in range(1, asked.seeds + 1):
            for name, word in (("MNN", "mnn:paper"), ("SLEEC", "sleec:paper")):
                method = _known(asked, data, word, train, seed)
                found = evaluate(method.predict(test.X[chosen], 5), Y[chosen], ks=(1, 5))
                quality = {metric: round(100 * found[metric], 2) for metric in ("P@1", "P@5")}
                yield {"labels with at most": most, "points": len(chosen), "system": name, "seed": seed, **quality}


def _known(asked: argparse.Namespace, data: str, word: str, train: Points, seed: int) -> Method:
    if (data, word, seed) not in _FITTED:
        _FITTED[data, word, seed] = fitted(asked, word, train, seed)
    return _FITTED[data, word, seed]


_FITTED: dict[tuple[str, str, int], Method] = {}


def sizes(asked: argparse.Namespace, data: str) -> Iterator[Row]:
    """Figures 2 to 4 need data that can't be had: synthetic data of the same size instead, --points of them."""
    n, n_features, n_labels, a_point = SIZES[data]
    n = asked.points or n
    made = synth(n + 2000, n_features, n_labels, labels_per_point=a_point, seed=1)
    assert made.X is not None
    whole = Points(made.X, made.Y)
    train, test = whole.take(np.arange(n)), whole.take(np.arange(n, n + 2000))
    for name, word in (("MNN", f"mnn:{'amazon' if data == 'amazon' else 'wiki10'}"), ("SLEEC", "sleec:wiki10")):
        start = time.monotonic()
        method = fitted(asked, word, train, 1)
        seconds, start = time.monotonic() - start, time.monotonic()
        found = evaluate(method.predict(test.X, 5), test.Y, ks=(1, 3, 5))
        quality = {f"{m}@{k}": round(100 * found[f"{m}@{k}"], 2) for m in ("P", "nDCG") for k in (1, 3, 5)}
        cost = {"train s": round(seconds, 1), "ms a document": round((time.monotonic() - start) / 2, 2)}
        yield {"points": n, "labels": n_labels, "system": name, **quality, **cost}


QUALITY = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5")
SPECIAL = [
    Special("tail", "4.2.1: test points with rare labels only", ("labels with at most", "points", "system", "seed",
            "P@1", "P@5"), tail, ("debian-deps", "eurlex57k"), "labels with at most", "system", "P@1"),
    Special("sizes", "Figures 2 and 4 on synthetic data of the same size", ("points", "labels", "system", *QUALITY,
            "train s", "ms a document"), sizes, tuple(SIZES)),
]  # fmt: skip

if __name__ == "__main__":
    main("mnn", [TABLES_2_3, READINGS], __doc__, SPECIAL)
