"""How good a ranking is: P, nDCG, R, RP, F1, PSP, PSnDCG, coverage at k, as a whole and per bucket of labels.

For a row with true labels y and predicted labels r_1, r_2, ... (gain_i = 1 where r_i is in y, else 0):

    P@k       sum_{i<=k} gain_i / k                                      mean over rows; k stays k in short rows
    R@k       sum_{i<=k} gain_i / |y|                                    mean over rows
    nDCG@k    sum_{i<=k} gain_i / log2(i+1) / that of a perfect row      mean over rows; perfect: min(k, |y|) hits
    PSP@k     sum_{i<=k} gain_i / p_i against that of a perfect row      sum over rows / sum over rows
    PSnDCG@k  sum_{i<=k} gain_i / (p_i log2(i+1)), each row divided by
              sum_{i<=min(k,|y|)} 1 / log2(i+1), against a perfect row   sum over rows / sum over rows
    RP@k      sum_{i<=k} gain_i / min(k, |y|)                            mean over rows; not per bucket
    F1@k      2 sum_{i<=k} gain_i / (min(k, labels of the row) + |y|)    mean over rows; not per bucket
    micro-F1@k  2 tp / (2 tp + fp + fn) over all rows; the first k of a row are predicted; not per bucket
    coverage@k  share of the labels that are true anywhere which are hit anywhere
    macro-F1@k  mean of 2 tp / (2 tp + fp + fn) over the labels that are true or predicted anywhere; the first k of a
                row are predicted

F1@k and nDCG@k are Annif's F1@k and NDCG@k: with -k 5,10,20 they compare with what `annif eval` prints.

A row without true labels counts 0, or is left out with `skip_empty`. Truth is whatever is stored and not zero.

Metrics per bucket, such as "P@1[tail]", count only the bucket's labels as true (head: more than 100 training points,
tail: at most 5, torso: between; see `data.buckets`). The ranking is the same: a hit keeps its rank in the whole
ranking. P@k[b] is still divided by k and by all rows, so that the buckets add up to P@k: how much of it each bucket
brings. R@k[b] and nDCG@k[b] are means over the rows that have a true label in the bucket: the others could only say 0.
PSP, PSnDCG, coverage and macro-F1 are as above, on the bucket's labels. A bucket without true labels scores 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data import BUCKETS, binary
from zipfel.data import buckets as bucket_of
from zipfel.errors import DataError, ParameterError
from zipfel.metrics.propensity import Propensity
from zipfel.ranking import PAD, Ranking

Array = npt.NDArray[Any]


def evaluate(
    ranking: Ranking,
    truth: sp.csr_matrix,
    train_counts: npt.NDArray[np.integer] | None = None,
    n_train: int | None = None,
    *,
    ks: Sequence[int] = (1, 3, 5),
    skip_empty: bool = False,
    buckets: bool = True,
    propensity: Propensity | None = None,
) -> dict[str, float]:
    """{"P@1": 0.62, ..., "P@1[tail]": 0.01, ...}, values from 0 to 1; docs/metrics.md has the formulas.

    ranking: labels of n documents. truth: (n, n_labels); labels that were not trained on may stand behind the others.
    train_counts, n_train: training documents with each label, and in all. Without them, metrics that need propensities
    or buckets are left out.
    ks: the k of "P@k" and so on. skip_empty: leave documents without true labels out. buckets: whether head, torso and
    tail get metrics of their own. propensity: its constants, see `Propensity.of`.

    >>> ranking = Ranking(np.array([[0], [1]]), np.array([[0.9], [0.4]], dtype=np.float32))
    >>> evaluate(ranking, sp.csr_matrix(np.array([[1, 0], [1, 0]])), ks=(1,))["P@1"]
    0.5
    """
    _check(ks, train_counts, n_train)
    if truth.shape[0] != len(ranking):
        raise DataError(f"the truth has {truth.shape[0]} rows, but {len(ranking)} were predicted")
    truth = binary(truth)
    if skip_empty:
        kept = np.diff(truth.indptr) > 0
        ranking, truth = ranking[kept], truth[kept]
    outcome = _Outcome.of(ranking.top(max(ks)), truth, train_counts)
    weigh = None if n_train is None else (propensity or Propensity()).table(outcome.n_seen.max(initial=0), n_train)
    scores: dict[str, float] = {}
    for bucket in (None, *range(len(BUCKETS))) if buckets and weigh is not None else (None,):
        found = outcome if bucket is None else outcome.of_bucket(bucket)
        name = "" if bucket is None else f"[{BUCKETS[bucket]}]"
        for k in ks:
            scores |= {f"{metric}@{k}{name}": value for metric, value in _row_scores(found, k, weigh).items()}
            if bucket is None:
                scores |= {f"{metric}@{k}": value for metric, value in _set_scores(found, k).items()}
            scores |= {f"{metric}@{k}{name}": value for metric, value in _label_scores(found, k).items()}
    return scores


def _check(ks: Sequence[int], train_counts: Array | None, n_train: int | None) -> None:
    if not ks or any(k < 1 for k in ks):
        raise ParameterError(f"k must be 1 or more, got {tuple(ks)}")
    if (train_counts is None) != (n_train is None):
        raise ParameterError("train_counts and n_train come together: give both or neither")
    if train_counts is not None and np.min(train_counts, initial=0) < 0:
        raise ParameterError("train_counts must not be negative")


@dataclass(frozen=True)
class _Outcome:
    """What was predicted and what is true; every metric is sums over it.

    predicted: (n, k) ids into `n_seen`, -1 pads. hits: (n, k) whether they are true.
    rows: (nnz,) row of each true label, ascending. rarity: (nnz,) its training points, within a row ascending.
    n_seen: (c,) training points of each label that is true or predicted anywhere. n_true: (c,) rows where it is true.
    every_row: whether rows without true labels are counted.
    """

    predicted: Array
    hits: Array
    rows: Array
    rarity: Array
    n_seen: Array
    n_true: Array
    every_row: bool = True

    @classmethod
    def of(cls, ranking: Ranking, truth: sp.csr_matrix, train_counts: Array | None) -> _Outcome:
        counts = np.zeros(0, dtype=np.int64) if train_counts is None else np.asarray(train_counts, dtype=np.int64)
        n, width = truth.shape[0], max(truth.shape[1], len(counts), int(ranking.labels.max(initial=0)) + 1)
        met = np.zeros(width + 1, dtype=bool)  # the last one is the pads'
        met[truth.indices] = met[ranking.labels] = True
        met[PAD] = False
        short = np.cumsum(met) - 1  # label id -> id among those that were met
        short[PAD] = PAD
        predicted, labels = short[ranking.labels], short[truth.indices]
        n_seen = np.pad(counts, (0, width - len(counts)))[np.flatnonzero(met)]
        rows = np.repeat(np.arange(n), np.diff(truth.indptr))
        most = int(n_seen.max(initial=0)) + 1
        rarity = np.sort(rows * most + n_seen[labels]) - rows * most  # one number for both sorts rows as they are
        n_true = np.bincount(labels, minlength=len(n_seen))
        return cls(predicted, _members(predicted, rows, labels, len(n_seen)), rows, rarity, n_seen, n_true)

    def of_bucket(self, bucket: int) -> _Outcome:
        """The same ranking, where only labels of the bucket are true, and only they are looked at."""
        inside = np.append(bucket_of(self.n_seen) == bucket, False)  # the last one is the pads'
        true = bucket_of(self.rarity) == bucket
        mine = inside[self.predicted]
        predicted = np.where(mine, self.predicted, PAD)
        n_true = np.where(inside[:-1], self.n_true, 0)
        return _Outcome(predicted, self.hits & mine, self.rows[true], self.rarity[true], self.n_seen, n_true, False)


def _members(predicted: Array, rows: Array, labels: Array, n_labels: int) -> Array:
    """(n, k): whether a predicted label is among the true labels of its row; rows and labels ascend."""
    if not len(rows):
        return np.zeros(predicted.shape, dtype=bool)
    true = rows * n_labels + labels
    asked = np.arange(len(predicted))[:, None] * n_labels + predicted
    found = true[np.minimum(np.searchsorted(true, asked), len(true) - 1)]
    return np.asarray((found == asked) & (predicted != PAD))


def _row_scores(outcome: _Outcome, k: int, weigh: Array | None) -> dict[str, float]:
    """What is summed over rows: P, nDCG, R, and with `weigh`, 1 / p by training points, PSP and PSnDCG."""
    hits = outcome.hits[:, :k]  # (n, k), or narrower where the ranking is
    n_points = len(hits)
    discounts = 1 / np.log2(np.arange(2, k + 2))  # of the ranks 1 to k
    n_true = np.bincount(outcome.rows, minlength=n_points)  # (n,)
    n_rows = n_points if outcome.every_row else int((n_true > 0).sum())
    ideal = np.concatenate([[1.0], np.cumsum(discounts)])[np.minimum(n_true, k)]  # (n,), 1 where nothing is true
    at = np.nonzero(hits)
    gain = discounts[at[1]] / ideal[at[0]]
    scores = {
        "P": _ratio(len(gain), k * n_points),
        "nDCG": _ratio(gain.sum(), n_rows),
        "R": _ratio((1 / n_true[at[0]]).sum(), n_rows),
    }
    if weigh is not None:
        place = np.arange(len(outcome.rows)) - (np.cumsum(n_true) - n_true)[outcome.rows]  # in the perfect row
        reached = place < k
        worth, best = weigh[outcome.n_seen[outcome.predicted[at[0], at[1]]]], weigh[outcome.rarity[reached]]
        perfect = best * discounts[place[reached]] / ideal[outcome.rows[reached]]
        scores |= {"PSP": _ratio(worth.sum(), best.sum()), "PSnDCG": _ratio((worth * gain).sum(), perfect.sum())}
    return scores


def _set_scores(outcome: _Outcome, k: int) -> dict[str, float]:
    """What compares the first k labels of a row, as a set, with the true ones: RP, F1 and micro-F1."""
    hits, n_points = outcome.hits[:, :k].sum(axis=1), len(outcome.hits)
    n_true = np.bincount(outcome.rows, minlength=n_points)
    both = (outcome.predicted[:, :k] != PAD).sum(axis=1) + n_true
    return {
        "RP": _ratio((hits / np.maximum(np.minimum(n_true, k), 1)).sum(), n_points),
        "F1": _ratio((2 * hits / np.maximum(both, 1)).sum(), n_points),
        "micro-F1": _ratio(2 * hits.sum(), both.sum()),
    }


def _label_scores(outcome: _Outcome, k: int) -> dict[str, float]:
    """What is summed over labels: coverage and macro-F1."""
    predicted, n_labels = outcome.predicted[:, :k], len(outcome.n_seen)
    n_predicted = np.bincount(predicted[predicted != PAD], minlength=n_labels)
    n_hits = np.bincount(predicted[outcome.hits[:, :k]], minlength=n_labels)
    both = n_predicted + outcome.n_true  # 2 tp + fp + fn
    f1 = 2 * n_hits / np.maximum(both, 1)
    return {
        "coverage": _ratio(np.count_nonzero(n_hits), np.count_nonzero(outcome.n_true)),
        "macro-F1": _ratio(f1.sum(), np.count_nonzero(both)),
    }


def _ratio(above: float | np.integer, below: float | np.integer) -> float:
    return float(above / below) if below > 0 else 0.0
