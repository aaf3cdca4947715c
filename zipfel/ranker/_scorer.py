"""Scores of given (document, label) pairs from sparse weights, without touching any other label."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]


@njit(cache=True, nogil=True)
def _find(ids: Array, start: int, stop: int, wanted: int) -> int:
    """The first place in start..stop of the rising ids that is not below `wanted`, or stop."""
    while start < stop:
        middle = (start + stop) // 2
        if ids[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


@njit(cache=True, nogil=True)
def score_pairs(
    first: int,
    last: int,
    x_ptr: Array,
    x_idx: Array,
    x_val: Array,
    labels: Array,
    w_ptr: Array,
    w_idx: Array,
    w_val: Array,
    bias: Array,
    dense: Array,
    out: Array,
) -> None:
    """out[i, c] = x_i . w_l + b_l for l = labels[i, c], documents first..last; -inf where labels is -1.

    dense: (n_features,) zeros, left as zeros. A document is spread out in it once, then each label's weights pass over
    it; where a label has far more weights than the document has words, the words are looked up in the label instead.
    """
    for i in range(first, last):
        a, b = x_ptr[i], x_ptr[i + 1]
        for j in range(a, b):
            dense[x_idx[j]] = x_val[j]
        for c in range(labels.shape[1]):
            label = labels[i, c]
            if label < 0:
                out[i, c] = -np.inf
                continue
            total = np.float32(0.0)
            s, e = w_ptr[label], w_ptr[label + 1]
            if e - s > 12 * (b - a):
                for j in range(a, b):
                    s = _find(w_idx, s, e, x_idx[j])
                    if s == e:
                        break
                    if w_idx[s] == x_idx[j]:
                        total += x_val[j] * w_val[s]
            else:
                for j in range(s, e):
                    total += dense[w_idx[j]] * w_val[j]
            out[i, c] = total + bias[label]
        for j in range(a, b):
            dense[x_idx[j]] = 0.0


@njit(cache=True, nogil=True)
def score_by_feature(
    first: int,
    last: int,
    x_ptr: Array,
    x_idx: Array,
    x_val: Array,
    labels: Array,
    f_ptr: Array,
    f_labels: Array,
    f_val: Array,
    bias: Array,
    sums: Array,
    out: Array,
) -> None:
    """The same from weights sorted by feature: a document's words bring their weights to all labels that have them.

    sums: (n_labels,) zeros, left as zeros. Less work than `score_pairs` where labels are few and have many weights.
    """
    for i in range(first, last):
        for j in range(x_ptr[i], x_ptr[i + 1]):
            for t in range(f_ptr[x_idx[j]], f_ptr[x_idx[j] + 1]):
                sums[f_labels[t]] += x_val[j] * f_val[t]
        for c in range(labels.shape[1]):
            label = labels[i, c]
            out[i, c] = sums[label] + bias[label] if label >= 0 else -np.inf
        sums[:] = 0.0
