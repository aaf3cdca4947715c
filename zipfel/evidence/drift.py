"""Where in its file a document would stand, told from its words. Files are often in the order of time, and which labels
go with which words changes with it: what classifiers have learnt is bent to the place.

    m_j(x) = w_j . x + b_j        a classifier of "stands behind cut j"; cuts part the rows of train evenly
    t(x) = mean_j 1 / (1 + exp(-5 m_j(x)))                           the place, from 0, the first row, to 1
    (x, h_1(t) x', ..., h_k(t) x')  what classifiers of labels see; x': the `words` largest values of x;
                                  h: tents over k knots from 0 to 1, of which two are not zero, and add up to one

Places of training points are told by classifiers that have not seen them, of other runs of the file: nothing but words
places them, as with any document that is asked about. The mean of those classifiers tells the others' places. Where
words do not tell the place, as in a file in no order, there is no drift.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.config import Config, param
from zipfel.errors import ModelFileError
from zipfel.index.sparse import unit_csr
from zipfel.kernels.sparse_topk import kernel_arrays
from zipfel.linear.classifiers import LinearClassifiers, LinearConfig
from zipfel.linear.problems import Problems
from zipfel.run import Run
from zipfel.threads import over_blocks

Array = npt.NDArray[Any]
Places = npt.NDArray[np.float32]
_FOLDS, _RUN = 3, 100
"""Rows of train are placed by classifiers of the other two of three parts, which take turns every 100 rows."""
_STEEP = 5.0
_TOLD = 0.5
"""Share of the variance of places that words must tell."""
_CLASSIFIERS = LinearConfig(cost=1.0, damping=1.0, threshold=0.02)
MOST_CUTS, MOST_KNOTS, MOST_WORDS, _MOST_COLUMNS = 255, 64, 1000, 20_000_000
"""The last: of what classifiers see; where a file declares more features, there is no drift."""


@dataclass(frozen=True)
class DriftConfig(Config):
    cuts: int = param(31, "places in the file at which documents are told apart", low=3, high=MOST_CUTS)
    knots: int = param(6, "places that words have weights of their own for", low=2, high=MOST_KNOTS)
    words: int = param(50, "weightiest words of a document that have them", low=1, high=MOST_WORDS)
    threshold: float = param(0.1, "weights up to this are dropped where there is drift; ranker.threshold else", low=0)


@dataclass(frozen=True)
class Drift:
    """ranker: (cuts, n_features) classifiers; places: (n,) of the training points."""

    knots: int
    words: int
    ranker: LinearClassifiers
    places: Places

    @classmethod
    def learn(cls, config: DriftConfig, X: sp.csr_matrix, n_ordered: int, run: Run) -> Drift | None:
        """X: (n, n_features), of which the first n_ordered are in the file's order. None where words do not tell it, or
        time is over."""
        if X.shape[1] * (1 + config.knots) > _MOST_COLUMNS:
            return None
        truth = np.arange(n_ordered, dtype=np.float64) / max(1, n_ordered)
        parts = np.arange(n_ordered) // _RUN % _FOLDS
        places, judges = np.empty(X.shape[0], dtype=np.float32), []
        for part in range(_FOLDS):
            there, others = np.flatnonzero(parts == part), np.flatnonzero(parts != part)
            if len(there) == 0 or run.time_left() <= 0:
                return None
            judges.append(_judge_of(X[others], truth[others], config.cuts, run.seed))
            places[there] = _placed(judges[-1], X[there])
            if _told(places[there], truth[there]) < _TOLD:
                return None
        weights, bias = (sum(part) / _FOLDS for part in zip(*((j.weights_, j.bias_) for j in judges), strict=True))
        ranker = LinearClassifiers.of(sp.csr_matrix(weights), _CLASSIFIERS, np.asarray(bias, dtype=np.float32))
        places[n_ordered:] = _placed(ranker, X[n_ordered:])
        return cls(config.knots, config.words, ranker, places)

    def place(self, X: sp.csr_matrix) -> Places:
        """(n,) where documents would stand, from 0 to 1."""
        return _placed(self.ranker, X)

    def n_columns(self, n_features: int) -> int:
        """Of `rows`."""
        return n_features * (1 + self.knots)

    def rows(self, X: sp.csr_matrix, places: Places) -> sp.csr_matrix:
        """(n, n_features (1 + knots)): documents as classifiers see them, of unit length."""
        X = unit_csr(X)
        sizes = np.diff(X.indptr).astype(np.int64)
        ends = np.append(0, np.cumsum(sizes + 2 * np.minimum(sizes, self.words)))
        ids, values = np.empty(ends[-1], dtype=np.int32), np.empty(ends[-1], dtype=np.float32)
        rows, n_features = kernel_arrays(X), int(X.shape[1])
        over_blocks(
            lambda a, b: _bend(a, b, *rows, places, n_features, self.words, self.knots, ends, ids, values), X.shape[0]
        )
        found = sp.csr_matrix((values, ids, ends), shape=(X.shape[0], self.n_columns(n_features)))
        found.has_canonical_format = True  # as `_bend` makes them
        return found

    def joined(self, X: sp.csr_matrix) -> Drift:
        """With the places of more points."""
        return replace(self, places=np.concatenate([self.places, self.place(X)]))

    def state(self) -> dict[str, Array]:
        shape = np.array([self.knots, self.words], dtype=np.int64)
        return {"shape": shape, "places": self.places, **self.ranker.state()}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], n_points: int, n_features: int) -> Drift:
        """The counterpart of `state`; a model file may come from anywhere."""
        shape, places = arrays.get("shape", np.zeros(())), arrays.get("places", np.zeros(()))
        n_cuts = arrays.get("bias", np.zeros(0)).size
        fits = shape.shape == (2,) and shape.dtype == np.int64 and 2 <= shape[0] <= MOST_KNOTS
        fits = fits and 1 <= shape[1] <= MOST_WORDS and n_features * (1 + int(shape[0])) <= _MOST_COLUMNS
        if not fits or not 1 <= n_cuts <= MOST_CUTS:
            raise ModelFileError("the drift in the model is damaged: knots and words, or cuts")
        if places.shape != (n_points,) or places.dtype != np.float32 or not ((places >= 0) & (places <= 1)).all():
            raise ModelFileError("the drift in the model is damaged: places of its points")
        ranker = LinearClassifiers.restored(arrays, n_features, n_cuts, _CLASSIFIERS)
        return cls(int(shape[0]), int(shape[1]), ranker, places)


def _judge_of(X: sp.csr_matrix, truth: Array, n_cuts: int, seed: int) -> LinearClassifiers:
    """Classifiers of "stands behind cut j", each learnt on all rows."""
    behind = sp.csr_matrix(truth[:, None] > np.linspace(0, 1, n_cuts + 2)[1:-1], dtype=np.float32)
    problems = Problems.build(behind, np.tile(np.arange(n_cuts, dtype=np.int32), (len(truth), 1)))
    return LinearClassifiers(_CLASSIFIERS).fit(X, problems, seed=seed)


def _placed(judge: LinearClassifiers, X: sp.csr_matrix) -> Places:
    margins = judge.score(X, np.tile(np.arange(len(judge.bias_)), (X.shape[0], 1)))
    margins = np.nan_to_num(margins)  # weights of a hostile file may be infinite both ways
    found: Places = (1 / (1 + np.exp(-np.clip(np.float32(_STEEP) * margins, -30, 30)))).mean(axis=1)
    return found


def _told(places: Places, truth: Array) -> float:
    """Share of the variance of the truth."""
    return float(1 - ((places - truth) ** 2).mean() / truth.var())


@njit(cache=True, nogil=True)
def _bend(
    start: int,
    stop: int,
    ptr: Array,
    features: Array,
    values: Array,
    places: Array,
    n_features: int,
    words: int,
    knots: int,
    ends: Array,
    ids: Array,
    out: Array,
) -> None:
    """Rows start..stop of `Drift.rows`: a row's features, and its weightiest ones behind them at the two knots around
    its place, scaled to unit length."""
    sizes = np.empty(words, dtype=np.float32)
    for row in range(start, stop):
        a, b, at = ptr[row], ptr[row + 1], ends[row]
        n = min(b - a, words)
        least, above = np.float32(0.0), 0  # the n-th largest size, and how many are larger
        if b - a > words:
            for t in range(a, b):  # the largest, by insertion
                size = abs(values[t])
                place = min(t - a, words - 1)
                if t - a >= words and size <= sizes[place]:
                    continue
                while place > 0 and size > sizes[place - 1]:
                    sizes[place] = sizes[place - 1]
                    place -= 1
                sizes[place] = size
            least = sizes[words - 1]
            for t in range(words):
                above += sizes[t] > least
        equal = n - above  # of those as large as the n-th, the first so many
        at_knot = min(max(places[row], np.float32(0.0)), np.float32(1.0)) * np.float32(knots - 1)
        knot = min(int(at_knot), knots - 2)
        second = at_knot - np.float32(knot)
        first = np.float32(1.0) - second
        used, square, bent = at + b - a, np.float32(0.0), np.float32(0.0)
        for t in range(a, b):
            value = values[t]
            ids[at + t - a], out[at + t - a] = features[t], value
            square += value * value
            if b - a > words:
                if abs(value) < least or (abs(value) == least and equal == 0):
                    continue
                equal -= abs(value) == least
            if used == at + b - a + n:  # of values that are no numbers none is larger than another
                continue
            ids[used], out[used] = n_features * (1 + knot) + features[t], first * value
            ids[used + n], out[used + n] = n_features * (2 + knot) + features[t], second * value
            bent += value * value
            used += 1
        length = np.sqrt(square + (first * first + second * second) * bent)
        if length > 0:
            for t in range(at, ends[row + 1]):
                out[t] /= length
