"""The training set that all parts share: an index of the points' words, and their labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.metrics import Propensity
from zipfel.neighbors.words import WordIndex
from zipfel.points import Points
from zipfel.state import State, pack_csr, under, unpack_csr

Array = npt.NDArray[Any]
_USUAL = Propensity()


@dataclass(frozen=True)
class TrainingSet:
    """words: rows of the training points, by which they are found; Y: (n, n_labels) their labels; n_fitted_features:
    features that the model was fitted on. Updates add others, which only neighbours and classifiers use.
    propensity: how likely a label of a document is given, by its frequency."""

    words: WordIndex
    Y: sp.csr_matrix
    n_fitted_features: int
    propensity: Propensity = _USUAL

    @classmethod
    def of(cls, points: Points, propensity: Propensity = _USUAL) -> TrainingSet:
        words = WordIndex.build(points.X, np.diff(points.Y.indptr) > 0)
        return cls(words, points.Y, points.n_features, propensity)

    @property
    def n_points(self) -> int:
        return int(self.Y.shape[0])

    @property
    def n_features(self) -> int:
        return self.words.shape[1]

    @property
    def n_labels(self) -> int:
        return int(self.Y.shape[1])

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """(n_labels,) points of each label."""
        return label_counts(self.Y)

    @cached_property
    def rarity(self) -> npt.NDArray[np.float32]:
        """(n_labels,) log 1/p of each label: what a bonus of 1 for rare labels adds to its score."""
        return self.rarity_of(self.counts, self.n_points)

    def rarity_of(self, counts: npt.NDArray[np.int64], n_points: int) -> npt.NDArray[np.float32]:
        """`rarity` of labels that so many of n_points points have."""
        return np.log(self.propensity.inverse(counts, n_points)).astype(np.float32)

    @property
    def can_vote(self) -> npt.NDArray[np.bool_]:
        """(n,) which points have words and labels."""
        return self.words.can_vote

    def most_frequent(self, n: int) -> Array:
        """(<= n,) labels that occur, the most frequent first."""
        return self._by_frequency[:n]

    @cached_property
    def _by_frequency(self) -> Array:
        return np.argsort(-self.counts, kind="stable")[: np.count_nonzero(self.counts)]

    def joined(self, more: Points) -> TrainingSet:
        """With more points behind its own, which may have more features; either may have more labels."""
        words = self.words.joined(more.X, np.diff(more.Y.indptr) > 0)
        return TrainingSet(words, joined_labels(self.Y, more.Y), self.n_fitted_features, self.propensity)

    def state(self) -> dict[str, Array]:
        return {**pack_csr("Y", self.Y), **under("words", self.words.state())}

    @classmethod
    def restored(
        cls, state: State, n_features: int, n_labels: int, n_fitted_features: int, propensity: Propensity = _USUAL
    ) -> TrainingSet:
        """The counterpart of `state`; every index is checked, a model file may come from anywhere."""
        n_points = len(state.array("Y.indptr", ndim=1)) - 1
        Y = unpack_csr(state, "Y", (n_points, n_labels))
        return cls(WordIndex.restored(state.part("words"), n_points, n_features), Y, n_fitted_features, propensity)


def label_counts(Y: sp.csr_matrix) -> npt.NDArray[np.int64]:
    """(n_labels,) points of each label."""
    return np.bincount(Y.indices, minlength=Y.shape[1])


def joined_labels(Y: sp.csr_matrix, more: sp.csr_matrix) -> sp.csr_matrix:
    """The rows of Y and behind them those of `more`; one of the two may have more columns."""
    width = max(Y.shape[1], more.shape[1])
    wide = [sp.csr_matrix((part.data, part.indices, part.indptr), (part.shape[0], width)) for part in (Y, more)]
    return sp.vstack(wide, format="csr")


def new_labels(Y: sp.csr_matrix, n_before: int) -> Array:
    """Labels that none of the first n_before points has, but one of the others."""
    before, after = (label_counts(part) for part in (Y[:n_before], Y[n_before:]))
    return np.flatnonzero((before == 0) & (after > 0))
