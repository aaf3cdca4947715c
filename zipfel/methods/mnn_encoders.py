"""MNN's trained vectors, and what its label sets are to one another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.base import unit_rows
from zipfel.kernels.bag import encode_bag
from zipfel.nn.quantize import rounded

Codes = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Encoders:
    """The trained vectors: blocks of dim numbers beside each other, each block an encoder of its own."""

    features: Codes  # (n_features, encoders * dim), W'
    labels: Codes  # (n_labels, encoders * dim), W
    dim: int

    def points(self, X: sp.csr_matrix) -> Codes:
        """f_x with nothing dropped: (n, encoders * dim), each block of unit length."""
        return self._encode(X, self.features)

    def sets(self, Y: sp.csr_matrix) -> Codes:
        """f_y: (n, encoders * dim)."""
        return self._encode(Y, self.labels)

    def beside(self, others: Encoders) -> Encoders:
        """Both together: the mean of all their cosines."""
        features, labels = np.hstack([self.features, others.features]), np.hstack([self.labels, others.labels])
        return Encoders(features, labels, self.dim)

    def rounded(self, precision: str) -> Encoders:
        """What is left of the vectors after saving and loading them."""
        return Encoders(rounded(self.features, precision), rounded(self.labels, precision), self.dim)

    def _encode(self, rows: sp.csr_matrix, vectors: Codes) -> Codes:
        codes = encode_bag(rows, vectors)
        return unit_rows(codes.reshape(-1, self.dim)).reshape(codes.shape)


def ballots(Y: sp.csr_matrix) -> sp.csr_matrix:
    """(n_labels + n, n_labels): a label votes for itself, a training point for its labels."""
    return sp.vstack([sp.identity(Y.shape[1], dtype=np.float32, format="csr"), Y], format="csr")


def fingerprints(Y: sp.csr_matrix) -> npt.NDArray[np.int64]:
    """(n,) one number a label set, equal for equal sets: the wrapping sum of a random number a label."""
    numbers = np.random.default_rng(0).integers(-(2**62), 2**62, size=Y.shape[1])
    ones = sp.csr_matrix((np.ones(Y.nnz, dtype=np.int64), Y.indices, Y.indptr), shape=Y.shape)
    prints: npt.NDArray[np.int64] = ones @ numbers
    return prints
