"""Neighbours' votes under several weightings at once, for the labels with most of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.kernels.sparse_rows import row_ends
from zipfel.kernels.topk import sink, sort_heap
from zipfel.system.threads import over_blocks

Array = npt.NDArray[Any]
FAINT = 1e-3
"""Votes, and scores between 0 and 1, are evidence as log(v + 0.001): below this they count as none."""


@njit(cache=True, nogil=True)
def _best_first(sums: Array, met: Array, n_met: int, heap: Array, names: Array) -> None:
    """The met labels with the largest sums (n_met, s), into names (c,), best first, -1 pads; heap (c,) is scratch."""
    width = len(names)
    for c in range(width):
        heap[c], names[c] = -np.inf, -1
    for t in range(n_met):
        label, total = met[t], np.float32(0.0)
        for s in range(sums.shape[1]):
            total += sums[t, s]
        if total > heap[0] or (total == heap[0] and label < names[0]):
            heap[0], names[0] = total, label
            sink(heap, names, 0, width)
    sort_heap(heap, names)


@njit(cache=True, nogil=True)
def _slot_of(table: Array, met: Array, label: int) -> int:
    """Where the label is in the table of places in `met`, or the free slot that it may take."""
    last = len(table) - 1
    slot = (label * 0x9E3779B1 >> 7) & last  # Knuth's factor: neighbouring numbers are spread out
    while table[slot] >= 0 and met[table[slot]] != label:
        slot = (slot + 1) & last
    return slot


@njit(cache=True, nogil=True)
def _most_votes(first: int, last: int, neighbours: Array, y_ptr: Array) -> int:
    """The most labels that the neighbours of one of the rows have together."""
    most = 1
    for i in range(first, last):
        total = 0
        for point in neighbours[i]:
            if point >= 0:
                total += y_ptr[point + 1] - y_ptr[point]
        most = max(most, total)
    return most


@njit(cache=True, nogil=True)
def vote_labels(
    first: int,
    last: int,
    neighbours: Array,
    weights: Array,
    y_ptr: Array,
    y_idx: Array,
    n_labels: int,
    labels: Array,
    votes: Array,
) -> None:
    """Rows first..last of labels (n, c), best first, -1 pads, and of their votes (n, c, s).

    neighbours: (n, m) rows of Y, -1 where there are fewer; weights: (n, m, s). The order is by the sum of all s votes,
    of equal ones the lowest label. A heap, not a sort: numba takes seconds to compile argsort. Labels are met in a
    small hash table: arrays of all labels would not stay in the processor's cache.
    """
    n_kinds, width = weights.shape[2], labels.shape[1]
    most = min(_most_votes(first, last, neighbours, y_ptr), n_labels)
    size = 2
    while size < 2 * most:
        size *= 2
    table = np.full(size, -1, dtype=np.int32)  # places in `met`
    sums = np.empty((most, n_kinds), dtype=np.float32)
    met = np.empty(most, dtype=np.int32)
    heap = np.empty(width, dtype=np.float32)
    for i in range(first, last):
        n_met = np.int64(0)  # a plain 0 would be a type of its own, and `_best_first` compiled twice
        for j in range(neighbours.shape[1]):
            point = neighbours[i, j]
            if point < 0:
                continue
            for t in range(y_ptr[point], y_ptr[point + 1]):
                label = y_idx[t]
                slot = _slot_of(table, met, label)
                if table[slot] < 0:
                    table[slot] = n_met
                    met[n_met] = label
                    for s in range(n_kinds):
                        sums[n_met, s] = 0.0
                    n_met += 1
                for s in range(n_kinds):
                    sums[table[slot], s] += weights[i, j, s]
        _best_first(sums, met, n_met, heap, labels[i])
        for c in range(min(width, n_met)):
            place = table[_slot_of(table, met, labels[i, c])]
            for s in range(n_kinds):
                votes[i, c, s] = sums[place, s]
        table[:] = -1


def cast_votes(
    neighbours: Array, weights: Array, Y: sp.csr_matrix, width: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """(n, width) labels, most votes first, -1 pads, and their votes (n, width, s).

    neighbours: (n, m) rows of Y, -1 where there are fewer; weights: (n, m, s), what a neighbour's vote counts.
    """
    labels = np.full((len(neighbours), width), -1, dtype=np.int64)
    votes = np.zeros((len(neighbours), width, weights.shape[2]), dtype=np.float32)
    ids, counts = np.ascontiguousarray(neighbours, dtype=np.int64), np.ascontiguousarray(weights, dtype=np.float32)
    rows = row_ends(Y), Y.indices.astype(np.int32, copy=False), int(Y.shape[1])
    over_blocks(lambda a, b: vote_labels(a, b, ids, counts, *rows, labels, votes), len(ids))
    return labels, votes


@njit(cache=True, nogil=True)
def fill_up(labels: Array, others: Array) -> None:
    """Fills the free places (-1) at the end of each row of labels (n, c) with `others` (t,), in order. Labels that the
    row already has are skipped. Rows without any label stay empty."""
    width = labels.shape[1]
    for i in range(len(labels)):
        n_found = 0
        while n_found < width and labels[i, n_found] >= 0:
            n_found += 1
        n_before = n_found
        for t in range(len(others) if n_before else 0):
            if n_found == width:
                break
            is_there = False
            for c in range(n_before):
                is_there |= labels[i, c] == others[t]
            if not is_there:
                labels[i, n_found] = others[t]
                n_found += 1


@njit(cache=True, nogil=True)
def _weigh(similar: Array, sharpness: Array, weights: Array, start: int, stop: int) -> None:
    """Rows start..stop of `vote_weights`."""
    n_voters = similar.shape[1]
    for i in range(start, stop):
        best = np.float32(-np.inf)
        for j in range(n_voters):
            best = similar[i, j] if similar[i, j] > best else best
        for s in range(len(sharpness)):
            total = np.float32(0.0)
            for j in range(n_voters):
                there = similar[i, j] > -np.inf
                weights[i, j, s] = np.exp(sharpness[s] * (similar[i, j] - best)) if there else np.float32(0.0)
                total += weights[i, j, s]
            if total > 0:
                for j in range(n_voters):
                    weights[i, j, s] /= total


def vote_weights(similar: npt.NDArray[np.float32], sharpness: Sequence[float]) -> npt.NDArray[np.float32]:
    """(n, m, s): what each neighbour's vote counts, by how similar (n, m) they are, under each sharpness.

    exp(t (similar - best)), 0 where there is none (-inf), as a share of the row's sum. Plain twin:
    `index.votes.sharpened`, scaled.
    """
    weights = np.empty((*similar.shape, len(sharpness)), dtype=np.float32)
    similar, sharp = np.ascontiguousarray(similar, dtype=np.float32), np.array(sharpness, dtype=np.float32)
    over_blocks(lambda a, b: _weigh(similar, sharp, weights, a, b), len(similar))
    return weights
