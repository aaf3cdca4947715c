"""LightDXML's two encoders: points from their bags of token embeddings, labels from their centroids."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ResidualEncoder(nn.Module):
    """A bag (B, d) to its representation (B, d): h + ReLU(R h + c) of the bag h with dropout.

    relu: h = ReLU(bag + b) instead, a space without negative numbers. R starts small, so the block starts near the
    identity and learns what to add.
    """

    def __init__(self, dim: int, dropout: float, generator: torch.Generator, *, relu: bool = False) -> None:
        super().__init__()
        self.relu = relu
        self.bias = nn.Parameter(torch.zeros(dim))
        self.residual = nn.Linear(dim, dim)
        nn.init.normal_(self.residual.weight, std=0.02, generator=generator)
        nn.init.zeros_(self.residual.bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, bags: Tensor) -> Tensor:
        hidden = self.dropout(torch.relu(bags + self.bias) if self.relu else bags + self.bias)
        out: Tensor = hidden + torch.relu(self.residual(hidden))
        return out


class LabelEncoder(nn.Module):
    """Centroids (L, d) to label codes (L, d): ReLU(W2 (W1 mu + b1) + b2), LightDXML Eq. 4; without `relu` no ReLU.

    start: `identity`, so that a label's code is its centroid at first, or `random` (Glorot).
    """

    def __init__(
        self, dim: int, *, relu: bool = False, start: str = "identity", generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.relu = relu
        self.inner, self.outer = nn.Linear(dim, dim), nn.Linear(dim, dim)
        for layer in (self.inner, self.outer):
            if start == "identity":
                nn.init.eye_(layer.weight)
            else:
                nn.init.xavier_uniform_(layer.weight, generator=generator)
            nn.init.zeros_(layer.bias)

    def forward(self, centroids: Tensor) -> Tensor:
        codes: Tensor = self.outer(self.inner(centroids))
        return torch.relu(codes) if self.relu else codes
