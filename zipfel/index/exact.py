"""Exact search: blocked matrix products with a running top-k; and over vectors of bytes, for single questions."""

from __future__ import annotations

import numpy as np

from zipfel.index.base import Ids, Index, Vectors
from zipfel.kernels.topk import byte_scores, merge_topk, sort_topk, topk
from zipfel.nn.quantize import pack_table, unpack_table
from zipfel.threads import blas_threads, over_blocks

_QUERIES, _VECTORS = 256, 8192
"""A block of scores is 8 MB: it stays in the cache between the product and the heaps."""
_FEW = 8
"""Questions at a time up to which bytes are faster than the matrix product."""


class ExactIndex(Index):
    """The reference: finds what is there, in time linear in the number of vectors."""

    kind = "exact"

    def _search(self, queries: Vectors, k: int) -> tuple[Ids, Vectors]:
        best = np.full((len(queries), k), -np.inf, dtype=np.float32)
        places = np.full((len(queries), k), -1, dtype=np.int64)
        with blas_threads():
            for a in range(0, len(queries), _QUERIES):
                b = min(a + _QUERIES, len(queries))
                for start in range(0, len(self.vectors), _VECTORS):
                    block = queries[a:b] @ self.vectors[start : start + _VECTORS].T  # (b - a, at most _VECTORS)
                    _merge(block, start, best[a:b], places[a:b])
        over_blocks(lambda i, j: sort_topk(best, places, i, j), len(queries))
        return places, best


class ByteIndex(ExactIndex):
    """Inner products with the vectors as they are after rounding to a byte a number; not to be saved, but built again.
    A few questions are answered from the bytes: reading the vectors is what takes the time then, and they are a quarter
    of the size."""

    kind = "bytes"

    def __init__(self, vectors: Vectors, ids: Ids | None = None) -> None:
        super().__init__(vectors, ids, metric="inner")
        self._rebuild()

    def _rebuild(self) -> None:
        packed = pack_table("vectors", self.vectors, "int8")
        self._codes, self._scale = packed["vectors"], packed["vectors.scale"]
        self.vectors = unpack_table("vectors", packed, len(self), self.vectors.shape[1])

    def _search(self, queries: Vectors, k: int) -> tuple[Ids, Vectors]:
        if len(queries) > _FEW:
            return super()._search(queries, k)
        scores = np.empty((len(queries), len(self)), dtype=np.float32)
        for query, out in zip(queries, scores, strict=True):
            byte_scores(query, self._codes, self._scale, out)
        return topk(scores, k)


def _merge(block: Vectors, start: int, best: Vectors, places: Ids) -> None:
    over_blocks(lambda i, j: merge_topk(block, start, best, places, i, j), len(block))
