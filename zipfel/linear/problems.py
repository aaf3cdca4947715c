"""Which documents each label's classifier learns from: its positives, and those that shortlisted it wrongly."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Problems:
    """One small binary problem a label, as lists of documents.

    ptr: (n_labels + 1,) int64; docs[ptr[l] : ptr[l + 1]] are the documents of label l, its n_positive[l] positives
    first, each run in rising order. dual: (len(docs),) float32, the solver's variables, zero at first; solving again
    starts from them.
    """

    ptr: Array
    docs: Array
    n_positive: Array
    dual: Array

    @property
    def n_labels(self) -> int:
        return len(self.n_positive)

    @classmethod
    def build(cls, Y: sp.csr_matrix, shortlist: Array) -> Problems:
        """Y: (n, n_labels) labels; shortlist: (n, k) distinct label ids a document, -1 where there are fewer."""
        ends = np.arange(len(shortlist) + 1, dtype=np.int64) * shortlist.shape[1]
        return cls.of_lists(Y.indptr, Y.indices, ends, shortlist.ravel(), int(Y.shape[1]))

    @classmethod
    def of_lists(cls, ptr: Array, labels: Array, short_ptr: Array, short: Array, n_labels: int) -> Problems:
        """The same from lists: document i has labels[ptr[i] : ptr[i + 1]], and shortlists short[short_ptr[i] : ...]."""
        own = ptr.astype(np.int64, copy=False), labels.astype(np.int32, copy=False)
        others = short_ptr.astype(np.int64, copy=False), short.astype(np.int32, copy=False)
        n_positive = np.bincount(labels, minlength=n_labels).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(n_positive + _count_negatives(*own, *others, n_labels))])
        docs = np.empty(starts[-1], dtype=np.int32)
        _fill(*own, *others, starts[:-1].copy(), starts[:-1] + n_positive, docs)
        return cls(starts, docs, n_positive, np.zeros(len(docs), dtype=np.float32))

    def start_from(self, solved: Problems, rows: Array | None = None) -> None:
        """Starts from the dual variables of problems that were solved on fewer documents, which takes fewer passes.
        Document i of these is now rows[i]; rows are in rising order. Without rows the numbers are the same."""
        docs = solved.docs if rows is None else rows.astype(np.int32)[solved.docs]
        _take_over(
            self.ptr, self.docs, self.n_positive, self.dual, solved.ptr, docs, solved.n_positive, solved.dual
        )  # fmt: skip

    def without_zeros(self) -> Problems:
        """Only the documents whose dual variable is not 0, which is all that `start_from` needs."""
        kept = self.dual != 0
        ends = np.concatenate([[0], np.cumsum(kept)])
        ptr = ends[self.ptr]
        return Problems(ptr, self.docs[kept], ends[self.ptr[:-1] + self.n_positive] - ptr[:-1], self.dual[kept])

    def runs(self, parts: int) -> list[tuple[int, int]]:
        """Labels cut into at most `parts` runs of about equal numbers of documents."""
        targets = np.linspace(0, self.ptr[-1], parts + 1)[1:-1]
        edges = np.unique(np.concatenate([[0], np.searchsorted(self.ptr, targets), [self.n_labels]]))
        return [(int(a), int(b)) for a, b in itertools.pairwise(edges)]


@njit(cache=True, nogil=True)
def _count_negatives(indptr: Array, indices: Array, short_ptr: Array, short: Array, n_labels: int) -> Array:
    """(n_labels,) documents that have the label in their shortlist but not among their own."""
    counts = np.zeros(n_labels, dtype=np.int64)
    owner = np.full(n_labels, -1, dtype=np.int64)
    for doc in range(len(indptr) - 1):
        for j in range(indptr[doc], indptr[doc + 1]):
            owner[indices[j]] = doc
        for label in short[short_ptr[doc] : short_ptr[doc + 1]]:
            if label >= 0 and owner[label] != doc:
                counts[label] += 1
    return counts


@njit(cache=True, nogil=True)
def _fill(
    indptr: Array, indices: Array, short_ptr: Array, short: Array, positive: Array, negative: Array, docs: Array
) -> None:
    """Writes each document into its labels' lists; positive, negative: next free place of each label."""
    owner = np.full(len(positive), -1, dtype=np.int64)
    for doc in range(len(indptr) - 1):
        for j in range(indptr[doc], indptr[doc + 1]):
            label = indices[j]
            owner[label] = doc
            docs[positive[label]] = doc
            positive[label] += 1
        for label in short[short_ptr[doc] : short_ptr[doc + 1]]:
            if label >= 0 and owner[label] != doc:
                docs[negative[label]] = doc
                negative[label] += 1


@njit(cache=True, nogil=True)
def _take_over(
    ptr: Array,
    docs: Array,
    n_positive: Array,
    dual: Array,
    o_ptr: Array,
    o_docs: Array,
    o_positive: Array,
    o_dual: Array,
) -> None:
    """Both lists of a label, positives and negatives, rise: the old ones (o_) are walked beside the new."""
    for label in range(len(n_positive)):
        edges = (ptr[label], ptr[label] + n_positive[label], ptr[label + 1])
        o_edges = (o_ptr[label], o_ptr[label] + o_positive[label], o_ptr[label + 1])
        for run in range(2):
            old = o_edges[run]
            for at in range(edges[run], edges[run + 1]):
                while old < o_edges[run + 1] and o_docs[old] < docs[at]:
                    old += 1
                if old < o_edges[run + 1] and o_docs[old] == docs[at]:
                    dual[at] = o_dual[old]


def with_random_negatives(
    shortlist: npt.NDArray[np.int32], n_labels: int, n_random: int, rng: np.random.Generator
) -> npt.NDArray[np.int32]:
    """The shortlists (n, k) and behind them up to `n_random` random labels that are not in them; -1 pads.

    Without random ones a classifier learns from hard negatives only, and scores unrelated documents too high.
    """
    drawn = rng.integers(0, n_labels, (len(shortlist), n_random), dtype=np.int32)
    _drop_known(shortlist, drawn, np.full(n_labels, -1, dtype=np.int32))
    return np.concatenate([shortlist, drawn], axis=1)


@njit(cache=True, nogil=True)
def _drop_known(shortlist: Array, drawn: Array, owner: Array) -> None:
    """-1 for those of the drawn labels (n, s) that the row has already, in its shortlist (n, k) or before among the
    drawn. owner: (n_labels,) scratch, all -1."""
    for doc in range(len(shortlist)):
        for c in range(shortlist.shape[1]):
            if shortlist[doc, c] >= 0:
                owner[shortlist[doc, c]] = doc
        for c in range(drawn.shape[1]):
            if owner[drawn[doc, c]] == doc:
                drawn[doc, c] = -1
            else:
                owner[drawn[doc, c]] = doc
