"""Dual coordinate descent for many small linear problems, each on the few documents that matter to its label.

Hsieh et al., "A dual coordinate descent method for large-scale linear SVM" (ICML 2008), with its shrinking, and
Yu, Huang and Lin, "Dual coordinate descent methods for logistic regression" (Machine Learning 2011).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from zipfel.kernels.prefetch import LINE, prefetch

Array = npt.NDArray[Any]
_SHRINK = 0.3
"""Documents are left out whose gradient is above this share of the largest one that still pulls."""
_CLEAR = 0.2
"""And those whose gradient is above this, whatever the others': their margin is clear."""
_LITTLE = 0.02
"""A pass is the last that gains less than this, times tolerance / C, of what all passes have gained. Head labels have
always one document that violates the optimum, and dozens of passes for it change nothing."""
_NEAR, _FAR, _MOST = 4, 8, 256
"""How many visits ahead a row is announced, and where it is; values of a row that are."""


@njit(cache=True, nogil=True)
def next_draw(state: int) -> int:
    """xorshift64*: a generator of its own for every label, so that threads do not change the result."""
    x = np.uint64(state)
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    drawn: int = x
    return drawn


@njit(cache=True, nogil=True)
def _dot(w: Array, indices: Array, values: Array, a: int, b: int) -> float:
    """One by one: with fastmath the compiler gathers eight at a time, which takes twice as long."""
    total = np.float32(0.0)
    for j in range(a, b):
        total += w[indices[j]] * values[j]
    dot: float = total
    return dot


@njit(cache=True, nogil=True)
def _add(w: Array, indices: Array, values: Array, a: int, b: int, step: float) -> None:
    for j in range(a, b):
        w[indices[j]] += step * values[j]


@njit(cache=True, nogil=True)
def _announce(docs: Array, order: Array, t: int, size: int, x_ptr: Array, x_idx: Array, x_val: Array) -> None:
    """Documents that will be visited soon after the t-th: where the rows of one are, and the row of a nearer one."""
    if t + _FAR < size:
        prefetch(x_ptr, docs[order[t + _FAR]])
    if t + _NEAR < size:
        doc = docs[order[t + _NEAR]]
        a, b = x_ptr[doc], x_ptr[doc + 1]
        for j in range(a, min(b, a + _MOST), LINE):
            prefetch(x_idx, j)
            prefetch(x_val, j)


@njit(cache=True, nogil=True)
def _logistic_step(alpha: float, margin: float, square: float, cost: float) -> float:
    """Change of one dual variable of logistic loss: a few Newton steps on its one-dimensional problem in (0, cost)."""
    z = alpha if alpha > 0 else cost / (1.0 + math.exp(min(max(margin, -30.0), 30.0)))  # from zero Newton would crawl
    z = min(max(z, 1e-8 * cost), cost * (1 - 1e-8))
    for _ in range(5):
        gradient = margin + square * (z - alpha) + math.log(z / (cost - z))
        if abs(gradient) < 1e-3:
            break
        step = gradient / (square + cost / (z * (cost - z)))
        z = min(max(z - step, z * 0.1), cost - (cost - z) * 0.1)
    return z - alpha


@njit(cache=True, nogil=True)
def _shuffle(order: Array, size: int, state: int) -> int:
    """The first `size` of them, in place; returns the generator's new state."""
    for t in range(size):
        state = next_draw(state)
        u = t + np.int64(state % np.uint64(size - t))
        order[t], order[u] = order[u], order[t]
    return state


@njit(cache=True, nogil=True)
def _warm_start(
    w: Array, docs: Array, n_positive: int, alpha: Array, x_ptr: Array, x_idx: Array, x_val: Array
) -> float:
    """Adds to `w` what the dual variables stand for; returns what they add to the bias."""
    bias = np.float32(0.0)
    for i in range(len(docs)):
        if alpha[i] > 0:
            step = np.float32(alpha[i] if i < n_positive else -alpha[i])
            _add(w, x_idx, x_val, x_ptr[docs[i]], x_ptr[docs[i] + 1], step)
            bias += step
    found: float = bias
    return found


@njit(cache=True, nogil=True)
def solve_one(
    w: Array,
    bias: float,
    docs: Array,
    n_positive: int,
    alpha: Array,
    x_ptr: Array,
    x_idx: Array,
    x_val: Array,
    square: Array,
    costs: Array,
    logistic: bool,
    tolerance: float,
    max_iterations: int,
    seed: int,
) -> float:
    """One label's problem, from `w`, `bias` and what `alpha` adds on: changes `w` and `alpha`, returns the bias.

    docs: its documents, the first n_positive of them positive. costs: (2,) C of negatives and of positives.
    """
    n = len(docs)
    bias = np.float32(bias) + _warm_start(w, docs, n_positive, alpha, x_ptr, x_idx, x_val)
    order, little = np.arange(n), min(_LITTLE * tolerance / costs[0], 0.1)
    total = alpha.sum()  # gains: twice what the dual objective rises by
    active, limit = n, _CLEAR if total > 0 else np.inf
    state = np.uint64(seed * 2 + 1)
    for _ in range(max_iterations):
        largest, smallest, gain = -np.inf, np.inf, 0.0
        state = _shuffle(order, active, state)
        t = np.int64(0)
        while t < active:
            _announce(docs, order, t, active, x_ptr, x_idx, x_val)
            i = order[t]
            doc = docs[i]
            sign = np.float32(1.0 if i < n_positive else -1.0)
            cost = costs[1] if i < n_positive else costs[0]
            a, b = x_ptr[doc], x_ptr[doc + 1]
            margin = sign * (_dot(w, x_idx, x_val, a, b) + bias)
            if logistic:
                change = _logistic_step(alpha[i], margin, square[doc], cost)
                projected = change * square[doc]
            else:
                ridge = 0.5 / cost
                gradient = margin - 1.0 + ridge * alpha[i]
                projected = gradient
                if alpha[i] == 0.0:
                    if gradient > limit:  # far on the right side: leave it out until the end
                        active -= 1
                        order[t], order[active] = order[active], order[t]
                        continue
                    projected = min(gradient, 0.0)
                change = max(alpha[i] - gradient / (square[doc] + ridge), 0.0) - alpha[i]
            largest, smallest = max(largest, projected), min(smallest, projected)
            if abs(change) > 1e-7:
                alpha[i] += change
                gain += change * change * (square[doc] + 0.5 / cost)
                _add(w, x_idx, x_val, a, b, sign * np.float32(change))
                bias += sign * np.float32(change)
            t += 1
        total += gain
        if not logistic and gain <= little * total:
            break
        if largest - smallest <= tolerance:
            if active == n:
                break
            active, limit = n, np.inf
            continue
        limit = min(_SHRINK * largest, _CLEAR) if largest > 0 else np.inf
    found: float = bias
    return found


@njit(cache=True, nogil=True)
def _take_weights(
    w: Array, docs: Array, alpha: Array, x_ptr: Array, x_idx: Array, threshold: float, features: Array, weights: Array
) -> int:
    """Moves what stands above the threshold in `w` to (features, weights), and leaves `w` zero.

    Only support vectors can have left a weight; the others may have left rounding dust, which is wiped.
    """
    found = 0
    for i in range(len(docs)):
        if alpha[i] > 0:
            for j in range(x_ptr[docs[i]], x_ptr[docs[i] + 1]):
                value = w[x_idx[j]]
                w[x_idx[j]] = 0.0
                if abs(value) > threshold:
                    features[found] = x_idx[j]
                    weights[found] = value
                    found += 1
    if 16 * len(docs) > len(w):
        for feature in range(len(w)):
            w[feature] = 0.0
    else:
        for i in range(len(docs)):
            for j in range(x_ptr[docs[i]], x_ptr[docs[i] + 1]):
                w[x_idx[j]] = 0.0
    return found


@njit(cache=True, nogil=True)
def solve_labels(
    first: int,
    last: int,
    ptr: Array,
    docs: Array,
    n_positive: Array,
    alpha: Array,
    x_ptr: Array,
    x_idx: Array,
    x_val: Array,
    square: Array,
    n_features: int,
    costs: Array,
    logistic: bool,
    tolerance: float,
    max_iterations: int,
    threshold: float,
    seed: int,
) -> tuple[Array, Array, Array, Array]:
    """Labels first..last: (weights a label, features, weights, biases), the CSR rows of that block, columns unsorted.

    ptr, docs: documents of each label's problem, its n_positive positives first; alpha: their dual variables, in and
    out. square: |x|^2 + 1 a document (the bias is a feature of value 1).
    """
    w = np.zeros(n_features, dtype=np.float32)
    features, weights = np.empty(n_features, dtype=np.int32), np.empty(n_features, dtype=np.float32)
    counts, biases = np.zeros(last - first, dtype=np.int64), np.zeros(last - first, dtype=np.float32)
    all_features, all_weights = np.empty(1024, dtype=np.int32), np.empty(1024, dtype=np.float32)
    filled = 0
    for label in range(first, last):
        a, b = ptr[label], ptr[label + 1]
        if n_positive[label] == 0:
            continue
        biases[label - first] = solve_one(
            w, 0.0, docs[a:b], n_positive[label], alpha[a:b], x_ptr, x_idx, x_val, square,
            costs, logistic, tolerance, max_iterations, seed + label,
        )  # fmt: skip
        found = _take_weights(w, docs[a:b], alpha[a:b], x_ptr, x_idx, threshold, features, weights)
        if filled + found > len(all_features):
            room = max(2 * len(all_features), filled + found)
            wider_features, wider_weights = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.float32)
            for t in range(filled):
                wider_features[t], wider_weights[t] = all_features[t], all_weights[t]
            all_features, all_weights = wider_features, wider_weights
        for t in range(found):
            all_features[filled + t], all_weights[filled + t] = features[t], weights[t]
        counts[label - first] = found
        filled += found
    return counts, all_features[:filled], all_weights[:filled], biases
