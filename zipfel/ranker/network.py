"""Documents as codes of a small classifier network, for label sets so small that every step can look at all labels.

    h(x) = ReLU(sum_j x_j t_j)                   codes, `dim` numbers
    z(l) = w_l . h(x) + b_l                      log-odds of each label, trained by binary cross-entropy

The token vectors t start from a latent semantic analysis of train, the classifiers from their labels' centroids.
Training points whose codes are near a document's vote for its labels, as with the matcher's (`ranker.matcher`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from zipfel.config import Config, param
from zipfel.index.base import unit_rows
from zipfel.kernels.topk import score_pairs
from zipfel.losses.bce import candidate_bce
from zipfel.nn.bag import bag, encode_bag
from zipfel.nn.quantize import pack_table, rounded
from zipfel.nn.score import candidate_scores, with_constant
from zipfel.nn.table import Table
from zipfel.nn.tokens import token_table
from zipfel.run import Run
from zipfel.threads import over_blocks, use_threads
from zipfel.training import Batch, Batches, CandidateSampler, Plan, Trainer
from zipfel.training.label_codes import start_classifiers

Codes = npt.NDArray[np.float32]
_START = 2.0
"""Length of a classifier at its start."""
_SMALL, _STEPS, _EPOCHS = 8000, 450, (3, 12)
"""Points below which batches are of 128; steps that training takes, in so many epochs."""


@dataclass(frozen=True)
class NetworkConfig(Config):
    most_labels: int = param(3000, "labels up to which codes are a network's; above, a matcher's", low=0)
    dim: int | None = param(None, "numbers in a code; none: 256, or 512 where points have ten labels or more", low=2)
    keep: float = param(0.7, "share of a row's features that dropout keeps", low=0.01, high=1)
    epochs: int | None = param(None, "passes over train; none: what makes 450 steps, from 3 to 12", low=1)
    batch: int | None = param(None, "rows a step; none: 256, or 128 below 8,000 points", low=1)
    lr: float = param(3e-3, "Adam's rate at the start, falling linearly to 0", low=1e-6)


class Network:
    """tables: "features" (n_features, dim) and "labels" (n_labels, dim), whose last weight is the bias."""

    def __init__(self, config: NetworkConfig, X: sp.csr_matrix, Y: sp.csr_matrix, run: Run) -> None:
        self.config = config
        counts, dim = np.bincount(Y.indices, minlength=Y.shape[1]), config.dim or _dim(Y)
        tokens = token_table(X, dim, run.rng(21), kind="corpus")
        classifiers = np.zeros((Y.shape[1], dim), dtype=np.float32)
        classifiers[:, -1] = np.log((counts + 0.5) / (X.shape[0] - counts + 0.5))
        self._tables = {"features": Table(tokens), "labels": Table(classifiers)}
        hidden = _hidden(X, tokens)
        centroids: Codes = (np.asarray(Y.T @ hidden) / np.maximum(counts, 1)[:, None]).astype(np.float32)
        start_classifiers(self._tables["labels"], centroids, hidden.mean(axis=0), _START)

    def fit(self, X: sp.csr_matrix, Y: sp.csr_matrix, run: Run, *, name: str = "network", again: bool = False) -> None:
        """name: of the phase, for checkpoints. again: a short further training on more rows, at a third of the rate."""
        c = self.config
        every_label = CandidateSampler(Y, n_sampled=0, all_below=Y.shape[1])
        size = c.batch or (128 if X.shape[0] < _SMALL else 256)
        batches = Batches(X, Y, size=size, seed=run.seed + again, candidates=every_label, keep=c.keep)
        epochs = c.epochs or int(np.clip(round(_STEPS / max(1, len(batches))), *_EPOCHS))
        plan = Plan(epochs=max(1, epochs // 4), lr=c.lr / 3) if again else Plan(epochs=epochs, lr=c.lr)
        with use_threads(1):  # two would take longer, in steps as small as these
            Trainer(replace(run, threads=1), batches, _objective, plan, tables=self._tables, name=name).fit()

    def encoder(self, X: sp.csr_matrix) -> NetworkEncoder:
        """X: points whose mean code is to be the origin of the space that neighbours are searched in."""
        features, labels = (rounded(self._tables[name].numpy(), "int8") for name in ("features", "labels"))
        return NetworkEncoder(features, labels, _hidden(X, features).mean(axis=0))


def _dim(Y: sp.csr_matrix) -> int:
    return 512 if Y.nnz >= 10 * Y.shape[0] else 256


def _objective(batch: Batch, rows: Mapping[str, Tensor]) -> Tensor:
    found = batch.candidates
    assert found is not None
    hidden = torch.relu(bag(rows["features"], batch.X))  # (B, dim)
    return candidate_bce(candidate_scores(with_constant(hidden), rows["labels"]), found.rows, found.columns)


def _hidden(X: sp.csr_matrix, tokens: Codes) -> Codes:
    hidden = encode_bag(X, tokens)
    np.maximum(hidden, 0, out=hidden)
    return hidden


@dataclass(frozen=True)
class NetworkEncoder:
    """What training leaves, rounded to a byte a number (a saved encoder answers the same), kept as float32."""

    features: Codes  # (n_features, dim)
    labels: Codes  # (n_labels, dim)
    mean: Codes  # (dim,)

    VOTES: ClassVar[tuple[str, ...]] = ("codes: near", "codes: crowd")
    OPINIONS: ClassVar[tuple[str, ...]] = ("network: doubt", "network: trust")

    def encode(self, X: sp.csr_matrix) -> Codes:
        """(n, dim)"""
        return _hidden(X, self.features)

    def searched(self, codes: Codes) -> Codes:
        """The codes as neighbours are searched: seen from their mean, of unit length; (n, dim)."""
        found = unit_rows(codes - self.mean)
        found[~codes.any(axis=1)] = 0
        return found

    def sets(self, Y: sp.csr_matrix) -> None:
        """This space knows no label sets."""

    def opinions(self, codes: Codes, labels: npt.NDArray[np.int64]) -> list[Codes]:
        """Log-odds of the labels (n, k) of each row, below zero and above; 0 where a label is -1."""
        out = np.empty(labels.shape, dtype=np.float32)
        with_one = np.hstack([codes[:, :-1], np.ones((len(codes), 1), dtype=np.float32)])
        over_blocks(lambda a, b: score_pairs(with_one, self.labels, labels, out, a, b), len(codes))
        out[labels < 0] = 0
        return [np.minimum(out, 0), np.maximum(out, 0)]

    def extended(self, codes: Codes, Y: sp.csr_matrix, new: npt.NDArray[np.int64]) -> NetworkEncoder:
        """With classifiers for the labels that are new: along the mean of their points' searched codes, no bias."""
        labels = np.zeros((Y.shape[1], self.labels.shape[1]), dtype=np.float32)
        labels[: len(self.labels)] = self.labels
        means = unit_rows(np.asarray(Y[:, new].T @ codes, dtype=np.float32))  # (new, dim)
        means *= np.float32(_START)
        means[:, -1] = -means[:, :-1] @ self.mean[:-1]
        labels[new] = rounded(means, "int8")
        return replace(self, labels=labels)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        tables = {"features": self.features, "labels": self.labels}
        packed = {
            key: array for name, table in tables.items() for key, array in pack_table(name, table, "int8").items()
        }
        return {**packed, "mean": self.mean}
