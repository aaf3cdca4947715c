"""Further opinions on LightDXML's candidates, beyond the paper: near training points vote, sparse classifiers judge.

    C(x): the labels with the largest w_j . x, and those with most votes
    u(j), m(j): votes by words and margins of sparse classifiers                                   `by_words`
    v(j) = share of the nearest training points, by the cosine of their x_i, that have label j     `ranker.voters`
    score(j) = s(a . [w_j . x, cos(x, z_j), log N_j, log u(j), u(j), log v(j), m-(j), m+(j)] + t log(1 / p_j))
                                                                                                   `ranker.blend`

The weights a and the bonus t of rare labels are learnt on held-out points that none of the parts has seen. 192
numbers know what a document is about but not its every word, and a classifier with three examples knows less than the
one neighbour who was there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.index.base import unit_rows
from zipfel.index.choice import CUTS, mean_precision
from zipfel.index.shortlist import Ids
from zipfel.methods.auto_parts import Found
from zipfel.methods.base import Points, State, under
from zipfel.methods.by_words import Learnt, Words
from zipfel.methods.lightdxml_config import LightDXMLConfig
from zipfel.methods.lightdxml_network import Network
from zipfel.metrics import Propensity
from zipfel.ranker import words
from zipfel.ranker.blend import Blend, is_true
from zipfel.ranker.voters import KINDS, Voters, votes_of
from zipfel.ranking import Ranking
from zipfel.run import Run

Array = npt.NDArray[Any]
_VOTED = 50
"""Labels with most votes, of each kind of voters, that are candidates."""
_FAINT, _FAINTER = 0.01, 0.001
"""Votes well below this count as none: log(v + 0.01); words have more voters who hardly count."""
TAILS = (0.0, 0.1, 0.2)
_COST = 0.001
"""What a bonus may cost of the mean of P@1, P@3 and P@5."""
_BLOCK = 1024
"""Rows that are answered at a time."""


class Opinions:
    """Asks the networks, the words and, where they are kept, the voters by codes; and joins what they say."""

    blend: Blend
    voters: Voters | None = None
    tail: float = 0.0

    def __init__(self, settings: LightDXMLConfig, networks: Sequence[Network], words: Words) -> None:
        self.settings, self.networks, self.words = settings, networks, words
        self.labels = networks[0].scorer.labels

    @property
    def names(self) -> list[str]:
        """Of the evidence."""
        by_words = [f"log {kind}" for kind in words.VOTES] + list(words.VOTES)
        asked, s = ["logit", "cosine", "frequency"], self.settings
        return asked + [*by_words, *KINDS] * bool(s.votes) + ["doubt", "trust"] * bool(s.sparse)

    # -- learning

    def fit(self, train: Points, held: Points, learnt: Learnt, run: Run) -> Opinions:
        """The blend is learnt by parts that know `train` alone; then they get to know all points."""
        self._count(_counts(train), train.n_points)  # with the held-out ones, a rare label's count would tell of them
        self.words = learnt.first
        if self.settings.votes:
            self.voters = self._voters(train, run)
        self._learn(held, learnt.near)
        everything = train.joined(held)
        self._count(_counts(everything), everything.n_points)
        if self.settings.votes:
            self.voters = self._voters(everything, run)
        self.words = learnt.final
        return self

    def _count(self, counts: Array, n_points: int) -> None:
        self.counts, self.n_points = counts, n_points
        self.log_counts = np.log1p(counts).astype(np.float32)
        self.rarity = np.log(Propensity().inverse(counts, n_points)).astype(np.float32)

    def _voters(self, points: Points, run: Run) -> Voters:
        s, codes = self.settings, self._codes([network.encode(points.X) for network in self.networks])
        return Voters(codes, points.Y, neighbors=s.neighbors, precision=s.precision, seed=run.seed)

    def _learn(self, held: Points, near: Found) -> None:
        """Blend and bonus, on points that no part has seen."""
        parts = [
            self._evidence(held.X[a:b], self.settings.candidates, (near[0][a:b], near[1][a:b]))
            for a, b in _blocks(held.n_points)
        ]
        labels, evidence = (np.concatenate(found) for found in zip(*parts, strict=True))
        hits, names = is_true(labels, held.Y), self.names
        self.blend = Blend.fit_top(names, evidence, hits, labels >= 0, monotone=[n for n in names if n != "frequency"])
        quality = {}
        given = self.settings.tail
        for self.tail in TAILS if given is None else (given,):
            quality[self.tail] = mean_precision(self._judged(labels, evidence, max(CUTS)), held.Y)
        self.tail = max(tail for tail, found in quality.items() if found >= max(quality.values()) - _COST)

    # -- judging

    def rank(self, X: sp.csr_matrix, k: int) -> Ranking:
        return Ranking.concatenate([self._rank(X[a:b], k) for a, b in _blocks(X.shape[0])])

    def _rank(self, X: sp.csr_matrix, k: int) -> Ranking:
        return self._judged(*self._evidence(X, max(k, self.settings.candidates)), k)

    def _judged(self, labels: Ids, evidence: npt.NDArray[np.float32], k: int) -> Ranking:
        odds = self.blend(evidence) + np.float32(self.tail) * self.rarity[labels]
        scores = 1 / (1 + np.exp(-odds))
        return Ranking.from_dense(np.where(labels >= 0, scores, -np.inf).astype(np.float32), k, labels)

    def _evidence(self, X: sp.csr_matrix, width: int, near: Found | None = None) -> tuple[Ids, npt.NDArray[np.float32]]:
        """(n, c) candidates, -1 pads, and (n, c, f) evidence for each. near: neighbours by words, where known."""
        rows, n_labels = self.words.damped(X), len(self.rarity)
        hidden = [network.encode(X) for network in self.networks]
        labels = self.networks[0].best(hidden[0], width).labels
        if self.voters is not None:
            by_words = self.words.vote(rows, 2 * _VOTED, near)
            labels = self._united(labels, by_words[0][:, :_VOTED])
            by_codes = self.voters.vote(self._codes(hidden), 2 * _VOTED)
            labels = self._united(labels, by_codes[0][:, :_VOTED])
        columns = self._scores(hidden, labels)
        if self.voters is not None:
            votes = votes_of(labels, *by_words, n_labels)
            columns += [*np.moveaxis(np.log(votes + np.float32(_FAINTER)), 2, 0), *np.moveaxis(votes, 2, 0)]
            columns += list(np.moveaxis(np.log(votes_of(labels, *by_codes, n_labels) + _FAINT), 2, 0))
        if self.settings.sparse:
            margin = self.words.margins(rows, labels)
            columns += [np.minimum(margin, 0), np.maximum(margin, 0)]  # a slope of its own on either side
        return labels, np.stack(columns, axis=2).astype(np.float32)

    def _scores(self, hidden: Sequence[npt.NDArray[np.float32]], labels: Ids) -> list[Array]:
        """w_j . x and cos(x, z_j), the means of the networks', and log N_j; 0 where there is no label."""
        places = np.where(labels >= 0, np.searchsorted(self.labels, labels), -1)
        scored = [network.scorer.score(x, places) for network, x in zip(self.networks, hidden, strict=True)]
        means = (np.mean([getattr(s, name) for s in scored], axis=0) for name in ("logits", "cosines"))
        return [np.where(labels >= 0, column, 0) for column in (*means, self.log_counts[labels])]

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
        arrays = {"counts": self.counts.astype(np.int32), **under("words", self.words.state())}
        if self.voters is not None:
            arrays |= under("voters", self.voters.state())
        return State(arrays, {**self.blend.facts(), "tail": self.tail, "points": self.n_points})

    @classmethod
    def restored(
        cls, settings: LightDXMLConfig, networks: Sequence[Network], state: State, n_features: int, n_labels: int
    ) -> Opinions:
        known = Words.restored(settings, State(state.part("words")), n_features, n_labels)
        found = cls(settings, networks, known)
        if settings.votes:
            dim = sum(network.dim for network in networks)
            found.voters = Voters.restored(
                state.part("voters"), n_labels, dim, neighbors=settings.neighbors, precision=settings.precision
            )
        found.blend, found.tail = Blend.from_facts(state.facts, found.names), state.fact("tail", low=0, high=100)
        counts = state.array("counts", shape=(n_labels,))
        if counts.dtype.kind != "i" or (counts < 0).any():
            raise ModelFileError("the label counts in the model are damaged")
        found._count(counts, int(state.fact("points", low=1)))
        return found


def _counts(points: Points) -> Array:
    """(n_labels,) points of each label."""
    return np.bincount(points.Y.indices, minlength=points.n_labels)


def _blocks(n: int) -> list[tuple[int, int]]:
    return [(a, min(a + _BLOCK, n)) for a in range(0, max(1, n), _BLOCK)]
