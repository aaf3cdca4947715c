"""Block-coordinate ascent on the expected metric of a whole file: the loop over documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]
MICRO, MACRO, COVERAGE = 0, 1, 2


@njit(cache=True, nogil=True)
def ascend(labels: Array, eta: Array, order: Array, k: int, metric: int, n_labels: int, rounds: int) -> Array:
    """(n, c) bool: which candidates each document gets, k at most and one at least.

    labels, eta: (n, c) candidates, -1 pads, and their probabilities; order: of the documents. For each label the ascent
    keeps its expected hits, how often it is given, and how often it is expected to be true. For coverage it keeps the
    probability that the label is wrong in all documents that got it."""
    n, c = labels.shape
    given = np.zeros((n, c), dtype=np.bool_)
    hits, times, true = np.zeros(n_labels), np.zeros(n_labels), np.zeros(n_labels)
    missed = np.ones(n_labels)
    all_hits, all_times, all_true = 0.0, 0.0, 0.0
    for i in range(n):
        for j in range(c):
            if labels[i, j] >= 0:
                true[labels[i, j]] += eta[i, j]
                all_true += eta[i, j]
    gains = np.zeros(c)
    for _ in range(rounds):
        changed = 0
        for i in order:
            before = given[i].copy()
            for j in range(c):
                if before[j]:
                    all_hits, all_times = all_hits - eta[i, j], all_times - 1
                    _count(labels[i, j], eta[i, j], -1, hits, times, missed)
            for j in range(c):
                gains[j] = -np.inf
                if labels[i, j] >= 0:
                    if metric == MACRO:
                        gains[j] = _f1_gain(hits[labels[i, j]], times[labels[i, j]], true[labels[i, j]], eta[i, j])
                    elif metric == COVERAGE:
                        gains[j] = missed[labels[i, j]] * eta[i, j]
                    else:
                        gains[j] = eta[i, j]
            best = np.argsort(-gains, kind="mergesort")
            given[i, :] = False
            for place in range(min(k, c)):
                j = best[place]
                gain = gains[j]
                if metric == MICRO and gain > -np.inf:
                    gain = _f1_gain(all_hits, all_times, all_true, eta[i, j])
                if gain == -np.inf or (place > 0 and gain <= 0):
                    break
                given[i, j] = True
                all_hits, all_times = all_hits + eta[i, j], all_times + 1
                _count(labels[i, j], eta[i, j], 1, hits, times, missed)
            for j in range(c):
                changed += before[j] != given[i, j]
        if changed == 0:
            break
    return given


@njit(cache=True, nogil=True)
def _f1_gain(hits: float, times: float, true: float, eta: float) -> float:
    """By how much 2 hits / (given + true) grows with one more label, of probability eta."""
    now = 2 * hits / (times + true) if times + true > 0 else 0.0
    return 2 * (hits + eta) / (times + 1 + true) - now


@njit(cache=True, nogil=True)
def _count(label: int, eta: float, sign: int, hits: Array, times: Array, missed: Array) -> None:
    hits[label] += sign * eta
    times[label] += sign
    rest = max(1 - eta, 1e-9)
    missed[label] *= rest if sign > 0 else 1 / rest
