"""Choices that are made for the user on a split of train."""

from __future__ import annotations

import numpy as np

from zipfel.features import Weighting
from zipfel.methods import Points, make_method
from zipfel.metrics import evaluate
from zipfel.run import Run

TRAIN_ROWS, VALID_ROWS = 20_000, 2_000
"""A sample of this size tells weightings apart (a point of P@1 is twice its standard error) in about a second."""


def choose_weighting(points: Points, run: Run) -> str:
    """l2 or tfidf: the one with which plain k-NN ranks better on held-out rows of train; l2 where they tie."""
    labelled = np.flatnonzero(np.diff(points.Y.indptr))
    rng = run.rng(1)
    if len(labelled) < 20:
        return "l2"
    rows = rng.permutation(labelled)[: TRAIN_ROWS + VALID_ROWS]
    rest, held = points.take(rows).split(0.1, rng, at_most=VALID_ROWS)
    quality = {kind: _knn_quality(Weighting(kind).fit(rest.X), rest, held, run) for kind in ("l2", "tfidf")}
    return max(quality, key=lambda kind: quality[kind])


def _knn_quality(weighting: Weighting, rest: Points, held: Points, run: Run) -> float:
    """Mean of P@1, P@3 and P@5."""
    knn = make_method("knn", {"n_neighbors": 20})
    knn.fit(Points(weighting.transform(rest.X), rest.Y), None, Run(seed=run.seed, threads=run.threads))
    ranking = knn.predict(weighting.transform(held.X), 5)
    counts = np.bincount(rest.Y.indices, minlength=rest.n_labels)
    scores = evaluate(ranking, held.Y, train_counts=counts, n_train=rest.n_points, ks=(1, 3, 5))
    return float(np.mean([scores[f"P@{k}"] for k in (1, 3, 5)]))
