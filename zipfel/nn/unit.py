"""GLaS's embedding map: a bag to the unit sphere, with weight normalisation, and the one length of label vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from zipfel.index.base import unit_rows
from zipfel.index.label_vectors import LabelVectors
from zipfel.kernels.bag import encode_bag
from zipfel.nn.seeded import Dropout
from zipfel.nn.weights import read_weights, weights
from zipfel.quantize import pack_table, rounded, unpack_table
from zipfel.ranking import Ranking
from zipfel.state import Array, State, under

Vectors = npt.NDArray[np.float32]
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
    def codes(self, bags: Vectors) -> Vectors:
        """phi without dropout, for prediction."""
        self.eval()
        found: Vectors = self(torch.from_numpy(bags)).numpy()
        return found


def centroid_start(labels: Vectors, codes: Vectors, Y: sp.csr_matrix) -> None:
    """Sets each label's vector (n_labels, d) to the unit mean of its documents' codes (n, d), less the mean of all."""
    centroids = unit_rows(np.asarray(Y.T @ (codes - codes.mean(axis=0)), dtype=np.float32))
    seen = centroids.any(axis=1)
    labels[seen] = centroids[seen]


@dataclass(frozen=True)
class UnitSpace:
    """What predicting needs of a trained map: codes phi(x), and an index over the label vectors g v / |v|."""

    features: Vectors  # (D, d)
    encoder: UnitEncoder
    labels: LabelVectors

    @classmethod
    def of(
        cls, features: Tensor, encoder: UnitEncoder, labels: Vectors, bonus: Vectors, ids: npt.NDArray[np.int64],
        precision: str,
    ) -> UnitSpace:  # fmt: skip
        """labels: (m, d) trained vectors of any length, bonus: (m,) what is added to the scores of the labels `ids`."""
        encoder.eval()
        encoder.measure(features)
        vectors = float(encoder.length.detach()) * unit_rows(labels)
        return cls(features.numpy(), encoder, LabelVectors.of(vectors, bonus, ids, precision))

    def rounded(self) -> UnitSpace:
        """The features as they are after saving and loading; the label vectors are so already."""
        return UnitSpace(rounded(self.features, self.labels.precision), self.encoder, self.labels)

    def encode(self, X: sp.csr_matrix) -> Vectors:
        """(n, d): phi(x); zeros for rows without a feature."""
        codes = self.encoder.codes(encode_bag(X, self.features))
        codes[np.diff(X.indptr) == 0] = 0
        return codes

    def search(self, codes: Vectors, k: int) -> Ranking:
        """The k best labels of each code by maximum inner product."""
        return self.labels.search(codes, k)

    def state(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Arrays, and the facts of the index."""
        vectors, index = self.labels.state()
        arrays = {**under("index", vectors), **under("encoder", weights(self.encoder))}
        return {**arrays, **pack_table("features", self.features, self.labels.precision)}, index

    @classmethod
    def restored(
        cls, encoder: UnitEncoder, state: State, facts: Mapping[str, Any], shape: tuple[int, int], precision: str
    ) -> UnitSpace:
        """The counterpart of `state`; encoder: an untrained one. shape: how many features and labels there are."""
        read_weights(encoder, state, "encoder")
        dim, (n_features, n_labels) = len(encoder.bias), shape
        labels = LabelVectors.restored(state.part("index"), facts, dim, n_labels, precision)
        return cls(unpack_table("features", state.arrays, n_features, dim), encoder, labels)
