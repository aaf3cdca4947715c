"""Choices that are made for the user on a split of train."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from zipfel.features import Weighting
from zipfel.methods import Points, make_method
from zipfel.ranking import PAD
from zipfel.run import Run

TRAIN_ROWS, VALID_ROWS = 20_000, 2_000
"""A sample of this size tells weightings apart (a point of P@1 is twice its standard error) in a third of
a second at most."""


def choose_weighting(points: Points, run: Run) -> str:
    """l2 or tfidf: tfidf where plain k-NN ranks held-out rows of train better with it, by more than chance would."""
    labelled = np.flatnonzero(np.diff(points.Y.indptr))
    rng = run.rng(1)
    if len(labelled) < 20:
        return "l2"
    rows = rng.permutation(labelled)[: TRAIN_ROWS + VALID_ROWS]
    rest, held = points.take(rows).split(0.1, rng, at_most=VALID_ROWS)
    gain = _knn_precision(Weighting("tfidf").fit(rest.X), rest, held, run)
    gain -= _knn_precision(Weighting("l2").fit(rest.X), rest, held, run)
    standard_error = gain.std() / np.sqrt(len(gain))
    return "tfidf" if gain.mean() > 2 * standard_error else "l2"


def _knn_precision(weighting: Weighting, rest: Points, held: Points, run: Run) -> npt.NDArray[np.float64]:
    """(n,) mean of P@1, P@3 and P@5 of each held-out row."""
    knn = make_method("knn", {"n_neighbors": 20, "sharpness": 4.0, "rarity": 0.0})
    knn.fit(Points(weighting.transform(rest.X), rest.Y), None, Run(seed=run.seed, threads=run.threads))
    labels = knn.predict(weighting.transform(held.X), 5).labels
    rows = np.arange(held.n_points)[:, None]
    hits = np.asarray(held.Y[rows, np.maximum(labels, 0)].todense()) * (labels != PAD)
    return np.asarray(np.mean([hits[:, :k].sum(axis=1) / k for k in (1, 3, 5)], axis=0, dtype=np.float64))
