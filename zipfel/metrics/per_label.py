"""Precision, recall and F1 of each label, when the first k labels of every document are predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data import binary
from zipfel.errors import DataError
from zipfel.ranking import PAD, Ranking


@dataclass(frozen=True)
class LabelScores:
    """Arrays over all labels, (n_labels,) each.

    support: documents that have the label. predicted: documents that got it. hits: documents that have it and got it.
    """

    support: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    hits: npt.NDArray[np.int64]

    @property
    def precision(self) -> npt.NDArray[np.float64]:
        """hits / predicted; 0 where the label was never predicted."""
        return self.hits / np.maximum(self.predicted, 1)

    @property
    def recall(self) -> npt.NDArray[np.float64]:
        """hits / support; 0 where no document has the label."""
        return self.hits / np.maximum(self.support, 1)

    @property
    def f1(self) -> npt.NDArray[np.float64]:
        """2 hits / (predicted + support); 0 where the label is neither true nor predicted."""
        return np.asarray(2 * self.hits / np.maximum(self.predicted + self.support, 1))

    @property
    def missed(self) -> npt.NDArray[np.int64]:
        """Documents that have the label and did not get it."""
        return self.support - self.hits

    @property
    def wrong(self) -> npt.NDArray[np.int64]:
        """Documents that got the label and do not have it."""
        return self.predicted - self.hits


def label_scores(ranking: Ranking, truth: sp.csr_matrix, k: int = 5) -> LabelScores:
    """Scores of each label when the first k labels of every document are predicted.

    truth: (n, n_labels); labels that were never trained may stand behind the model's.

    >>> import numpy as np, scipy.sparse as sp
    >>> ranking = Ranking(np.array([[0, 1], [1, 0]]), np.array([[0.9, 0.8], [0.7, 0.1]], dtype=np.float32))
    >>> found = label_scores(ranking, sp.csr_matrix(np.array([[1, 0], [0, 1]])), k=2)
    >>> found.precision.tolist(), found.recall.tolist()
    ([0.5, 0.5], [1.0, 1.0])
    """
    if truth.shape[0] != len(ranking):
        raise DataError(f"the truth has {truth.shape[0]} rows, but {len(ranking)} were predicted")
    truth = binary(truth)
    given = ranking.top(k)
    width = max(int(truth.shape[1]), int(given.labels.max(initial=-1)) + 1)
    hit = is_hit(given.labels, truth)
    known = given.labels != PAD

    def count(ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        return np.bincount(ids, minlength=width).astype(np.int64)

    return LabelScores(count(truth.indices), count(given.labels[known]), count(given.labels[hit]))


def is_hit(labels: npt.NDArray[Any], truth: sp.csr_matrix) -> npt.NDArray[np.bool_]:
    """(n, k): whether each predicted label of (n, k) ids is true; -1 is not. Cost follows n k + nnz."""
    n, width = truth.shape[0], max(int(truth.shape[1]), int(labels.max(initial=-1)) + 1)
    rows = np.repeat(np.arange(n), np.diff(truth.indptr))
    true = np.sort(rows * width + truth.indices)
    asked = np.arange(n)[:, None] * width + labels
    if not len(true):
        return np.zeros(labels.shape, dtype=bool)
    found = true[np.minimum(np.searchsorted(true, asked), len(true) - 1)] == asked
    return np.asarray(found & (labels != PAD))
