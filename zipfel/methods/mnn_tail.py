"""MNN where most labels are rare: the words of a label's documents beside its neighbours' votes.

    v(l): the neighbours' votes for label l, of the labels with most of them               `index.blend`
    c(l) = cos(x, sum of x_i over l's training points)                                     `ranker.centroids`
    score(l) = a . [log v(l), log c(l), log N_l] + t log(1/p_l)                            `ranker.blend`

A label of two documents hardly trains its vector, but its documents' words are known. The weights a are learnt on
held-out points. So is the bonus t: that with the largest product of precision and propensity-scored precision (means
over 1, 3 and 5), as precision alone knows nothing of labels that hardly ever occur.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data.splitting import held_out_runs
from zipfel.errors import ModelFileError
from zipfel.evidence.blend import Blend, is_true
from zipfel.index.choice import CUTS
from zipfel.index.sparse import SparseIndex, unit_csr
from zipfel.linear import LinearClassifiers, LinearConfig
from zipfel.methods.base import Points, State
from zipfel.metrics import Propensity, evaluate
from zipfel.neighbors.centroids import label_centroids
from zipfel.ranking import Ranking

Array = npt.NDArray[Any]
CANDIDATES = 60
"""Labels of a document that are looked at, at least."""
BONUSES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8)
_RARE, _MANY = 5, 1000
"""Points up to which a label is rare; labels from which on there can be a tail."""
_WIDTH = 300
"""Largest entries of a centroid that are kept."""
_TWINS, _ALIKE, _MOST = 50, 0.6, 4
"""How many rows are compared with a held-out one, the cosine from which on they are nearly the same, and one in how
many may go for that."""
_BLOCK = 4096
"""Rows that are answered at a time."""
_EVIDENCE = ("votes", "words", "frequency")
_FAINT_VOTE, _FAINT_COSINE = np.float32(1e-3), np.float32(0.05)


def has_tail(Y: sp.csr_matrix) -> bool:
    """Whether there are many labels, and more than half of them have five points or fewer."""
    counts = np.bincount(Y.indices, minlength=1)
    counts = counts[counts > 0]
    return len(counts) >= _MANY and bool((counts <= _RARE).mean() > 0.5)


def strangers_held_out(
    train: Points, share: float, rng: np.random.Generator, at_most: int | None = None
) -> tuple[Points, Points]:
    """As `Points.split`, but in runs of rows, and without what is nearly the same as a held-out row, a quarter at most,
    in the rest: beside the vote of a twin, the words of a label would have nothing to say."""
    n = train.n_points
    held = held_out_runs(n, max(1, min(round(n * share), at_most or n)), rng)
    rest = np.setdiff1d(np.arange(n), held)
    near, cosines = SparseIndex(unit_csr(train.X[rest])).search(train.X[held], min(_TWINS, len(rest)))
    closest = np.zeros(len(rest), dtype=np.float32)
    np.maximum.at(closest, near[cosines >= _ALIKE], cosines[cosines >= _ALIKE])
    twins = np.argsort(-closest, kind="stable")[: min(np.count_nonzero(closest), len(rest) // _MOST)]
    return train.take(np.delete(rest, twins)), train.take(held)


@dataclass(frozen=True)
class Tail:
    """centroids: of all labels; counts: (n_labels,) their points, of n_points; blend and bonus: see the module."""

    centroids: LinearClassifiers
    counts: npt.NDArray[np.int64]
    n_points: int
    blend: Blend
    bonus: float

    @classmethod
    def learn(cls, train: Points, held: Points, votes: Ranking, bonus: float | None, precision: str = "int8") -> Tail:
        """votes: what neighbours among `train` give the held-out points' candidates; bonus: what it is to be."""
        names = _EVIDENCE
        found = cls.of(train, Blend(names, (0.0,) * len(names), 0.0), bonus or 0.0, precision)
        evidence, hits, known = found._evidence(held.X, votes), is_true(votes.labels, held.Y), votes.labels >= 0
        found = replace(found, blend=Blend.fit_top(names, evidence, hits, known, monotone=names[:-1]))
        if bonus is not None:
            return found
        scores = np.where(known, found.blend(evidence), -np.inf)
        tried = [
            found._quality(scores + np.float32(t) * found._rarity[votes.labels], votes.labels, held) for t in BONUSES
        ]
        return replace(found, bonus=BONUSES[int(np.argmax(tried))])

    def _quality(self, scores: Array, labels: Array, held: Points) -> float:
        """Mean P times mean PSP."""
        ranking = Ranking.from_dense(scores, max(CUTS), labels)
        found = evaluate(ranking, held.Y, self.counts, self.n_points, ks=CUTS, buckets=False)
        return sum(found[f"P@{k}"] for k in CUTS) * sum(found[f"PSP@{k}"] for k in CUTS)

    @classmethod
    def of(cls, points: Points, blend: Blend, bonus: float, precision: str = "int8") -> Tail:
        """precision: how centroids are kept."""
        centroids = LinearClassifiers.of(label_centroids(points.X, points.Y, _WIDTH), _as_given(precision))
        return cls(centroids, np.bincount(points.Y.indices, minlength=points.n_labels), points.n_points, blend, bonus)

    @cached_property
    def _rarity(self) -> npt.NDArray[np.float32]:
        """(n_labels,) log 1/p"""
        return np.log(Propensity().inverse(self.counts, self.n_points)).astype(np.float32)

    def _evidence(self, X: sp.csr_matrix, votes: Ranking) -> npt.NDArray[np.float32]:
        """(n, c, 3)"""
        known = votes.labels >= 0
        share = np.where(known, votes.scores, np.float32(0))
        cosine = np.where(known, self.centroids.score(unit_csr(X), votes.labels), np.float32(0))
        frequency = np.log1p(self.counts[votes.labels]).astype(np.float32)
        logs = np.log(share + _FAINT_VOTE), np.log(np.maximum(cosine, 0) + _FAINT_COSINE)
        return np.stack([*logs, frequency], axis=2)

    def rank(self, X: sp.csr_matrix, votes: Ranking, k: int) -> Ranking:
        """The k best of the labels that have votes."""
        starts = range(0, max(1, X.shape[0]), _BLOCK)
        return Ranking.concatenate([self._rank(X[a : a + _BLOCK], votes[a : a + _BLOCK], k) for a in starts])

    def _rank(self, X: sp.csr_matrix, votes: Ranking, k: int) -> Ranking:
        scores = self.blend(self._evidence(X, votes)) + np.float32(self.bonus) * self._rarity[votes.labels]
        return Ranking.from_dense(np.where(votes.labels >= 0, scores, -np.inf), k, votes.labels)

    def state(self) -> dict[str, Array]:
        return self.centroids.state()

    def facts(self) -> dict[str, Any]:
        return {"blend": self.blend.facts(), "bonus": self.bonus}

    @classmethod
    def restored(cls, state: State, Y: sp.csr_matrix, n_features: int, precision: str) -> Tail | None:
        """The counterpart of `state` and `facts`, if there is one; Y: (n, n_labels) of the training points."""
        arrays, facts = state.part("tail"), state.facts
        if not arrays and "tail" not in facts:
            return None
        kept = facts.get("tail")
        if not isinstance(kept, Mapping) or not isinstance(kept.get("blend"), Mapping):
            raise ModelFileError("the model lacks what it knows of rare labels")
        bonus = State(facts=kept).fact("bonus", low=0, high=1e6)
        centroids = LinearClassifiers.restored(arrays, n_features, Y.shape[1], _as_given(precision))
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        return cls(centroids, counts, Y.shape[0], Blend.from_facts(kept["blend"], _EVIDENCE), bonus)


def _as_given(precision: str) -> LinearConfig:
    return LinearConfig(damping=1.0, precision=precision)
