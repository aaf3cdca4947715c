"""Calibration: raw scores of ranked labels become probabilities, learnt on held-out documents.

    t(s) = (s - mean) / spread, cut at -6 and 6                     s: a raw score
           or first s -> log-odds by isotonic regression, where scores are far from log-odds
    log-odds(s, r) = a t + b max(t, 0) + c log r + d [r = 1] + e t log r + f t [r = 1] + g      Platt, with the rank r

The rank counts because the first label was selected for its high score: it is right less often than the score alone
says. A bonus for rare labels has the opposite effect. A variant with an offset for each frequency bucket of labels, and
the one with isotonic regression, are kept where they tell held-out documents better. No label has a curve of its own:
rare labels have too few documents for that.

Paper: "How well calibrated are extreme multi-label classifiers?" (2025) for ECE@k; Platt (1999); Zadrozny and Elkan
(2002) for isotonic regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.data.buckets import BUCKETS, buckets
from zipfel.errors import ModelFileError
from zipfel.linear.blend import Blend
from zipfel.system.threads import at_once

Array = npt.NDArray[Any]
RANKS = 20
"""Best labels of a document that a calibration is learnt from."""
_CUT = 6.0
_FOLDS = 3
_WORTH = 0.0005
"""Log-loss of a label, on average, that a variant with more parameters has to save."""
_FEWEST = 100
"""Documents below which the plain variant is taken without a comparison."""
_PLAIN = ("score", "high score", "rank", "first", "rank x score", "first x score")
_MOST_KNOTS = 10_000


def isotonic(scores: Array, hits: Array) -> tuple[Array, Array]:
    """(values, means): the rising step function of the scores that is nearest to the hits, by pool-adjacent-violators.

    values: (b,) mean score of each pool, rising; means: (b,) share of hits in it, rising.

    >>> values, means = isotonic(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 0, 1]))
    >>> values.tolist(), means.tolist()
    ([1.0, 2.5, 4.0], [0.0, 0.5, 1.0])
    """
    values, sums, sizes = _pools(scores, hits)
    return values, sums / sizes


def _pools(scores: Array, hits: Array) -> tuple[Array, Array, Array]:
    """(mean score, sum of hits, size) of each pool."""
    distinct, place = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)
    sizes = np.bincount(place, minlength=len(distinct)).astype(np.float64)
    sums = np.bincount(place, np.asarray(hits, dtype=np.float64), len(distinct))
    stack: list[tuple[float, float, float]] = []
    for value, total, size in zip((distinct * sizes).tolist(), sums.tolist(), sizes.tolist(), strict=True):
        pool = (value, total, size)
        while stack and stack[-1][1] * pool[2] >= pool[1] * stack[-1][2]:  # its mean is not below this one's
            before = stack.pop()
            pool = (before[0] + pool[0], before[1] + pool[1], before[2] + pool[2])
        stack.append(pool)
    found = np.array(stack, dtype=np.float64).reshape(-1, 3)
    return found[:, 0] / found[:, 2], found[:, 1], found[:, 2]


_ARRAYS = ("labels", "scores", "hits", "counts")


@dataclass(frozen=True)
class HeldOutRanking:
    """The ranking of documents that were not trained on, and what is true of it.

    labels: (n, c) in the order of the ranking, -1 pads; scores: (n, c) raw, without a bonus for rare labels; hits:
    (n, c) whether each label is true; counts: (n, c) training points of the labels; n_true: (n,) true labels of each
    document, none for those that are ranked.
    """

    labels: Array
    scores: Array
    hits: Array
    counts: Array
    n_true: Array | None = None

    @classmethod
    def joined(cls, parts: Sequence[HeldOutRanking]) -> HeldOutRanking:
        """Of all their documents."""
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
        n_true = [part.n_true for part in parts if part.n_true is not None]
        return cls(**arrays, n_true=np.concatenate(n_true) if len(n_true) == len(parts) else None)

    def calibration(self) -> Calibration:
        return Calibration.fit(np.where(self.labels >= 0, self.scores, -np.inf), self.hits, self.counts)


@dataclass(frozen=True)
class Calibration:
    """knots: (b, 2) of isotonic regression, score and log-odds; none where raw scores are taken as they are."""

    mean: float
    spread: float
    blend: Blend
    knots: tuple[tuple[float, float], ...] = ()

    @classmethod
    def fit(cls, scores: Array, hits: Array, counts: Array | None = None) -> Calibration:
        """scores: (n, c) raw scores in the order of the ranking, -inf pads; hits: (n, c) whether each label is true;
        counts: (n, c) training points of each label, where buckets may count."""
        scores, hits = scores[:, :RANKS], hits[:, :RANKS]
        counts = None if counts is None else counts[:, :RANKS]
        variants: list[tuple[bool, Array | None]] = [(False, None), (True, None)]  # bent, counts
        variants += [(False, counts)] if counts is not None else []
        if len(scores) < _FEWEST:
            return _learn(scores, hits, bent=False, counts=None)
        losses = at_once(*(partial(_cross_loss, scores, hits, bent=bent, counts=used) for bent, used in variants))
        bent, used = variants[min(range(len(losses)), key=lambda i: losses[i] + _WORTH * (i > 0))]
        return _learn(scores, hits, bent=bent, counts=used)

    @property
    def is_bucketed(self) -> bool:
        return len(self.blend.names) > len(_PLAIN)

    def __call__(self, scores: Array, counts: Array) -> npt.NDArray[np.float32]:
        """(n, c) probabilities of raw scores in the order of the ranking; counts: (n, c) training points of the
        labels. Pads, of score -inf, stay -inf."""
        odds = self.blend(self._evidence(scores, counts if self.is_bucketed else None))
        found = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
        return np.where(np.isfinite(scores), found, -np.inf).astype(np.float32)

    def _evidence(self, scores: Array, counts: Array | None) -> npt.NDArray[np.float32]:
        """(n, c, f) in the order of the blend's names."""
        t = np.where(np.isfinite(scores), scores, self.mean).astype(np.float64)
        if self.knots:
            values, odds = np.array(self.knots).T
            t = np.interp(t, values, odds)
        t = np.clip((t - self.mean) / self.spread, -_CUT, _CUT)
        rank = np.broadcast_to(np.log1p(np.arange(scores.shape[1])), scores.shape)  # log r, r counted from 1
        first = np.broadcast_to(np.arange(scores.shape[1]) == 0, scores.shape).astype(np.float64)
        columns = [t, np.maximum(t, 0), rank, first, rank * t, first * t]
        if counts is not None:
            columns += [(buckets(counts) == bucket).astype(np.float64) for bucket in range(len(BUCKETS))]
        return np.stack(columns, axis=2).astype(np.float32)

    # -- keeping

    def facts(self) -> dict[str, Any]:
        knots = [list(knot) for knot in self.knots]
        return {"mean": self.mean, "spread": self.spread, "blend": self.blend.facts(), "knots": knots}

    @classmethod
    def from_facts(cls, facts: Any) -> Calibration:
        """The counterpart of `facts`; every value is checked, for a model file may come from anywhere."""
        try:
            mean, spread = float(facts["mean"]), float(facts["spread"])
            knots = tuple((float(a), float(b)) for a, b in facts["knots"])
            names = tuple(facts["blend"]["names"])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ModelFileError(f"the calibration in the model is damaged: {error!r:.80}") from None
        values = np.array(knots, dtype=np.float64).reshape(-1, 2)
        sound = np.isfinite([mean, spread]).all() and spread > 0 and np.isfinite(values).all()
        if not sound or len(knots) > _MOST_KNOTS or (np.diff(values[:, 0]) < 0).any():
            raise ModelFileError("the calibration in the model is damaged: its numbers are out of range")
        expected = _PLAIN if len(names) == len(_PLAIN) else _names(bucketed=True)
        return cls(mean, spread, Blend.from_facts(facts["blend"], expected), knots)


def _names(*, bucketed: bool) -> tuple[str, ...]:
    return (*_PLAIN, *BUCKETS) if bucketed else _PLAIN


def _learn(scores: Array, hits: Array, *, bent: bool, counts: Array | None) -> Calibration:
    known = np.isfinite(scores)
    t = scores[known].astype(np.float64)
    knots: tuple[tuple[float, float], ...] = ()
    if bent:
        knots = _knots(t, hits[known])
        t = np.interp(t, *np.array(knots).T)
    spread = float(t.std()) if len(t) else 1.0
    start = Calibration(float(t.mean()) if len(t) else 0.0, spread if spread > 1e-9 else 1.0, _NOTHING, knots)
    evidence = start._evidence(scores, counts)[known]
    names: Sequence[str] = _names(bucketed=counts is not None)
    blend = Blend.fit(names, evidence, hits[known]) if len(evidence) else Blend(tuple(names), (0.0,) * len(names), 0.0)
    return Calibration(start.mean, start.spread, blend, knots)


_NOTHING = Blend(_PLAIN, (0.0,) * len(_PLAIN), 0.0)


def _knots(scores: Array, hits: Array) -> tuple[tuple[float, float], ...]:
    """Score and log-odds of each pool; half a hit and half a miss keep them finite."""
    values, sums, sizes = _pools(scores, hits)
    odds = np.log((sums + 0.5) / (sizes - sums + 0.5))
    return tuple(zip(values.tolist(), np.maximum.accumulate(odds).tolist(), strict=True))


def _cross_loss(scores: Array, hits: Array, *, bent: bool, counts: Array | None) -> float:
    """Mean log-loss of the labels of documents that the calibration has not seen."""
    fold, total = np.arange(len(scores)) * _FOLDS // len(scores), 0.0
    known = np.isfinite(scores)
    for left_out in range(_FOLDS):
        rest, asked = fold != left_out, fold == left_out
        found = _learn(scores[rest], hits[rest], bent=bent, counts=None if counts is None else counts[rest])
        seen = np.zeros(scores.shape, dtype=np.int64) if counts is None else counts
        p = np.clip(found(scores[asked], seen[asked])[known[asked]], 1e-6, 1 - 1e-6)
        right = hits[asked][known[asked]]
        total -= float(np.log(np.where(right, p, 1 - p)).sum())
    return total / max(1, int(known.sum()))
