"""The label sets of a batch, and which of them are no negatives of each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from zipfel.nn.bag import LocalRows
from zipfel.training.batches import Batch


class SetDraws:
    """Gives a batch what MNN's section 3.3 compares: its label sets, and h of them as samples for each row.

    Y: (n, n_labels) of all training points. exclude: which sets are no negatives of a row's own, "identical" ones or
    "overlapping" ones. sampled: h. Into `batch.extra` go sets: the label sets, whose local columns are rows of
    ids["labels"]; excluded: (B, B) bool; sampled: (B, h) places in the batch. The batch is a random sample of train.
    """

    def __init__(self, Y: sp.csr_matrix, *, exclude: str, sampled: int) -> None:
        self._prints, self._overlapping, self._sampled = fingerprints(Y), exclude == "overlapping", sampled

    def __call__(self, batch: Batch, rng: np.random.Generator) -> None:
        sets, whole = LocalRows.from_csr(batch.Y), batch.everything
        batch.ids["labels"], batch.extra["sets"] = sets.ids, sets
        same = self._prints[batch.rows][:, None] == self._prints[whole.rows]
        excluded = (batch.Y @ whole.Y.T).toarray() > 0 if self._overlapping else same  # (B, B)
        batch.extra["excluded"] = torch.from_numpy(excluded)
        sampled = torch.from_numpy(rng.integers(0, len(whole), (len(whole), self._sampled)))
        batch.extra["sampled"] = batch.own(sampled)


class SetTargets:
    """Gives a batch what DXML's loss compares: targets, f_y of the rows' label sets, and same: (B, B) bool, which rows
    have equal sets and are no negatives. targets: makes f_y (B, dim) of label sets (B, n_labels)."""

    def __init__(self, targets: Callable[[sp.csr_matrix], npt.NDArray[np.float32]]) -> None:
        self._targets = targets

    def __call__(self, batch: Batch, rng: np.random.Generator) -> None:  # noqa: ARG002 - nothing is drawn
        Y = batch.everything.Y
        batch.extra |= {"targets": torch.from_numpy(self._targets(Y)), "same": batch.own(same_sets(Y))}


def same_sets(Y: sp.csr_matrix) -> Tensor:
    """(B, B) bool of label sets (B, n_labels) of ones: equal sets share as many labels as each of them has."""
    shared, sizes = (Y @ Y.T).toarray(), np.diff(Y.indptr)
    return torch.from_numpy((shared == sizes[:, None]) & (shared == sizes))


def fingerprints(Y: sp.csr_matrix) -> npt.NDArray[np.int64]:
    """(n,) one number for each label set, equal for equal sets: the wrapping sum of a random number for each label."""
    numbers = np.random.default_rng(0).integers(-(2**62), 2**62, size=Y.shape[1])
    ones = sp.csr_matrix((np.ones(Y.nnz, dtype=np.int64), Y.indices, Y.indptr), shape=Y.shape)
    prints: npt.NDArray[np.int64] = ones @ numbers
    return prints
