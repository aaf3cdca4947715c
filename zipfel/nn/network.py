"""A small network that gives every label a probability, for data with few features. It learns what features mean
together, which a linear model cannot.

    h = relu(sum_j x_j F_j + a), g = relu(h M + b), z_l = g . W_l + c_l; h after dropout
    loss = mean_i sum_l log(1 + exp(z_il)) - y_il z_il

Gradients are coded by hand, as in `neighbors/label_set_training.py`. Five epochs of one layer of 512 units on delicious
take 1.5 s on one core; torch took 2.6 s on two. Where features are dense, rows are, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.config import Config, param
from zipfel.errors import ModelFileError
from zipfel.index.dense import is_dense
from zipfel.kernels.bag import encode_bag
from zipfel.kernels.dense_product import product
from zipfel.kernels.topk import score_pairs
from zipfel.nn.adam_tables import Codes, Rows, Table, drawn
from zipfel.quantize import pack_table, rounded, unpack_table
from zipfel.run import Run
from zipfel.system.threads import blas_threads, check_halted, over_blocks

Array = npt.NDArray[Any]
_EPOCHS = 8
_WARM = 50
"""Steps in which Adam's rate rises at first."""
_FAINT = 1e-5
"""Of the shares of points that have a label: the least that its first guess is made of."""


@dataclass(frozen=True)
class NetworkConfig(Config):
    hidden: int = param(512, "units of the first layer", low=1, high=8192)
    dim: int = param(192, "units of the second layer", low=1, high=8192)
    dropout: float = param(0.2, "share of the first layer's units that are left out of a step", low=0, high=0.9)
    epochs: int | None = param(None, "passes over train; none: 8, fewer where points are many", low=1)
    batch: int = param(128, "rows a step", low=1)
    lr: float = param(0.01, "Adam's rate at the start, falling linearly to 0", low=1e-6, high=1)


@dataclass(frozen=True)
class Network:
    """What training leaves; tables rounded to a byte a number (a saved network answers the same), biases as they are.

    features: (n_features, hidden) F; middle: (dim, hidden) M; labels: (n_labels, dim) W, nothing for labels that it
    does not know; biases: a (hidden,), b (dim,), c (n_labels,)."""

    features: Codes
    middle: Codes
    labels: Codes
    biases: tuple[Codes, Codes, Codes]

    OPINIONS: ClassVar[tuple[str, ...]] = ("network",)

    def encode(self, X: sp.csr_matrix) -> Codes:
        """(n, dim) g."""
        first = np.maximum(encode_bag(X, self.features) + self.biases[0], 0)
        found: Codes = np.maximum(product(first, self._middle) + self.biases[1], 0)
        return found

    def opinions(self, X: sp.csr_matrix, labels: Array) -> list[Codes]:
        """z of the labels (n, c) of each row, 0 where one is -1, NaN for a label that came later."""
        known = self._knows[np.where(labels < len(self.labels), labels, -1)]
        asked = np.where(known, labels, -1).astype(np.int64, copy=False)
        codes, out = self.encode(X), np.empty(labels.shape, dtype=np.float32)
        over_blocks(lambda a, b: score_pairs(codes, self.labels, asked, out, a, b), len(codes))
        unknown = np.where(labels < 0, np.float32(0), np.float32(np.nan))
        return [np.where(known, out + self.biases[2][asked], unknown)]

    @cached_property
    def _middle(self) -> Codes:
        """(hidden, dim)"""
        return np.ascontiguousarray(self.middle.T)

    @cached_property
    def _knows(self) -> npt.NDArray[np.bool_]:
        """(n_labels + 1,) which labels it knows; the last, none, it does not."""
        return np.append(self.labels.any(axis=1), False)

    def state(self) -> dict[str, Array]:
        tables = {"features": self.features, "middle": self.middle, "labels": self.labels}
        packed = {
            key: array for name, table in tables.items() for key, array in pack_table(name, table, "int8").items()
        }
        return packed | {f"bias{i}": bias for i, bias in enumerate(self.biases)}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], n_features: int, n_labels: int) -> Network:
        """The counterpart of `state`, every shape checked; labels that came later are not in it."""
        biases = tuple(arrays.get(f"bias{i}", np.zeros(())) for i in range(3))
        good = all(bias.ndim == 1 and bias.dtype == np.float32 and np.isfinite(bias).all() for bias in biases)
        if not good or not 1 <= len(biases[2]) <= n_labels:
            raise ModelFileError("the network in the model is damaged: biases that are no numbers, or not the labels'")
        hidden, dim, known = (len(bias) for bias in biases)
        shapes = {"features": (n_features, hidden), "middle": (dim, hidden), "labels": (known, dim)}
        features, middle, labels = (unpack_table(name, arrays, *shape) for name, shape in shapes.items())
        return cls(features, middle, labels, (biases[0], biases[1], biases[2]))


class _Layer:
    """z = h W' + b; weights: (n_out, n_in)."""

    def __init__(self, weights: Codes, bias: Codes) -> None:
        self.weights, self.bias = Table(weights), Table(bias[None])

    def __call__(self, h: Codes) -> Codes:
        found: Codes = h @ self.weights.weights.T
        found += self.bias.weights
        return found

    def learn(self, h: Codes, grad: Codes, lr: float) -> Codes:
        """One step along the gradient (n, n_out) of z; the gradient (n, n_in) of h before it."""
        back: Codes = grad @ self.weights.weights
        self.weights.learn(grad.T @ h, lr)
        self.bias.learn(grad.sum(axis=0, keepdims=True), lr)
        return back


class NetworkTraining:
    """Learns from rows X (n, n_features) and their labels Y (n, n_labels), of some first and later of all.
    finished: unless the time was up before."""

    finished = False

    def __init__(self, config: NetworkConfig, X: sp.csr_matrix, Y: sp.csr_matrix, run: Run) -> None:
        c, rng = config, run.rng(27)
        self.config, self._rng, self._n_features, self._n_labels = config, rng, int(X.shape[1]), int(Y.shape[1])
        self._occurring = np.unique(X.indices)  # a file may declare many more
        self._known = np.unique(Y.indices)
        self._features = Table(drawn(len(self._occurring), c.hidden, c.hidden**-0.5, rng))
        self._bias = Table(np.zeros((1, c.hidden), dtype=np.float32))
        self._middle = _Layer(drawn(c.dim, c.hidden, (2 / c.hidden) ** 0.5, rng), np.zeros(c.dim, dtype=np.float32))
        last = drawn(self._n_labels, c.dim, 0.5 * c.dim**-0.5, rng)[self._known]
        self._last = _Layer(last, np.zeros(len(last), dtype=np.float32))
        seen = X[:, self._occurring]
        self._rows: Rows | Codes = seen.toarray() if is_dense(X) else Rows.of(seen)
        self._truth = Rows.of(Y[:, self._known])
        self._labelled = (np.diff(X.indptr) > 0) & (np.diff(Y.indptr) > 0)
        self._learnt = np.zeros(len(self._known), dtype=bool)

    def fit(self, run: Run, rows: Array | None = None, *, share: float = 1.0, rate: float = 1.0) -> NetworkTraining:
        """On one thread: steps are too small for two. rows: those that it may learn from, else all; share: of the
        usual passes over them; rate: of the usual rate."""
        c, self.finished = self.config, False
        rows = np.arange(len(self._labelled)) if rows is None else rows
        labelled = rows[self._labelled[rows]]
        n, lr = len(labelled), rate * c.lr
        epochs = math.ceil(share * (c.epochs or _EPOCHS))
        total, done = epochs * -(-n // c.batch), 0
        self._guess(rows)
        with blas_threads(1), np.errstate(over="ignore"):  # exp of much is infinite, and one by that nothing
            for _ in range(epochs):
                order = self._rng.permutation(labelled)
                for a in range(0, n, c.batch):
                    if done % 16 == 0:
                        check_halted()
                        if run.time_left() <= 0:
                            return self
                    self._step(order[a : a + c.batch], lr * min((done + 1) / _WARM, 1 - done / total))
                    done += 1
        self.finished = True
        return self

    def _guess(self, rows: Array) -> None:
        """Labels that come for the first time begin with the share of rows that have them."""
        if not len(rows):
            return
        counts = np.bincount(self._truth.take(rows).indices, minlength=len(self._known))
        new = (counts > 0) & ~self._learnt
        share = np.clip(counts[new] / len(rows), _FAINT, 0.5)
        self._last.bias.weights[0, new] = np.log(share / (1 - share))
        self._learnt |= new

    def _step(self, rows: Array, lr: float) -> None:
        x = self._rows[rows] if isinstance(self._rows, np.ndarray) else self._rows.take(rows)
        first = self._features.sums(x)
        first += self._bias.weights
        gate = (first > 0) * np.float32(1 / (1 - self.config.dropout))
        gate *= self._rng.random(gate.shape, dtype=np.float32) >= self.config.dropout
        first *= gate
        second = np.maximum(self._middle(first), 0)
        grad = _bce_gradient(self._last(second), self._truth.take(rows))
        grad *= self._learnt  # nothing is said yet of labels that come later
        back = self._last.learn(second, grad, lr) * (second > 0)
        back = self._middle.learn(first, back, lr) * gate
        self._bias.learn(back.sum(axis=0, keepdims=True), lr)
        self._features.learn_sums(x, back, lr)

    def network(self) -> Network:
        labels = np.zeros((self._n_labels, self.config.dim), dtype=np.float32)
        bias = np.zeros(self._n_labels, dtype=np.float32)
        known, (weights, own) = self._known[self._learnt], (self._last.weights.weights, self._last.bias.weights[0])
        labels[known], bias[known] = weights[self._learnt], own[self._learnt]
        features = np.zeros((self._n_features, self.config.hidden), dtype=np.float32)
        features[self._occurring] = self._features.learnt
        tables = features, self._middle.weights.weights, labels
        features, middle, labels = (rounded(table, "int8") for table in tables)
        return Network(
            features, middle, labels, (self._bias.weights[0].copy(), self._middle.bias.weights[0].copy(), bias)
        )


def _bce_gradient(scores: Codes, truth: Rows) -> Codes:
    """(n, n_labels) of the loss, by the scores, which it overwrites."""
    np.negative(scores, out=scores)
    np.exp(scores, out=scores)
    scores += 1
    np.reciprocal(scores, out=scores)
    scores[np.repeat(np.arange(len(scores)), np.diff(truth.indptr)), truth.indices] -= 1
    scores *= np.float32(1 / len(scores))
    return scores
