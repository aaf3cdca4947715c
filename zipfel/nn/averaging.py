"""The averaging neural network of MNN: a set's code is the mean of its members' vectors, scaled to unit length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from torch import Tensor
from torch.nn.functional import normalize

from zipfel.kernels.bag import encode_bag
from zipfel.nn.bag import LocalRows, bag
from zipfel.quantize import pack_table, rounded, unpack_table
from zipfel.state import Array, State

Codes = npt.NDArray[np.float32]


def unit_codes(vectors: Tensor, rows: LocalRows, dim: int) -> Tensor:
    """(E, B, dim) codes of unit length for each of E encoders; vectors: (u, E * dim), gathered for `rows`.

    1/T, 1/||r||_1 and the length of a row cancel with the unit length, so the sum stands for the mean.
    """
    return normalize(bag(vectors, rows).view(rows.n_rows, -1, dim), dim=2).transpose(0, 1)


@dataclass(frozen=True)
class Encoders:
    """Trained vectors of E pairs of encoders: blocks of dim numbers beside each other."""

    features: Codes  # (n_features, E * dim), W'
    labels: Codes  # (n_labels, E * dim), W
    dim: int

    def points(self, X: sp.csr_matrix) -> Codes:
        """f_x without dropout: (n, E * dim) of unit length, its blocks equally long; zeros for an empty row."""
        return self._encode(X, self.features)

    def sets(self, Y: sp.csr_matrix) -> Codes:
        """f_y of label sets: (n, E * dim). The inner product with `points` is the mean of the E cosines."""
        return self._encode(Y, self.labels)

    def rounded(self, precision: str) -> Encoders:
        """The vectors as they are after saving and loading."""
        return Encoders(rounded(self.features, precision), rounded(self.labels, precision), self.dim)

    def arrays(self, precision: str) -> dict[str, Array]:
        """Both tables, kept in that precision; `restored` reads them back."""
        features = pack_table("features", self.features, precision)
        return {**features, **pack_table("label_vectors", self.labels, precision)}

    @classmethod
    def restored(cls, state: State, n_features: int, n_labels: int, encoders: int, dim: int) -> Encoders:
        """The counterpart of `arrays`."""
        features = unpack_table("features", state.arrays, n_features, encoders * dim)
        return cls(features, unpack_table("label_vectors", state.arrays, n_labels, encoders * dim), dim)

    def _encode(self, rows: sp.csr_matrix, vectors: Codes) -> Codes:
        codes = encode_bag(rows, vectors)
        blocks = codes.reshape(len(codes), codes.shape[1] // self.dim, self.dim)
        lengths = np.sqrt(blocks.shape[1] * np.einsum("ned,ned->ne", blocks, blocks))[:, :, None]
        return np.asarray(blocks / np.where(lengths > 0, lengths, 1), dtype=np.float32).reshape(codes.shape)
