"""The k labels of a document that are best by a metric, chosen by probabilities eta_il of its labels.

A gain for each label, document by document, so that it can be served; the k largest are given:

    precision, recall   eta                      both are largest with the likeliest labels
    psp                 eta / p_l                p_l: propensity
    macro-f1            (eta - F_b / 2) / (N_l + 1)     F_b: F1 of the label's bucket on held-out documents; only > 0
    coverage            eta / (N_l + 1)          a label that is seldom true is seldom hit otherwise
    micro-f1            eta - F / 2              only > 0: fewer than k where the rest would cost more than it brings

N_l: training points. For a whole file, `together` chooses sets of labels by block-coordinate ascent. One document after
another gets the k labels that raise the expected metric of the file most, with the other sets fixed, until nothing
changes (Schultheis et al., "Consistent algorithms for multi-label classification with macro-at-k metrics", 2024;
xCOLUMNs). The metrics that are no sum over documents are micro-f1, macro-f1 and coverage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.data.buckets import buckets
from zipfel.decisions._ascent import ascend
from zipfel.decisions.thresholds import Thresholds
from zipfel.errors import ParameterError, nearest
from zipfel.metrics.propensity import Propensity
from zipfel.ranking import PAD, Ranking

Array = npt.NDArray[Any]
OBJECTIVES = ("precision", "recall", "micro-f1", "macro-f1", "psp", "coverage")
TOGETHER = ("micro-f1", "macro-f1", "coverage")
"""Those in which documents depend on each other."""
CANDIDATES = 100
"""Likeliest labels of a document among which the best are chosen."""
_ROUNDS = 20


@dataclass(frozen=True)
class Objective:
    """counts: (n_labels,) training points of each label; n_train: in all; propensity: that of the metric psp."""

    name: str
    thresholds: Thresholds
    counts: Array
    n_train: int
    propensity: Propensity = Propensity()  # noqa: RUF009 - it is frozen

    def __post_init__(self) -> None:
        if self.name not in OBJECTIVES:
            raise ParameterError(f"there is no metric {self.name!r:.40} to optimise{nearest(self.name, OBJECTIVES)}")

    def gains(self, ranking: Ranking) -> npt.NDArray[np.float64]:
        """(n, c) of candidates whose scores are probabilities; -inf pads."""
        known = ranking.labels != PAD
        eta = np.where(known, ranking.scores, 0).astype(np.float64)
        counts = self.counts[ranking.labels]
        half_f1 = np.array(self.thresholds.f1)[buckets(counts)] / 2
        if self.name == "psp":
            eta = eta * self.propensity.inverse(counts, self.n_train)
        elif self.name == "micro-f1":
            eta = eta - np.array(self.thresholds.micro)[buckets(counts)]
        elif self.name == "macro-f1":
            eta = (eta - half_f1) / (counts + 1)
        elif self.name == "coverage":
            eta = eta / (counts + 1)
        return np.where(known, eta, -np.inf)

    @property
    def may_give_fewer(self) -> bool:
        return self.name in ("micro-f1", "macro-f1")

    def best(self, ranking: Ranking, k: int) -> Ranking:
        """The k labels of each document with the largest gains, the largest first; fewer where a gain is negative, but
        one at least."""
        gains = self.gains(ranking)
        order = np.argsort(-gains, axis=1, kind="stable")[:, :k]
        labels, scores = (np.take_along_axis(part, order, axis=1) for part in (ranking.labels, ranking.scores))
        if self.may_give_fewer:
            poor = np.take_along_axis(gains, order, axis=1) <= 0
            poor[:, :1] = False
            labels, scores = np.where(poor, PAD, labels), np.where(poor, -np.inf, scores)
        return Ranking(labels.astype(np.int64), scores.astype(np.float32), ranking.label_names)

    def together(self, ranking: Ranking, k: int, seed: int = 0) -> Ranking:
        """For each document up to k labels, the likeliest first, such that the expected metric of all documents is
        largest."""
        if self.name not in TOGETHER:
            return self.best(ranking, k)
        eta = np.where(ranking.labels != PAD, np.clip(ranking.scores, 0, 1), 0).astype(np.float64)
        order = np.random.default_rng(seed).permutation(len(ranking))
        n_labels = max(len(self.counts), int(ranking.labels.max(initial=-1)) + 1)
        given = ascend(ranking.labels, eta, order, k, TOGETHER.index(self.name), n_labels, _ROUNDS)
        scores = np.where(given, ranking.scores, np.float32(-np.inf))
        places = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        scores = np.take_along_axis(scores, places, axis=1)
        labels = np.where(np.isfinite(scores), np.take_along_axis(ranking.labels, places, axis=1), PAD)
        return Ranking(labels, scores, ranking.label_names)
