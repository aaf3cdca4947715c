"""Scores of given (document, label) pairs from sparse weights, without touching any other label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

Array = npt.NDArray[Any]
_SHARE = 8
"""A feature that more than one in so many labels has a weight for is frequent."""
_AT_A_TIME = 1 << 20
"""Weights that are counted at a time: the counts are of another type."""
MANY = 12
"""Times as many weights as the document has words: above, the words are looked up in the label."""


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
    scale: Array,
    bias: Array,
    dense: Array,
    out: Array,
) -> None:
    """out[i, c] = scale_l x_i . w_l + b_l for l = labels[i, c], documents first..last; -inf where labels is -1.

    dense: (n_features,) zeros, left as zeros. A document is written into a dense buffer once, and each label's weights
    are multiplied with it. If a label has far more weights than the document has words, the words are looked up among
    the label's weights instead.
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
            if e - s > MANY * (b - a):
                for j in range(a, b):
                    s = _find(w_idx, s, e, x_idx[j])
                    if s == e:
                        break
                    if w_idx[s] == x_idx[j]:
                        total += x_val[j] * np.float32(w_val[s])
            else:
                for j in range(s, e):
                    total += dense[w_idx[j]] * np.float32(w_val[j])
            out[i, c] = total * scale[label] + bias[label]
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
    place: Array,
    table: Array,
    scale: Array,
    bias: Array,
    slots: Array,
    out: Array,
) -> None:
    """The same from weights sorted by feature, see `WeightsByFeature`. Weights of rare words are added to the
    candidates in the word's list. Weights of frequent words are looked up label by label.

    slots: (n_labels,) zeros, left as zeros. Less work than `score_pairs` where labels have many weights.
    """
    sums = np.empty(labels.shape[1], dtype=np.float32)
    words, values = np.empty(table.shape[1], dtype=np.int64), np.empty(table.shape[1], dtype=np.float32)
    for i in range(first, last):
        for c in range(labels.shape[1]):
            sums[c] = 0.0
            if labels[i, c] >= 0 and slots[labels[i, c]] == 0:
                slots[labels[i, c]] = c + 1
        n_words = 0
        for j in range(x_ptr[i], x_ptr[i + 1]):
            feature, value = x_idx[j], x_val[j]
            if place[feature] >= 0:
                words[n_words], values[n_words] = place[feature], value
                n_words += 1
                continue
            for t in range(f_ptr[feature], f_ptr[feature + 1]):
                slot = slots[f_labels[t]]
                if slot > 0:
                    sums[slot - 1] += value * np.float32(f_val[t])
        for c in range(labels.shape[1]):
            label = labels[i, c]
            if label < 0:
                out[i, c] = -np.inf
                continue
            weights, total = table[label], np.float32(0.0)
            for t in range(n_words):
                total += values[t] * np.float32(weights[words[t]])
            out[i, c] = (total + sums[slots[label] - 1]) * scale[label] + bias[label]
        for c in range(labels.shape[1]):
            if labels[i, c] >= 0:
                slots[labels[i, c]] = 0


def feature_counts(features: Array, n_features: int) -> npt.NDArray[np.int64]:
    """(n_features,) how often each occurs among `features`, of which there may be a billion."""
    counts = np.zeros(n_features, dtype=np.int64)
    for a in range(0, len(features), _AT_A_TIME):
        counts += np.bincount(features[a : a + _AT_A_TIME], minlength=n_features)
    return counts


@njit(cache=True, nogil=True)
def _sort_by_feature(
    w_ptr: Array, w_idx: Array, w_val: Array, place: Array, free: Array, labels: Array, values: Array, table: Array
) -> None:
    """Writes each weight into the table, or into its feature's list (labels, values). free: (n_features,) the next free
    place of each list. Plain twin: tocsc() of the weights."""
    for label in range(len(w_ptr) - 1):
        for t in range(w_ptr[label], w_ptr[label + 1]):
            feature = w_idx[t]
            if place[feature] >= 0:
                table[label, place[feature]] = w_val[t]
            else:
                labels[free[feature]], values[free[feature]] = label, w_val[t]
                free[feature] += 1


@dataclass(frozen=True)
class WeightsByFeature:
    """Weights sorted by feature. Features with a weight in an eighth of the labels or more have a dense table. Each
    other feature has a list of its labels. Nine tenths of the work of scoring is in frequent features."""

    lists: tuple[Array, Array, Array]  # CSC of the rare features' weights, in units of the label's scale
    place: Array  # (n_features,) column of the table, -1 where a feature is rare
    table: Array  # (n_labels, n_frequent), in units of the label's scale
    scale: Array  # (n_labels,)

    @classmethod
    def build(cls, weights: sp.csr_matrix, scale: Array) -> WeightsByFeature:
        """weights: (n_labels, n_features), in units of the label's scale, int8 or float32."""
        counts = feature_counts(weights.indices, weights.shape[1])
        frequent = cls.are_frequent(counts, len(scale))
        place = np.where(frequent, np.cumsum(frequent) - 1, -1)
        table = np.zeros((len(scale), int(frequent.sum())), dtype=weights.dtype)
        indptr = np.append(0, np.cumsum(np.where(frequent, 0, counts)))
        labels, values = np.empty(indptr[-1], dtype=np.uint32), np.empty(indptr[-1], dtype=weights.dtype)
        ends, features = weights.indptr.astype(np.int64, copy=False), weights.indices.astype(np.int32, copy=False)
        _sort_by_feature(ends, features, weights.data, place, indptr[:-1].copy(), labels, values, table)
        return cls((indptr, labels, values), place, table, scale)

    @property
    def arrays(self) -> tuple[Array, ...]:
        return *self.lists, self.place, self.table, self.scale

    @staticmethod
    def are_frequent(counts: Array, n_labels: int) -> npt.NDArray[np.bool_]:
        """counts: (n_features,) labels that have a weight for each."""
        found: npt.NDArray[np.bool_] = counts * _SHARE > n_labels
        return found
