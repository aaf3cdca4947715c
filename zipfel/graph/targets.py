"""Where a document should be sent: the place of its label set among the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.base import unit_rows
from zipfel.kernels.bag import encode_bag

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Targets:
    """f_y of label sets: the mean of their labels' vectors, and what is done to it."""

    vectors: Floats  # V (n_labels, dim)
    centre: Floats | None = None
    unit: bool = False

    @classmethod
    def of(cls, vectors: Floats, Y: sp.csr_matrix, kind: str) -> Targets:
        """kind: plain, unit (of unit length), or centred (less the mean over Y's label sets, of unit length)."""
        centre = cls(vectors)(Y).mean(axis=0) if kind == "centred" else None
        return cls(vectors, centre, kind != "plain")

    def __call__(self, Y: sp.csr_matrix) -> Floats:
        """(n, dim): V y / nnz(y), Algorithm 1, line 3."""
        sizes = np.maximum(np.diff(Y.indptr), 1).astype(np.float32)
        means: Floats = encode_bag(Y, self.vectors) / sizes[:, None]
        if self.centre is not None:
            means = means - self.centre
        return unit_rows(means) if self.unit else means
