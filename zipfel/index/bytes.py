"""Search over vectors of bytes in clusters, for questions that come one at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from zipfel.index.base import Ids, Index, Vectors
from zipfel.kernels.byte_search import search_clusters
from zipfel.quantize import pack_table, unpack_table
from zipfel.system.threads import blas_threads, over_blocks

_ALL = 4096
"""Vectors up to which all are looked at."""
_SHARE = 0.1
"""Share of the vectors that a search of a larger index visits; at least 20 k vectors are visited."""
_ROUNDS, _SAMPLE = 4, 64
"""Of k-means, and how many vectors a cluster it looks at."""


class ByteIndex(Index):
    """Inner products with the vectors as they are after rounding to a byte a number; not to be saved, but built again.

    Reading the vectors is what takes the time for a single question: bytes are a quarter of it, and of many vectors
    only the clusters nearest to the question are read.
    """

    kind = "bytes"

    def __init__(self, vectors: Vectors, ids: Ids | None = None) -> None:
        super().__init__(vectors, ids, metric="inner")
        self._rebuild()

    def _rebuild(self) -> None:
        packed = pack_table("vectors", self.vectors, "int8")
        self.vectors = unpack_table("vectors", packed, len(self), self.dim)
        with blas_threads():
            self._centres = _centres(self.vectors, 1 if len(self) <= _ALL else round(len(self) ** 0.5))
            cluster = _nearest(self.vectors, self._centres)
        self._places = np.argsort(cluster, kind="stable")
        self._edges = np.append(0, np.cumsum(np.bincount(cluster, minlength=len(self._centres))))
        self._codes, self._scale = packed["vectors"][self._places], packed["vectors.scale"][self._places]

    def _search(self, queries: Vectors, k: int) -> tuple[Ids, Vectors]:
        with blas_threads():
            order = np.argsort(-(queries @ self._centres.T), axis=1)
        enough = max(int(_SHARE * len(self)), 20 * k) if len(self._centres) > 1 else len(self)
        best = np.full((len(queries), k), -np.inf, dtype=np.float32)
        rows = np.full((len(queries), k), -1, dtype=np.int64)
        room = enough + int(np.diff(self._edges).max())
        asked = queries, order, self._edges, self._codes, self._scale, enough, room, best, rows
        over_blocks(lambda a, b: search_clusters(*asked, a, b), len(queries))
        return np.where(rows >= 0, self._places[rows], -1), best


def _centres(vectors: Vectors, n_clusters: int) -> Vectors:
    """(n_clusters, dim): means, by a few rounds of k-means on a sample; always from the same seed. faiss,
    whose k-means `clusters.py` has, takes longer to load than this takes."""
    if n_clusters == 1:
        return np.zeros((1, vectors.shape[1]), dtype=np.float32)
    sample: Vectors = vectors[np.random.default_rng(0).permutation(len(vectors))[: _SAMPLE * n_clusters]]
    centres: Vectors = sample[:n_clusters].copy()
    for _ in range(_ROUNDS):
        cluster = _nearest(sample, centres)
        sizes = np.bincount(cluster, minlength=n_clusters)
        by_cluster, firsts = sample[np.argsort(cluster, kind="stable")], np.append(0, np.cumsum(sizes)[:-1])
        filled = sizes > 0
        centres[filled] = np.add.reduceat(by_cluster, firsts[filled], axis=0) / sizes[filled, None]
    return centres


def _nearest(vectors: Vectors, centres: Vectors) -> npt.NDArray[np.int64]:
    """(n,) by Euclidean distance."""
    half = 0.5 * np.einsum("ij,ij->i", centres, centres)
    blocks = [vectors[a : a + 8192] @ centres.T - half for a in range(0, len(vectors), 8192)]
    return np.concatenate([block.argmax(axis=1) for block in blocks]) if blocks else np.zeros(0, dtype=np.int64)
