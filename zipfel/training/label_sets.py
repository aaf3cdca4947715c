"""Which points of a batch have one and the same label set: those are no negatives of each other."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor


def same_sets(Y: sp.csr_matrix) -> Tensor:
    """(B, B) bool of label sets (B, n_labels) of ones: equal sets share as many labels as each of them has."""
    shared, sizes = (Y @ Y.T).toarray(), np.diff(Y.indptr)
    return torch.from_numpy((shared == sizes[:, None]) & (shared == sizes))
