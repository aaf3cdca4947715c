"""Points in k-means clusters: neighbours are looked for in the nearest clusters only (DXML, section 3.4 and Eq. 4)."""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from zipfel.system.threads import library_threads

Vectors = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

TRAIN_POINTS = 256
"""Points a cluster that k-means looks at; more move the centres no further."""


class Clusters:
    """n vectors (n, dim) in clusters around `centres` (m, dim); a new vector joins the nearest, nothing else moves.

    Clusters are near by Euclidean distance (Eq. 4), neighbours within them by inner product.
    """

    def __init__(self, centres: Vectors, vectors: Vectors) -> None:
        self.centres = np.ascontiguousarray(centres, dtype=np.float32)
        self.vectors = np.zeros((0, centres.shape[1]), dtype=np.float32)
        self._quantizer = faiss.IndexFlatL2(centres.shape[1])
        self._quantizer.add(self.centres)
        self._lists: Any = faiss.IndexIVFFlat(
            self._quantizer, centres.shape[1], len(centres), faiss.METRIC_INNER_PRODUCT
        )
        self._lists.is_trained = True
        self.add(vectors)

    @classmethod
    def fit(cls, vectors: Vectors, n_clusters: int, seed: int) -> Clusters:
        """k-means into at most `n_clusters` (never more than there are distinct places to put them)."""
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        n_clusters = max(1, min(n_clusters, len(vectors)))
        if n_clusters == 1:
            return cls(vectors.mean(axis=0, keepdims=True), vectors)
        means = faiss.Clustering(vectors.shape[1], n_clusters)
        means.niter, means.seed = 20, seed + 1
        means.min_points_per_centroid, means.max_points_per_centroid = 1, TRAIN_POINTS
        with library_threads():
            means.train(vectors, faiss.IndexFlatL2(vectors.shape[1]))
        centres = faiss.vector_to_array(means.centroids).reshape(n_clusters, -1)
        return cls(centres, vectors)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def n_clusters(self) -> int:
        return len(self.centres)

    def sizes(self) -> Ids:
        """(m,) points in each cluster."""
        return np.array([self._lists.invlists.list_size(c) for c in range(self.n_clusters)], dtype=np.int64)

    def add(self, vectors: Vectors) -> None:
        """New points, with the next ids, each into its nearest cluster."""
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        self.vectors = np.concatenate([self.vectors, vectors])
        self._lists.add(vectors)

    def search(self, queries: Vectors, k: int, n_probe: int) -> tuple[Ids, Vectors]:
        """(n, k) ids and inner products, best first, of the `n_probe` nearest clusters.

        A row that finds fewer than k points there looks further, in twice as many clusters, until it has k (or all).
        """
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        width = min(k, len(self))
        ids, scores = self._search(queries, width, n_probe)
        while n_probe < self.n_clusters:
            short = np.flatnonzero((ids == -1).any(axis=1))
            if not len(short):
                break
            n_probe *= 2
            ids[short], scores[short] = self._search(queries[short], width, n_probe)
        room = ((0, 0), (0, k - width))
        return np.pad(ids, room, constant_values=-1), np.pad(scores, room, constant_values=-np.inf)

    @library_threads()
    def _search(self, queries: Vectors, k: int, n_probe: int) -> tuple[Ids, Vectors]:
        if not len(queries) or not k:
            return np.full((len(queries), k), -1), np.full((len(queries), k), -np.inf, dtype=np.float32)
        settings = faiss.SearchParametersIVF(nprobe=min(n_probe, self.n_clusters))  # type: ignore[call-arg]
        scores, ids = self._lists.search(queries, k, params=settings)
        return ids, np.where(ids >= 0, scores, -np.inf).astype(np.float32)
