"""Documents and label sets learnt in one cosine space without torch: each document finds its own label set among the
batch's. MNN's two encoders (docs/methods/mnn.md), trained by InfoNCE.

    p_i = sum_j x_ij F_j, q_i = sum_l y_il G_l, both of unit length; x after dropout
    loss = - mean_i log exp(p_i . q_i / t) / sum_k exp(p_i . q_k / t)          k: i, and all whose label set is another

Gradients are coded by hand. A step on delicious takes 1 ms; torch takes 2 ms, and a second to load.
`neighbors/label_sets.py` has the encoder that comes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.config import Config, param
from zipfel.neighbors.label_sets import TEMPERATURE, Encoder, fingerprints
from zipfel.nn.adam_tables import Codes, Rows, Table, drawn
from zipfel.quantize import rounded
from zipfel.run import Run
from zipfel.system.threads import blas_threads, check_halted

Array = npt.NDArray[Any]
_EPOCHS = 10


@dataclass(frozen=True)
class LabelSetsConfig(Config):
    dim: int = param(256, "numbers in a code", low=1)
    keep: float = param(0.7, "share of a row's features that dropout keeps", low=0.01, high=1)
    epochs: int | None = param(
        None, "passes over the training set; none: 10, more where points are few, fewer where they are many", low=1
    )
    batch: int = param(128, "rows a step", low=2)
    lr: float = param(4e-3, "Adam's rate at the start, falling linearly to 0", low=1e-6, high=1)


class UnitTable(Table):
    """Vectors of features or of labels, whose sums are scaled to unit length."""

    def encode(self, rows: Rows) -> tuple[Codes, Codes]:
        """(n, dim) unit sums of the rows' vectors, and their lengths (n, 1) before."""
        out = self.sums(rows)
        lengths = np.sqrt(np.einsum("nd,nd->n", out, out))[:, None] + np.float32(1e-12)
        out /= lengths
        return out, lengths

    def learn_units(self, rows: Rows, units: Codes, lengths: Codes, grad: Codes, lr: float) -> None:
        """One step along the gradient (n, dim) of what `encode` gave for the rows."""
        grad = (grad - np.einsum("nd,nd->n", grad, units)[:, None] * units) / lengths
        self.learn_sums(rows, grad, lr)


class LabelSetTraining:
    """Vectors of features and labels, trained on some points; has_learnt: whether there was time for a step."""

    def __init__(self, config: LabelSetsConfig, n_features: int, n_labels: int, run: Run) -> None:
        self.config, self._rng = config, run.rng(26)
        self._features, self._labels = (
            UnitTable(drawn(n, config.dim, config.dim**-0.5, self._rng)) for n in (n_features, n_labels)
        )
        self.has_learnt = False

    def fit(self, X: sp.csr_matrix, Y: sp.csr_matrix, run: Run) -> None:
        """X: (n, n_features), Y: (n, n_labels). On one thread: steps are too small for two."""
        c = self.config
        points, sets, prints = Rows.of(X), Rows.of(Y), fingerprints(Y)
        both = np.flatnonzero((np.diff(X.indptr) > 0) & (np.diff(Y.indptr) > 0))
        steps = -(-len(both) // c.batch)
        epochs = c.epochs or _EPOCHS
        total, done = epochs * steps, 0
        with blas_threads(1):
            for _ in range(epochs):
                order = self._rng.permutation(both)
                kept = self._rng.random(X.nnz, dtype=np.float32) < c.keep  # a row that is left empty learns nothing
                for a in range(0, len(order), c.batch):
                    if done % 16 == 0:
                        check_halted()
                        if run.time_left() <= 0:
                            return
                    rows = order[a : a + c.batch]
                    self._step(points.take(rows, kept), sets.take(rows), prints[rows], c.lr * (1 - done / total))
                    done, self.has_learnt = done + 1, True

    def _step(self, points: Rows, sets: Rows, prints: Array, lr: float) -> None:
        p, p_lengths = self._features.encode(points)
        q, q_lengths = self._labels.encode(sets)
        grad = _info_nce_gradient(p @ q.T, prints)  # (B, B)
        self._features.learn_units(points, p, p_lengths, grad @ q, lr)
        self._labels.learn_units(sets, q, q_lengths, grad.T @ p, lr)

    def encoder(self) -> Encoder:
        return Encoder(rounded(self._features.learnt, "int8"), rounded(self._labels.learnt, "int8"))


def _info_nce_gradient(cosines: Codes, prints: Array) -> Codes:
    """Of the loss, by the cosines (B, B) of points with sets; rows with one print have one set."""
    n = len(cosines)
    odds: Codes = cosines / np.float32(TEMPERATURE)
    same = prints[:, None] == prints
    np.fill_diagonal(same, val=False)
    odds[same] = -np.inf
    odds -= odds.max(axis=1, keepdims=True)
    np.exp(odds, out=odds)
    odds /= odds.sum(axis=1, keepdims=True)
    odds[np.diag_indices(n)] -= 1
    odds /= np.float32(TEMPERATURE * n)
    return odds
