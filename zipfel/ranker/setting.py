"""How features are damped, and how much classifiers may fit: long documents and dense numbers want neither held back,
of short documents both are tried on a part of train."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data.splitting import held_out_runs
from zipfel.index.dense import is_dense
from zipfel.ranker._votes import cast_votes
from zipfel.ranker.blend import Blend, is_true
from zipfel.ranker.landmarks import FAINT
from zipfel.ranker.problems import Problems, with_strangers
from zipfel.ranker.sparse import RankerConfig, SparseRanker, damped
from zipfel.ranker.words import WordMemory, weights_by_cosine
from zipfel.ranking import Ranking
from zipfel.threads import at_once

Array = npt.NDArray[Any]
_SAMPLE, _ASKED = (1000, 4000), 3000
"""Damping is chosen on samples of one in twelve points, within these limits: one that classifiers learn from, and one
that they are asked about, which has no more than this, or a fifth of the points."""
_COST = 0.5
"""Of these trials: a small sample wants a higher cost than the whole."""
_NEIGHBORS, _SHORTLIST, _STRANGERS = 30, 50, 10
_SHARE, _ADDITIONS = 0.2, 4e7
"""Of labels that costs are tried on, unless a pass over their problems would take more additions than this."""
_RUNS, _SURE = 50, 1.0
"""Documents are compared in this many runs, as neighbours in a file are alike; standard errors (the larger of that over
runs and that over labels) by which the second cost must win."""

DAMPINGS = (0.6, 0.8, 1.0)
"""Short texts want their rare words damped, long ones do not."""
COSTS = (0.3, 1.0)
"""Where labels hang on the taste of those who gave them, classifiers want little trust; where they follow from the
text, more."""
_LONG = 100
"""Words of a document on average, from which on documents are long."""


def are_long(X: sp.csr_matrix) -> bool:
    """Documents of 100 words or more on average."""
    return bool(X.nnz >= _LONG * X.shape[0]) and not is_dense(X)


def are_short(X: sp.csr_matrix) -> bool:
    """Neither long documents nor dense numbers; only of short ones it is open how they are to be damped."""
    return not (is_dense(X) or are_long(X))


def likely_damping(X: sp.csr_matrix) -> float:
    """What documents of such a length want, most often."""
    return DAMPINGS[0] if are_short(X) else DAMPINGS[-1]


def likely_cost(X: sp.csr_matrix) -> float:
    """What classifiers of such documents want, most often."""
    return COSTS[not are_short(X)]


def choose_damping(
    X: sp.csr_matrix, Y: sp.csr_matrix, rng: np.random.Generator, ranker: RankerConfig, dampings: tuple[float, ...]
) -> float:
    """That with which classifiers rank best (mean of P@1, P@3 and P@5) on points that they have not seen; the first,
    unless the last is better by a standard error; then the next that the last is not better than."""
    if _are_alike(X):
        return dampings[0]
    size = min(max(_SAMPLE[0], X.shape[0] // 12), _SAMPLE[1])
    asked = held_out_runs(X.shape[0], min(size, _ASKED, X.shape[0] // 5), rng)
    if len(asked) == 0:
        return dampings[0]
    known = rng.permutation(np.setdiff1d(np.arange(X.shape[0]), asked))[:size]
    first, *between, last = dampings
    trial = _Trial.of(X[known], Y[known], X[asked], Y[asked], rng, first)
    quality = partial(_precision, trial, ranker)
    of_first, of_last = at_once(lambda: quality(first), lambda: quality(last))
    if not _is_better(of_last, of_first):
        return first
    for damping in between:
        if not _is_better(of_last, quality(damping)):
            return damping
    return last


def _is_better(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> bool:
    """By a standard error, where both were asked the same."""
    gain = one - other
    return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))


def _are_alike(X: sp.csr_matrix) -> bool:
    """Whether rows of unit length have one value each, as features that are there or not make them: any power leaves
    such rows be."""
    filled = np.flatnonzero(np.diff(X.indptr))
    if len(filled) == 0:
        return True
    least, most = (at.reduceat(X.data, X.indptr[filled]) for at in (np.minimum, np.maximum))
    usual = 1 / np.sqrt(np.diff(X.indptr)[filled])
    return bool((np.abs(np.stack([least, most]) - usual) <= 1e-4 * usual).all())


@dataclass(frozen=True)
class _Trial:
    """Rows X with labels Y that classifiers learn from, and those that they are asked about. short, candidates: labels
    of each, found by neighbours, the same whatever the damping."""

    X: sp.csr_matrix
    Y: sp.csr_matrix
    short: npt.NDArray[np.int32]
    asked: sp.csr_matrix
    wanted: sp.csr_matrix
    candidates: Array

    @classmethod
    def of(
        cls,
        X: sp.csr_matrix,
        Y: sp.csr_matrix,
        asked: sp.csr_matrix,
        wanted: sp.csr_matrix,
        rng: np.random.Generator,
        damping: float,
    ) -> _Trial:
        """damping: with which neighbours are looked for."""
        known = damped(X, damping)
        memory = WordMemory.build(known, np.diff(Y.indptr) > 0)
        own = _shortlist(*memory.search_own(known, _NEIGHBORS), Y).astype(np.int32)
        found = _shortlist(*memory.search(damped(asked, damping), _NEIGHBORS), Y)
        return cls(X, Y, with_strangers(own, int(Y.shape[1]), _STRANGERS, rng), asked, wanted, found)


def _precision(trial: _Trial, ranker: RankerConfig, damping: float) -> npt.NDArray[np.float64]:
    """(n,) the mean of P@1, P@3 and P@5 of each row that is asked about."""
    problems = Problems.build(trial.Y, trial.short)
    classifiers = SparseRanker(ranker.replace(damping=1.0, cost=ranker.cost or _COST))
    classifiers.fit(damped(trial.X, damping), problems)
    margins = classifiers.score(damped(trial.asked, damping), trial.candidates)
    hits = is_true(Ranking.from_dense(margins, 5, trial.candidates).labels, trial.wanted)
    return np.asarray(np.mean([hits[:, :k].mean(axis=1) for k in (1, 3, 5)], axis=0), dtype=np.float64)


def _shortlist(ids: Array, cosines: Array, Y: sp.csr_matrix) -> Array:
    return cast_votes(ids, weights_by_cosine(cosines), Y, _SHORTLIST)[0]


@dataclass(frozen=True)
class Asked:
    """Documents that classifiers have not seen: their rows X (n, d), candidates (n, c), -1 pads, with votes (n, c, s),
    and true labels Y (n, n_labels)."""

    X: sp.csr_matrix
    candidates: Array
    votes: Array
    Y: sp.csr_matrix

    def losses(self, classifiers: SparseRanker, problems: Problems) -> npt.NDArray[np.float64]:
        """(n, c) how unlikely the truth about each candidate is; 0 for labels that are not in `problems`. Margins and
        votes are joined by what either half of the documents tells about the other."""
        known = (self.candidates >= 0) & (problems.n_positive[self.candidates] > 0)
        margins = classifiers.score(self.X, np.where(known, self.candidates, -1))[known]
        votes, frequency = self.votes[known], np.log1p(problems.n_positive[self.candidates[known]])
        trust = np.minimum(margins, 0), np.maximum(margins, 0)
        evidence = np.column_stack([*trust, np.log(votes + np.float32(FAINT)), votes, frequency])
        hits = is_true(self.candidates, self.Y)[known]
        first = np.nonzero(known)[0] < len(known) // 2
        names = [str(i) for i in range(evidence.shape[1])]
        losses = np.zeros(known.shape)
        of_known = np.empty(len(hits))
        for half in (first, ~first):
            scores = Blend.fit(names, evidence[~half], hits[~half], monotone=names[:-1])(evidence[half])
            of_known[half] = np.logaddexp(0, scores) - hits[half] * scores
        losses[known] = of_known
        return losses


def choose_cost(
    X: sp.csr_matrix,
    problems: Problems,
    asked: Asked,
    ranker: RankerConfig,
    costs: tuple[float, float],
    *,
    seed: int,
    threads: int | None = None,
) -> float:
    """The second of two costs if its classifiers, joined with votes, make the truth about held-out documents likelier
    beyond doubt; else the first.

    Not on fewer points, as they want a higher cost, but for some of the labels, frequent and rare ones, with all of
    their points. What was learnt with the cost that is chosen stays in the problems as a start.
    """
    if asked.X.shape[0] < _RUNS:
        return costs[0]
    some = _some_labels(problems, X.nnz / X.shape[0])

    def tried(cost: float) -> tuple[Problems, npt.NDArray[np.float64]]:
        part = problems.only(some)
        classifiers = SparseRanker(ranker.replace(damping=1.0, cost=cost)).fit(X, part, seed=seed, threads=1)
        return part, asked.losses(classifiers, part)

    (first, loss), (second, other) = at_once(*(partial(tried, cost) for cost in costs), threads=threads)
    gain = loss - other
    runs = np.array([run.sum() for run in np.array_split(gain, _RUNS)])
    labels = np.bincount(asked.candidates.ravel() + 1, gain.ravel(), minlength=problems.n_labels + 1)[1:][some]
    error = max(part.std() * np.sqrt(len(part)) for part in (runs, labels))
    is_second = bool(gain.sum() > _SURE * error)
    problems.start_from(second if is_second else first, np.arange(X.shape[0]))
    return costs[is_second]


def _some_labels(problems: Problems, row_length: float) -> Array:
    """As many labels as can be tried in little time: one in so many, by frequency. row_length: non-zeros of a point."""
    share = min(_SHARE, _ADDITIONS / max(1.0, len(problems.docs) * row_length))
    order = np.argsort(-problems.n_positive, kind="stable")[: np.count_nonzero(problems.n_positive)]
    return order[np.arange(0.5 / share, len(order), 1 / share).astype(np.int64)]
