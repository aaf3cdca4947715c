"""A network, the words and near training points have their say on a document's candidates, and are joined.

    C(x): the labels that the network ranks first, and those with most votes
    s(j): what the network thinks of label j, one or more numbers                         `Judge.opinions`
    u(j), m(j): votes by words, and margins of sparse classifiers                         `by_words`
    c(j): votes of the training points with the nearest codes, where a judge keeps them   `Judge.votes`
    score(j) = a . [s(j), log N_j, log u(j), u(j), log c(j), m-(j), m+(j)] + t log(1 / p_j)      `ranker.blend`

The weights a and the bonus t of rare labels are learnt on held-out points that none of the parts has seen. This is
beyond the papers, for LightDXML and GLaS alike: vectors know what labels go together, words know which label it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.evidence.blend import Blend, is_true
from zipfel.index.choice import CUTS, mean_precision
from zipfel.methods.auto_parts import Found
from zipfel.methods.base import Points, State, under
from zipfel.methods.by_words import Asked, Learnt, Words
from zipfel.metrics import Propensity
from zipfel.neighbors import words
from zipfel.neighbors.voters import votes_of
from zipfel.ranking import Ranking

Array = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]
Voted = tuple[Ids, npt.NDArray[np.float32]]
"""(n, w) labels, most votes first, -1 pads, and (n, w, s) votes of each kind."""
_VOTED = 50
"""Labels with most votes, of each kind of voters, that are candidates."""
_FAINT, _FAINTER = 0.01, 0.001
"""Votes well below this count as none: log(v + 0.01); words have more voters who hardly count."""
_BLOCK = 1024
"""Rows that are answered at a time."""


class Judge(Protocol):
    """A trained network, or several. Codes are its own affair."""

    @property
    def names(self) -> Sequence[str]:
        """Of what it says of a label."""

    @property
    def vote_names(self) -> Sequence[str]:
        """Of the kinds of votes by codes, if any."""

    def encode(self, X: sp.csr_matrix) -> Any: ...

    def best(self, codes: Any, width: int) -> Ids:
        """(n, width) labels, -1 pads."""

    def votes(self, codes: Any, width: int) -> Voted | None: ...

    def knows(self, labels: Ids) -> npt.NDArray[np.bool_]:
        """Which labels it can speak of; not -1."""

    def opinions(self, codes: Any, labels: Ids) -> Sequence[Array]:
        """(n, c) for each of `names`, of labels (n, c); anything where there is none."""


class Config(Asked, Protocol):
    """What is asked, of how many candidates; tail: the bonus of rare labels, or none, to be chosen."""

    @property
    def candidates(self) -> int: ...

    @property
    def tail(self) -> float | None: ...


class Bonus(NamedTuple):
    """Sizes of t that are tried, and what the largest may cost of the mean of P@1, P@3 and P@5."""

    tails: Sequence[float]
    cost: float


@dataclass
class Opinions:
    """Who is asked, and the weights by which they are joined."""

    config: Config
    judge: Judge
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
        """Of the evidence."""
        by_words = [f"log {kind}" for kind in words.VOTES] + list(words.VOTES)
        c, judge = self.config, self.judge
        voted = [*by_words, *judge.vote_names] * bool(c.votes)
        return [*judge.names, "frequency", *voted, *["doubt", "trust"] * bool(c.sparse)]

    # -- learning

    @classmethod
    def learn(
        cls, config: Config, judge: Judge, train: Points, held: Points, learnt: Learnt, bonus: Bonus
    ) -> Opinions | None:
        """Blend and bonus, by parts that know `train` alone; the words then know all points. None where no held-out
        point has a label to learn from."""
        n = held.n_points
        found = cls(config, judge, learnt.first, _counts(train), train.n_points)  # counts of all would tell of held
        (ids, cosines) = learnt.near
        parts = [found._evidence(held.X[a:b], config.candidates, (ids[a:b], cosines[a:b])) for a, b in _blocks(n)]
        labels, evidence = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        if not is_true(labels, held.Y).any():
            return None
        found._fit_blend(labels, evidence, held.Y, bonus)
        everything = train.joined(held)
        return replace(found, words=learnt.final, counts=_counts(everything), n_points=everything.n_points)

    def _fit_blend(self, labels: Ids, evidence: Array, truth: sp.csr_matrix, bonus: Bonus) -> None:
        names = self.names
        monotone = [name for name in names if name != "frequency"]
        self.blend = Blend.fit_top(names, evidence, is_true(labels, truth), labels >= 0, monotone=monotone)
        quality, given = {}, self.config.tail
        for self.tail in bonus.tails if given is None else (given,):
            quality[self.tail] = mean_precision(self._judged(labels, evidence, max(CUTS)), truth)
        self.tail = max(tail for tail, found in quality.items() if found >= max(quality.values()) - bonus.cost)

    # -- judging

    def rank(self, X: sp.csr_matrix, k: int) -> Ranking:
        """The k best labels of each row."""
        width = max(k, self.config.candidates)
        return Ranking.concatenate([self._judged(*self._evidence(X[a:b], width), k) for a, b in _blocks(X.shape[0])])

    def _judged(self, labels: Ids, evidence: Array, k: int) -> Ranking:
        assert self.blend is not None
        odds = self.blend(evidence) + np.float32(self.tail) * self._rarity[labels]
        scores = 1 / (1 + np.exp(-np.clip(odds, -80, 80)))
        return Ranking.from_dense(np.where(labels >= 0, scores, -np.inf).astype(np.float32), k, labels)

    def _evidence(self, X: sp.csr_matrix, width: int, near: Found | None = None) -> tuple[Ids, npt.NDArray[np.float32]]:
        """(n, c) candidates, -1 pads, and (n, c, f) evidence for each. near: neighbours by words, where known."""
        codes, rows, n_labels = self.judge.encode(X), self.words.damped(X), len(self.counts)
        labels, by_words, by_codes = self.judge.best(codes, width), None, None
        if self.config.votes:
            by_words, by_codes = self.words.vote(rows, 2 * _VOTED, near), self.judge.votes(codes, 2 * _VOTED)
        for voted in (by_words, by_codes):
            labels = labels if voted is None else self._united(labels, voted[0][:, :_VOTED])
        known = self.judge.knows(labels)
        columns = [_or_mean(opinion, known) for opinion in self.judge.opinions(codes, labels)]
        columns = [np.where(labels >= 0, column, 0) for column in [*columns, self._log_counts[labels]]]
        if by_words is not None:
            votes = votes_of(labels, *by_words, n_labels)
            columns += [*np.moveaxis(np.log(votes + np.float32(_FAINTER)), 2, 0), *np.moveaxis(votes, 2, 0)]
        if by_codes is not None:
            columns += list(np.moveaxis(np.log(votes_of(labels, *by_codes, n_labels) + _FAINT), 2, 0))
        if self.config.sparse:
            margin = self.words.margins(rows, labels)
            columns += [np.minimum(margin, 0), np.maximum(margin, 0)]  # a slope of its own on either side
        return labels, np.stack(columns, axis=2).astype(np.float32)

    @staticmethod
    def _united(labels: Ids, voted: Ids) -> Ids:
        """Both sets of labels (n, c) and (n, v), each label once."""
        new = ~(voted[:, :, None] == labels[:, None, :]).any(axis=2)
        return np.hstack([labels, np.where(new, voted, -1)])

    # -- state

    def state(self) -> State:
        assert self.blend is not None
        arrays = {"counts": self.counts.astype(np.int32), **under("words", self.words.state())}
        return State(arrays, {**self.blend.facts(), "tail": self.tail, "points": self.n_points})

    @classmethod
    def restored(cls, config: Config, judge: Judge, state: State, n_features: int, n_labels: int) -> Opinions:
        counts = state.array("counts", shape=(n_labels,))
        if counts.dtype.kind != "i" or (counts < 0).any():
            raise ModelFileError("the label counts in the model are damaged")
        known = Words.restored(config, State(state.part("words")), n_features, n_labels)
        tail, n_points = state.fact("tail", low=0, high=100), int(state.fact("points", low=1))
        found = cls(config, judge, known, counts, n_points, tail=tail)
        found.blend = Blend.from_facts(state.facts, found.names)
        return found


def _or_mean(opinion: Array, known: Array) -> Array:
    """(n, c), with the mean of a row's known ones for those that are not: a label whose only points were held out is
    voted for, but the judge can't speak of it."""
    opinion = np.where(known, opinion, 0)
    mean = opinion.sum(axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
    return np.where(known, opinion, mean)


def _counts(points: Points) -> Array:
    """(n_labels,) points of each label."""
    return np.bincount(points.Y.indices, minlength=points.n_labels)


def _blocks(n: int) -> list[tuple[int, int]]:
    return [(a, min(a + _BLOCK, n)) for a in range(0, max(1, n), _BLOCK)]
