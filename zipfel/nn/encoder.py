"""LightDXML's and Astec's encoders: points from their bags of token embeddings, labels from their centroids."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, normalize

from zipfel.nn.seeded import Dropout


class BoundedLinear(nn.Linear):
    """R (d, d) and its bias, R divided by what its largest singular value is above `bound`.

    The singular value comes from power iteration, one round a training step.
    """

    left: Tensor

    def __init__(self, dim: int, bound: float | None, generator: torch.Generator) -> None:
        super().__init__(dim, dim)
        self.bound = bound
        if bound is not None:
            self.register_buffer("left", normalize(torch.randn(dim, generator=generator), dim=0))

    def forward(self, inputs: Tensor) -> Tensor:
        return linear(inputs, self.bounded_weight(), self.bias)

    def bounded_weight(self) -> Tensor:
        """(d, d): what R is in effect."""
        if self.bound is None:
            return self.weight
        with torch.no_grad():
            right = normalize(self.weight.T @ self.left, dim=0)
            if self.training:
                self.left.copy_(normalize(self.weight @ right, dim=0))
        return self.weight / torch.clamp(self.left @ (self.weight @ right) / self.bound, min=1.0)


class ResidualEncoder(nn.Module):
    """A bag (B, d) to its representation (B, d): h + ReLU(R h + c) of the bag h with dropout.

    relu: h = ReLU(bag + b) instead, a space without negative numbers. R starts small, so the block starts near the
    identity and learns what to add. bound: largest singular value that R may have; none where it is None.
    """

    def __init__(
        self,
        dim: int,
        dropout: float,
        generator: torch.Generator,
        *,
        relu: bool = False,
        bound: float | None = None,
    ) -> None:
        super().__init__()
        self.relu = relu
        self.bias = nn.Parameter(torch.zeros(dim))
        self.residual = BoundedLinear(dim, bound, generator)
        nn.init.normal_(self.residual.weight, std=0.02, generator=generator)
        nn.init.zeros_(self.residual.bias)
        self.dropout = Dropout(dropout)

    def forward(self, bags: Tensor) -> Tensor:
        return self.last(self.first(bags))

    def first(self, bags: Tensor) -> Tensor:
        """(B, d): h, without dropout."""
        return torch.relu(bags + self.bias) if self.relu else bags + self.bias

    def last(self, hidden: Tensor) -> Tensor:
        """(B, d): h + ReLU(R h + c) with dropout of h."""
        hidden = self.dropout(hidden)
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
