"""Documents and label sets as codes in one cosine space, and the training points that stand near a document there.

The encoder is MNN's (docs/methods/mnn.md) trained by InfoNCE over the batch's label sets, `encoders` of them side by
side at temperatures from sharp to soft: their errors differ, and none has to be chosen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import normalize

from zipfel.config import Config, param
from zipfel.index.base import unit_rows
from zipfel.kernels.topk import score_pairs
from zipfel.losses.infonce import info_nce
from zipfel.nn.bag import LocalRows, bag, encode_bag
from zipfel.nn.quantize import pack_table, rounded
from zipfel.nn.table import Table
from zipfel.run import Run
from zipfel.threads import over_blocks, use_threads
from zipfel.training import Batch, Batches, Plan, Trainer

Codes = npt.NDArray[np.float32]
_TEMPERATURES = (0.05, 0.15)
LARGE = 15_000
"""Points above which batches are larger and each point is seen less often."""
_WORTH_SHARING = 512
"""Rows a step below which two threads take longer than one: twice as long with 256 rows on bibtex."""
_STEPS = 400
"""Steps that training takes at least, where `epochs` is not given."""


@dataclass(frozen=True)
class MatcherConfig(Config):
    dim: int = param(256, "numbers in a code, of each encoder", low=1)
    encoders: int | None = param(None, "encoders side by side; none: 4, fewer above 600,000 non-zeros", low=1, high=8)
    keep: float = param(0.6, "share of a row's features that dropout keeps", low=0.01, high=1)
    epochs: int | None = param(
        None, "passes over train; none: 8, or what makes 400 steps, to 25; 6 above 15,000 points", low=1
    )
    batch: int | None = param(None, "rows a step; none: 256, or 512 above 15,000 points", low=1)
    labels: float = param(1.0, "weight of single labels against the whole set, in every other encoder", low=0)
    lr: float = param(3e-3, "Adam's rate at the start, falling linearly to 0", low=1e-6)


class Matcher:
    """tables: "features" (n_features, encoders * dim) and "labels" (n_labels, encoders * dim)."""

    def __init__(self, config: MatcherConfig, X: sp.csr_matrix, Y: sp.csr_matrix, run: Run) -> None:
        self.config = config
        self.dim = config.dim
        self.encoders = config.encoders or max(1, min(4, round(2_200_000 / max(1, X.nnz))))
        width, scale = self.encoders * self.dim, self.dim**-0.5
        self._tables = {
            "features": Table.normal(X.shape[1], width, scale, run.rng(21)),
            "labels": Table.normal(Y.shape[1], width, scale, run.rng(22)),
        }

    def fit(self, X: sp.csr_matrix, Y: sp.csr_matrix, run: Run, *, name: str = "matcher", again: bool = False) -> None:
        """name: of the phase, for checkpoints. again: a short further training on more rows, at a third of the rate."""
        c = self.config
        matched = np.flatnonzero((np.diff(X.indptr) > 0) & (np.diff(Y.indptr) > 0))
        prints = _fingerprints(Y)

        def extend(batch: Batch, _: np.random.Generator) -> None:
            sets, mine = LocalRows.from_csr(batch.Y), prints[batch.rows]
            batch.ids["labels"], batch.extra["sets"] = sets.ids, sets
            batch.extra["same"] = torch.from_numpy(mine[:, None] == mine)  # (B, B)

        size = c.batch or (256 if X.shape[0] <= LARGE else 512)
        batches = Batches(X, Y, size=size, seed=run.seed + again, keep=c.keep, rows=matched, extend=extend)
        least = 6 if X.shape[0] > LARGE else 8
        epochs = c.epochs or max(least, min(25, math.ceil(_STEPS / max(1, len(batches)))))
        plan = Plan(epochs=max(1, epochs // 4), lr=c.lr / 3) if again else Plan(epochs=epochs, lr=c.lr)
        threads = 1 if size < _WORTH_SHARING else run.threads
        with use_threads(threads):
            alone = replace(run, threads=threads)
            Trainer(alone, batches, self._objective, plan, tables=self._tables, name=name).fit()

    def _objective(self, batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
        """Of the batch's label sets find your own; and, every other encoder, of the batch's labels find your own."""
        own: LocalRows = batch.extra["sets"]
        points = self._codes(rows["features"], batch.X)  # (E, B, dim)
        sets = self._codes(rows["labels"], own)  # (E, B, dim)
        labels = normalize(rows["labels"].view(len(own.ids), -1, self.dim), dim=2).transpose(0, 1)  # (E, u, dim)
        losses = []
        for e, point in enumerate(points):
            temperature = _TEMPERATURES[e % len(_TEMPERATURES)]
            losses.append(info_nce(point @ sets[e].T, temperature, batch.extra["same"]))
            if self.config.labels and e % 2 == 0:
                chances = torch.log_softmax(point @ labels[e].T / temperature, dim=1)  # (B, u)
                losses.append(-self.config.labels * chances[own.row_of, own.column_of].mean())
        return torch.stack(losses).sum()

    def _codes(self, vectors: Tensor, rows: LocalRows) -> Tensor:
        return normalize(bag(vectors, rows).view(rows.n_rows, -1, self.dim), dim=2).transpose(0, 1)

    def encoder(self) -> Encoder:
        features, labels = (self._tables[name].numpy() for name in ("features", "labels"))
        return Encoder(rounded(features, "int8"), rounded(labels, "int8"), self.dim)


@dataclass(frozen=True)
class Encoder:
    """Trained vectors, rounded to a byte a number (a saved encoder answers the same), kept as float32."""

    features: Codes  # (n_features, encoders * dim)
    labels: Codes  # (n_labels, encoders * dim)
    dim: int

    def points(self, X: sp.csr_matrix) -> Codes:
        """(n, encoders * dim): each block of unit length, divided by the number of blocks."""
        return self._encode(X, self.features)

    def sets(self, Y: sp.csr_matrix) -> Codes:
        return self._encode(Y, self.labels)

    @cached_property
    def units(self) -> Codes:
        """(n_labels, encoders * dim): the labels' vectors, scaled like codes."""
        return self._scaled(self.labels)

    def likeness(self, codes: Codes, labels: npt.NDArray[np.int64]) -> Codes:
        """(n, k) cosines of the codes with the vectors of each row's labels (n, k); 0 where a label is -1."""
        out = np.empty(labels.shape, dtype=np.float32)
        over_blocks(lambda a, b: score_pairs(codes, self.units, labels, out, a, b), len(codes))
        out[labels < 0] = 0
        return out

    def _encode(self, rows: sp.csr_matrix, vectors: Codes) -> Codes:
        return self._scaled(encode_bag(rows, vectors))

    def _scaled(self, codes: Codes) -> Codes:
        blocks = codes.shape[1] // self.dim
        codes = unit_rows(codes.reshape(-1, self.dim)).reshape(codes.shape)
        codes *= np.float32(blocks**-0.5)  # the product of two codes is then the mean of the blocks' cosines
        return codes

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {**pack_table("features", self.features, "int8"), **pack_table("labels", self.labels, "int8")}


def _fingerprints(Y: sp.csr_matrix) -> npt.NDArray[np.int64]:
    """(n,) one number a label set, equal for equal sets: the wrapping sum of a random number a label."""
    numbers = np.random.default_rng(0).integers(-(2**62), 2**62, size=Y.shape[1])
    ones = sp.csr_matrix((np.ones(Y.nnz, dtype=np.int64), Y.indices, Y.indptr), shape=Y.shape)
    prints: npt.NDArray[np.int64] = ones @ numbers
    return prints
