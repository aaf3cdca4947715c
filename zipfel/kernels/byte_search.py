"""The largest inner products with vectors of bytes, cluster by cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from zipfel.kernels.topk import GROUP, topk_row

Array = npt.NDArray[Any]


@njit(cache=True, nogil=True, fastmath=True)
def byte_scores(query: Array, codes: Array, scale: Array, out: Array) -> None:
    """out[i] = scale[i] * query . codes[i], of int8 codes (n, d): a quarter of the memory that float32 would move.
    Plain twin: the product with scale * codes."""
    n, dim = codes.shape
    for i in range(0, n - n % 4, 4):  # four at a time: adding up one row alone would wait for itself
        one, two, three, four = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
        for d in range(dim):
            one += query[d] * np.float32(codes[i, d])
            two += query[d] * np.float32(codes[i + 1, d])
            three += query[d] * np.float32(codes[i + 2, d])
            four += query[d] * np.float32(codes[i + 3, d])
        out[i], out[i + 1] = one * scale[i], two * scale[i + 1]
        out[i + 2], out[i + 3] = three * scale[i + 2], four * scale[i + 3]
    for i in range(n - n % 4, n):
        total = np.float32(0.0)
        for d in range(dim):
            total += query[d] * np.float32(codes[i, d])
        out[i] = total * scale[i]


@njit(cache=True, nogil=True)
def search_clusters(
    queries: Array,
    order: Array,
    edges: Array,
    codes: Array,
    scale: Array,
    enough: int,
    room: int,
    best: Array,
    places: Array,
    start: int,
    stop: int,
) -> None:
    """Rows start..stop of best, places (n, k): the largest inner products with the int8 codes (m, d), best first.

    Cluster c is rows edges[c]..edges[c + 1] of the codes; order: (n, n_clusters), in which they are looked through for
    each query, until `enough` rows have been; which may be up to `room` of them.
    """
    scores, rows = np.empty(room, dtype=np.float32), np.empty(room, dtype=np.int64)
    found, sorting = np.empty(room + room // GROUP, dtype=np.float32), np.empty(room, dtype=np.float32)
    columns = np.empty(room, dtype=np.int64)
    for i in range(start, stop):
        n = 0
        for c in range(order.shape[1]):
            a, b = edges[order[i, c]], edges[order[i, c] + 1]
            byte_scores(queries[i], codes[a:b], scale[a:b], scores[n : n + b - a])
            for row in range(a, b):
                rows[n] = row
                n += 1
            if n >= enough:
                break
        topk_row(scores[:n], best[i], places[i], found, columns, sorting)
        for c in range(places.shape[1]):
            if places[i, c] >= 0:
                places[i, c] = rows[places[i, c]]
