"""How features are damped, and how much classifiers may fit: long documents and dense numbers want neither held back;
of short ones the length tells the first, and the second is tried on a part of train."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.evidence.blend import Blend, is_true
from zipfel.index.dense import is_dense
from zipfel.linear.classifiers import LinearClassifiers, LinearConfig
from zipfel.linear.problems import Problems
from zipfel.neighbors.regression import FAINT
from zipfel.threads import at_once

Array = npt.NDArray[Any]
_SHARE, _ADDITIONS = 0.2, 4e7
"""Of labels that costs are tried on, unless a pass over their problems would take more additions than this."""
_RUNS, _SURE = 50, 1.0
"""Documents are compared in this many runs, as neighbours in a file are alike; standard errors (the larger of that over
runs and that over labels) by which the second cost must win."""

_DAMPED, _SHORT, _MIDDLING = 0.6, 45, 85
"""Texts of so many words want their rare words damped; from so many on they do not."""
COSTS = (0.3, 1.0)
"""Where labels hang on the taste of those who gave them, classifiers want little trust; where they follow from the
text, more."""
_LONG = 100
"""Words of a document on average, from which on documents are long."""


def are_long(X: sp.csr_matrix) -> bool:
    """Documents of 100 words or more on average."""
    return bool(X.nnz >= _LONG * X.shape[0]) and not is_dense(X)


def are_short(X: sp.csr_matrix) -> bool:
    """Neither long documents nor dense numbers."""
    return not (is_dense(X) or are_long(X))


def likely_damping(X: sp.csr_matrix) -> float:
    """The power that documents of such a length want: one rare word outweighs a few others, not fifty."""
    if not are_short(X):
        return 1.0
    grown = (int(X.nnz) / max(1, int(X.shape[0])) - _SHORT) / (_MIDDLING - _SHORT)
    return round(_DAMPED + (1 - _DAMPED) * min(1.0, max(0.0, grown)), 2)


def likely_cost(X: sp.csr_matrix) -> float:
    """What classifiers of such documents want, most often."""
    return COSTS[not are_short(X)]


@dataclass(frozen=True)
class Asked:
    """Documents that classifiers have not seen: their rows X (n, d), candidates (n, c), -1 pads, with votes (n, c, s),
    and true labels Y (n, n_labels)."""

    X: sp.csr_matrix
    candidates: Array
    votes: Array
    Y: sp.csr_matrix

    def losses(self, classifiers: LinearClassifiers, problems: Problems) -> npt.NDArray[np.float64]:
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
    ranker: LinearConfig,
    costs: tuple[float, float],
    *,
    seed: int,
    threads: int | None = None,
) -> float:
    """The second of two costs if its classifiers, joined with votes, make the truth about held-out documents likelier
    beyond doubt; else the first, also where there are too few documents, or labels, to tell.

    Not on fewer points, as they want a higher cost, but for some of the labels, frequent and rare ones, with all of
    their points. What was learnt with the cost that is chosen stays in the problems as a start.
    """
    some = _some_labels(problems, X.nnz / X.shape[0])
    if asked.X.shape[0] < _RUNS or len(some) == 0:
        return costs[0]

    def tried(cost: float) -> tuple[Problems, npt.NDArray[np.float64]]:
        part = problems.only(some)
        classifiers = LinearClassifiers(ranker.replace(damping=1.0, cost=cost)).fit(X, part, seed=seed, threads=1)
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
