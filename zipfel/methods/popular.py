"""popular: the most frequent labels, for every document the same. The floor below all floors.

score(l) = N_l / N, the share of the training points that have label l. A label that was never seen is not ranked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel import config as declared
from zipfel.methods.base import Method, Points, State
from zipfel.ranking import PAD, Ranking
from zipfel.run import Run


@dataclass(frozen=True)
class PopularConfig(declared.Config):
    """There is nothing to set."""


class Popular(Method):
    name = "popular"
    title = "the most frequent labels, whatever the document says"
    gives_probabilities = True
    Config = PopularConfig

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:  # noqa: ARG002 - nothing to choose
        self.priors_ = label_priors(train.Y)

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        best = most_frequent(self.priors_, k)
        return best[np.zeros(X.shape[0], dtype=np.intp)]

    def state(self) -> State:
        return State({"priors": self.priors_})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:  # noqa: ARG002 - features play no part
        self.priors_ = state.array("priors", shape=(n_labels,)).astype(np.float32)


def label_priors(Y: sp.csr_matrix) -> npt.NDArray[np.float32]:
    """(n_labels,) share of the points that have each label."""
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    priors: npt.NDArray[np.float32] = (counts / max(1, Y.shape[0])).astype(np.float32)
    return priors


def most_frequent(priors: npt.NDArray[np.float32], k: int) -> Ranking:
    """One row: the k most frequent labels."""
    return Ranking.from_dense(np.where(priors > 0, priors, -np.inf).astype(np.float32)[None], k)


def fill_blank(
    ranking: Ranking, priors: npt.NDArray[np.float32], unknown: npt.NDArray[np.bool_] | None = None
) -> Ranking:
    """Rows for which nothing was found get the most frequent labels: the best guess without any evidence.

    unknown: (n,) rows, or (n, k) places, whose labels count as not found.
    """
    if unknown is not None:
        unknown = unknown if unknown.ndim == 2 else unknown[:, None]
        ranking = Ranking(np.where(unknown, PAD, ranking.labels), np.where(unknown, -np.inf, ranking.scores))
    blank = np.all(ranking.labels < 0, axis=1, keepdims=True)  # (n, 1)
    if not blank.any():
        return ranking
    best = most_frequent(priors, ranking.k)
    return Ranking(np.where(blank, best.labels, ranking.labels), np.where(blank, best.scores, ranking.scores))
