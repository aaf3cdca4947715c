"""Whether probabilities mean what they say: calibration error, Brier score and reliability of the first k labels.

    ECE@k    sum_b |sum_{i in b} p_i - sum_{i in b} y_i| / m           b: 15 bins of equal width by probability
    Brier@k  sum_i (p_i - y_i)^2 / m                                   i: the m (document, label) pairs in the first k

Among labels with a probability of 70 %, 70 % should be true. ECE@k is the mean distance from that, so 0 is best; a
perfect model of few pairs still has some by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.metrics.per_label import is_hit
from zipfel.ranking import PAD, Ranking

Array = npt.NDArray[Any]
BINS = 15


@dataclass(frozen=True)
class Reliability:
    """A reliability diagram: probabilities in bins of equal width, and how many of the labels in each are true.

    probability: mean of the bin; share: of true labels in it; size: (document, label) pairs in it. Empty bins are left
    out.

    >>> found = reliability(np.array([0.9, 0.9, 0.1]), np.array([True, False, False]))
    >>> [round(p, 2) for p in found.probability], found.share, found.size
    ([0.1, 0.9], [0.0, 0.5], [1, 2])
    >>> round(found.error, 3)
    0.3
    """

    probability: Sequence[float]
    share: Sequence[float]
    size: Sequence[int]

    @property
    def error(self) -> float:
        """The expected calibration error (ECE): the mean distance between probability and share.

        >>> Reliability([0.9], [0.5], [10]).error
        0.4
        """
        rows = zip(self.probability, self.share, self.size, strict=True)
        return sum(abs(p - s) * n for p, s, n in rows) / max(1, sum(self.size))


def reliability(probabilities: Array, hits: Array, bins: int = BINS) -> Reliability:
    """The reliability diagram of (m,) probabilities. hits: (m,) whether each label is true; bins: of equal width.

    >>> reliability(np.array([0.2, 0.2]), np.array([True, False])).share
    [0.5]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    place = np.minimum((bins * p).astype(np.int64), bins - 1)
    size = np.bincount(place, minlength=bins)
    sums, right = np.bincount(place, p, bins), np.bincount(place, np.asarray(hits, dtype=np.float64), bins)
    kept = size > 0
    return Reliability(
        (sums[kept] / size[kept]).tolist(), (right[kept] / size[kept]).tolist(), size[kept].astype(int).tolist()
    )


def top_pairs(ranking: Ranking, truth: sp.csr_matrix, k: int) -> tuple[Array, Array]:
    """(probabilities, hits) of the first k labels of all documents, without pads."""
    labels, scores = ranking.labels[:, :k], ranking.scores[:, :k]
    known = labels != PAD
    return scores[known], is_hit(labels, truth)[known]


def calibration_errors(ranking: Ranking, truth: sp.csr_matrix, *, ks: Sequence[int] = (1, 3, 5)) -> dict[str, float]:
    """{"ECE@1": 0.01, "Brier@1": 0.12, ...}; empty if the scores are no probabilities.

    ranking: with probabilities; truth: (n, n_labels); ks: how many labels of each document are counted.

    >>> ranking = Ranking(np.array([[0], [1]]), np.array([[0.9], [0.4]], dtype=np.float32))
    >>> round(calibration_errors(ranking, sp.csr_matrix(np.eye(2)), ks=(1,))["Brier@1"], 3)
    0.185
    """
    found: dict[str, float] = {}
    for k in ks:
        p, hits = top_pairs(ranking, truth, k)
        if not len(p) or p.min() < 0 or p.max() > 1:
            return {}
        found[f"ECE@{k}"] = reliability(p, hits).error
        found[f"Brier@{k}"] = float(np.mean((p - hits) ** 2))
    return found
