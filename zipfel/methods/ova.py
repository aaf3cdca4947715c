"""ova: one sparse linear classifier a label (the papers' 1-vs-all row), behind a shortlist where labels are many.

    m(l) = w_l . x + b_l,   w_l = argmin 1/2 |w|^2 + C sum_i max(0, 1 - y_il m_i(l))^2       `linear`

The sum runs over l's positives and over the documents that have l in their shortlist. A shortlist has the labels with
the nearest centroids (`centroid`) and a few random ones. Without random labels a classifier would see hard negatives
only. While points times labels are at most `all_below`, every document is in every sum, and every label is scored:
plain 1-vs-all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel import config as declared
from zipfel.config import param, part
from zipfel.evidence.contributions import by_frequency, explain_linear
from zipfel.explanation import Explanation
from zipfel.linear import LinearClassifiers, LinearConfig, Problems, damped, with_random_negatives
from zipfel.methods.base import Method, Points, State
from zipfel.methods.centroid import Centroid, CentroidConfig
from zipfel.methods.popular import fill_blank
from zipfel.ranking import Ranking
from zipfel.run import Run

_BLOCK = 2048
"""Rows that are answered at a time."""


@dataclass(frozen=True)
class OvaConfig(declared.Config):
    shortlist: int = param(200, "labels of a document that are learnt from and scored", low=1)
    random_negatives: int = param(20, "random labels of a document that are learnt from besides", low=0)
    all_below: int = param(20_000_000, "points times labels up to which there is no shortlist", low=0)
    classifiers: LinearConfig = part(LinearConfig)  # noqa: RUF009 - a frozen config

    removed: ClassVar[Mapping[str, str]] = {
        "ranker": "set classifiers.NAME",
        "strangers": "set random_negatives",
    }


class Ova(Method):
    name: ClassVar[str] = "ova"
    title: ClassVar[str] = "one sparse linear classifier a label, behind a shortlist where labels are many"
    paper: ClassVar[str] = "Babbar and Schölkopf: DiSMEC, 2017; here on shortlisted negatives"
    is_cheap: ClassVar[bool] = True
    by_workers: ClassVar[str] = "tasks"
    Config = OvaConfig
    config: OvaConfig

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:  # noqa: ARG002 - nothing to choose
        c = self.config
        with run.timed("shortlist"):
            self.centroid_ = Centroid(CentroidConfig(width=200))
            self.centroid_.fit(train, None, run)
            self.all_labels_ = train.n_points * train.n_labels <= c.all_below
            shortlist = self._learnt_from(train, run)
        with run.timed("classifiers"):
            problems = Problems.build(train.Y, shortlist)
            self.classifiers_ = LinearClassifiers(c.classifiers).fit(train.X, problems, seed=run.seed)

    def _learnt_from(self, train: Points, run: Run) -> npt.NDArray[np.int32]:
        """(n, k) distinct labels a training point, -1 pads."""
        if self.all_labels_:
            return _every_label(train.n_points, train.n_labels)
        near = self.centroid_.predict(train.X, min(self.config.shortlist, train.n_labels)).labels.astype(np.int32)
        return with_random_negatives(near, train.n_labels, self.config.random_negatives, run.rng(30))

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        parts = [self._rank(X[a : a + _BLOCK], k) for a in range(0, max(1, X.shape[0]), _BLOCK)]
        return fill_blank(Ranking.concatenate(parts), self.centroid_.priors_)

    def _rank(self, X: sp.csr_matrix, k: int) -> Ranking:
        n_labels = len(self.centroid_.priors_)
        if self.all_labels_:
            labels: npt.NDArray[Any] = _every_label(X.shape[0], n_labels).astype(np.int64)
        else:
            labels = self.centroid_.predict(X, min(max(k, self.config.shortlist), n_labels)).labels
        scores = self.classifiers_.score(X, labels)
        scores[np.diff(X.indptr) == 0] = -np.inf  # without a feature there is no evidence: the most frequent labels
        scores[self.centroid_.priors_[labels] == 0] = -np.inf
        return Ranking.from_dense(scores, k, labels)

    def explain(self, x: sp.csr_matrix, labels: Sequence[int]) -> Explanation:
        """What each word adds to each label's margin; b_l is what the label starts with."""
        if x.nnz == 0:
            return Explanation([], [], *by_frequency(self.centroid_.priors_, labels))
        own = self.classifiers_
        return explain_linear(damped(x, own.config.damping), own.weights_, labels, own.bias_)

    def state(self) -> State:
        shortlist = self.centroid_.state()
        arrays = {f"classifiers.{name}": array for name, array in self.classifiers_.state().items()}
        return State({**shortlist.arrays, **arrays}, {"all_labels": self.all_labels_})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        self.centroid_ = Centroid(CentroidConfig(width=200))
        self.centroid_.restore(state, n_features, n_labels)
        self.all_labels_ = bool(state.facts["all_labels"])
        arrays = state.part("classifiers")
        self.classifiers_ = LinearClassifiers.restored(arrays, n_features, n_labels, self.config.classifiers)


def _every_label(n_points: int, n_labels: int) -> npt.NDArray[np.int32]:
    return np.broadcast_to(np.arange(n_labels, dtype=np.int32), (n_points, n_labels))
