"""Documents and label sets as codes in one cosine space: the encoder that `label_set_training.py` trains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.base import unit_rows
from zipfel.kernels.bag import encode_bag
from zipfel.kernels.topk import score_pairs
from zipfel.quantize import pack_table, rounded, unpack_table
from zipfel.system.threads import over_blocks

Codes = npt.NDArray[np.float32]
TEMPERATURE = 0.05
"""What cosines are divided by in the loss of training."""


@dataclass(frozen=True)
class Encoder:
    """Trained vectors, rounded to a byte a number (a saved encoder answers the same), kept as float32."""

    features: Codes  # (n_features, dim)
    labels: Codes  # (n_labels, dim)

    VOTES: ClassVar[tuple[str, ...]] = ("label sets: points", "label sets: sets", "label sets: crowd")
    OPINIONS: ClassVar[tuple[str, ...]] = ("likeness",)

    def encode(self, X: sp.csr_matrix) -> Codes:
        """(n, dim), of unit length."""
        codes = encode_bag(X, self.features)
        return unit_rows(codes, out=codes)

    def searched(self, codes: Codes) -> Codes:
        """The codes as neighbours are searched: as they are."""
        return codes

    def sets(self, Y: sp.csr_matrix) -> Codes:
        """(n, dim), of unit length."""
        codes = encode_bag(Y, self.labels)
        return unit_rows(codes, out=codes)

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


def fingerprints(Y: sp.csr_matrix) -> npt.NDArray[np.int64]:
    """(n,) one number a label set, equal for equal sets: the wrapping sum of a random number a label."""
    numbers = np.random.default_rng(0).integers(-(2**62), 2**62, size=Y.shape[1])
    ones = sp.csr_matrix((np.ones(Y.nnz, dtype=np.int64), Y.indices, Y.indptr), shape=Y.shape)
    prints: npt.NDArray[np.int64] = ones @ numbers
    return prints
