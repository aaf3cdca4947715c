"""GLaS's embedding map and the one length of its label vectors."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from zipfel.methods.glas_config import GlasConfig


class GlasNetwork(nn.Module):
    """phi behind the bag, and the one length g of all label vectors (kept as its logarithm), E times side by side."""

    def __init__(self, config: GlasConfig) -> None:
        super().__init__()
        self.shape, self.relu = (config.networks, config.dim), config.activation == "relu"
        self.dropout = nn.Dropout(config.dropout)
        self.bias = nn.Parameter(torch.zeros(config.networks * config.dim))
        self.log_length = nn.Parameter(torch.full((config.networks,), math.log(config.length)))

    def encode(self, bags: Tensor) -> Tensor:
        """(B, E d) bags W x to phi(x) on the unit sphere: (E, B, d)."""
        return self.unit(self.dropout(torch.relu(bags + self.bias) if self.relu else bags))

    def unit(self, vectors: Tensor) -> Tensor:
        """(n, E d) to (E, n, d), each of unit length."""
        return normalize(vectors.view(len(vectors), *self.shape), dim=2).transpose(0, 1)

    def forward(self, codes: Tensor, V: Tensor) -> Tensor:
        """(E, B, c) scores of codes (E, B, d) for label vectors (E, c, d)."""
        scores: Tensor = self.log_length.exp()[:, None, None] * (codes @ V.transpose(1, 2))
        return scores
