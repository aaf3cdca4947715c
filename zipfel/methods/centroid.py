"""centroid: each label is the mean direction of its training points; documents go to the nearest labels.

mu_l = sum_{i: y_il = 1} x_i, scaled to length 1      `Centroid.fit`, the `width` largest entries of each
score(l) = cos(x, mu_l)                               one sparse product through inverted lists
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from zipfel import config as declared
from zipfel.config import param
from zipfel.evidence.contributions import by_frequency, explain_linear
from zipfel.explanation import Explanation
from zipfel.index.sparse import unit_csr
from zipfel.kernels.sparse_topk import sparse_topk
from zipfel.methods.base import Method, Points, State, pack_csr, unpack_csr
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.neighbors.centroids import label_centroids
from zipfel.ranking import Ranking
from zipfel.run import Run


@dataclass(frozen=True)
class CentroidConfig(declared.Config):
    width: int = param(1000, "largest entries of a centroid that are kept", low=1)


class Centroid(Method):
    name = "centroid"
    title = "the labels whose mean training point is nearest"
    is_cheap = True
    Config = CentroidConfig
    config: CentroidConfig

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:  # noqa: ARG002 - nothing to choose
        with run.timed("centroids"):
            centroids = label_centroids(train.X, train.Y, self.config.width)
            self.lists_ = centroids.T.tocsr()  # (D, L): for each feature the labels that have it
            self.priors_ = label_priors(train.Y)

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        return fill_blank(Ranking(*sparse_topk(unit_csr(X), self.lists_, k)), self.priors_)

    def explain(self, x: sp.csr_matrix, labels: Sequence[int]) -> Explanation:
        """What each word adds to the cosine with each label's centroid."""
        if not (unit_csr(x) @ self.lists_).nnz:  # it shares no word with any label
            return Explanation([], [], *by_frequency(self.priors_, labels))
        return explain_linear(unit_csr(x), self.lists_.T.tocsr(), labels)

    def state(self) -> State:
        return State({**pack_csr("lists", self.lists_), "priors": self.priors_})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        self.lists_ = unpack_csr(state, "lists", (n_features, n_labels))
        self.priors_ = state.array("priors", shape=(n_labels,)).astype(np.float32)
