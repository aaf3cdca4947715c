"""Documents and label sets as codes in one cosine space, and the training points that stand near a document there.

The encoder is MNN's (docs/methods/mnn.md), trained by InfoNCE over the batch's label sets, and over its single labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

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
from zipfel.nn.quantize import pack_table, rounded, unpack_table
from zipfel.nn.table import Table
from zipfel.run import Run
from zipfel.threads import over_blocks, use_threads
from zipfel.training import Batch, Batches, Plan, Trainer

Codes = npt.NDArray[np.float32]
_TEMPERATURE = 0.05
LARGE = 15_000
"""Points above which each is seen less often."""
_STEPS = 400
"""Steps that training takes at least, where `epochs` is not given."""


@dataclass(frozen=True)
class MatcherConfig(Config):
    dim: int = param(256, "numbers in a code", low=1)
    keep: float = param(0.6, "share of a row's features that dropout keeps", low=0.01, high=1)
    epochs: int | None = param(
        None, "passes over train; none: 8, or what makes 400 steps, to 25; 2 above 15,000 points", low=1
    )
    batch: int = param(256, "rows a step", low=1)
    labels: float = param(1.0, "weight of single labels against the whole set", low=0)
    lr: float = param(3e-3, "Adam's rate at the start, falling linearly to 0", low=1e-6)


class Matcher:
    """tables: "features" (n_features, dim) and "labels" (n_labels, dim)."""

    def __init__(self, config: MatcherConfig, X: sp.csr_matrix, Y: sp.csr_matrix, run: Run) -> None:
        self.config = config
        self._tables = {
            "features": Table.normal(X.shape[1], config.dim, config.dim**-0.5, run.rng(21)),
            "labels": Table.normal(Y.shape[1], config.dim, config.dim**-0.5, run.rng(22)),
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

        batches = Batches(X, Y, size=c.batch, seed=run.seed + again, keep=c.keep, rows=matched, extend=extend)
        least = 2 if X.shape[0] > LARGE else 8
        epochs = c.epochs or max(least, min(25, math.ceil(_STEPS / max(1, len(batches)))))
        plan = Plan(epochs=max(1, epochs // 4), lr=c.lr / 3) if again else Plan(epochs=epochs, lr=c.lr)
        with use_threads(1):  # two would take longer, in steps as small as these
            Trainer(replace(run, threads=1), batches, self._objective, plan, tables=self._tables, name=name).fit()

    def _objective(self, batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
        """Of the batch's label sets find your own; and of the batch's labels find your own."""
        own: LocalRows = batch.extra["sets"]
        points = normalize(bag(rows["features"], batch.X), dim=1)  # (B, dim)
        sets = normalize(bag(rows["labels"], own), dim=1)  # (B, dim)
        loss = info_nce(points @ sets.T, _TEMPERATURE, batch.extra["same"])
        if self.config.labels:
            labels = normalize(rows["labels"], dim=1)  # (u, dim)
            chances = torch.log_softmax(points @ labels.T / _TEMPERATURE, dim=1)  # (B, u)
            loss = loss - self.config.labels * chances[own.row_of, own.column_of].mean()
        return loss

    def encoder(self) -> Encoder:
        features, labels = (rounded(self._tables[name].numpy(), "int8") for name in ("features", "labels"))
        return Encoder(features, labels)


@dataclass(frozen=True)
class Encoder:
    """Trained vectors, rounded to a byte a number (a saved encoder answers the same), kept as float32."""

    features: Codes  # (n_features, dim)
    labels: Codes  # (n_labels, dim)

    VOTES: ClassVar[tuple[str, ...]] = ("codes: points", "codes: sets", "codes: crowd")
    OPINIONS: ClassVar[tuple[str, ...]] = ("likeness",)

    def encode(self, X: sp.csr_matrix) -> Codes:
        """(n, dim), of unit length."""
        return unit_rows(encode_bag(X, self.features))

    def searched(self, codes: Codes) -> Codes:
        """The codes as neighbours are searched: as they are."""
        return codes

    def sets(self, Y: sp.csr_matrix) -> Codes:
        """(n, dim), of unit length."""
        return unit_rows(encode_bag(Y, self.labels))

    @cached_property
    def units(self) -> Codes:
        """(n_labels, dim): the labels' vectors, of unit length."""
        return unit_rows(self.labels)

    def opinions(self, codes: Codes, labels: npt.NDArray[np.int64]) -> list[Codes]:
        """(n, k) cosines of the codes with the vectors of each row's labels (n, k); 0 where a label is -1."""
        out = np.empty(labels.shape, dtype=np.float32)
        over_blocks(lambda a, b: score_pairs(codes, self.units, labels, out, a, b), len(codes))
        out[labels < 0] = 0
        return [out]

    def extended(self, codes: Codes, Y: sp.csr_matrix, new: npt.NDArray[np.int64]) -> Encoder:
        """With vectors for the labels that are new: the mean of their points' codes (n, dim), at the usual length."""
        labels = np.zeros((Y.shape[1], self.labels.shape[1]), dtype=np.float32)
        labels[: len(self.labels)] = self.labels
        means = unit_rows(np.asarray(Y[:, new].T @ codes, dtype=np.float32))  # (new, dim)
        labels[new] = rounded(means * np.linalg.norm(self.labels, axis=1).mean(), "int8")
        return replace(self, labels=labels)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {**pack_table("features", self.features, "int8"), **pack_table("labels", self.labels, "int8")}

    @classmethod
    def restored(cls, arrays: Mapping[str, npt.NDArray[Any]], n_features: int, n_labels: int, dim: int) -> Encoder:
        """The counterpart of `state`, every shape checked."""
        return cls(unpack_table("features", arrays, n_features, dim), unpack_table("labels", arrays, n_labels, dim))


def _fingerprints(Y: sp.csr_matrix) -> npt.NDArray[np.int64]:
    """(n,) one number a label set, equal for equal sets: the wrapping sum of a random number a label."""
    numbers = np.random.default_rng(0).integers(-(2**62), 2**62, size=Y.shape[1])
    ones = sp.csr_matrix((np.ones(Y.nnz, dtype=np.int64), Y.indices, Y.indptr), shape=Y.shape)
    prints: npt.NDArray[np.int64] = ones @ numbers
    return prints
