"""How neighbours vote, chosen on held-out points: how many of them, and how sharply the nearer outweigh the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.votes import sharpened, vote
from zipfel.ranking import PAD, Ranking

NEIGHBOURS = (10, 20, 40, 80, 160)
SHARPNESS = (0.0, 5.0, 10.0, 20.0, 40.0)
CUTS = (1, 3, 5)


@dataclass(frozen=True)
class VoteRule:
    """k nearest neighbours, each with the vote exp(sharpness * (similarity - best))."""

    n_neighbors: int
    sharpness: float

    def __call__(
        self, ids: npt.NDArray[np.int64], similarities: npt.NDArray[np.float32], Y: sp.csr_matrix, k: int
    ) -> Ranking:
        """The k labels with most votes; ids and similarities (n, m >= n_neighbors), nearest first."""
        near, similar = ids[:, : self.n_neighbors], similarities[:, : self.n_neighbors]
        return vote(near, sharpened(similar, self.sharpness), Y, k)


def choose_votes(
    ids: npt.NDArray[np.int64],
    similarities: npt.NDArray[np.float32],
    Y: sp.csr_matrix,
    truth: sp.csr_matrix,
    *,
    n_neighbors: Sequence[int] = NEIGHBOURS,
    sharpness: Sequence[float] = SHARPNESS,
) -> tuple[VoteRule, float]:
    """(the rule with the best mean P@1, P@3, P@5 on the held-out points, that mean); first come, first kept on ties."""
    rules = [VoteRule(k, t) for k in n_neighbors for t in sharpness]
    quality = [mean_precision(rule(ids, similarities, Y, max(CUTS)), truth) for rule in rules]
    best = int(np.argmax(quality))
    return rules[best], quality[best]


def mean_precision(ranking: Ranking, truth: sp.csr_matrix, cuts: Sequence[int] = CUTS) -> float:
    """The mean of P@k over the cuts."""
    n, width = ranking.labels.shape
    rows = np.repeat(np.arange(n), width)
    labels = np.where(ranking.labels == PAD, 0, ranking.labels).ravel()
    hits = np.asarray(truth[rows, labels]).reshape(n, width) > 0
    hits &= ranking.labels != PAD
    return float(np.mean([hits[:, :k].sum(axis=1).mean() / k for k in cuts]))
