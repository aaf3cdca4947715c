"""Training of codes for documents and label sets in one cosine space; `ranker.encoder` has what it leaves.

MNN's two encoders (docs/methods/mnn.md), by InfoNCE over the batch's label sets, and over its single labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import normalize

from zipfel.losses.infonce import info_nce
from zipfel.neighbors.label_sets import TEMPERATURE, Encoder, MatcherConfig, fingerprints
from zipfel.nn.bag import LocalRows, bag
from zipfel.nn.table import Table
from zipfel.quantize import rounded
from zipfel.run import Run
from zipfel.threads import use_threads
from zipfel.training import Batch, Batches, Plan, Trainer

LARGE = 15_000
"""Points above which each is seen less often."""
_STEPS = 400
"""Steps that training takes at least, where `epochs` is not given."""


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
        prints = fingerprints(Y)

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
        loss = info_nce(points @ sets.T, TEMPERATURE, batch.extra["same"])
        if self.config.labels:
            labels = normalize(rows["labels"], dim=1)  # (u, dim)
            chances = torch.log_softmax(points @ labels.T / TEMPERATURE, dim=1)  # (B, u)
            loss = loss - self.config.labels * chances[own.row_of, own.column_of].mean()
        return loss

    def encoder(self) -> Encoder:
        features, labels = (rounded(self._tables[name].numpy(), "int8") for name in ("features", "labels"))
        return Encoder(features, labels)
