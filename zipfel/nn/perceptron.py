"""DXML's network (Zhang et al. 2018, Figure 1): two layers over a sparse document, dropout, unit length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from zipfel.kernels.bag import encode_bag
from zipfel.nn.shares import batch_rows, own
from zipfel.nn.weights import read_weights, weights
from zipfel.state import State

Floats = npt.NDArray[np.float32]
_BLOCK = 4096
"""Rows encoded at a time."""


class Perceptron(nn.Module):
    """f_x = L2-norm(dropout(W2 relu(W1 x + b1) + b2)), behind W1, whose rows are a table."""

    def __init__(self, hidden: int, dim: int, relu: bool, dropout: float, rng: np.random.Generator) -> None:
        super().__init__()
        start = rng.uniform(-1, 1, (hidden, dim)).astype(np.float32) * np.float32(hidden**-0.5)
        self.relu, self.dropout = relu, dropout
        self.bias1 = nn.Parameter(torch.zeros(hidden))
        self.W2 = nn.Parameter(torch.from_numpy(start))
        self.bias2 = nn.Parameter(torch.zeros(dim))

    def forward(self, sums: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """f_x (B, dim) of sums (B, hidden) = W1 x. generator: what dropout draws from; None does not drop."""
        hidden = torch.relu(sums + self.bias1) if self.relu else sums + self.bias1
        codes = hidden @ self.W2 + self.bias2
        if self.dropout and generator is not None:  # nn.Dropout draws from torch's one generator, which threads share
            kept = own(torch.rand((batch_rows(codes), codes.shape[1]), generator=generator) >= self.dropout)
            codes = codes * kept.to(codes.device) / (1 - self.dropout)
        return nn.functional.normalize(codes, dim=1)


@dataclass(frozen=True)
class Embedding:
    """A trained network with its first layer."""

    W1: Floats  # (n_features, hidden)
    network: Perceptron

    def codes(self, X: sp.csr_matrix) -> Floats:
        """f_x (n, dim)."""
        starts = range(0, max(1, X.shape[0]), _BLOCK)
        with torch.no_grad():
            sums = (torch.from_numpy(encode_bag(X[at : at + _BLOCK], self.W1)) for at in starts)
            codes: Floats = torch.cat([self.network(part) for part in sums]).numpy()
        return codes

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """W1 and the network's parameters by name."""
        return {"W1": self.W1, **weights(self.network)}

    @classmethod
    def restored(cls, network: Perceptron, state: State, prefix: str, n_features: int) -> Embedding:
        """The counterpart of `arrays`; network: an untrained one of the right size."""
        read_weights(network, state, prefix)
        W1 = state.array(f"{prefix}.W1", shape=(n_features, len(network.bias1)))
        return cls(W1, network.eval())
