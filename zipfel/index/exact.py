"""Exact search: blocked matrix products with a running top-k."""

from __future__ import annotations

import numpy as np

from zipfel.index.base import Ids, Index, Vectors
from zipfel.kernels.topk import merge_topk, sort_topk
from zipfel.system.threads import over_products

_QUERIES, _VECTORS = 256, 8192
"""A block of scores is 8 MB: it stays in the cache between the product and the heaps."""


class ExactIndex(Index):
    """The reference: finds what is there, in time linear in the number of vectors."""

    kind = "exact"

    def _search(self, queries: Vectors, k: int) -> tuple[Ids, Vectors]:
        best = np.full((len(queries), k), -np.inf, dtype=np.float32)
        places = np.full((len(queries), k), -1, dtype=np.int64)

        def search(begin: int, end: int) -> None:
            for a in range(begin, end, _QUERIES):
                b = min(a + _QUERIES, end)
                for start in range(0, len(self.vectors), _VECTORS):
                    block = queries[a:b] @ self.vectors[start : start + _VECTORS].T  # (b - a, at most _VECTORS)
                    merge_topk(block, start, best[a:b], places[a:b], 0, b - a)
            sort_topk(best, places, begin, end)

        over_products(search, len(queries))
        return places, best
