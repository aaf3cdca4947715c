"""Thresholds of probabilities: which labels of a ranking are accepted.

auto           one for each bucket of label frequency, so that micro-F1 on held-out documents is largest:
               first one for all labels, then each bucket's, shrunk towards it by m / (m + 200), m the bucket's hits
auto:document  one for all, so that the mean F1 of a document is largest; each document gets one label at least
0.5            that one for all
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.data.buckets import BUCKETS, buckets
from zipfel.errors import ModelFileError, ParameterError
from zipfel.ranking import PAD, Ranking

Array = npt.NDArray[Any]
AUTO, DOCUMENT = "auto", "auto:document"
THRESHOLDS = (AUTO, DOCUMENT)
Threshold = float | str
"""A probability, or one of `THRESHOLDS`."""
_SHRUNK = 200.0
_TRIED = 200
"""Thresholds that are tried for the mean F1 of a document."""
_USUAL = 0.3
"""Where nothing was held out."""


def parse_threshold(word: str | float) -> Threshold:
    """A number from 0 to 1, or one of `THRESHOLDS`.

    >>> parse_threshold("0.5"), parse_threshold("auto")
    (0.5, 'auto')
    """
    if word in THRESHOLDS:
        return str(word)
    try:
        value = float(word)
    except (TypeError, ValueError):
        value = math.nan
    if isinstance(word, bool) or not 0 <= value <= 1:
        raise ParameterError(f"a threshold is a number from 0 to 1, {AUTO} or {DOCUMENT}; got {word!r:.60}")
    return value


@dataclass(frozen=True)
class Thresholds:
    """Learnt on held-out documents. micro: one for each of `BUCKETS`; document: for the mean F1 of a document; f1:
    micro-F1 of each bucket's labels there."""

    micro: tuple[float, ...] = (_USUAL,) * len(BUCKETS)
    document: float = _USUAL
    f1: tuple[float, ...] = (_USUAL,) * len(BUCKETS)

    @classmethod
    def fit(cls, probabilities: Array, hits: Array, counts: Array, n_true: Array) -> Thresholds:
        """probabilities: (n, c) of a ranking, -inf pads; hits: (n, c) whether each label is true; counts: (n, c)
        training points of each; n_true: (n,) true labels of a document, those that are not ranked with them."""
        known = np.isfinite(probabilities)
        if not known.any() or not hits[known].any():
            return cls()
        p, right, bucket = probabilities[known], hits[known], buckets(counts[known])
        every = _best_micro(p, right, int(n_true.sum()))
        accepted = p >= every
        micro, f1 = [], []
        for b in range(len(BUCKETS)):
            mine, others = bucket == b, accepted & (bucket != b)
            n_hits = int(right[mine].sum())
            own = _best_micro(p[mine], right[mine], int(n_true.sum()), int(right[others].sum()), int(others.sum()))
            share = n_hits / (n_hits + _SHRUNK)
            micro.append(share * own + (1 - share) * every if n_hits else every)
            taken = mine & accepted
            f1.append(2 * float(right[taken].sum()) / max(1.0, float(taken.sum() + n_hits)))
        return cls(tuple(micro), _best_of_documents(probabilities, hits, n_true), tuple(f1))

    def accepted(self, ranking: Ranking, counts: Array, threshold: Threshold) -> npt.NDArray[np.bool_]:
        """(n, k): which labels of a ranking, whose scores are probabilities, are accepted; counts: (n_labels,)."""
        known = ranking.labels != PAD
        if threshold == DOCUMENT:
            found = known & (ranking.scores >= self.document)
            best = np.argmax(np.where(known, ranking.scores, -np.inf), axis=1) if ranking.k else np.zeros(0, dtype=int)
            rows = np.flatnonzero(known.any(axis=1))
            found[rows, best[rows]] = True
            return np.asarray(found)
        if threshold == AUTO:
            limits = np.array(self.micro)[buckets(counts[ranking.labels])]
            return np.asarray(known & (ranking.scores >= limits))
        return np.asarray(known & (ranking.scores >= float(threshold)))

    def facts(self) -> dict[str, Any]:
        return {"micro": list(self.micro), "document": self.document, "f1": list(self.f1)}

    @classmethod
    def from_facts(cls, facts: Any) -> Thresholds:
        """The counterpart of `facts`; None gives the usual ones. Every value is checked."""
        if facts is None:
            return cls()
        try:
            micro, f1 = (tuple(float(value) for value in facts[name]) for name in ("micro", "f1"))
            document = float(facts["document"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the thresholds in the model are damaged: {error!r:.80}") from None
        sound = len(micro) == len(f1) == len(BUCKETS) and all(0 <= value <= 1 for value in (*micro, *f1, document))
        if not sound:
            raise ModelFileError("the thresholds in the model are damaged: they must be numbers from 0 to 1")
        return cls(micro, document, f1)


def kept_labels(ranking: Ranking, accepted: Array, limit: int | None = None) -> Ranking:
    """The accepted labels of each row in their order, the first `limit` of them; pads behind."""
    if limit is not None:
        accepted = accepted & (np.cumsum(accepted, axis=1) <= limit)
    order = np.argsort(~accepted, axis=1, kind="stable")[:, : max(1, int(accepted.sum(axis=1).max(initial=0)))]
    kept = np.take_along_axis(accepted, order, axis=1)
    labels = np.where(kept, np.take_along_axis(ranking.labels, order, axis=1), PAD)
    scores = np.where(kept, np.take_along_axis(ranking.scores, order, axis=1), np.float32(-np.inf))
    return Ranking(labels, scores, ranking.label_names)


def _best_micro(p: Array, hits: Array, n_true: int, more_hits: int = 0, more_given: int = 0) -> float:
    """The threshold of (m,) probabilities with the largest 2 hits / (given + true), counting labels that are given
    anyway. It lies between two values, or above all of them if no label should be given."""
    order = np.argsort(-p, kind="stable")
    values = np.concatenate([[1.0], p[order], [0.0]])
    given = np.arange(len(p) + 1) + more_given
    f1 = 2 * (np.append(0, np.cumsum(hits[order])) + more_hits) / np.maximum(given + n_true, 1)
    f1[:-1][values[:-2] == values[1:-1]] = -1  # equal probabilities are given together
    best = int(np.argmax(f1))
    return float((values[best] + values[best + 1]) / 2)


def _best_of_documents(p: Array, hits: Array, n_true: Array) -> float:
    """The threshold with the largest mean F1 over documents. Each document gets its likeliest label in any case."""
    ranked = np.sort(p[np.isfinite(p)])
    tried: Sequence[float] = np.unique(np.quantile(ranked, np.linspace(0, 1, _TRIED))).tolist()
    likeliest = np.argmax(p, axis=1)[:, None] == np.arange(p.shape[1])
    means = []
    for threshold in tried:
        given = (p >= threshold) | (likeliest & np.isfinite(p))
        f1 = 2 * (given & hits).sum(axis=1) / np.maximum(given.sum(axis=1) + n_true, 1)
        means.append(float(f1.mean()))
    return float(tried[len(means) - 1 - int(np.argmax(means[::-1]))])  # of several the highest
