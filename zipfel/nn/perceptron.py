"""DXML's network (Zhang et al. 2018, Figure 1): two layers over a sparse document, dropout, unit length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from zipfel.kernels.bag import encode_bag
from zipfel.kernels.sparse_rows import has_entries
from zipfel.nn.shares import batch_rows, own
from zipfel.nn.weights import read_weights, weights
from zipfel.state import Array, State, under

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


@dataclass(frozen=True)
class Embeddings:
    """Trained networks side by side; the paper has one."""

    parts: Sequence[Embedding]

    def codes(self, X: sp.csr_matrix) -> Floats:
        """(n, networks * dim) of unit length: the inner product of two is the mean of the networks' cosines."""
        codes = np.hstack([part.codes(X) for part in self.parts])
        return np.asarray(codes / math.sqrt(len(self.parts)), dtype=np.float32)

    def knows(self, X: sp.csr_matrix) -> npt.NDArray[np.bool_]:
        """(n,) which rows have a feature that was trained on."""
        return has_entries(X, np.any(self.parts[0].W1, axis=1))

    def arrays(self) -> dict[str, Array]:
        """Each network's W1 and parameters; `restored` reads them back."""
        found: dict[str, Array] = {}
        for i, part in enumerate(self.parts):
            found |= under(str(i), {"W1": part.W1, **weights(part.network)})
        return found

    @classmethod
    def restored(cls, networks: Sequence[Perceptron], state: State, n_features: int) -> Embeddings:
        """The counterpart of `arrays`; networks: untrained ones of the right size."""
        parts = []
        for i, network in enumerate(networks):
            read_weights(network, state, str(i))
            W1 = state.array(f"{i}.W1", shape=(n_features, len(network.bias1)))
            parts.append(Embedding(W1, network.eval()))
        return cls(parts)
