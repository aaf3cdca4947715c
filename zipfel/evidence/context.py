"""Which labels occur together: evidence for a candidate from the document's other likely labels.

    p(l): the first blend's probability; T: the ten likeliest candidates; n(l, k): points with both labels
    for(l)     = log sum_{k in T, k != l} p(k) n(l, k) / n(k)                 how often it occurs with the likely ones
    against(l) = - sum_{k in T, k != l} p(k) (1 - n(l, k) / n(l))             how often it occurs without them

A second blend joins these two with all other evidence. It is kept if it ranks held-out points better by two standard
errors. That happens if labels are a taxonomy (a poodle is a dog) or if a document has one label only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.evidence import rules
from zipfel.evidence.comparing import RUNS, precisions
from zipfel.kernels.sparse_rows import row_ends
from zipfel.linear.blend import Blend
from zipfel.neighbors.votes import FAINT
from zipfel.system.threads import over_blocks

Array = npt.NDArray[Any]
OTHERS = ("other labels: for", "other labels: against")
_TOP = 10
_WIDEST, _PAIRS = 100, 5e7
"""Labels a point above which it is not counted; pairs of labels of all points above which nothing is counted."""
_SURE = 2.0
"""Standard errors by which the second blend must rank held-out points better."""
FRONT = 40
"""Candidates of a document, by a first score, that a better score may bring among its best five."""


@dataclass(frozen=True)
class Context:
    """together: (n_labels, n_labels) CSR, points that have both; counts: (n_labels,) points of each."""

    together: sp.csr_matrix
    counts: Array

    @classmethod
    def of(cls, Y: sp.csr_matrix) -> Context:
        widths = np.diff(Y.indptr)
        is_narrow = widths <= _WIDEST
        if (widths[is_narrow].astype(np.float64) ** 2).sum() > _PAIRS:
            is_narrow[:] = False
        narrow = Y[np.flatnonzero(is_narrow)]
        ones = sp.csr_matrix((np.ones(narrow.nnz, dtype=np.float32), narrow.indices, narrow.indptr), narrow.shape)
        together = sp.csr_matrix(ones.T @ ones)
        together.sort_indices()
        return cls(together, np.bincount(narrow.indices, minlength=Y.shape[1]).astype(np.float32))

    def evidence(self, labels: Array, scores: Array) -> npt.NDArray[np.float32]:
        """(n, c, 2) for candidates (n, c), -1 pads, and their log-odds."""
        chances = np.where(labels < 0, np.float32(0), 1 / (1 + np.exp(-scores))).astype(np.float32)
        out = np.zeros((*labels.shape, 2), dtype=np.float32)
        kept = (
            row_ends(self.together),
            self.together.indices.astype(np.int32, copy=False),
            self.together.data,
        )
        ids = labels.astype(np.int64, copy=False)
        over_blocks(lambda a, b: _add_others(a, b, ids, chances, *kept, self.counts, _TOP, out), len(labels))
        out[:, :, 0] = np.log(out[:, :, 0] + np.float32(FAINT))
        return out


def learn_with_context(
    first: Blend, context: Context, labels: Array, evidence: Array, hits: Array, monotone: Sequence[str]
) -> Blend | None:
    """None unless blends of either half of the documents rank the other half better with it than `first` does."""
    if len(labels) < rules.CONTEXT_FROM:
        return None
    scores = np.where(labels >= 0, first(evidence), -np.inf)
    front = np.argpartition(-scores, min(FRONT, scores.shape[1]) - 1, axis=1)[:, :FRONT]  # the others stay behind
    labels, scores, hits = (np.take_along_axis(part, front, axis=1) for part in (labels, scores, hits))
    evidence, known = np.take_along_axis(evidence, front[:, :, None], axis=1), labels >= 0
    evidence = np.concatenate([evidence, context.evidence(labels, scores)], axis=2)
    width = min(_TOP, scores.shape[1])
    best = known & (scores >= -np.partition(-scores, width - 1, axis=1)[:, width - 1 : width])
    start = Blend((*first.names, *OTHERS), (*first.weights, 0.0, 0.0), first.bias)

    def learnt(rows: Array) -> Blend:
        chosen = best & rows[:, None]
        return Blend.fit(start.names, evidence[chosen], hits[chosen], monotone=(*monotone, *OTHERS), start=start)

    half = np.arange(len(labels)) < len(labels) // 2
    joined = np.where(half[:, None], learnt(~half)(evidence), learnt(half)(evidence))
    gain = precisions(np.where(known, joined, -np.inf), hits) - precisions(scores, hits)
    runs = np.array([run.sum() for run in np.array_split(gain, RUNS)])
    is_better = bool(runs.mean() > _SURE * runs.std() / np.sqrt(RUNS))
    return learnt(np.ones(len(labels), dtype=bool)) if is_better else None


@njit(cache=True, nogil=True)
def _count_of(ids: Array, counts: Array, start: int, stop: int, wanted: int) -> float:
    """The count at `wanted` in rising ids[start:stop], or 0."""
    end = stop
    while start < stop:
        middle = (start + stop) // 2
        if ids[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    found: float = counts[start] if start < end and ids[start] == wanted else 0.0
    return found


@njit(cache=True, nogil=True)
def _add_others(
    start: int,
    stop: int,
    labels: Array,
    chances: Array,
    ptr: Array,
    ids: Array,
    together: Array,
    counts: Array,
    top: int,
    out: Array,
) -> None:
    """Rows start..stop of out (n, c, 2), zero before. Plain twin: the sums in the module, without the log."""
    n_candidates = labels.shape[1]
    left = np.empty(n_candidates, dtype=np.float32)
    for i in range(start, stop):
        left[:] = chances[i]
        for _ in range(min(top, n_candidates)):
            t = np.argmax(left)
            p, other = left[t], labels[i, t]
            if p <= 0.0:
                break
            left[t] = 0.0
            a, b = ptr[other], ptr[other + 1]
            for j in range(n_candidates):
                label = labels[i, j]
                if label >= 0 and j != t:
                    both = _count_of(ids, together, a, b, label)
                    out[i, j, 0] += p * both / (counts[other] + 1.0)
                    out[i, j, 1] -= p * (1.0 - both / (counts[label] + 1.0))
