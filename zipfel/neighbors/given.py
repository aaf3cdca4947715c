"""Codes that the user gave: embeddings of documents and of label names, compared by their cosine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.index.base import unit_rows
from zipfel.kernels.topk import pair_products
from zipfel.quantize import pack_table, unpack_table

Codes = npt.NDArray[np.float32]
_BLOCK = 8192


@dataclass(frozen=True)
class GivenEncoder:
    """names: (n_labels, dim) embeddings of label names, of unit length, rounded to a byte a number, a row of zeros
    where a label has none; (0, dim) if there are none at all."""

    names: Codes

    VOTES: ClassVar[tuple[str, ...]] = ("embeddings: near", "embeddings: crowd")
    OPINIONS: ClassVar[tuple[str, ...]] = ("embedding: name",)

    def encode(self, vectors: Any) -> Codes:
        """(n, dim) of unit length, a row of zeros where a document has no embedding."""
        return unit_vectors(vectors)

    def searched(self, codes: Codes) -> Codes:
        """The codes as neighbours are searched: as they are."""
        return codes

    def sets(self, Y: sp.csr_matrix) -> None:
        """None: this space has no codes of label sets."""

    def opinions(self, codes: Codes, labels: npt.NDArray[np.int64]) -> list[Codes]:
        """(n, k) cosines of the documents with the names of the labels (n, k) of each row."""
        return [cosines(codes, self.names, self.has_name, labels)] if len(self.names) else []

    @cached_property
    def has_name(self) -> npt.NDArray[np.bool_]:
        """(n_labels,) whether the label's name has an embedding."""
        return np.asarray(self.names.any(axis=1))

    def extended(self, codes: Codes, Y: sp.csr_matrix, new: npt.NDArray[np.int64]) -> GivenEncoder:  # noqa: ARG002
        """With rows for more labels, whose names have no embedding."""
        if not len(self.names):
            return self
        return replace(self, names=np.pad(self.names, ((0, Y.shape[1] - len(self.names)), (0, 0))))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return pack_table("names", self.names, "int8")

    @classmethod
    def restored(cls, arrays: Mapping[str, npt.NDArray[Any]], n_features: int, n_labels: int, dim: int) -> GivenEncoder:  # noqa: ARG003
        """The counterpart of `state`, every shape checked."""
        names = arrays.get("names")
        if names is None or names.ndim != 2 or len(names) not in (0, n_labels):
            raise ModelFileError("the embeddings of label names in the model are damaged")
        return cls(unpack_table("names", arrays, len(names), dim))


def unit_vectors(vectors: npt.NDArray[Any]) -> Codes:
    """(n, dim) rows scaled to length one; rows of zeros stay. They may lie in a file, and are read block by block.

    >>> unit_vectors(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    found = np.empty(vectors.shape, dtype=np.float32)
    for a in range(0, len(found), _BLOCK):
        rows = np.asarray(vectors[a : a + _BLOCK], dtype=np.float32)
        largest = np.abs(rows).max(axis=1, initial=0)[:, None]  # squares of large numbers would be infinite
        found[a : a + _BLOCK] = unit_rows(rows / np.where(largest > 0, largest, np.float32(1)))
    return found


def cosines(codes: Codes, vectors: Codes, known: npt.NDArray[np.bool_], labels: npt.NDArray[np.int64]) -> Codes:
    """(n, k) of codes (n, dim) with the vectors (n_labels, dim) of each row's labels (n, k), all of unit length. NaN
    where a row has no code, where a label is -1, and where it is not `known` (n_labels,)."""
    has_code = np.asarray(codes.any(axis=1))
    ids = np.where((labels >= 0) & known[labels] & has_code[:, None], labels, -1)
    found = pair_products(codes, vectors, ids)
    return np.where(ids < 0, np.float32(np.nan), found)
