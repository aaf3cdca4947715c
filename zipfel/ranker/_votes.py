"""Neighbours' votes under several weightings at once, for the labels with most of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]


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
    of equal ones the label that was met first.
    """
    n_kinds, width = weights.shape[2], labels.shape[1]
    sums = np.zeros((n_labels, n_kinds), dtype=np.float32)
    place = np.full(n_labels, -1, dtype=np.int32)
    met = np.empty(n_labels, dtype=np.int32)
    for i in range(first, last):
        n_met = 0
        for j in range(neighbours.shape[1]):
            point = neighbours[i, j]
            if point < 0:
                continue
            for t in range(y_ptr[point], y_ptr[point + 1]):
                label = y_idx[t]
                if place[label] < 0:
                    place[label] = n_met
                    met[n_met] = label
                    n_met += 1
                for s in range(n_kinds):
                    sums[label, s] += weights[i, j, s]
        totals = np.empty(n_met, dtype=np.float32)
        for t in range(n_met):
            totals[t] = -sums[met[t]].sum()
        order = np.argsort(totals, kind="mergesort")
        for c in range(min(width, n_met)):
            labels[i, c] = met[order[c]]
            votes[i, c] = sums[met[order[c]]]
        for t in range(n_met):
            place[met[t]] = -1
            sums[met[t]] = 0.0
