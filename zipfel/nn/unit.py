"""GLaS's embedding map: a bag to the unit sphere, with weight normalisation, and the one length of label vectors."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from zipfel.index.base import unit_rows
from zipfel.nn.seeded import Dropout

_BLOCK = 8192


class UnitEncoder(nn.Module):
    """phi(x) = unit(act(s (W'x)_j / |W_j| + b)): bags W'x (B, d) to unit vectors (B, d); act is ReLU or nothing.

    weight_norm: all columns W_j of the bag's table have one trainable length s (Salimans and Kingma 2016). The lengths
    of the columns are buffers. `measure` computes them from the whole table, as a batch has only a few rows. Before
    that, W is used as it is. length: g, the one trainable length of all label vectors, kept as its logarithm.
    """

    def __init__(self, dim: int, *, relu: bool, weight_norm: bool, dropout: float, length: float) -> None:
        super().__init__()
        self.relu, self.weight_norm = relu, weight_norm
        self.dropout = Dropout(dropout)
        self.bias = nn.Parameter(torch.zeros(dim))
        self.log_length = nn.Parameter(torch.full((1,), math.log(length)))
        self.log_scale = nn.Parameter(torch.zeros(1), requires_grad=weight_norm)
        self.inverse: Tensor
        self.register_buffer("inverse", torch.zeros(dim))

    @property
    def length(self) -> Tensor:
        return self.log_length.exp()

    @torch.no_grad()
    def measure(self, table: Tensor) -> None:
        """Notes 1 / |W_j| of the table (D, d); at the first time s becomes their mean length, so that W stays."""
        if not self.weight_norm:
            self.inverse.fill_(1.0)
            return
        squares = torch.zeros_like(self.inverse, dtype=torch.float64)
        for a in range(0, len(table), _BLOCK):
            squares += table[a : a + _BLOCK].double().square().sum(dim=0)
        lengths = squares.sqrt().clamp(min=1e-12).float()
        if not self.inverse.any():
            self.log_scale.fill_(math.log(float(lengths.mean())))
        self.inverse.copy_(1 / lengths)

    def forward(self, bags: Tensor) -> Tensor:
        scaled = bags * (self.log_scale.exp() * self.inverse) + self.bias if self.weight_norm else bags + self.bias
        return normalize(self.dropout(torch.relu(scaled) if self.relu else scaled), dim=1)

    @torch.no_grad()
    def codes(self, bags: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """phi without dropout, for prediction."""
        self.eval()
        found: npt.NDArray[np.float32] = self(torch.from_numpy(bags)).numpy()
        return found


def centroid_start(labels: npt.NDArray[np.float32], codes: npt.NDArray[np.float32], Y: sp.csr_matrix) -> None:
    """Sets each label's vector (n_labels, d) to the unit mean of its documents' codes (n, d), less the mean of all."""
    centroids = unit_rows(np.asarray(Y.T @ (codes - codes.mean(axis=0)), dtype=np.float32))
    seen = centroids.any(axis=1)
    labels[seen] = centroids[seen]
