"""One sparse linear classifier a label, m_l(x) = w_l . x + b_l, learnt on its own documents, on those whose neighbours
voted for it wrongly, and on a few random documents.

    doubt(l) = min(m_l(x), 0), trust(l) = max(m_l(x), 0)         each with a weight of its own
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from zipfel.config import param
from zipfel.evidence.part import Array, Asked, ByFeature, Codes, Fold, More, Part
from zipfel.evidence.training_set import TrainingSet
from zipfel.executor import current_executor
from zipfel.kernels.sparse_rows import with_entries
from zipfel.linear import (
    LinearClassifiers,
    LinearConfig,
    Problems,
    continued,
    extended,
    resumed,
    with_new_documents,
    with_random_negatives,
)
from zipfel.linear.problems import AT_A_TIME, label_runs
from zipfel.neighbors.votes import cast_votes
from zipfel.neighbors.words import weights_by_cosine
from zipfel.state import State, under

_BLOCK = 2048
"""Rows that votes are cast for at a time."""


@dataclass(frozen=True)
class ClassifiersConfig(LinearConfig):
    cost: float | None = param(
        None, "weight of the loss against the squared length of the weights; none: 0.3 for short texts, else 1",
        symbol="C", low=1e-6,
    )  # fmt: skip
    damping: float = param(1.0, "power of the feature values, on top of the model's own damping", low=0.1, high=2)
    shortlist: int | None = param(
        None, "labels of a document that classifiers learn from; none: 50 or more, see the table of rules", low=1
    )
    random_negatives: int | None = param(
        None, "random labels of a document that they learn from besides; none: 10 to 100, see the table of rules", low=0
    )


@dataclass(frozen=True)
class _Learnt:
    """What a later fit continues from: shortlists of the points that have one, and of solved problems the documents
    that count. runs: labels whose problems are solved together; problems: those of each run."""

    shortlists: Array
    is_listed: Array
    runs: list[tuple[int, int]]
    problems: list[Problems]


@dataclass(frozen=True)
class ClassifiersPart(Part):
    """solved: the documents that count for each classifier, and how much; updates continue from there. Large and
    older models have none."""

    model: LinearClassifiers
    config: ClassifiersConfig
    solved: Problems | None = field(default=None, repr=False)
    learnt: _Learnt | None = field(default=None, repr=False)

    name = "classifiers"
    title = "one sparse linear classifier a label"
    Config = ClassifiersConfig

    @property
    def columns(self) -> tuple[str, ...]:
        return ("doubt", "trust")

    @classmethod
    def fit(cls, config: ClassifiersConfig, fold: Fold, before: ClassifiersPart | None) -> ClassifiersPart:
        learnt = before.learnt if before else None
        del before  # its weights: of a million labels they are gigabytes
        lists, is_listed = _shortlists(config, fold, learnt)
        runs, known = (learnt.runs, learnt.problems) if learnt else (_label_runs(fold, lists), [])
        solved, learnt = list[Problems](), None
        problems = _problems(fold, lists, runs, known, solved)
        model = LinearClassifiers(config).fit(fold.points.X, problems, seed=fold.run.seed, threads=fold.run.threads)
        kept = reduce(Problems.joined, solved) if _keeps_solved(fold, lists) else None
        if fold.is_final:
            return cls(model, config, kept and kept.as_stored())
        return cls(model, config, kept, _Learnt(lists, is_listed, runs, solved))

    def opinions(self, asked: Asked, labels: Array) -> list[Codes]:
        margin = np.where(labels < 0, np.float32(-1), self.model.score(asked.X, labels))
        return [np.minimum(margin, 0), np.maximum(margin, 0)]

    def explain(self, asked: Asked, label: int) -> ByFeature:
        parts, bias = self.model.by_feature(asked.X, label), float(self.model.bias_[label])
        return ByFeature("doubt" if parts.sum() + bias < 0 else "trust", parts, bias)

    def known_features(self) -> Array:
        """(n_features,) which features some classifier has a weight for."""
        return self.model.has_weight()

    def joined(self, more: More) -> ClassifiersPart:
        """Known labels learn from the new points, new ones from these and from known points near to them."""
        n_random, n_labels = self.config.random_negatives or 0, more.training.n_labels
        model, solved = self._with_new_points(more, _problems_of_new_points(self.config, more, self.model.n_labels))
        close = nearest_labels(more, n_random) if len(more.new_labels) else None
        model = extended(model, more.training.words.unit_rows, n_labels, more.new_labels, close, self.config)
        if solved is not None:
            solved = _with_new_labels(solved, n_labels, more.new_labels, close).as_stored()
        return ClassifiersPart(model, self.config, solved)

    def _with_new_points(self, more: More, new: Problems) -> tuple[LinearClassifiers, Problems | None]:
        """Labels whose points have become many more are solved again with all of them; the others learn from the new
        points alone. So do all, if the index of words lacks too many words of a point to solve with its rows."""
        if self.solved is None or _share_of_words(more) < _SHARE_OF_WORDS:
            return continued(self.model, more.X, new), None
        asked = is_solved_again(more.training.counts[: new.n_labels], new)
        others = new.where(~np.repeat(asked, np.diff(new.ptr)))
        model = continued(self.model, more.X, others)
        training, n_known = more.training, self.model.n_labels
        n_before = training.n_points - more.X.shape[0]
        Y = with_entries(training.Y, np.repeat(training.can_vote, np.diff(training.Y.indptr)))[:, :n_known]
        problems = with_new_documents(self.solved, new, n_before, Y)
        problems.start_from(others, np.arange(n_before, training.n_points))
        return resumed(model, training.words.unit_rows, problems, np.flatnonzero(asked)), problems

    def state(self) -> State:
        solved = {} if self.solved is None else under("solved", self.solved.state())
        return State(self.model.state() | solved)

    @classmethod
    def restored(cls, config: ClassifiersConfig, state: State, training: TrainingSet) -> ClassifiersPart:
        model = LinearClassifiers.restored(state.arrays, training.n_features, training.n_labels, config)
        solved = state.part("solved")
        known = Problems.restored(solved, training.n_points, training.n_labels) if solved else None
        return cls(model, config, known)


def _shortlists(c: ClassifiersConfig, fold: Fold, before: _Learnt | None) -> tuple[Array, Array]:
    """(n, k) labels that each point learns from besides its own, -1 pads, and (n,) which points have some. Points keep
    those that they had: new ones would be no better, and take longer to learn from."""
    assert c.shortlist is not None  # the rules have set them
    assert c.random_negatives is not None
    n, n_labels = fold.points.n_points, fold.points.n_labels
    if before is None:
        lists, listed = np.full((n, c.shortlist + c.random_negatives), -1, dtype=np.int32), np.zeros(n, dtype=bool)
    else:
        lists, listed = before.shortlists, before.is_listed
    joining, rng = np.flatnonzero(fold.seen & ~listed), fold.run.rng(23)
    for a in range(0, len(joining), _BLOCK):
        rows = joining[a : a + _BLOCK]
        near = fold.near_among_seen(rows)
        weights = weights_by_cosine(near.cosines).sum(axis=2, keepdims=True)  # all votes together make the order
        found = cast_votes(near.ids, weights, fold.points.Y, c.shortlist)[0].astype(np.int32)
        lists[rows] = with_random_negatives(found, n_labels, c.random_negatives, rng)
    return lists, listed | fold.seen


def _label_runs(fold: Fold, lists: Array) -> list[tuple[int, int]]:
    """Labels whose problems are solved together. The workers of a cluster get all at once, as each call sends the
    rows."""
    Y = fold.points.Y
    return [(0, int(Y.shape[1]))] if current_executor() else label_runs(Y, lists.size + Y.nnz)


def _keeps_solved(fold: Fold, lists: Array) -> bool:
    """Whether a model keeps the documents that count for each classifier. In a large one they would take gigabytes."""
    return bool(lists.size + fold.points.Y.nnz <= AT_A_TIME)


def _problems(
    fold: Fold, lists: Array, runs: list[tuple[int, int]], before: list[Problems], solved: list[Problems]
) -> Iterator[Problems]:
    """Of one run of labels after the other. Documents are all points; those that may not be learnt from have neither
    labels nor a shortlist. before: solved problems to start from, one a run; each is removed when it is read. solved:
    gets what a later fit or update continues from."""
    indptr, labels = fold.points.Y.indptr, fold.points.Y.indices
    if not fold.seen.all():
        lengths = np.diff(indptr)
        labels = labels[np.repeat(fold.seen, lengths)]
        indptr = np.append(0, np.cumsum(np.where(fold.seen, lengths, 0)))
    for problems in Problems.built_in_runs(indptr, labels, lists, runs):
        if before:
            problems.start_from(before.pop(0))
        yield problems
        if not fold.is_final or _keeps_solved(fold, lists):
            solved.append(problems.without_zeros())


def _problems_of_new_points(c: ClassifiersConfig, more: More, n_known: int) -> Problems:
    """On the new points alone, of the known labels that have been learnt from other points."""
    assert c.shortlist is not None  # the rules have set it
    Y, n_before = more.training.Y, more.training.n_points - more.X.shape[0]
    found = np.empty((more.X.shape[0], c.shortlist), dtype=np.int32)
    for a in range(0, len(found), _BLOCK):
        near = more.near(slice(a, a + _BLOCK))
        weights = weights_by_cosine(near.cosines).sum(axis=2, keepdims=True)
        found[a : a + _BLOCK] = cast_votes(near.ids, weights, Y, c.shortlist)[0]
    rng = np.random.default_rng(n_before)
    lists = with_random_negatives(found, more.training.n_labels, c.random_negatives or 0, rng)
    learnt = np.zeros(more.training.n_labels, dtype=bool)
    learnt[:n_known] = np.bincount(Y.indices[: Y.indptr[n_before]], minlength=more.training.n_labels)[:n_known] > 0
    lists[~learnt[lists]] = -1
    own = sp.csr_matrix(Y[n_before:])
    return Problems.build(with_entries(own, learnt[own.indices])[:, :n_known], lists)


_GROWTH = 1.1
"""A label is solved again each time that the number of its points passes a power of this. Held out of train, ten
updates gain 0.6 points of P@1 on eurlex57k over no label solved again, and 1.25 as much within the noise."""


def is_solved_again(counts: Array, new: Problems) -> Array:
    """(n_labels,) labels whose number of points, now `counts`, has passed a power of _GROWTH by the new points."""
    before, after = (np.floor(np.log(np.maximum(n, 1)) / np.log(_GROWTH)) for n in (counts - new.n_positive, counts))
    return np.asarray(before < after)


_SHARE_OF_WORDS = 0.5
"""Of a point's squared length, on average, that words of the index must have."""


def _share_of_words(more: More) -> float:
    """Which share of the new points' squared length words of the index have; the most frequent ones are not in it."""
    rows = more.training.words.rows
    found = np.zeros(rows.shape[1], dtype=bool)
    found[rows.indices] = True
    squares = np.square(more.X.data, dtype=np.float64)
    return float(squares[found[more.X.indices]].sum() / max(squares.sum(), 1e-30))


def _with_new_labels(solved: Problems, n_labels: int, new: Array, close: Problems | None) -> Problems:
    """Problems of all labels; those of the new ones are `close`, in their order."""
    order = np.full(n_labels, solved.n_labels + len(new))
    order[: solved.n_labels], order[new] = np.arange(solved.n_labels), solved.n_labels + np.arange(len(new))
    for more in (close or Problems.empty(0), Problems.empty(1)):
        solved = solved.joined(more)
    return solved.of_labels(order)


_HARD = 100
"""New labels that a point is a hard negative of, at most."""


def nearest_labels(more: More, n_random: int) -> Problems:
    """Problems of the new labels, in their order. Negatives are points near to one of the label's, and random ones."""
    words, n_labels, new = more.training.words, more.training.n_labels, more.new_labels
    own = more.training.Y[:, new]
    asked = np.flatnonzero(np.diff(own.indptr))
    ids, _ = words.search(words.unit_rows[asked], more.n_neighbors)
    row_of = np.repeat(np.arange(len(asked)), (ids >= 0).sum(axis=1))
    ones = np.ones(len(row_of), dtype=np.float32)
    links = sp.csr_matrix((ones, (ids[ids >= 0], row_of)), shape=(len(words), len(asked)))
    close = sp.csr_matrix(links @ own[asked])  # (n, new) how many of each label's points a point is near to
    lists = strongest(close, min(_HARD, int(np.diff(close.indptr).max())))
    hard: Any = np.append(new, -1).astype(np.int32)[lists]  # among all labels, as random ones are drawn
    place = np.full(n_labels + 1, -1, dtype=np.int32)
    place[new] = np.arange(len(new))
    return Problems.build(own, place[with_random_negatives(hard, n_labels, n_random, np.random.default_rng(0))])


def strongest(matrix: sp.csr_matrix, width: int) -> Array:
    """(n, width) columns of each row's largest entries, -1 pads."""
    found = np.full((matrix.shape[0], width), -1, dtype=np.int64)
    row_of = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, -matrix.data, row_of))
    place = np.arange(len(order)) - np.repeat(matrix.indptr[:-1], np.diff(matrix.indptr))
    kept = place < width
    found[row_of[order][kept], place[kept]] = matrix.indices[order][kept]
    return found
