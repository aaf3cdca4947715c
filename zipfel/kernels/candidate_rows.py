"""Candidate labels of each row of a batch: its positives and its shortlist, each label once; and their scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]


@njit(cache=True, nogil=True)
def merge_candidates(indptr: Array, positives: Array, shortlists: Array, stamp: Array) -> tuple[Array, Array, Array]:
    """Row i's candidates: its positives first, then the labels of its shortlist that are not among them.

    indptr (n + 1,), positives (p,): the rows' labels. shortlists: (n, k), -1 where there is none; a label may be there
    twice. stamp: (n_labels,) scratch, all -1, left so. Returns ends (n + 1,), labels (m,) and 1 or 0 (m,) for
    positives and negatives. Plain twin: a set for each row.
    """
    n, k = shortlists.shape
    ends = np.zeros(n + 1, np.int64)
    labels = np.empty(len(positives) + n * k, np.int64)
    truth = np.zeros(len(labels), np.float32)
    used = 0
    for i in range(n):
        first = used
        for at in range(indptr[i], indptr[i + 1]):
            label = positives[at]
            if stamp[label] < 0:
                stamp[label] = i
                labels[used], truth[used] = label, 1.0
                used += 1
        for c in range(k):
            label = shortlists[i, c]
            if label >= 0 and stamp[label] < 0:
                stamp[label] = i
                labels[used] = label
                used += 1
        for at in range(first, used):
            stamp[labels[at]] = -1
        ends[i + 1] = used
    return ends, labels[:used].copy(), truth[:used].copy()


@njit(cache=True, nogil=True)
def localise_columns(columns: Array, place: Array) -> tuple[Array, Array, Array, Array]:
    """Columns renumbered 0, 1, ... in order of first occurrence.

    place: (n_columns,) int32 scratch, all -1, left so. Returns ids (u,), the local column of each entry (m,), and the
    entries by column: ends (u + 1,) and their numbers (m,) in rising order. Plain twin: np.unique, a stable argsort.
    """
    m = len(columns)
    ids, local, count = np.empty(m, np.int64), np.empty(m, np.int32), 0
    for at in range(m):
        column = columns[at]
        if place[column] < 0:
            place[column] = count
            ids[count] = column
            count += 1
        local[at] = place[column]
    ends = np.zeros(count + 1, np.int64)
    for at in range(m):
        ends[local[at] + 1] += 1
    for j in range(count):
        ends[j + 1] += ends[j]
        place[ids[j]] = -1
    fill, order = ends[:-1].copy(), np.empty(m, np.int64)
    for at in range(m):
        order[fill[local[at]]] = at
        fill[local[at]] += 1
    return ids[:count].copy(), local, ends, order


@njit(cache=True, nogil=True, fastmath=True)
def score_entries(ends: Array, columns: Array, left: Array, right: Array, out: Array, start: int, stop: int) -> None:
    """out[e] = left[i] . right[columns[e]] for the entries e of rows i in start..stop. Plain twin: an einsum."""
    for i in range(start, stop):
        for e in range(ends[i], ends[i + 1]):
            row, total = columns[e], np.float32(0.0)
            for d in range(left.shape[1]):
                total += left[i, d] * right[row, d]
            out[e] = total
