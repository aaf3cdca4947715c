"""Which documents each label's classifier learns from: its positives, and those that shortlisted it wrongly."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.errors import ModelFileError

Array = npt.NDArray[Any]
AT_A_TIME = 1 << 23
"""Documents of all problems of a run of labels: 8 bytes each."""


@dataclass(frozen=True)
class Problems:
    """One small binary problem a label, as lists of documents.

    ptr: (n_labels + 1,) int64; docs[ptr[l] : ptr[l + 1]] are the documents of label l, its n_positive[l] positives
    first, each run in rising order. dual: (len(docs),) float32, the solver's variables, zero at first; solving again
    starts from them. first: the number of the first label, where these are a run of all labels.
    """

    ptr: Array
    docs: Array
    n_positive: Array
    dual: Array
    first: int = 0

    @property
    def n_labels(self) -> int:
        return len(self.n_positive)

    @classmethod
    def empty(cls, n_labels: int) -> Problems:
        """Labels without documents."""
        none, counts = np.zeros(0, dtype=np.int32), np.zeros(n_labels, dtype=np.int64)
        return cls(np.zeros(n_labels + 1, dtype=np.int64), none, counts, np.zeros(0, dtype=np.float32))

    @classmethod
    def build(cls, Y: sp.csr_matrix, shortlist: Array) -> Problems:
        """Y: (n, n_labels) labels; shortlist: (n, k) distinct label ids a document, -1 where there are fewer."""
        return next(cls.built_in_runs(Y.indptr, Y.indices, shortlist, [(0, int(Y.shape[1]))]))

    @classmethod
    def built_in_runs(
        cls, ptr: Array, labels: Array, shortlist: Array, runs: Sequence[tuple[int, int]]
    ) -> Iterator[Problems]:
        """Those of one run of labels after the other, as all together may take more memory than the documents.
        Document i has labels[ptr[i] : ptr[i + 1]]."""
        ends = np.arange(len(shortlist) + 1, dtype=np.int64) * shortlist.shape[1]
        for first, last in runs:
            yield cls.of_lists(ptr, labels, ends, shortlist.ravel(), last - first, first)

    @classmethod
    def of_lists(
        cls, ptr: Array, labels: Array, short_ptr: Array, short: Array, n_labels: int, first: int = 0
    ) -> Problems:
        """The same from lists: document i has labels[ptr[i] : ptr[i + 1]], and shortlists short[short_ptr[i] : ...].
        Problems are those of n_labels labels from `first` on."""
        own = ptr.astype(np.int64, copy=False), labels.astype(np.int32, copy=False)
        others = short_ptr.astype(np.int64, copy=False), short.astype(np.int32, copy=False)
        n_positive, n_negative = _count_documents(*own, *others, first, n_labels)
        starts = np.concatenate([[0], np.cumsum(n_positive + n_negative)])
        docs = np.empty(starts[-1], dtype=np.int32)
        _fill(*own, *others, first, starts[:-1].copy(), starts[:-1] + n_positive, docs)
        return cls(starts, docs, n_positive, np.zeros(len(docs), dtype=np.float32), first)

    def start_from(self, solved: Problems, rows: Array | None = None) -> None:
        """Starts from the dual variables of problems that were solved on fewer documents, which takes fewer passes.
        Document i of these is now rows[i]; rows are in rising order. Without rows the numbers are the same."""
        docs = solved.docs if rows is None else rows.astype(np.int32)[solved.docs]
        _take_over(
            self.ptr, self.docs, self.n_positive, self.dual, solved.ptr, docs, solved.n_positive, solved.dual
        )  # fmt: skip

    def without_zeros(self) -> Problems:
        """Only the documents whose dual variable is not 0, which is all that `start_from` needs."""
        return self.where(self.dual != 0)

    def where(self, kept: Array) -> Problems:
        """Only some documents of each label; kept: (len(docs),)."""
        ends = np.concatenate([[0], np.cumsum(kept)])
        ptr = ends[self.ptr]
        n_positive = ends[self.ptr[:-1] + self.n_positive] - ptr[:-1]
        return Problems(ptr, self.docs[kept], n_positive, self.dual[kept], self.first)

    def of_labels(self, labels: Array) -> Problems:
        """The problems of these labels, in this order."""
        sizes = np.diff(self.ptr)[labels]
        ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        at = np.arange(ptr[-1]) + np.repeat(self.ptr[labels] - ptr[:-1], sizes)
        return Problems(ptr, self.docs[at], self.n_positive[labels], self.dual[at])

    def joined(self, others: Problems) -> Problems:
        """These problems and those of other labels behind them."""
        ptr = np.append(self.ptr, self.ptr[-1] + others.ptr[1:])
        pairs = zip((self.docs, self.n_positive, self.dual), (others.docs, others.n_positive, others.dual), strict=True)
        docs, n_positive, dual = (np.concatenate(pair) for pair in pairs)
        return Problems(ptr, docs, n_positive, dual)

    def as_stored(self) -> Problems:
        """Only what counts, with dual variables as a model file holds them."""
        dual = self.dual.astype(np.float16)
        return Problems(self.ptr, self.docs, self.n_positive, dual.astype(np.float32)).without_zeros()

    def state(self) -> dict[str, Array]:
        """Arrays for a model file; small numbers of documents take two bytes."""
        narrow = np.uint16 if self.docs.max(initial=0) <= np.iinfo(np.uint16).max else np.int32
        docs, n_positive, dual = (
            self.docs.astype(narrow),
            self.n_positive.astype(np.int32),
            self.dual.astype(np.float16),
        )
        return {"ptr": self.ptr, "docs": docs, "n_positive": n_positive, "dual": dual}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], n_points: int, n_labels: int) -> Problems:
        """The counterpart of `state`; every index is checked, a model file may come from anywhere."""
        lacking = {"ptr", "docs", "n_positive", "dual"} - set(arrays)
        if lacking:
            raise ModelFileError(f"the classifiers' problems in the model lack {', '.join(sorted(lacking))}")
        ptr, docs, n_positive, dual = (arrays[name] for name in ("ptr", "docs", "n_positive", "dual"))
        sound = (
            ptr.dtype == np.int64
            and docs.dtype in (np.uint16, np.int32)
            and n_positive.dtype == np.int32
            and dual.dtype == np.float16
            and ptr.shape == (n_labels + 1,)
            and n_positive.shape == (n_labels,)
            and docs.shape == dual.shape == (int(ptr[-1]),)
            and int(ptr[0]) == 0
            and bool((ptr[1:] >= ptr[:-1]).all())  # differences could wrap around
            and bool((n_positive >= 0).all() and (n_positive <= np.diff(ptr)).all())
            and (len(docs) == 0 or (int(docs.min()) >= 0 and int(docs.max()) < n_points))
            and bool(np.isfinite(dual).all() and (dual >= 0).all())
        )
        if not sound:
            raise ModelFileError(
                "the classifiers' problems in the model are damaged: their arrays do not fit each other"
            )
        return cls(ptr, docs.astype(np.int32, copy=False), n_positive.astype(np.int64), dual.astype(np.float32))

    def runs(self, parts: int) -> list[tuple[int, int]]:
        """Labels cut into at most `parts` runs of about equal numbers of documents."""
        targets = np.linspace(0, self.ptr[-1], parts + 1)[1:-1]
        edges = np.unique(np.concatenate([[0], np.searchsorted(self.ptr, targets), [self.n_labels]]))
        return [(int(a), int(b)) for a, b in itertools.pairwise(edges)]


def label_runs(Y: sp.csr_matrix, n_pairs: int, most: int = AT_A_TIME) -> list[tuple[int, int]]:
    """All labels in runs (first, last), so that the problems of each have about `most` documents. n_pairs: documents
    of the problems of all labels."""
    n_labels, n_runs = int(Y.shape[1]), -(-n_pairs // most)
    if n_runs <= 1:
        return [(0, n_labels)]
    counts = np.bincount(Y.indices, minlength=n_labels)
    share = np.cumsum(counts / counts.sum() + 1 / n_labels)  # negatives are drawn by frequency, and of all alike
    cuts = np.searchsorted(share, 2 * np.arange(1, n_runs) / n_runs) + 1
    edges = np.unique(np.concatenate([[0], np.minimum(cuts, n_labels), [n_labels]]))
    return [(int(a), int(b)) for a, b in itertools.pairwise(edges)]


@njit(cache=True, nogil=True)
def _count_documents(
    indptr: Array, indices: Array, short_ptr: Array, short: Array, first: int, n_labels: int
) -> tuple[Array, Array]:
    """(n_labels,) documents that have the label, and those that have it in their shortlist only; of labels from `first`
    on."""
    positive, negative = np.zeros(n_labels, dtype=np.int64), np.zeros(n_labels, dtype=np.int64)
    owner = np.full(n_labels, -1, dtype=np.int64)
    for doc in range(len(indptr) - 1):
        for j in range(indptr[doc], indptr[doc + 1]):
            label = indices[j] - first
            if 0 <= label < n_labels:
                owner[label] = doc
                positive[label] += 1
        for j in range(short_ptr[doc], short_ptr[doc + 1]):
            label = short[j] - first
            if short[j] >= 0 and 0 <= label < n_labels and owner[label] != doc:
                negative[label] += 1
    return positive, negative


@njit(cache=True, nogil=True)
def _fill(
    indptr: Array,
    indices: Array,
    short_ptr: Array,
    short: Array,
    first: int,
    positive: Array,
    negative: Array,
    docs: Array,
) -> None:
    """Writes each document into its labels' lists; positive, negative: next free place of each label."""
    n_labels = len(positive)
    owner = np.full(n_labels, -1, dtype=np.int64)
    for doc in range(len(indptr) - 1):
        for j in range(indptr[doc], indptr[doc + 1]):
            label = indices[j] - first
            if 0 <= label < n_labels:
                owner[label] = doc
                docs[positive[label]] = doc
                positive[label] += 1
        for j in range(short_ptr[doc], short_ptr[doc + 1]):
            label = short[j] - first
            if short[j] >= 0 and 0 <= label < n_labels and owner[label] != doc:
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
