"""GLaS's tables and figures: python -m benchmarks.papers.glas [TABLE...]; `common` has the options."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
import torch

from benchmarks.papers.common import DATA, Published, Special, Table, Variant, main
from benchmarks.papers.special import Row, fitted, points
from benchmarks.small import cell
from zipfel.data.synthetic import synth
from zipfel.index import build_index
from zipfel.methods import Points
from zipfel.methods.glas import GlasConfig
from zipfel.metrics import evaluate
from zipfel.regularizers.affinity import Affinity
from zipfel.regularizers.gram import glas as glas_penalty
from zipfel.system.threads import use_threads

ACCURACY = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
TABLES_3_4 = Table(
    name="accuracy",
    title="Tables 3 and 4: P@k and PSP@k",
    variants=[Variant("GLaS", "glas:paper"), Variant("GLaS, best", "glas:best"), Variant("SLEEC", "sleec:paper"),
              Variant("one-vs-all", "ova")],
    data=DATA,
    columns=ACCURACY,
    published=[
        Published(data, name, dict(zip(ACCURACY, numbers, strict=True)))
        for data, name, *numbers in (
            ("AmazonCat-13K", "GLaS", 92.21, 79.70, 64.84, 47.53, 62.74, 71.66),
            ("WikiLSHTC-325K", "GLaS", 65.46, 45.44, 34.57, 46.22, 46.15, 47.28),
            ("Amazon-670K", "GLaS", 46.38, 42.09, 38.56, 38.94, 39.72, 41.24),
            ("Delicious-200K", "GLaS", 46.40, 40.49, 38.10, 28.68, 24.93, 23.87),
            ("EURLex-4K", "SLEEC", 79.26, 64.30, 52.33, 34.25, 38.35, 40.30),
        )
    ],
)  # fmt: skip


def _changed(name: str, change: str) -> Variant:
    return Variant(name, f"glas:paper[{change}]")


OPEN = Table(
    name="open",
    title="What the paper leaves open: the loss, its negatives, normalisation, U",
    variants=[
        Variant("the preset paper", "glas:paper"),
        _changed("softmax", "loss=softmax"),
        _changed("softmax, no regulariser", "loss=softmax;regularizer=none"),
        _changed("softmax, spread-out", "loss=softmax;regularizer=spread_out"),
        _changed("softmax, lambda 100", "loss=softmax;weight=100"),
        _changed("softmax, all labels of a row", "loss=softmax;positives=all"),
        _changed("Eq. 1 with all labels of a row", "loss=margin;positives=all"),
        _changed("Eq. 1's sum divided by its pairs", "average=true"),
        _changed("stochastic negative mining", "loss=mining"),
        _changed("all labels for negatives", "sampled=none"),
        _changed("c 2", "margin=2"),
        _changed("without weight normalisation", "weight_norm=false"),
        *(_changed(f"U: {kind}", f"affinity={kind}") for kind in ("geometric", "pmi", "jaccard")),
    ],
    data=("debian-deps",),
    columns=("P@1", "P@3", "P@5", "PSP@1", "PSP@5"),
)


CHANGES = {
    "base: GLaS, lambda 10, rho 0.8, ReLU": ("", "94.21"),
    "no regulariser": ("regularizer=none", "92.34"),
    "spread-out": ("regularizer=spread_out", "93.34"),
    "gravity": ("regularizer=gravity", "93.42"),
    "lambda 1": ("weight=1", "93.68"),
    "lambda 100": ("weight=100", "93.75"),
    "rho 1.0": ("keep=1", "93.39"),
    "rho 0.6": ("keep=0.6", "94.08"),
    "half the rows a step": ("batch={half}", "94.04 (B 1024)"),
    "twice the rows a step": ("batch={twice}", "94.21 (B 4096)"),
    "d 256": ("dim=256", "93.24"),
    "d 1024": ("dim=1024", "94.21"),
    "linear": ("activation=linear", "91.77"),
}
"""Table 1's rows: what is set, and the paper's P@1 on AmazonCat-13K."""


def table1(asked: argparse.Namespace, data: str) -> Iterator[Row]:
    """Table 1 with Table 2's gap: one setting changed at a time, means over seeds and their deviation."""
    train, test = points(asked, data)
    size = GlasConfig().batch_for(train.n_points)
    counts, some = np.bincount(train.Y.indices, minlength=train.n_labels), train.take(np.arange(0, train.n_points, 3))
    for name, (change, paper) in CHANGES.items():
        word = f"glas:paper[{change.format(half=size // 2, twice=2 * size)}]"
        found: dict[str, list[float]] = {}
        for seed in range(1, asked.seeds + 1):
            method = fitted(asked, word, train, seed)
            metrics = evaluate(method.predict(test.X, 5), test.Y, counts, train.n_points, ks=(1, 5))
            on_train = evaluate(method.predict(some.X, 1), some.Y, ks=(1,))["P@1"]
            for metric in ("P@1", "P@5", "PSP@1", "PSP@5"):
                found.setdefault(metric, []).append(100 * metrics[metric])
            found.setdefault("train P@1", []).append(100 * on_train)
            found.setdefault("gap", []).append(100 * (on_train - metrics["P@1"]))
        yield {"setting": name, **{m: cell(v) for m, v in found.items()}, "paper's P@1": paper}


def gap(asked: argparse.Namespace, data: str) -> Iterator[Row]:
    """Table 2 and Figure 1: P@1 on train and on test after so many epochs, with and without what Section 3 adds."""
    train, test = points(asked, data)
    some = train.take(np.sort(np.random.default_rng(0).permutation(train.n_points)[: test.n_points]))
    words = {"Algorithm 2": "", "no regulariser": "regularizer=none", "Algorithm 1": "regularizer=none;keep=1"}
    for name, change in words.items():
        for epochs in (2, 5, 10, 20):
            for seed in range(1, asked.seeds + 1):
                method = fitted(asked, f"glas:paper[epochs={epochs};patience=none;{change}]", train, seed)
                learnt, unseen = (
                    100 * evaluate(method.predict(part.X, 1), part.Y, ks=(1,))["P@1"] for part in (some, test)
                )
                found = {"train P@1": learnt, "test P@1": unseen, "gap": learnt - unseen}
                yield {"system": name, "epochs": epochs, "seed": seed, **{k: round(v, 2) for k, v in found.items()}}


def theorem(asked: argparse.Namespace, data: str) -> Iterator[Row]:  # noqa: ARG001 - drawn, not read
    """Theorem 2.1 on a toy: K labels on random unit vectors, phi(x) = V_S (V_S'V_S)^-1 1. Relevant scores are 1 (point
    3); are the others at most 1/3 (4), and inner products of labels within their bound (5)? How long is phi (6)?"""
    rng, n_labels, n_sets = np.random.default_rng(0), 2000, 500
    for size in (2, 5):
        sets = [rng.permutation(n_labels)[:size] for _ in range(n_sets)]
        for dim in (16, 32, 64, 128, 256, 512, 1024):
            V = rng.standard_normal((n_labels, dim))
            V /= np.linalg.norm(V, axis=1, keepdims=True)
            products, bound = V @ V.T - np.eye(n_labels), np.sqrt(2 * np.log(4 * n_labels**2) / dim)
            perfect, low, high, longest = 0, 1.0, -1.0, 0.0
            for labels in sets:
                own = V[labels]
                phi = own.T @ np.linalg.solve(own @ own.T, np.ones(size))
                scores = V @ phi
                relevant = np.isin(np.arange(n_labels), labels)
                low, high = min(low, scores[relevant].min()), max(high, scores[~relevant].max())
                longest = max(longest, np.linalg.norm(phi))
                perfect += scores[~relevant].max() <= 1 / 3
            found = {"lowest relevant": low, "highest other": high, "largest v'v": products.max(), "its bound": bound,
                     "longest phi": longest}  # fmt: skip
            found = {name: round(float(value), 3) for name, value in found.items()}
            yield {"labels a set": f"s = {size}", "d": dim, **found, "sets below 1/3 (%)": 100 * perfect / n_sets}


def cost(asked: argparse.Namespace, data: str) -> Iterator[Row]:  # noqa: ARG001 - synthetic
    """Section 4: training is O(d sum of nnz), inference below 1 ms up to 100k labels and 10 ms for a few million."""
    for nnz in (40, 80, 160):
        made = synth(20_000, 50_000, 5000, features_per_point=nnz, seed=1)
        assert made.X is not None
        train = Points(made.X, made.Y)
        start = time.monotonic()
        fitted(asked, "glas:paper[dim=256;epochs=2;batch=512]", train, 1)
        seconds, size = time.monotonic() - start, f"{made.X.nnz / 1e6:.1f} million non-zeros"
        yield {"what": "training", "size": size, "value": seconds, "unit": "s for two epochs"}
    rng = np.random.default_rng(0)
    for n_labels in (10_000, 100_000, 1_000_000):
        vectors = rng.standard_normal((n_labels, 256), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        index, times = build_index(vectors, metric="inner", k=5, recall=0.9), []
        with use_threads(1):
            for row in range(200):
                start = time.monotonic()
                index.search(vectors[row : row + 1], 5)
                times.append(time.monotonic() - start)
        shown = {"value": 1000 * float(np.median(times)), "unit": f"ms a code, recall {index.recall:.2f}, {index.kind}"}
        yield {"what": "search", "size": f"{n_labels:,} labels", **shown}
    Y = sp.random(100_000, 200_000, density=75 / 200_000, format="csr", dtype=np.float32, random_state=0)
    Y.data[:] = 1
    start = time.monotonic()
    affinity = Affinity(Y)
    chosen = np.sort(rng.permutation(200_000)[:1000])
    made_in = time.monotonic() - start
    yield {"what": "U", "size": "100,000 points of 75 among 200,000 labels", "value": made_in, "unit": "s to prepare"}
    start = time.monotonic()
    V = torch.nn.functional.normalize(torch.randn(1000, 256), dim=1).requires_grad_()
    torch.autograd.grad(glas_penalty(V, affinity.between(chosen)), V)
    seconds = time.monotonic() - start
    yield {"what": "U and Eq. 3", "size": "1,000 of those labels", "value": seconds, "unit": "s a step"}


SPECIAL = [
    Special("table1", "Table 1, with Table 2's gap", ("setting", "P@1", "P@5", "PSP@1", "PSP@5", "train P@1", "gap",
            "paper's P@1"), table1, ("debian-deps",)),
    Special("gap", "Table 2 and Figure 1: train and test P@1", ("system", "epochs", "seed", "train P@1", "test P@1",
            "gap"), gap, ("debian-deps",), "epochs", "system", "gap"),
    Special("theorem", "Theorem 2.1 on a toy of 2,000 labels", ("labels a set", "d", "lowest relevant",
            "highest other", "sets below 1/3 (%)", "largest v'v", "its bound", "longest phi"), theorem, ("toy",), "d",
            "labels a set", "sets below 1/3 (%)"),
    Special("cost", "Section 4: training and inference", ("what", "size", "value", "unit"), cost, ("synthetic",)),
]  # fmt: skip

if __name__ == "__main__":
    main("glas", [TABLES_3_4, OPEN], __doc__, SPECIAL)
