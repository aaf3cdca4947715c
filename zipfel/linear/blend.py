"""A small dense logistic regression that joins several kinds of evidence for a (document, label) pair into one score.

Weights of the columns that are named monotone are at least zero: such evidence never counts against a label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import ModelFileError

Array = npt.NDArray[Any]
_NEWTON, _HALVINGS, _NEAR = 20, 20, 1e-3
"""Newton's steps at most, how often each may be halved, and the length, for evidence of unit variance, of the last;
each takes the square of the error before."""
_NOISE = 1e-5
"""Evidence that varies less than this, for its size, is the same for all pairs, but for rounding."""
_TOP, _FIRST = 10, 100
"""Candidates of a document that `fit_top` learns from; documents in its first step, which uses all of their
candidates."""


@dataclass(frozen=True)
class Blend:
    """score = sum_f weights[f] * evidence[f] + bias, the log-odds that the label is right."""

    names: tuple[str, ...]
    weights: tuple[float, ...]
    bias: float

    @classmethod
    def fit(
        cls,
        names: Sequence[str],
        evidence: Array,
        hits: Array,
        *,
        monotone: Sequence[str] = (),
        ridge: float = 1.0,
        start: Blend | None = None,
    ) -> Blend:
        """evidence: (p, f), a row a pair; hits: (p,) whether the label is the document's. ridge: on unit variance.
        start: a blend to start from. Without pairs to learn from, all monotone columns have a weight of 1."""
        if len(evidence) == 0:
            return cls(tuple(names), tuple(float(name in monotone) for name in names), 0.0)
        mean, spread = evidence.mean(axis=0), evidence.std(axis=0)
        spread = np.where(spread > _NOISE * (1 + np.abs(mean)), spread, 1.0)
        A = np.column_stack([(evidence - mean) / spread, np.ones(len(evidence))]).astype(np.float64)
        theta = np.zeros(A.shape[1])
        if start is not None:
            theta = np.append(np.array(start.weights) * spread, start.bias + np.array(start.weights) @ mean)
        bounded = np.append([name in monotone for name in names], False)
        theta = _newton(A, hits.astype(np.float64), ridge, theta, bounded)
        weights = theta[:-1] / spread
        return cls(tuple(names), tuple(weights.tolist()), float(theta[-1] - weights @ mean))

    @classmethod
    def fit_top(
        cls,
        names: Sequence[str],
        evidence: Array,
        hits: Array,
        known: Array,
        *,
        monotone: Sequence[str] = (),
        start: Blend | None = None,
    ) -> Blend:
        """The same for (n, c, f) evidence, (n, c) hits and which pairs are real; learnt in the end only from each
        document's best candidates, those of `start` or of a blend that learns from few documents: the order of the
        others does not matter."""
        if start is None:
            few = known.copy()
            few[np.arange(len(known)) % -(-len(known) // _FIRST) > 0] = False  # enough to begin with
            start = cls.fit(names, evidence[few], hits[few], monotone=monotone)
            start = cls.fit_top(names, evidence, hits, known, monotone=monotone, start=start)
        scores = np.where(known, start(evidence), -np.inf)
        width = min(_TOP, scores.shape[1])
        cut = -np.partition(-scores, width - 1, axis=1)[:, width - 1 : width]
        best = known & (scores >= cut)
        return cls.fit(names, evidence[best], hits[best], monotone=monotone, start=start)

    def __call__(self, evidence: Array) -> npt.NDArray[np.float32]:
        """(..., f) -> (...)"""
        scores: npt.NDArray[np.float32] = evidence @ np.array(self.weights, dtype=np.float32) + np.float32(self.bias)
        return scores

    def facts(self) -> dict[str, Any]:
        return {"names": list(self.names), "weights": list(self.weights), "bias": self.bias}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], names: Sequence[str]) -> Blend:
        """The counterpart of `facts`; `names` is what the evidence will be."""
        try:
            found = cls(tuple(facts["names"]), tuple(float(w) for w in facts["weights"]), float(facts["bias"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the blend in the model is damaged: {error}") from None
        if not np.isfinite([*found.weights, found.bias]).all():
            raise ModelFileError("the blend in the model has weights that are no numbers")
        if found.names != tuple(names) or len(found.weights) != len(found.names):
            raise ModelFileError(f"the blend in the model joins {list(found.names)}, not {list(names)}")
        return found


def is_true(labels: Array, Y: sp.csr_matrix) -> npt.NDArray[np.bool_]:
    """(n, c): whether each candidate label is among its row's labels Y (n, n_labels); -1 never is."""
    n, n_labels = Y.shape
    wanted = np.repeat(np.arange(n), np.diff(Y.indptr)) * np.int64(n_labels) + Y.indices
    asked = np.arange(n)[:, None] * np.int64(n_labels) + labels
    found: npt.NDArray[np.bool_] = np.isin(asked, wanted) & (labels >= 0)
    return found


def _newton(A: Array, y: Array, ridge: float, theta: Array, bounded: Array) -> Array:
    """Ridge logistic regression from theta on; the last column is the intercept and goes free; the weights of bounded
    columns are at least zero. A step that leads up is halved until it leads down."""
    penalty = np.full(A.shape[1], ridge)
    penalty[-1] = 1e-6

    def loss(theta: Array, scores: Array) -> float:
        return float(np.logaddexp(0, scores).sum() - y @ scores + penalty @ theta**2 / 2)

    theta = np.where(bounded, np.maximum(theta, 0), theta)
    scores = A @ theta
    before = loss(theta, scores)
    for _ in range(_NEWTON):
        p = 1.0 / (1.0 + np.exp(-np.clip(scores, -30, 30)))
        gradient = A.T @ (p - y) + penalty * theta
        curvature = (A * (p * (1 - p))[:, None]).T @ A + np.diag(penalty + 1e-9)
        step = _step(curvature, gradient, bounded & (theta <= 0))
        for _ in range(_HALVINGS):
            later = np.where(bounded, np.maximum(theta - step, 0), theta - step)
            scores = A @ later
            now = loss(later, scores)
            if now <= before:
                break
            step = step / 2
        else:  # no way down but rounding: this is the optimum
            break
        moved, theta, before = np.abs(later - theta).max(), later, now
        if moved < _NEAR:
            break
    return theta


def _step(curvature: Array, gradient: Array, at_bound: Array) -> Array:
    """Newton's step, in which no weight at its bound goes below it: those stay, the others step without them."""
    free = ~(at_bound & (gradient >= 0))
    while True:
        step = np.zeros(len(gradient))
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        leaving = free & at_bound & (step > 0)
        if not leaving.any():
            return step
        free &= ~leaving
