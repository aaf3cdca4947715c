"""Further opinions on LightDXML's candidates, beyond the paper: near training points vote, sparse classifiers judge.

    C(x): the labels with the largest w_j . x, and those with most votes
    v(j) = share of the nearest training points, by the cosine of their x_i, that have label j     `ranker.voters`
    m(j) = u_j . t + c_j, on the tokens t themselves, learnt on j's positives and on the points
           whose shortlist names it wrongly                                                        `ranker.sparse`
    score(j) = s(a . [w_j . x, cos(x, z_j), log v(j), m-(j), m+(j)] + t log(1 / p_j))              `ranker.blend`

The weights a and the bonus t of rare labels are learnt on held-out points that none of the parts has seen. 256
numbers know what a document is about but not its every word, and a classifier with three examples knows less than the
one neighbour who was there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.base import unit_rows
from zipfel.index.choice import CUTS, mean_precision
from zipfel.index.shortlist import Ids
from zipfel.methods.base import Points, State
from zipfel.methods.lightdxml_config import LightDXMLConfig
from zipfel.methods.lightdxml_network import Network
from zipfel.metrics import Propensity
from zipfel.ranker import Problems, SparseRanker, with_strangers
from zipfel.ranker.blend import Blend, is_true
from zipfel.ranker.voters import KINDS, Voters, votes_of
from zipfel.ranking import Ranking
from zipfel.run import Run

Array = npt.NDArray[Any]
_SHORT, _STRANGERS = 50, 10
"""Labels of a training point's shortlist, and random ones, that sparse classifiers learn from."""
_VOTED = 50
"""Labels with most votes that are candidates."""
_FAINT = 0.01
"""Votes well below this count as none: log(v + 0.01)."""
TAILS = (0.0, 0.1, 0.2)
_COST = 0.001
"""What a bonus may cost of the mean of P@1, P@3 and P@5."""
_NOTHING = np.zeros((0, _SHORT + _STRANGERS), dtype=np.int32)
_BLOCK = 1024
"""Rows that are answered at a time."""


class Opinions:
    """Holds the voters and the sparse classifiers, either of which may be switched off, and the blend of all."""

    voters: Voters | None = None
    ranker: SparseRanker | None = None
    blend: Blend
    tail: float = 0.0
    _learnt_from: Array
    _problems: Problems | None

    def __init__(self, settings: LightDXMLConfig, networks: Sequence[Network]) -> None:
        self.settings, self.networks, self.labels = settings, networks, networks[0].scorer.labels
        self.forget()

    @property
    def names(self) -> list[str]:
        s = self.settings
        return ["logit", "cosine", *(KINDS if s.votes else ()), *(("doubt", "trust") if s.sparse else ())]

    # -- learning

    def fit(self, points: Points, run: Run, *, voters_only: bool = False) -> Opinions:
        """Voters and classifiers of these points. Where some were fitted before, they come first, and the classifiers
        learn on from what they know."""
        s = self.settings
        counts = np.bincount(points.Y.indices, minlength=points.n_labels)
        self.rarity = np.log(Propensity().inverse(counts, points.n_points)).astype(np.float32)
        if s.votes:
            codes = self._codes([network.encode(points.X) for network in self.networks])
            self.voters = Voters(codes, points.Y, neighbors=s.neighbors, precision=s.precision, seed=run.seed)
        if s.sparse and not voters_only:
            known = len(self._learnt_from)
            problems = Problems.build(points.Y, self._shortlists(points, run))
            if self._problems is not None:
                problems.start_from(self._problems, np.arange(known))
            self.ranker = SparseRanker(s.ranker).fit(points.X, problems, seed=run.seed)
            self._problems = problems
        return self

    def _shortlists(self, points: Points, run: Run) -> Array:
        """(n, c) labels that each point's classifiers learn from; those of points that were known stay as they are."""
        known = len(self._learnt_from)
        X = points.X[known:]
        shortlist = np.concatenate([self.networks[0].predict(X[a:b], _SHORT).labels for a, b in _blocks(X.shape[0])])
        found = with_strangers(shortlist.astype(np.int32), points.n_labels, _STRANGERS, run.rng(6, known))
        self._learnt_from = np.concatenate([self._learnt_from, found])
        return self._learnt_from

    def forget(self) -> Opinions:
        """What only learning needs."""
        self._learnt_from, self._problems = _NOTHING, None
        return self

    def learn(self, held: Points) -> Opinions:
        """The blend and the bonus, on points that no part has seen."""
        parts = [self._evidence(held.X[a:b], self.settings.candidates) for a, b in _blocks(held.n_points)]
        labels, evidence = (np.concatenate(found) for found in zip(*parts, strict=True))
        hits = is_true(labels, held.Y)
        self.blend = Blend.fit_top(self.names, evidence, hits, labels >= 0, monotone=self.names)
        if self.settings.tail is not None:
            self.tail = self.settings.tail
            return self
        quality = {}
        for self.tail in TAILS:
            quality[self.tail] = mean_precision(self._judged(labels, evidence, max(CUTS)), held.Y)
        self.tail = max(tail for tail in TAILS if quality[tail] >= max(quality.values()) - _COST)
        return self

    # -- judging

    def rank(self, X: sp.csr_matrix, k: int) -> Ranking:
        return Ranking.concatenate([self._rank(X[a:b], k) for a, b in _blocks(X.shape[0])])

    def _rank(self, X: sp.csr_matrix, k: int) -> Ranking:
        return self._judged(*self._evidence(X, max(k, self.settings.candidates)), k)

    def _judged(self, labels: Ids, evidence: npt.NDArray[np.float32], k: int) -> Ranking:
        odds = self.blend(evidence) + np.float32(self.tail) * self.rarity[labels]
        scores = 1 / (1 + np.exp(-odds))
        return Ranking.from_dense(np.where(labels >= 0, scores, -np.inf).astype(np.float32), k, labels)

    def _evidence(self, X: sp.csr_matrix, width: int) -> tuple[Ids, npt.NDArray[np.float32]]:
        """(n, c) candidates, -1 pads, and (n, c, f) evidence for each."""
        hidden = [network.encode(X) for network in self.networks]
        labels, columns = self.networks[0].best(hidden[0], width).labels, []
        if self.voters is not None:
            voted, votes = self.voters.vote(self._codes(hidden), 2 * _VOTED)
            labels = self._united(labels, voted[:, :_VOTED])
            columns += list(np.moveaxis(np.log(votes_of(labels, voted, votes, self.voters.Y.shape[1]) + _FAINT), 2, 0))
        if self.ranker is not None:
            margin = np.where(labels >= 0, self.ranker.score(X, labels), -1)
            columns += [np.minimum(margin, 0), np.maximum(margin, 0)]  # a slope of its own on either side
        places = np.where(labels >= 0, np.searchsorted(self.labels, labels), -1)
        scored = [network.scorer.score(x, places) for network, x in zip(self.networks, hidden, strict=True)]
        logits, cosines = (np.mean([getattr(s, name) for s in scored], axis=0) for name in ("logits", "cosines"))
        columns = [np.where(labels >= 0, column, 0) for column in (logits, cosines, *columns)]
        return labels, np.stack(columns, axis=2).astype(np.float32)

    def _united(self, labels: Ids, voted: Ids) -> Ids:
        """Both sets of labels (n, c) and (n, v), each label once; labels that the networks do not know are left out."""
        place = np.minimum(np.searchsorted(self.labels, voted), len(self.labels) - 1)
        known = (self.labels[place] == voted) & ~(voted[:, :, None] == labels[:, None, :]).any(axis=2)
        return np.hstack([labels, np.where(known, voted, -1)])

    def _codes(self, hidden: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
        """(n, networks * d): the networks' points side by side, each seen from its mean and of unit length."""
        means = [network.scorer.mean for network in self.networks]
        return np.hstack([unit_rows(x - mean) for x, mean in zip(hidden, means, strict=True)])

    # -- state

    def state(self) -> State:
        arrays: dict[str, Array] = {"rarity": self.rarity}
        for prefix, part in (("voters", self.voters), ("ranker", self.ranker)):
            if part is not None:
                arrays |= {f"{prefix}.{name}": array for name, array in part.state().items()}
        return State(arrays, {**self.blend.facts(), "tail": self.tail})

    def restore(self, state: State, n_features: int, n_labels: int) -> Opinions:
        s = self.settings
        parts: dict[str, dict[str, Array]] = {"voters": {}, "ranker": {}}
        for name, array in state.arrays.items():
            prefix, _, rest = name.partition(".")
            if prefix in parts:
                parts[prefix][rest] = array
        if s.votes:
            dim = sum(network.dim for network in self.networks)
            self.voters = Voters.restored(parts["voters"], n_labels, dim, neighbors=s.neighbors, precision=s.precision)
        if s.sparse:
            self.ranker = SparseRanker.restored(parts["ranker"], n_features, n_labels, s.ranker)
        self.blend, self.tail = Blend.from_facts(state.facts, self.names), state.fact("tail", low=0, high=100)
        self.rarity = state.array("rarity", shape=(n_labels,)).astype(np.float32)
        return self


def _blocks(n: int) -> list[tuple[int, int]]:
    return [(a, min(a + _BLOCK, n)) for a in range(0, max(1, n), _BLOCK)]
