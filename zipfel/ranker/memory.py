"""The training points as voters: who is near a document, by features and by label sets, and what do they vote for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index import Index, build_index
from zipfel.index.votes import sharpened
from zipfel.kernels.topk import score_pairs
from zipfel.ranker._votes import vote_labels
from zipfel.ranker.matcher import Encoder
from zipfel.threads import over_blocks

Array = npt.NDArray[Any]
VOTES = ("near points", "near sets", "crowd")
"""Votes of the neighbours whose features are alike, of those whose label sets are, and of all of them nearly alike."""
_SHARP, _FLAT = 15.0, 4.0
APPROXIMATE_ABOVE = 8_000
"""Points above which neighbours are searched approximately."""


class Memory:
    """Codes of the training points: f(x) and g(y) of each. Neighbours are searched once, by the mean of the two
    cosines, and then weighed by each of them."""

    def __init__(self, encoder: Encoder, points: npt.NDArray[np.float32], Y: sp.csr_matrix, *, seed: int = 0) -> None:
        """points: (n, width) the encoder's codes of the training points' features, rounded to float16."""
        self.points, self.sets, self.Y = points, encoder.sets(Y), Y
        kind = "ivfpq" if len(points) > APPROXIMATE_ABOVE else "exact"
        mean = (points + self.sets) * np.float32(0.5)
        self.voters = np.flatnonzero((np.diff(Y.indptr) > 0) & points.any(axis=1)).astype(np.int64)
        self.index: Index = build_index(
            mean[self.voters], self.voters, metric="inner", kind=kind, k=50, recall=0.9, seed=seed
        )
        self._labels = Y.indptr.astype(np.int64), Y.indices.astype(np.int32), int(Y.shape[1])

    def search(self, codes: npt.NDArray[np.float32], m: int, *, own: Array | None = None) -> tuple[Array, Array]:
        """(n, m) rows of train, -1 pads, and (n, m, 3) weights of their votes. own: rows not to be found."""
        ids, mean = self.index.search(codes, m if own is None else m + 1)
        if own is not None:
            mean = np.where(ids == own[:, None], -np.inf, mean)
            order = np.argsort(-mean, axis=1, kind="stable")[:, :m]
            ids, mean = np.take_along_axis(ids, order, 1), np.take_along_axis(mean, order, 1)
        ids = np.where(np.isneginf(mean), -1, ids)
        by_points = np.empty(ids.shape, dtype=np.float32)
        over_blocks(lambda a, b: score_pairs(codes, self.points, ids, by_points, a, b), len(codes))
        by_points[ids < 0] = 0
        by_sets = 2 * np.where(ids < 0, 0, mean) - by_points  # the mean of two cosines is what was searched by
        by_points, by_sets = (np.where(ids < 0, -np.inf, cosine) for cosine in (by_points, by_sets))
        kinds = [(by_points, _SHARP), (by_sets, _SHARP), (mean, _FLAT)]
        weights = np.stack([_shares(sharpened(s.astype(np.float32), t)) for s, t in kinds], axis=2)
        return ids, weights

    def vote(self, ids: Array, weights: Array, width: int) -> tuple[Array, Array]:
        """(n, width) labels, most votes first, -1 pads, and (n, width, 3) votes."""
        labels = np.full((len(ids), width), -1, dtype=np.int64)
        votes = np.zeros((len(ids), width, weights.shape[2]), dtype=np.float32)
        over_blocks(lambda a, b: vote_labels(a, b, ids, weights, *self._labels, labels, votes), len(ids))
        return labels, votes


def _shares(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    total = weights.sum(axis=1, keepdims=True)
    return (weights / np.where(total > 0, total, 1)).astype(np.float32)
