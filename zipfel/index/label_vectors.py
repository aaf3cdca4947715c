"""Labels as vectors with a bonus each: the best labels of a code, and the scores of labels that are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.errors import ModelFileError
from zipfel.index.base import Index
from zipfel.index.build import build_index, load_index
from zipfel.quantize import pack_table, rounded, unpack_table
from zipfel.ranking import Ranking

Vectors = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabelVectors:
    """score(l) = <code, vector of l> + bonus of l, by maximum inner product search.

    The bonus is a last number of the vector, and a code gets a 1 that meets it. A code of zeros has no scores.
    """

    index: Index
    precision: str

    @classmethod
    def of(cls, vectors: Vectors, bonus: Vectors, labels: Ids, precision: str) -> LabelVectors:
        """vectors: (n, d); bonus: (n,); labels: (n,) rising ids."""
        table = np.column_stack([vectors, bonus]).astype(np.float32)
        return cls(build_index(rounded(table, precision), labels, metric="inner"), precision)

    def search(self, codes: Vectors, k: int) -> Ranking:
        """The k best labels of each code (n, d)."""
        return Ranking(*self.index.search(_with_one(codes), k))

    def state(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        arrays, facts = self.index.state()
        return {**arrays, **pack_table("vectors", self.index.vectors, self.precision)}, facts

    @classmethod
    def restored(
        cls, arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any], dim: int, n_labels: int, precision: str
    ) -> LabelVectors:
        """The counterpart of `state`; dim: of the codes that will be asked for."""
        if "ids" not in arrays:
            raise ModelFileError("the model lacks its label vectors")
        table = unpack_table("vectors", arrays, len(arrays["ids"]), dim + 1)
        return cls(load_index({**arrays, "vectors": table}, facts, n_ids=n_labels), precision)


def _with_one(codes: Vectors) -> Vectors:
    return np.column_stack([codes, np.ones(len(codes), dtype=np.float32)])
