"""Which points of a batch have one and the same label set: those are no negatives of each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor


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
