"""Rank-AE's three maps (Wang et al. 2019, Figure 1): features to code, labels to code, code to labels."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from zipfel.explanation import Explanation
from zipfel.kernels.sparse_rows import has_entries
from zipfel.kernels.topk import topk
from zipfel.nn.attention import DualAttention
from zipfel.nn.bag import LocalRows, bag
from zipfel.nn.contributions import contributions
from zipfel.nn.seeded import linear
from zipfel.nn.shares import own, together
from zipfel.nn.table import Table
from zipfel.nn.weights import read_weights, weights
from zipfel.points import Points
from zipfel.quantize import rounded
from zipfel.ranking import Ranking
from zipfel.state import State

Floats = npt.NDArray[np.float32]
_BLOCK = 1024
"""Rows encoded at a time: attention holds every word of each."""
_CELLS = 1 << 26
"""Scores that are held at a time."""
_SAMPLE = 4096
"""Rows that a mean is taken of."""
_KEPT = ("features", "labels", "bias")
"""Tables that prediction needs."""
_NEVER = -20.0
"""Logit of labels that train does not have: the decoder can't know them."""
_WORDS = "float16"
"""How word vectors are kept: there are many of them, and attention is not that exact."""


class BatchNorm(nn.Module):
    """(x - mean) / sqrt(variance + eps) * weight + bias over the batch, and by running means at prediction.

    torch's own adds up in an order that depends on the number of threads. A batch of one row has no variance and takes
    the running one.
    """

    def __init__(self, dim: int, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.momentum, self.eps = momentum, eps
        self.weight, self.bias = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))
        self.mean: Tensor
        self.variance: Tensor
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("variance", torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        return own(self._normalised(together(x))) if self.training else self._normalised(x)

    def _normalised(self, x: Tensor) -> Tensor:
        if not self.training or len(x) == 1:
            return (x - self.mean) / (self.variance + self.eps).sqrt() * self.weight + self.bias
        mean = x.mean(dim=0)
        centred = x - mean
        variance = centred.square().mean(dim=0)
        with torch.no_grad():
            self.mean.lerp_(mean, self.momentum)
            self.variance.lerp_(variance, self.momentum)
        return centred / (variance + self.eps).sqrt() * self.weight + self.bias


class LabelAutoencoder(nn.Module):
    """The three maps without their tables: word vectors, the encoder's and the decoder's labels come as rows.

    generator: of the first weights. reduction, channel and mean: of the `DualAttention`. norm: the hidden layers of
    encoder and decoder are normalised over the batch.
    """

    def __init__(
        self, word_dim: int, dim: int, hidden: int, generator: torch.Generator,
        *, reduction: int, channel: bool, mean: bool, norm: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.attention = DualAttention(word_dim, reduction, channel=channel, mean=mean, generator=generator)
        self.common = linear(word_dim, dim, generator)
        self.encoder_bias = None if norm else nn.Parameter(torch.zeros(hidden))  # the normalisation has its own
        self.encoder = linear(hidden, dim, generator)
        self.decoder = linear(dim, hidden, generator, bias=not norm)
        self.encoder_norm = BatchNorm(hidden) if norm else nn.Identity()
        self.decoder_norm = BatchNorm(hidden) if norm else nn.Identity()

    def features(self, words: Tensor, X: LocalRows) -> Tensor:
        """F: x_h (B, dim) of word vectors (u, C) and the batch's rows."""
        if not self.attention.channel:
            return self._common(bag(words, X, mode="mean" if self.attention.mean else "sum"))
        vectors = words.index_select(0, X.column_of)  # words[...] would add up its gradient in any order
        pooled = self.attention(vectors, X.weights, X.row_of, X.n_rows)  # x' (B, C)
        return self._common(pooled)

    def _common(self, pooled: Tensor) -> Tensor:
        code: Tensor = self.common(pooled)
        return code

    def encode(self, labels: Tensor, sets: LocalRows) -> Tensor:
        """E: y_h (B, dim) of the encoder's label vectors (u, hidden) and the batch's label sets."""
        sums = bag(labels, sets)
        hidden = self.encoder_norm(sums) if self.encoder_bias is None else sums + self.encoder_bias
        code: Tensor = self.encoder(torch.relu(hidden))
        return code

    def decode(self, codes: Tensor, labels: Tensor, bias: Tensor) -> Tensor:
        """D: y' (B, c) before the sigmoid, of codes (B, dim) and the decoder's label vectors (c, hidden)."""
        return torch.relu(self.decoder_norm(self.decoder(codes))) @ labels.T + bias.T


@dataclass(frozen=True)
class Trained:
    """The maps with their tables: features (n_features, C), labels (n_labels, hidden) and bias (n_labels, 1); just
    trained also encoder (n_labels, hidden), which only `set_codes` needs."""

    network: LabelAutoencoder
    tables: Mapping[str, Tensor]

    @classmethod
    def of(cls, network: LabelAutoencoder, tables: Mapping[str, Table], Y: sp.csr_matrix) -> Trained:
        """After training on labels Y: drops the optimiser's state of the tables, rounds the words as they are saved,
        and gives labels without a document in Y a logit below all others."""
        never = np.bincount(Y.indices, minlength=Y.shape[1]) == 0
        tables["bias"].weights[torch.from_numpy(never)] = _NEVER  # a sampled loss may not have met them
        trained = {name: table.weights for name, table in tables.items()}
        words = torch.from_numpy(rounded(tables["features"].numpy(), _WORDS))
        return cls(network.eval(), {**trained, "features": words})

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What prediction needs, by name: the encoder's labels have done their work."""
        tables = {name: self.tables[name].numpy() for name in _KEPT}
        return {**weights(self.network), **tables, "features": tables["features"].astype(_WORDS)}

    @classmethod
    def restored(cls, network: LabelAutoencoder, state: State, shapes: Mapping[str, tuple[int, int]]) -> Trained:
        """The counterpart of `arrays`; shapes: of the tables that prediction needs."""
        read_weights(network, state)
        tables = {name: state.array(name, shape=shapes[name]) for name in _KEPT}
        return cls(network.eval(), {name: torch.from_numpy(table.astype(np.float32)) for name, table in tables.items()})

    def codes(self, X: sp.csr_matrix) -> Floats:
        """x_h (n, dim)."""
        X, words, parts = _distinct(X), self.tables["features"], []
        with torch.no_grad():
            for start in range(0, max(1, X.shape[0]), _BLOCK):
                rows = LocalRows.from_csr(X[start : start + _BLOCK])
                parts.append(self.network.features(words[rows.ids], rows))
        codes: Floats = torch.cat(parts).numpy()
        return codes

    def stretched(self, by: float, X: sp.csr_matrix) -> Trained:
        """The same with documents' codes that are `by` times as far from the mean code of (at most 4,096 of) X's rows.

        F's last layer is linear, so its weights and bias hold the change.
        """
        mean = torch.from_numpy(self.codes(X[:_SAMPLE]).mean(axis=0))
        network = copy.deepcopy(self.network)
        with torch.no_grad():
            network.common.weight.mul_(by)
            network.common.bias.mul_(by).add_(mean, alpha=1 - by)
        return Trained(network, self.tables)

    def set_codes(self, Y: sp.csr_matrix) -> Floats:
        """y_h (n, dim) of label sets."""
        labels, parts = self.tables["encoder"], []
        with torch.no_grad():
            for start in range(0, max(1, Y.shape[0]), _BLOCK):
                sets = LocalRows.from_csr(Y[start : start + _BLOCK])
                parts.append(self.network.encode(labels[sets.ids], sets))
        codes: Floats = torch.cat(parts).numpy()
        return codes

    def logits(self, codes: Tensor) -> Tensor:
        """(n, n_labels) of codes (n, dim)."""
        return self.network.decode(codes, self.tables["labels"], self.tables["bias"])

    def scores(self, codes: Floats) -> Floats:
        """y' (n, n_labels), between 0 and 1."""
        with torch.no_grad():
            scores: Floats = torch.sigmoid(self.logits(torch.from_numpy(np.ascontiguousarray(codes)))).numpy()
        return scores

    def ranked(self, codes: Floats, k: int) -> Ranking:
        """The k labels with the largest scores, block by block: all scores at once would be rows times labels."""
        size = max(1, _CELLS // len(self.tables["bias"]))
        starts = range(0, max(1, len(codes)), size)
        return Ranking.concatenate([Ranking(*topk(self.scores(codes[a : a + size]), k)) for a in starts])

    def words(self, x: sp.csr_matrix) -> tuple[list[int], Tensor, Tensor]:
        """Of one document (1, n_features): feature ids, what attention lets through of each (t,), and what each adds
        to the pooled x' (t, C)."""
        rows, attention = LocalRows.from_csr(_distinct(x)), self.network.attention
        weights = torch.from_numpy(rows.values)
        with torch.no_grad():
            vectors = self.tables["features"][rows.ids][rows.column_of]
            passed = attention.channels(vectors * weights[:, None]).mean(dim=1)
            added = attention.attended(vectors, weights) / (max(1, len(weights)) if attention.mean else 1)
        return rows.ids[rows.column_of].tolist(), passed, added

    def explained(self, x: sp.csr_matrix, labels: Sequence[int]) -> Explanation:
        """The words of one document: what attention lets through, and what each adds to the score of each label."""
        features, passed, words = self.words(x)
        added = contributions(words, lambda pooled: self.logits(self.network.common(pooled))[0], labels)
        return Explanation(features, passed.tolist(), added)

    def knows(self, X: sp.csr_matrix) -> npt.NDArray[np.bool_]:
        """(n,) which rows have a feature whose word vector has been trained."""
        return has_entries(X, np.any(self.tables["features"].numpy(), axis=1))


def _distinct(X: sp.csr_matrix) -> sp.csr_matrix:
    """Each word of a document once: attention is not linear, so that two halves are not a whole."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def first_tables(
    points: Points, words: Floats, hidden: int, decay: float, rngs: Sequence[np.random.Generator]
) -> dict[str, Table]:
    """The tables that training begins with: word vectors, the labels of encoder and decoder, and the decoder's bias."""
    return {
        "features": Table(words, decay=decay),
        "encoder": Table.normal(points.n_labels, hidden, 0.1, rngs[0], decay=decay),
        "labels": Table.normal(points.n_labels, hidden, 0.05, rngs[1], decay=decay),
        "bias": Table(log_odds(points.Y)),
    }


def log_odds(Y: sp.csr_matrix) -> Floats:
    """(n_labels, 1) log-odds of each label in train, from which the decoder starts."""
    share = np.bincount(Y.indices, minlength=Y.shape[1]) / max(1, Y.shape[0])
    share = np.clip(share, 1e-4, 1 - 1e-4)
    return np.asarray(np.log(share / (1 - share))[:, None], dtype=np.float32)
