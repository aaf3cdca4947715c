"""Tokens, encoder and classifiers that belong together: a network from sparse rows to labels, as it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from zipfel.kernels.bag import encode_bag
from zipfel.kernels.topk import pair_products
from zipfel.nn.encoder import ResidualEncoder
from zipfel.nn.score import with_constant
from zipfel.quantize import pack_table, rounded, unpack_table
from zipfel.state import State, under

Array = npt.NDArray[np.float32]
Ids = npt.NDArray[np.integer[Any]]


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

    def rounded(self, precision: str) -> ClassifierNetwork:
        return ClassifierNetwork(rounded(self.tokens, precision), self.encoder, rounded(self.classifiers, precision))

    def state(self, precision: str) -> dict[str, npt.NDArray[Any]]:
        encoder = {name: tensor.numpy() for name, tensor in self.encoder.state_dict().items()}
        tables = {"tokens": self.tokens, "classifiers": self.classifiers}
        packed = [pack_table(name, table, precision) for name, table in tables.items()]
        return {**packed[0], **packed[1], **under("encoder", encoder)}

    @classmethod
    def restored(
        cls, state: State, name: str, encoder: ResidualEncoder, sizes: tuple[int, int, int]
    ) -> ClassifierNetwork:
        """The arrays under `name`; encoder: one of the right shape. sizes: features, labels, numbers in a code."""
        shapes = {key: tuple(tensor.shape) for key, tensor in encoder.state_dict().items()}
        found = {key: state.array(f"{name}.encoder.{key}", shape=shape) for key, shape in shapes.items()}
        encoder.load_state_dict({key: torch.tensor(array) for key, array in found.items()})
        tables = zip(("tokens", "classifiers"), sizes[:2], strict=True)
        tokens, classifiers = (unpack_table(table, state.part(name), rows, sizes[2]) for table, rows in tables)
        return cls(tokens, encoder, classifiers)


def log_odds_classifiers(Y: sp.csr_matrix, dim: int) -> Array:
    """(L, d) classifiers that know how frequent their label is among the points of Y (n, L), and no more."""
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    classifiers = np.zeros((Y.shape[1], dim), dtype=np.float32)
    classifiers[:, -1] = np.log((counts + 0.5) / (Y.shape[0] - counts + 0.5))
    return classifiers
