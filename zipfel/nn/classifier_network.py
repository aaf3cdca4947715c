"""Tokens, encoder and classifiers that belong together: a network from sparse rows to labels, as it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from zipfel.kernels.bag import encode_bag
from zipfel.kernels.topk import pair_products, topk
from zipfel.nn.encoder import ResidualEncoder
from zipfel.nn.score import with_constant
from zipfel.nn.weights import read_weights, weights
from zipfel.quantize import pack_table, rounded, unpack_table
from zipfel.state import State, under

Array = npt.NDArray[np.float32]
Ids = npt.NDArray[np.integer[Any]]
_BLOCK = 512
"""Rows scored at a time."""


@dataclass
class ClassifierNetwork:
    """tokens (D, d), encoder, classifiers (L, d), whose last weight is their bias."""

    tokens: Array
    encoder: ResidualEncoder
    classifiers: Array

    def first(self, X: sp.csr_matrix) -> Array:
        """(n, d) v."""
        with torch.no_grad():
            found: Array = self.encoder.first(torch.from_numpy(encode_bag(X, self.tokens))).numpy()
        return found

    def logits(self, v: Array, places: Ids | None) -> Array:
        """(n, c) w_j . x for v (n, d) and the labels at places (n, c), or for all."""
        self.encoder.eval()
        with torch.no_grad():
            x: Array = with_constant(self.encoder.last(torch.from_numpy(v))).numpy()
        return x @ self.classifiers.T if places is None else pair_products(x, self.classifiers, places)

    def first_labels(self, v: Array, places: Ids | None, m: int) -> Ids:
        """(n, m) places of the m labels with the largest logits, of those at places (n, c) or of all; -1 pads."""
        parts = []
        for a in range(0, max(1, len(v)), _BLOCK):
            mine = None if places is None else places[a : a + _BLOCK]
            columns = topk(self.logits(v[a : a + _BLOCK], mine), m)[0]
            parts.append(taken(mine, columns).astype(np.int32))
        return np.concatenate(parts)

    def rounded(self, precision: str) -> ClassifierNetwork:
        return ClassifierNetwork(rounded(self.tokens, precision), self.encoder, rounded(self.classifiers, precision))

    def state(self, precision: str) -> dict[str, npt.NDArray[Any]]:
        tables = {"tokens": self.tokens, "classifiers": self.classifiers}
        packed = [pack_table(name, table, precision) for name, table in tables.items()]
        return {**packed[0], **packed[1], **under("encoder", weights(self.encoder))}

    @classmethod
    def restored(
        cls, state: State, name: str, encoder: ResidualEncoder, sizes: tuple[int, int, int]
    ) -> ClassifierNetwork:
        """The arrays under `name`; encoder: one of the right shape. sizes: features, labels, numbers in a code."""
        read_weights(encoder, state, f"{name}.encoder")
        tables = zip(("tokens", "classifiers"), sizes[:2], strict=True)
        tokens, classifiers = (unpack_table(table, state.part(name), rows, sizes[2]) for table, rows in tables)
        return cls(tokens, encoder, classifiers)


def taken(places: Ids | None, columns: Ids) -> Ids:
    """(n, m) the places (n, c) in columns (n, m), -1 where one is -1; places None: columns are places."""
    if places is None:
        return columns
    found: Ids = np.take_along_axis(places, np.maximum(columns, 0), axis=1)
    return np.where(columns >= 0, found, -1)


def log_odds_classifiers(Y: sp.csr_matrix, dim: int) -> Array:
    """(L, d) classifiers that know how frequent their label is among the points of Y (n, L), and no more."""
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    classifiers = np.zeros((Y.shape[1], dim), dtype=np.float32)
    classifiers[:, -1] = np.log((counts + 0.5) / (Y.shape[0] - counts + 0.5))
    return classifiers
