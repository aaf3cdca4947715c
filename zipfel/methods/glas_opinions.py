"""Further opinions on GLaS's candidates, beyond the paper: near training points vote, sparse classifiers judge.

    C(x): the labels with the largest h(x)_y, and those with most votes
    u(y), m(y): votes by words and margins of sparse classifiers, as LightDXML hears them            `by_words`
    score(y) = a . [h(x)_y, log N_y, log u(y), u(y), m-(y), m+(y)] + t log(1 / p_y)           `ranker.blend`

The weights a and the bonus t of rare labels are learnt on held-out points that none of the parts has seen. Unit
vectors know what labels go together; the words know which label it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.index.choice import CUTS, mean_precision
from zipfel.methods.auto_parts import Found
from zipfel.methods.base import Points, State, under
from zipfel.methods.by_words import Learnt, Words, learn_words
from zipfel.methods.glas_config import GlasConfig
from zipfel.metrics import Propensity
from zipfel.ranker import words
from zipfel.ranker.blend import Blend, is_true
from zipfel.ranker.voters import votes_of
from zipfel.ranking import Ranking
from zipfel.run import Run

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
TAILS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
_COST = 0.005
"""What a bonus may cost of the mean of P@1, P@3 and P@5: rare labels are what GLaS is for."""
_VOTED, _FAINT = 50, 0.001
"""Labels with most votes that are candidates; votes well below 0.001 count as none."""
_BLOCK = 1024
"""Rows that are answered at a time."""


class Scorer(Protocol):
    """GLaS itself: codes, its best labels for them, and its scores of any labels, -inf for those it does not know."""

    def encode(self, X: sp.csr_matrix) -> Codes: ...

    def search(self, codes: Codes, k: int) -> Ranking: ...

    def scores(self, codes: Codes, labels: Ids) -> Codes: ...


def learn_words_of(config: GlasConfig, train: Points, held: Points, run: Run) -> Learnt:
    return learn_words(config, train.joined(held), train.n_points, run)


def _counts(points: Points) -> Array:
    return np.bincount(points.Y.indices, minlength=points.n_labels)


@dataclass
class Opinions:
    """The words' side, and the weights by which it and GLaS's own scores are joined."""

    config: GlasConfig
    words: Words
    counts: Array  # (n_labels,) points of each label
    n_points: int
    blend: Blend | None = None
    tail: float = 0.0

    def __post_init__(self) -> None:
        self._log_counts = np.log1p(self.counts).astype(np.float32)
        self._rarity = np.log(Propensity().inverse(self.counts, self.n_points)).astype(np.float32)

    @property
    def names(self) -> list[str]:
        by_words = [f"log {kind}" for kind in words.VOTES] + list(words.VOTES)
        c = self.config
        return ["score", "frequency"] + by_words * c.votes + ["doubt", "trust"] * c.sparse

    # -- learning

    @classmethod
    def learn(cls, config: GlasConfig, scorer: Scorer, train: Points, held: Points, learnt: Learnt) -> Opinions | None:
        """Blend and bonus by parts that know `train` alone; the words' side then knows all points. None where no
        held-out point has a label to learn from."""
        found = cls(
            config, learnt.first, _counts(train), train.n_points
        )  # those of all would tell of the held-out ones
        (ids, cosines), n = learnt.near, held.n_points
        parts = [
            found._evidence(scorer, held.X[a:b], config.candidates, (ids[a:b], cosines[a:b])) for a, b in _blocks(n)
        ]
        labels, evidence = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        if not is_true(labels, held.Y).any():
            return None
        found._fit_blend(labels, evidence, held.Y)
        everything = train.joined(held)
        return replace(found, words=learnt.final, counts=_counts(everything), n_points=everything.n_points)

    def _fit_blend(self, labels: Ids, evidence: Codes, truth: sp.csr_matrix) -> None:
        names = self.names
        monotone = [name for name in names if name != "frequency"]
        self.blend = Blend.fit_top(names, evidence, is_true(labels, truth), labels >= 0, monotone=monotone)
        quality, given = {}, self.config.tail
        for self.tail in TAILS if given is None else (given,):
            quality[self.tail] = mean_precision(self._judged(labels, evidence, max(CUTS)), truth)
        self.tail = max(tail for tail, found in quality.items() if found >= max(quality.values()) - _COST)

    # -- judging

    def rank(self, scorer: Scorer, X: sp.csr_matrix, k: int) -> Ranking:
        """The k best labels of each row; none for a row without features."""
        width = max(k, self.config.candidates)
        return Ranking.concatenate(
            [self._judged(*self._evidence(scorer, X[a:b], width), k) for a, b in _blocks(X.shape[0])]
        )

    def _judged(self, labels: Ids, evidence: Codes, k: int) -> Ranking:
        assert self.blend is not None
        scores = self.blend(evidence) + np.float32(self.tail) * self._rarity[labels]
        return Ranking.from_dense(np.where(labels >= 0, scores, -np.inf).astype(np.float32), k, labels)

    def _evidence(self, scorer: Scorer, X: sp.csr_matrix, width: int, near: Found | None = None) -> tuple[Ids, Codes]:
        """(n, c) candidates, -1 pads, and (n, c, f) evidence for each. near: neighbours by words, where known."""
        codes, rows = scorer.encode(X), self.words.damped(X)
        labels = scorer.search(codes, width).labels
        if self.config.votes:
            voted = self.words.vote(rows, 2 * _VOTED, near)
            strange = (voted[0][:, :_VOTED, None] == labels[:, None, :]).any(axis=2)
            labels = np.hstack([labels, np.where(strange, -1, voted[0][:, :_VOTED])])
        scores = scorer.scores(codes, labels)
        labels = np.where(np.isneginf(scores), -1, labels)  # those that GLaS does not know
        columns = [np.where(labels >= 0, scores, 0), np.where(labels >= 0, self._log_counts[labels], 0)]
        if self.config.votes:
            votes = votes_of(labels, *voted, len(self.counts))
            columns += [*np.moveaxis(np.log(votes + np.float32(_FAINT)), 2, 0), *np.moveaxis(votes, 2, 0)]
        if self.config.sparse:
            margin = self.words.margins(rows, labels)
            columns += [np.minimum(margin, 0), np.maximum(margin, 0)]  # a slope of its own on either side
        return labels, np.stack(columns, axis=2).astype(np.float32)

    # -- state

    def state(self) -> State:
        assert self.blend is not None
        arrays = {"counts": self.counts.astype(np.int32), **under("words", self.words.state())}
        return State(arrays, {**self.blend.facts(), "tail": self.tail, "points": self.n_points})

    @classmethod
    def restored(cls, config: GlasConfig, state: State, n_features: int, n_labels: int) -> Opinions:
        counts = state.array("counts", shape=(n_labels,))
        if counts.dtype.kind != "i" or (counts < 0).any():
            raise ModelFileError("the label counts in the model are damaged")
        known = Words.restored(config, State(state.part("words")), n_features, n_labels)
        found = cls(config, known, counts, int(state.fact("points", low=1)), tail=state.fact("tail", low=0, high=100))
        found.blend = Blend.from_facts(state.facts, found.names)
        return found


def _blocks(n: int) -> list[tuple[int, int]]:
    return [(a, min(a + _BLOCK, n)) for a in range(0, max(1, n), _BLOCK)]
