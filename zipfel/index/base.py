"""The contract of an index: vectors in, the nearest ids and their scores out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from zipfel.errors import ModelFileError, ParameterError

Vectors = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
METRICS = ("cosine", "inner")


class Index(ABC):
    """Search over n vectors by cosine or inner product.

    ids: (n,) int64, rising; what `search` answers with. vectors: (n, d), scaled to unit length for the cosine.
    recall: share of the exact top `recall_at` that the index found when it was built; 1 for an exact index.
    """

    kind: ClassVar[str]

    def __init__(self, vectors: Vectors, ids: Ids | None = None, *, metric: str = "cosine") -> None:
        if metric not in METRICS:
            raise ParameterError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
        self.metric, self.recall, self.recall_at = metric, 1.0, 0
        self.vectors = self._scaled(vectors)
        self.ids = np.arange(len(vectors), dtype=np.int64) if ids is None else np.asarray(ids, dtype=np.int64)
        if len(self.ids) != len(self.vectors) or np.any(np.diff(self.ids) <= 0):
            raise ParameterError("an index needs one id for each vector, in rising order")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dim(self) -> int:
        return int(self.vectors.shape[1])

    def search(self, queries: Vectors, k: int) -> tuple[Ids, Vectors]:
        """(n, k) ids, best first, -1 where there are fewer; (n, k) scores, -inf there. Ties: the lowest id."""
        queries = self._scaled(queries)
        width = min(k, len(self))
        ids = np.full((len(queries), k), -1, dtype=np.int64)
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        if width and len(queries):
            places, found = self._search(queries, width)
            ids[:, :width] = np.where(places >= 0, self.ids[np.maximum(places, 0)], -1)
            scores[:, :width] = found
        return ids, scores

    def add(self, vectors: Vectors, ids: Ids | None = None) -> Ids:
        """Adds rows, by default with the next free ids; returns the ids."""
        following = int(self.ids[-1]) + 1 if len(self) else 0
        ids = np.arange(following, following + len(vectors), dtype=np.int64) if ids is None else np.asarray(ids)
        if len(ids) != len(vectors) or np.isin(ids, self.ids).any() or len(np.unique(ids)) != len(ids):
            raise ParameterError("add needs one new id for each vector")
        order = np.argsort(np.concatenate([self.ids, ids]), kind="stable")
        self.vectors = np.concatenate([self.vectors, self._scaled(vectors)])[order]
        self.ids = np.concatenate([self.ids, ids])[order].astype(np.int64)
        self._rebuild()
        return ids

    def remove(self, ids: Ids) -> None:
        """Drops the rows with these ids; ids that are not there are ignored."""
        kept = ~np.isin(self.ids, ids)
        self.vectors, self.ids = np.ascontiguousarray(self.vectors[kept]), self.ids[kept]
        self._rebuild()

    def state(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Arrays and facts; `zipfel.index.load_index` reads them back."""
        facts = {"kind": self.kind, "metric": self.metric, "recall": self.recall, "recall_at": self.recall_at}
        return {"ids": self.ids, "vectors": self.vectors}, facts

    @abstractmethod
    def _search(self, queries: Vectors, k: int) -> tuple[Ids, Vectors]:
        """(n, k) places in `vectors` and scores, best first, padded; queries are scaled, 1 <= k <= len(self)."""

    def _rebuild(self) -> None:  # noqa: B027 - the exact index has nothing to rebuild
        """Called after rows were added or removed."""

    def _scaled(self, vectors: Vectors) -> Vectors:
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        return unit_rows(vectors) if self.metric == "cosine" else vectors


def unit_rows(vectors: Vectors, out: Vectors | None = None) -> Vectors:
    """Rows scaled to unit length. Rows of zeros and rows of unit length stay as they are, so scaling twice changes
    nothing. out: where to write them, maybe in their own place."""
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    norms[(norms == 0) | (np.abs(norms - 1) < 1e-6)] = 1.0
    scaled: Vectors = np.divide(vectors, norms[:, None], out=out)
    return scaled


def checked(arrays: Mapping[str, npt.NDArray[Any]], name: str, kind: str, ndim: int) -> npt.NDArray[Any]:
    """An array of a saved index, with its dtype kind and number of dimensions checked."""
    array = arrays.get(name)
    if array is None or array.dtype.kind not in kind or array.ndim != ndim:
        raise ModelFileError(f"the saved index has no proper array {name!r}; save the model again")
    return array
