"""Documents as codes of a kernel ridge regression onto their labels: no epochs, one sum over the training set and one
solve.

    k(x, z) = (1 - a) cos(x, z) + a cos(x, z)^2          against m landmarks z, training points drawn at random
    s(x) = p + k(x) W                                    p: the labels' frequencies
    W = argmin_W  sum_i |y_i - s(x_i)|^2 + r tr(W' K W)  K: the landmarks against each other
      = (G + r K)^-1 T,  G = sum_i k(x_i)' k(x_i),  T = sum_i k(x_i)' (y_i - p)
    f(x) = k(x) W V                                      codes; V: the `dim` directions in which s(x) - p is largest
    s_l(x) = p_l + f(x) . v_l                            the regression's score of label l

G and T are sums over points: when more points come, theirs are added. The training points whose codes are nearest to a
document's vote for their labels (`neighbors/space.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy import linalg

from zipfel.config import Config, param
from zipfel.errors import DataError, ModelFileError
from zipfel.index.base import unit_rows
from zipfel.kernels.dense_product import product
from zipfel.kernels.topk import score_pairs
from zipfel.neighbors.votes import FAINT
from zipfel.neighbors.words import WordIndex
from zipfel.quantize import pack_table, rounded, unpack_table
from zipfel.run import Run
from zipfel.system.threads import blas_threads, check_halted, over_blocks, over_products

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.float32]
_BLOCK, _LANDMARKS = 2048, 500
"""Points that are summed at a time; the default number of landmarks."""
_LEAST_SPREAD = 1e-4
"""Square of what codes are apart at least, for new labels: where all are alike, rounding errors would decide."""
_STRIPE, _TRIES = 256, 30
"""Columns of G that are summed at a time; how often its diagonal is lifted at most, four times as much each time."""
_MORE = 20
"""Directions beyond `dim` that are looked at to find the best ones."""


@dataclass(frozen=True)
class RegressionConfig(Config):
    landmarks: int | None = param(
        None,
        "m; none: 1,000, fewer where points are few, or many with few labels, 500 at least",
        symbol="m",
        low=1,
        high=20_000,
    )
    dim: int = param(128, "numbers in a code, at most one a label", low=1)
    curve: float = param(0.3, "a, share of the squared cosine in the kernel", symbol="a", low=0, high=1)
    ridge: float = param(0.3, "r, weight of the penalty on the regression", symbol="r", low=1e-6)


class Landmarks:
    """The sums over the training set, and the encoder that solves for them."""

    def __init__(
        self,
        config: RegressionConfig,
        X: sp.csr_matrix,
        Y: sp.csr_matrix,
        run: Run,
        occurring: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """occurring: labels that some point has, of X or of what is added later; default: all. The others cost nothing:
        a file may declare a million and have a thousand."""
        self.config, self._n_labels = config, int(Y.shape[1])
        self._occurring = np.arange(self._n_labels)
        if occurring is not None and len(occurring):
            self._occurring = occurring
        known = np.flatnonzero((np.diff(X.indptr) > 0) & (np.diff(Y.indptr) > 0))
        wanted = config.landmarks or _LANDMARKS
        drawn = np.sort(run.rng(21).permutation(known)[:wanted]) if len(known) else np.arange(1)
        self.kernel = Kernel(WordIndex.whole(X[drawn]), float(np.float32(config.curve)))  # as it is saved
        m, n_labels = len(drawn), len(self._occurring)
        self._gram = np.zeros((m, m))
        self._hits = np.zeros((n_labels, m), dtype=np.float32)  # sum_i y_i k(x_i)
        self._sum = np.zeros(m)  # sum_i k(x_i)
        self._n, self._counts = 0, np.zeros(n_labels)
        self._lift = 1e-6
        width = config.dim + _MORE
        if n_labels <= 2 * width:  # all directions at once are less work than finding the largest
            self._directions = np.eye(n_labels, dtype=np.float32)
        else:
            self._directions = _orthonormal(run.rng(22).standard_normal((n_labels, width)).astype(np.float32))

    def add(self, X: sp.csr_matrix, Y: sp.csr_matrix, near: Codes | None = None) -> None:
        """Sums over more points; near: their kernel values, if known."""
        for start in range(0, X.shape[0], _BLOCK):
            check_halted()
            rows = slice(start, start + _BLOCK)
            k, labels = self.kernel(X[rows]) if near is None else near[rows], Y[rows][:, self._occurring]
            _add_square(self._gram, k)
            present = np.unique(labels.indices)
            self._hits[present] += labels[:, present].T @ k
            self._sum += k.sum(axis=0, dtype=np.float64)
        self._n += X.shape[0]
        self._counts += np.bincount(Y.indices, minlength=self._n_labels)[self._occurring]

    def encoder(self) -> RegressionEncoder:
        with blas_threads(1):  # a small matrix's factor is a hundred short products, see `over_products`
            return self._solved()

    def _solved(self) -> RegressionEncoder:
        hits, sums, p = self._hits, self._sum.astype(np.float32), (self._counts / max(1, self._n)).astype(np.float32)
        gram = np.triu(self._gram) + np.triu(self._gram, 1).T
        factor, self._lift = _factor(gram + self.config.ridge * self.kernel.own().astype(np.float64), self._lift)

        def weights(V: Array) -> Array:
            """W V, (m, d)"""
            wanted = (product(hits.T, V) - np.outer(sums, p @ V)).astype(np.float64)
            return np.asarray(linalg.cho_solve(factor, wanted, check_finite=False))

        def back(U: Array) -> Array:
            """W' U, (L, d)"""
            U = linalg.cho_solve(factor, U, check_finite=False).astype(np.float32)
            return product(hits, U) - np.outer(p, sums @ U)

        V = self._directions
        if V.shape[0] > V.shape[1]:  # else these are all directions that there are
            V = _orthonormal(back(gram @ weights(V)))
            self._directions = V  # where the next call starts
        P = weights(V)
        turn = np.linalg.eigh(P.T @ gram @ P)[1][:, ::-1][:, : self.config.dim]
        V, P = V @ turn.astype(np.float32), P @ turn
        mean = self._sum / max(1, self._n) @ P
        spread = float(np.trace(P.T @ gram @ P) / max(1, self._n) - mean @ mean)
        labels, offsets = np.zeros((self._n_labels, V.shape[1]), dtype=np.float32), np.zeros(self._n_labels, np.float32)
        labels[self._occurring], offsets[self._occurring] = rounded(V, "int8"), p
        spread = max(spread, _LEAST_SPREAD) ** 0.5
        return RegressionEncoder(self.kernel, P.astype(np.float32), labels, offsets, mean.astype(np.float32), spread)


def _add_square(gram: npt.NDArray[np.float64], near: Codes) -> None:
    """gram += near' near, on the diagonal and above."""

    def add(start: int, stop: int) -> None:
        for a in range(_STRIPE * start, _STRIPE * stop, _STRIPE):
            gram[a : a + _STRIPE, a:] += near[:, a : a + _STRIPE].T @ near[:, a:]

    n_stripes = -(-len(gram) // _STRIPE)
    over_products(add, n_stripes, parts=n_stripes)


def _orthonormal(V: Codes) -> Codes:
    """Columns that span the same, by the eigenvectors of V' V: faster than LAPACK's QR."""
    wide = V.astype(np.float64)
    size, U = np.linalg.eigh(wide.T @ wide)
    found: Codes = (wide @ (U / np.sqrt(np.maximum(size, 1e-12 * size[-1] + 1e-30)))).astype(np.float32)
    return found


def _factor(matrix: Array, lift: float) -> tuple[tuple[Array, bool], float]:
    """Cholesky's, of the matrix with as little added to its diagonal as rounding errors ask for: as a share of its mean
    `lift` at first, and what it was in the end."""
    diagonal, added = np.einsum("ii->i", matrix), 0.0
    mean = float(diagonal.mean())
    for _ in range(_TRIES):
        more = lift * (mean + 1e-3)
        diagonal += more - added
        factor, failed = linalg.lapack.dpotrf(matrix.T, lower=1)  # symmetric: transposed, it need not be rearranged
        if not failed and np.isfinite(np.diagonal(factor)).all():
            return (factor, True), lift
        lift, added = lift * 4, more
    raise DataError("no regression can be fitted: feature values are not finite, or too large")


class Kernel:
    """k(x) of the documents against the landmarks."""

    def __init__(self, rows: WordIndex, curve: float) -> None:
        self.rows, self.curve = rows, curve

    def __call__(self, X: sp.csr_matrix) -> Codes:
        """(n, m)"""
        found = self.rows.cosines(X)
        found *= np.float32(1 - self.curve) + np.float32(self.curve) * found
        return found

    def own(self) -> Codes:
        """(m, m): the landmarks against each other."""
        return self(self.rows.rows)


@dataclass(frozen=True)
class RegressionEncoder:
    """The trained encoder; label vectors rounded to a byte a number (a saved encoder answers the same)."""

    kernel: Kernel
    projection: Codes  # (m, dim)
    labels: Codes  # (n_labels, dim)
    offsets: Codes  # (n_labels,)
    mean: Codes  # (dim,) of the training points' codes
    spread: float  # how far they are from it

    VOTES: ClassVar[tuple[str, ...]] = ("codes: near", "codes: crowd")
    OPINIONS: ClassVar[tuple[str, ...]] = ("regression", "log regression")

    def encode(self, X: sp.csr_matrix, near: Codes | None = None) -> Codes:
        """(n, dim); near: their kernel values, if known."""
        if near is not None:
            return product(near, self.projection)
        if X.shape[0] <= _BLOCK:  # slicing would take a tenth of the time of a single document
            return product(self.kernel(X), self.projection)
        blocks = range(0, X.shape[0], _BLOCK)
        return np.concatenate([product(self.kernel(X[a : a + _BLOCK]), self.projection) for a in blocks])

    def searched(self, codes: Codes) -> Codes:
        """The codes as neighbours are searched: seen from their mean, of unit length; (n, dim)."""
        found = unit_rows(codes - self.mean)
        found[~codes.any(axis=1)] = 0
        return found

    def sets(self, Y: sp.csr_matrix) -> None:
        """None: this space has no codes of label sets."""

    def opinions(self, codes: Codes, labels: npt.NDArray[np.int64]) -> list[Codes]:
        """s of the labels (n, k) of each row, within 0 and 1, and its log; 0 where a label is -1."""
        out = np.empty(labels.shape, dtype=np.float32)
        over_blocks(lambda a, b: score_pairs(codes, self.labels, labels, out, a, b), len(codes))
        out += self.offsets[labels]
        out[labels < 0] = 0
        np.clip(out, 0, 1, out=out)
        return [out, np.log(out + np.float32(FAINT))]

    def extended(self, codes: Codes, Y: sp.csr_matrix, new: npt.NDArray[np.int64]) -> RegressionEncoder:
        """With vectors for the labels that are new: along the mean of their points' searched codes (n, dim), so long
        that a usual point that lies there has a whole label."""
        labels = np.zeros((Y.shape[1], self.labels.shape[1]), dtype=np.float32)
        labels[: len(self.labels)] = self.labels
        means = unit_rows(np.asarray(Y[:, new].T @ codes, dtype=np.float32))  # (new, dim)
        labels[new] = rounded(means / np.float32(self.spread), "int8")
        offsets = np.zeros(Y.shape[1], dtype=np.float32)
        offsets[: len(self.offsets)] = self.offsets
        offsets[new] = -labels[new] @ self.mean
        return replace(self, labels=labels, offsets=offsets)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        facts = np.array([[self.spread, self.kernel.curve]], dtype=np.float32)
        tables = {
            "projection": self.projection,
            "offsets": self.offsets[:, None],
            "mean": self.mean[None],
            "facts": facts,
        }
        packed = {name: pack_table(name, table, "float32")[name] for name, table in tables.items()}
        rows = {f"landmarks.{key}": array for key, array in self.kernel.rows.state().items()}
        return {**packed, **pack_table("labels", self.labels, "int8"), **rows}

    @classmethod
    def restored(
        cls, arrays: Mapping[str, npt.NDArray[Any]], n_features: int, n_labels: int, dim: int
    ) -> RegressionEncoder:
        """The counterpart of `state`, every shape checked."""
        start = "landmarks."
        rows = {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}
        if rows.get("indptr", np.zeros(())).ndim != 1:
            raise ModelFileError("the landmarks in the model are damaged: they have no rows")
        m = len(rows["indptr"]) - 1
        shapes = {
            "projection": (m, dim),
            "labels": (n_labels, dim),
            "offsets": (n_labels, 1),
            "mean": (1, dim),
            "facts": (1, 2),
        }
        projection, labels, offsets, mean, facts = (
            unpack_table(name, arrays, *shape) for name, shape in shapes.items()
        )
        spread, curve = map(float, facts[0])
        if not (0 <= curve <= 1 and spread >= 1e-6):
            raise ModelFileError(f"the regression in the model is damaged: curve {curve}, spread {spread}")
        kernel = Kernel(WordIndex.restored(rows, m, n_features), curve)
        return cls(kernel, projection, labels, offsets[:, 0], mean[0], spread)
