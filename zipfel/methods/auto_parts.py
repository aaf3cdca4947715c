"""auto's parts in training: what each learns from, and how what was learnt on some points goes on with all."""

from __future__ import annotations

import gc
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.evidence.conjunctions import ConjunctionConfig, Conjunctions, with_pairs
from zipfel.evidence.drift import Drift, DriftConfig
from zipfel.evidence.setting import Asked, are_long, choose_cost
from zipfel.index.dense import is_dense
from zipfel.linear import LinearClassifiers, LinearConfig, Problems, with_random_negatives
from zipfel.linear.tree import LabelTree, TreeConfig, TreeRanker
from zipfel.methods.auto_judge import DEAR
from zipfel.methods.base import Points
from zipfel.neighbors.forest import Forest, ForestConfig, can_vote
from zipfel.neighbors.label_set_training import Pairing, PairingConfig
from zipfel.neighbors.label_sets import MatcherConfig
from zipfel.neighbors.regression import Kernel, Landmarks, RegressionConfig, RegressionEncoder
from zipfel.neighbors.space import AnyEncoder
from zipfel.neighbors.votes import cast_votes
from zipfel.neighbors.words import WordIndex, weights_by_cosine
from zipfel.nn.network import Network, NetworkConfig, NetworkTraining
from zipfel.run import Run
from zipfel.threads import blas_threads

if TYPE_CHECKING:
    from zipfel.neighbors._matcher_torch import Matcher

Array = npt.NDArray[Any]
Found = tuple[Array, Array]
"""(n, m) rows of train, -1 pads, and their cosines, or the (n, m, s) weights of their votes."""
_CANDIDATES = 50
"""Labels of a held-out point that costs are compared on."""
_KEPT = 50_000_000
"""Numbers that say what the regression's kernel is of all points and landmarks, up to which they are kept (200 MB)."""
_MANY = 2000
"""Features above which a label tree is grown, however many labels there are, and there is no network."""
_PAIRED = 100_000
"""Features and labels together, up to which they are paired."""
_FEW_FEATURES, _CONJOINED = 2500, 1000
"""Features above which there may be drift and conjunctions, and labels from which on there are the latter."""
_NETWORKED, _PREDICTED, _DECLARED = 8000, 30_000_000, 10_000
"""Points from which on there is a network; labels of all points together, as if each had all, up to which there is; and
features and labels together that the file may declare."""
_REHEARSED = 0.5
"""Of the passes over train that a network makes to let the blend learn how far it can be trusted."""
_MOST, _LEAFY = 100_000, 4_000_000
"""Points up to which there are a forest and conjunctions; words of all points up to which there is a forest."""
_SEVERAL = 1.5
"""Labels of a point on average, below which there is no forest where it would be dear."""
_FEW_LONG = 8000
"""Long documents from which on there are conjunctions."""
_MANY_MORE = 1.5
"""Times as many points as before, above which parts that are trained once are trained again."""
_STRANGERS = (50, 100)
"""Random labels that a document is told from at most: in general, and of few long ones."""
_SHORTEST = (5, 2)
"""Times as many labels as points have, that classifiers learn from at least: in general, and beside a network."""
_VOTERS, _CROWD, _MANIFOLD = (100, 200), 8000, 5
"""Neighbours that vote, usually, and of so many points, up to 100,000, that have so many labels on average."""
_BLOCK = 2048
"""Rows that votes are cast for, or compared with landmarks, at a time."""


class Fitting:
    """points: all of them; near: their neighbours by words, themselves left out; has_time: for more than neighbours and
    classifiers; has_forest: unless points are too many or too long (classifiers know long documents best), or many with
    about one label each (their sets tell nothing more of them); rows: points as classifiers see them; rehearses: a
    network for the blend to learn from, as another is trained on all points. Parts are trained on the points that are
    `seen`, a mask (n,): first without the held-out ones, then on all."""

    def __init__(self, points: Points, near: Found, run: Run, *, has_time: bool = True) -> None:
        self.points, self.near, self.run, self.has_time = points, near, run, has_time
        self.rows = points.X
        self._encoding: Matcher | Landmarks | None = None
        self._kernels: npt.NDArray[np.float32] | None = None
        self._pairing: tuple[Pairing, Array] | None = None
        self._encoded = np.zeros(points.n_points, dtype=bool)
        self._short: npt.NDArray[np.int32] | None = None
        self._listed = np.zeros(points.n_points, dtype=bool)
        self._solved: tuple[Problems, Array] | None = None
        self._grown: tuple[LabelTree, Problems, Array] | None = None
        self._forest: Forest | None = None
        self._conjoined: tuple[Conjunctions, Array] | None = None
        self._network: tuple[Network, Array] | None = None
        self.rehearses = False
        self.has_forest = points.n_points <= _MOST and points.X.nnz <= _LEAFY and not _are_plain(points)

    def near_among(self, seen: Array, rows: Array | slice = slice(None)) -> Found:
        """The neighbours of some rows, without those that are not to be seen."""
        ids, cosines = (part[rows] for part in self.near)
        hidden = ~seen[ids] | (ids < 0)
        return np.where(hidden, -1, ids), np.where(hidden, np.float32(0), cosines)

    def has_few_labels(self, regression: RegressionConfig) -> bool:
        """So that codes are a regression's."""
        return _n_occurring(self.points.Y) <= regression.most_labels

    def has_many_features(self) -> bool:
        """More than labels, or than 2,000."""
        return _n_occurring(self.points.X) > min(_n_occurring(self.points.Y), _MANY)

    def has_room_for_tree(self) -> bool:
        """With few features, or dense ones, a label tree says little that the labels' classifiers do not."""
        return self.has_many_features() and not is_dense(self.points.X)

    def has_room_for_pairs(self) -> bool:
        """Vectors of all features and labels that the file declares are not too many; with many features a label tree
        says more."""
        return not self.has_many_features() and self.points.n_features + self.points.n_labels <= _PAIRED

    def train_regression(self, config: RegressionConfig, seen: Array) -> AnyEncoder:
        """On the points that it has not summed yet."""
        rows = np.flatnonzero(seen & ~self._encoded)
        if not isinstance(self._encoding, Landmarks):
            points, occurring = self.points.take(rows), np.unique(self.points.Y.indices)
            self._encoding = Landmarks(config, points.X, points.Y, self.run, occurring)
            self._kernels = self._kernels_of_all(self._encoding.kernel)
        for a in range(0, len(rows), _BLOCK):
            part = rows[a : a + _BLOCK]
            near = None if self._kernels is None else self._kernels[part]
            self._encoding.add(self.points.X[part], self.points.Y[part], near)
        self._encoded |= seen
        return self._encoding.encoder()

    def _kernels_of_all(self, kernel: Kernel) -> npt.NDArray[np.float32] | None:
        """(n, landmarks), unless that is too much to keep."""
        n = self.points.n_points
        if n * len(kernel.rows) > _KEPT:
            return None
        found = np.empty((n, len(kernel.rows)), dtype=np.float32)
        for a in range(0, n, _BLOCK):
            found[a : a + _BLOCK] = kernel(self.points.X[a : a + _BLOCK])
        return found

    def codes(self, encoder: AnyEncoder) -> npt.NDArray[np.float32]:
        """(n, dim) of all points."""
        if isinstance(encoder, RegressionEncoder):
            return encoder.encode(self.points.X, self._kernels)
        return encoder.encode(self.points.X)

    def train_matcher(self, config: MatcherConfig, seen: Array) -> AnyEncoder:
        from zipfel.neighbors._matcher_torch import Matcher  # it needs torch, which takes a second to load

        gc.collect()  # loading it leaves a cycle of frames, and with them all that is learnt here would stay
        points = self._seen(seen)
        again = isinstance(self._encoding, Matcher)
        if not isinstance(self._encoding, Matcher):
            self._encoding = Matcher(config, points.X, points.Y, self.run)
        name = "encoder-all" if again else "encoder"
        self._encoding.fit(points.X, points.Y, self.run, name=name, again=again)
        return self._encoding.encoder()

    def train_pairing(self, config: PairingConfig, seen: Array) -> AnyEncoder:
        """Once: with some points more it would say the same of others, and they have their places all the same."""
        if self._pairing is None or not self._pairing[0].learnt or _are_many_more(seen, self._pairing[1]):
            points = self._seen(seen)
            self._pairing = Pairing(config, points.n_features, points.n_labels, self.run), seen
            self._pairing[0].fit(points.X, points.Y, self.run)
        return self._pairing[0].encoder()

    def has_room_for_network(self) -> bool:
        """Neither too few points, nor many features or labels: it predicts all labels at once."""
        points, n_features = self.points, _n_occurring(self.points.X)
        few = n_features <= _MANY and points.n_points * _n_occurring(points.Y) <= _PREDICTED
        return few and points.n_points >= _NETWORKED and points.n_features + points.n_labels <= _DECLARED

    def train_network(self, config: NetworkConfig, seen: Array) -> Network:
        """Once: see `train_pairing`. In half of the time where it is a rehearsal."""
        again = self._network is not None and not self.rehearses and _are_many_more(seen, self._network[1])
        if self._network is None or again:
            points = self._seen(seen)
            training = NetworkTraining(config, points.X, points.Y, self.run)
            self._network = training.fit(self.run, _REHEARSED if self.rehearses else 1.0).network(), seen
        return self._network[0]

    def train_whole_network(self, config: NetworkConfig, run: Run) -> Network | None:
        """From all points, whatever is held out from the others. None where the time is up before it has learnt."""
        with run.timed("network"):
            training = NetworkTraining(config, self.points.X, self.points.Y, run).fit(run)
            return training.network() if training.finished else None

    def train_forest(self, config: ForestConfig, memory: WordIndex, seen: Array) -> Forest:
        """A forest of fewer points stays, and the others have a vote."""
        if self._forest is None:
            seed = int(self.run.rng(26).integers(2**31))
            self._forest = Forest.grown(config, memory, self.points.Y, seen, seed)
        return self._forest.asking(seen & can_vote(memory))

    def learn_drift(self, config: DriftConfig, n_ordered: int) -> Drift | None:
        """By the order of the first n_ordered points; classifiers then see rows as it bends them."""
        drift = Drift.learn(config, self.points.X, n_ordered, self.run)
        if drift is not None:
            self.rows = drift.rows(self.points.X, drift.places)
        return drift

    def has_room_for_conjunctions(self) -> bool:
        """Of long documents; with few labels single words and drift tell all that there is."""
        return self.has_long_documents() and _n_occurring(self.points.Y) >= _CONJOINED

    def has_long_documents(self) -> bool:
        """And neither too few of them, and of their words, to learn more from than of single words, nor too many."""
        points = self.points
        return _FEW_LONG <= points.n_points <= _MOST and are_long(points.X) and _n_occurring(points.X) > _FEW_FEATURES

    def most_strangers(self) -> int:
        """Of a document: few long ones have too many words that only the shortlisted tell apart."""
        return _STRANGERS[int(self.points.n_points < _FEW_LONG and are_long(self.points.X))]

    def train_conjunctions(self, config: ConjunctionConfig, ranker: LinearConfig, seen: Array) -> Conjunctions:
        """On what the classifiers of single words have learnt from just before; once: they are one voice among others,
        and with some points more it would say the same."""
        if self._conjoined is None or _are_many_more(seen, self._conjoined[1]):
            assert self._solved is not None
            problems = replace(self._solved[0], dual=np.zeros(len(self._solved[0].dual)))
            rows = with_pairs(self._seen(seen).X, config.words)
            self._conjoined = Conjunctions.fit(config, ranker, rows, problems, self.run.seed), seen
        return self._conjoined[0]

    def problems(self, seen: Array, shortlist: int, strangers: int) -> Problems:
        """What classifiers learn from; where they have learnt from fewer points, with what they learnt. Points keep the
        shortlists that they had: others would be as good, and to learn from them takes longer."""
        rows = np.flatnonzero(seen)
        if self._short is None:
            self._short = np.full((len(seen), shortlist + strangers), -1, dtype=np.int32)
        joining = np.flatnonzero(seen & ~self._listed)
        found = np.empty((len(joining), shortlist), dtype=np.int32)
        for a in range(0, len(joining), _BLOCK):
            ids, cosines = self.near_among(seen, joining[a : a + _BLOCK])
            weights = weights_by_cosine(cosines).sum(axis=2, keepdims=True)  # all votes together make the order
            found[a : a + _BLOCK] = cast_votes(ids, weights, self.points.Y, shortlist)[0]
        self._short[joining] = with_random_negatives(found, self.points.n_labels, strangers, self.run.rng(23))
        self._listed |= seen
        problems = Problems.build(self.points.Y[rows], self._short if seen.all() else self._short[rows])
        if self._solved is not None:
            before, its_rows = self._solved
            problems.start_from(before, np.searchsorted(rows, its_rows))
        self._solved = problems, rows
        return problems

    def choose_cost(self, ranker: LinearConfig, costs: tuple[float, float], problems: Problems, seen: Array) -> float:
        """On the points that are not seen."""
        held = np.flatnonzero(~seen)
        ids, cosines = self.near_among(seen, held)
        votes = cast_votes(ids, weights_by_cosine(cosines), self.points.Y, _CANDIDATES)
        asked = Asked(self.rows[held], *votes, self.points.Y[held])
        X = self._seen_rows(seen)
        return choose_cost(X, problems, asked, ranker, costs, seed=self.run.seed, threads=self.run.threads)

    def train_classifiers(self, ranker: LinearClassifiers, problems: Problems, seen: Array) -> None:
        ranker.fit(self._seen_rows(seen), problems, seed=self.run.seed, threads=self.run.threads)

    def train_tree(self, config: TreeConfig, ranker: LinearConfig, codes: Array, seen: Array) -> TreeRanker:
        """codes: (n, dim) of all points. The tree of fewer points stays; labels that they did not have join it."""
        points, rows = self._seen(seen), np.flatnonzero(seen)
        labels = np.unique(points.Y.indices)
        with blas_threads():
            means = _label_means(points.Y[:, labels], codes[rows])
            if self._grown is not None and 2 * (self._grown[0].leaf >= 0).sum() < len(labels):
                self._grown = None  # most labels are new: they want a tree of their own
            if self._grown is None:
                tree = LabelTree.grow(points.n_labels, labels, means, config.leaf, self.run.rng(25))
            else:
                tree = self._grown[0].with_labels(labels, means)
        problems = tree.problems(points.Y)
        if self._grown is not None:
            problems.start_from(self._grown[1], np.searchsorted(rows, self._grown[2]))
        self._grown = tree, problems, rows
        asked = {"cost": config.cost, "threshold": config.threshold, "tolerance": config.tolerance}
        judge = LinearClassifiers(ranker.replace(damping=1.0, **asked))
        return TreeRanker(tree, judge.fit(points.X, problems, seed=self.run.seed, threads=self.run.threads))

    def _seen_rows(self, seen: Array) -> sp.csr_matrix:
        return self.rows if seen.all() else self.rows[np.flatnonzero(seen)]

    def _seen(self, seen: Array) -> Points:
        return self.points if seen.all() else self.points.take(np.flatnonzero(seen))


def _label_means(Y: sp.csr_matrix, codes: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """(n_labels, dim) means of the codes (n, dim) of each label's points."""
    sums = np.asarray(Y.T @ codes, dtype=np.float32)
    return sums / np.maximum(np.bincount(Y.indices, minlength=Y.shape[1]), 1).astype(np.float32)[:, None]


def _are_many_more(seen: Array, before: Array) -> bool:
    """So many that what those before told is to be learnt anew: a validation set may be larger than train."""
    return bool(seen.sum() > _MANY_MORE * before.sum())


def _are_plain(points: Points) -> bool:
    """Many, with about one label each."""
    return points.n_points > DEAR and int(points.Y.nnz) < _SEVERAL * points.n_points


def _n_occurring(matrix: sp.csr_matrix) -> int:
    """Columns that have an entry."""
    return int(np.count_nonzero(np.bincount(matrix.indices, minlength=1)))


def n_neighbours(Y: sp.csr_matrix) -> int:
    """That vote: the more labels points have, the more of them are needed to tell what is usual from chance."""
    several = int(Y.nnz) >= _MANIFOLD * Y.shape[0] and _CROWD <= Y.shape[0] <= _MOST
    return _VOTERS[several]


def n_shortlisted(asked: int, Y: sp.csr_matrix, *, networked: bool = False) -> int:
    """Labels of a document that classifiers learn from: as many as asked for, but no more than a third of all, as the
    others would be told from every document; and five times as many as points have, beside a network twice as many."""
    few = min(asked, math.ceil(len(np.unique(Y.indices)) / 3))
    return max(few, math.ceil(_SHORTEST[networked] * int(Y.nnz) / max(1, int(Y.shape[0]))))


def n_strangers(asked: int | None, Y: sp.csr_matrix, most: int = _STRANGERS[0]) -> int:
    """As asked, or what gives a label twice as many as `most`: where labels are many, few documents shortlist one."""
    n_seen, n_points = len(np.unique(Y.indices)), max(1, Y.shape[0])
    return int(np.clip(2 * most * n_seen / n_points, 10, most)) if asked is None else asked


def join_votes(one: Found, other: Found) -> Found:
    """Neighbours of both, each with its own kinds of votes: (n, m1 + m2) rows, (n, m1 + m2, s1 + s2) weights."""
    n, m, kinds = one[1].shape
    _, more, others = other[1].shape
    weights = np.zeros((n, m + more, kinds + others), dtype=np.float32)
    weights[:, :m, :kinds], weights[:, m:, kinds:] = one[1], other[1]
    return np.hstack([one[0], other[0]]), weights
