"""More points for a fitted auto: its parts as they are, and what they need for labels that they have not met.

Encoder, blend and the classifiers of known labels stay untouched. A new label's classifier is learnt like the others
were, on its points, on those that are near one of them and on a few strangers; without one, new labels come either
first always or never. Among the codes a new label is the mean of its points' codes; the label tree
and the network have no opinion of it. In the forest new points come to leaves of the trees that there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.evidence.drift import Drift
from zipfel.linear import LinearClassifiers, LinearConfig, Problems, with_random_negatives
from zipfel.neighbors.words import WordIndex
from zipfel.ranking import Ranking

Array = npt.NDArray[Any]
_HARD = 100
"""New labels that a point is a hard negative of, at most."""


def joined_labels(Y: sp.csr_matrix, more: sp.csr_matrix) -> sp.csr_matrix:
    """The rows of Y and behind them those of `more`; one of the two may have more columns."""
    width = max(Y.shape[1], more.shape[1])
    wide = [sp.csr_matrix((part.data, part.indices, part.indptr), (part.shape[0], width)) for part in (Y, more)]
    return sp.vstack(wide, format="csr")


def new_labels(Y: sp.csr_matrix, n_before: int) -> Array:
    """Labels that none of the first n_before points has, but one of the others."""
    before, after = (np.bincount(part.indices, minlength=Y.shape[1]) for part in (Y[:n_before], Y[n_before:]))
    return np.flatnonzero((before == 0) & (after > 0))


def extended(
    ranker: LinearClassifiers,
    memory: WordIndex,
    Y: sp.csr_matrix,
    new: Array,
    config: LinearConfig,
    *,
    near: int,
    strangers: int,
    drift: Drift | None = None,
) -> LinearClassifiers:
    """The classifiers as they are, and ones of the labels that are new, learnt from `near` points of each of theirs and
    so many strangers. drift: by which all of them see the points."""
    learnt = None
    if len(new):
        X = memory.unit_rows
        problems = _problems(memory, Y, new, near=near, strangers=strangers)
        learnt = LinearClassifiers(config).fit(drift.rows(X, drift.places) if drift else X, problems)
    return _with_classifiers(ranker, learnt, new, int(Y.shape[1]))


def _problems(memory: WordIndex, Y: sp.csr_matrix, new: Array, *, near: int, strangers: int) -> Problems:
    """What classifiers of the labels that are new learn from, in their order."""
    n_labels, own = int(Y.shape[1]), Y[:, new]
    close = _near_positives(memory, memory.unit_rows, own, near)
    places = Ranking.from_csr(close, min(_HARD, int(np.diff(close.indptr).max()))).labels  # among the new ones
    hard: npt.NDArray[np.int32] = np.append(new, -1).astype(np.int32)[places]  # among all, as strangers are drawn
    local = np.full(n_labels + 1, -1, dtype=np.int32)
    local[new] = np.arange(len(new))
    found = local[with_random_negatives(hard, n_labels, strangers, np.random.default_rng(0))]
    return Problems.build(own, found)


def _near_positives(memory: WordIndex, X: sp.csr_matrix, own: sp.csr_matrix, near: int) -> sp.csr_matrix:
    """(n, n_new): how many of each label's points a point is near to."""
    asked = np.flatnonzero(np.diff(own.indptr))
    ids, _ = memory.search(X[asked], near)
    row_of = np.repeat(np.arange(len(asked)), (ids >= 0).sum(axis=1))
    links = sp.csr_matrix(
        (np.ones(len(row_of), dtype=np.float32), (ids[ids >= 0], row_of)), shape=(len(memory), len(asked))
    )
    return sp.csr_matrix(links @ own[asked])


def _with_classifiers(
    ranker: LinearClassifiers, learnt: LinearClassifiers | None, new: Array, n_labels: int
) -> LinearClassifiers:
    """The ranker's classifiers, those that were learnt for the new labels, and a plain no for labels without
    points."""
    parts = [each.state() for each in (ranker, learnt) if each is not None]
    no = {"indptr": np.zeros(2, np.int64), "scale": np.ones(1), "bias": -np.ones(1)}
    parts = [*parts, no | {name: parts[0][name][:0] for name in ("weights", "features")}]
    n_features, known = ranker.weights_.shape[1], len(ranker.bias_)
    order = np.full(n_labels, known + len(new))
    order[:known], order[new] = np.arange(known), known + np.arange(len(new))
    stored = parts[0]["weights"].dtype
    exact = np.float32 if stored == np.float16 else stored  # scipy can't pick rows of float16
    stacked = [
        sp.csr_matrix(
            (part["weights"].astype(exact), part["features"], part["indptr"]), (len(part["bias"]), n_features)
        )
        for part in parts
    ]
    rows = sp.vstack(stacked, format="csr")[order]
    arrays = {"indptr": rows.indptr, "features": rows.indices, "weights": rows.data.astype(stored)}
    arrays |= {name: np.concatenate([part[name] for part in parts])[order] for name in ("scale", "bias")}
    return LinearClassifiers.restored(arrays, n_features, n_labels, ranker.config)
