"""Approximate search with faiss: HNSW as in LightDXML's paper, and IVF-PQ with fast-scan and exact re-scoring."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.errors import ModelFileError
from zipfel.index.base import Ids, Index, Vectors, checked
from zipfel.kernels.topk import merge_topk, score_pairs, sort_topk
from zipfel.state import State
from zipfel.system.threads import library_threads, over_blocks

Arrays = Mapping[str, npt.NDArray[Any]]
_LEAST = 128
"""Candidates that are always re-scored: codes of four bits can tell far from near, not first from second."""
_MOST_LINKS, _MOST_EFFORT = 512, 1 << 20
"""What a model folder may ask for: memory and time of a search grow with them."""
faiss: Any = importlib.import_module("faiss")  # its stubs know half of it


class HnswIndex(Index):
    """Hierarchical navigable small world graph (Malkov and Yashunin 2018): `links` neighbours a node."""

    kind = "hnsw"

    def __init__(
        self,
        vectors: Vectors,
        ids: Ids | None = None,
        *,
        metric: str = "cosine",
        links: int = 32,
        effort: int = 100,
        build: bool = True,
    ) -> None:
        super().__init__(vectors, ids, metric=metric)
        self.links, self.effort = links, effort
        if build:
            self._rebuild()

    @library_threads(1)  # insertion order, and so the graph, would depend on the threads
    def _rebuild(self) -> None:
        self._faiss = self._empty()
        self._faiss.hnsw.efConstruction = max(100, 2 * self.links)
        self._faiss.add(self.vectors)

    def _empty(self) -> Any:
        return faiss.IndexHNSWFlat(self.dim, self.links, faiss.METRIC_INNER_PRODUCT)

    @library_threads()
    def _search(self, queries: Vectors, k: int) -> tuple[Ids, Vectors]:
        effort = min(max(self.effort, 2 * k), max(len(self), 1))  # more finds no more
        settings = faiss.SearchParametersHNSW(efSearch=effort)
        scores, places = self._faiss.search(queries, k, params=settings)
        return places.astype(np.int64), np.where(places >= 0, scores, -np.inf).astype(np.float32)

    def state(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        arrays, facts = super().state()
        graph = self._faiss.hnsw
        arrays |= {name: faiss.vector_to_array(getattr(graph, name)) for name in ("levels", "offsets", "neighbors")}
        entry = {"entry": int(graph.entry_point), "top": int(graph.max_level)}
        return arrays, facts | {"links": self.links, "effort": self.effort, **entry}

    @classmethod
    def restored(cls, arrays: Arrays, facts: Mapping[str, Any]) -> HnswIndex:
        number = State(facts=facts).fact
        index = cls(
            arrays["vectors"], arrays["ids"], metric=facts["metric"],
            links=int(number("links", low=2, high=_MOST_LINKS)), effort=int(number("effort", low=1, high=_MOST_EFFORT)),
            build=False,
        )  # fmt: skip
        levels, offsets = checked(arrays, "levels", "i", 1), checked(arrays, "offsets", "u", 1)
        neighbors, n = checked(arrays, "neighbors", "i", 1), len(index)
        index._faiss = index._empty()
        entry, top = int(number("entry", low=-1, high=n)), int(number("top", low=-1, high=n))
        _check_graph(index._faiss.hnsw, levels, offsets, neighbors, n, index.links, entry, top)
        index._faiss.storage.add(index.vectors)
        index._faiss.ntotal = n
        graph = index._faiss.hnsw
        for name, array in (("levels", levels), ("offsets", offsets), ("neighbors", neighbors)):
            own = getattr(graph, name)
            faiss.copy_array_to_vector(array.astype(faiss.vector_to_array(own).dtype), own)  # all numbers were checked
        graph.entry_point, graph.max_level = entry, top
        return index


def _check_graph(
    graph: Any, levels: npt.NDArray[Any], offsets: npt.NDArray[Any], neighbors: npt.NDArray[Any],
    n: int, links: int, entry: int, top: int,
) -> None:  # fmt: skip
    """Every link of a saved graph is looked at: faiss follows them unchecked.

    A node is on as many levels as `levels` says, with 2 * links places for links on the lowest and `links` on each of
    the others. A link on a level leads to a node that is on that level, too.
    """
    most = graph.cum_nneighbor_per_level.size() - 1  # levels that faiss has room for
    room = 2 * links + (levels.astype(np.int64) - 1) * links
    sound = (
        len(levels) == n
        and len(offsets) == n + 1
        and (n == 0 or (int(levels.min()) >= 1 and int(levels.max()) <= most))
        and np.array_equal(offsets, np.concatenate([[0], np.cumsum(room)]))
        and int(offsets[-1]) == len(neighbors)
        and (len(neighbors) == 0 or (int(neighbors.min()) >= -1 and int(neighbors.max()) < n))
        and (-1 if n == 0 else 0) <= entry < max(n, 1)
        and (top == int(levels[entry]) - 1 == int(levels.max()) - 1 if n else top == -1)
        and _links_have_levels(levels.astype(np.int64), offsets.astype(np.int64), neighbors, links)
    )
    if not sound:
        raise ModelFileError("the saved graph of the index is damaged; save the model again")


def _links_have_levels(
    levels: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64], neighbors: npt.NDArray[Any], links: int
) -> bool:
    """Whether each link leads to a node that is on the link's level."""
    place = np.arange(len(neighbors)) - np.repeat(offsets[:-1], np.diff(offsets))  # among its node's links
    level = np.maximum(place - links, 0) // links  # 2 * links places are on level 0
    return bool(np.all((neighbors < 0) | (levels[np.maximum(neighbors, 0)] > level))) if len(neighbors) else True


class IvfPqIndex(Index):
    """Inverted lists over k-means cells, 4-bit product codes scanned in registers, the best re-scored exactly.

    probes: cells visited a query; rescore: candidates re-scored for each result asked.
    """

    kind = "ivfpq"

    def __init__(
        self,
        vectors: Vectors,
        ids: Ids | None = None,
        *,
        metric: str = "cosine",
        probes: int = 16,
        rescore: int = 4,
        seed: int = 0,
        build: bool = True,
    ) -> None:
        super().__init__(vectors, ids, metric=metric)
        self.probes, self.rescore, self.seed = probes, rescore, seed
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        if build:
            self._rebuild()

    @library_threads()
    def _rebuild(self) -> None:
        """k-means and codebooks on a sample of the vectors, then the codes of all of them."""
        padded = _padded(self.vectors)
        cells = max(1, min(round(2 * math.sqrt(len(self))), len(self) // 8))
        index = _plain_index(padded.shape[1], cells)
        index.cp.seed = index.pq.cp.seed = self.seed + 1
        index.cp.niter, index.cp.max_points_per_centroid = 10, 64
        index.cp.min_points_per_centroid = index.pq.cp.min_points_per_centroid = 1
        rng = np.random.default_rng([self.seed, 401])
        sample = np.sort(rng.permutation(len(self))[: max(cells * 64, 10_000)])
        index.train(padded[sample])
        index.add(padded)
        self._arrays = _arrays_of(index)
        self._faiss, self._owner = _fast(self._arrays, padded.shape[1], len(self))

    @library_threads()
    def _search(self, queries: Vectors, k: int) -> tuple[Ids, Vectors]:
        settings = faiss.SearchParametersIVF(nprobe=min(self.probes, self._faiss.nlist))
        width = min(len(self), max(k * self.rescore, _LEAST))
        _, places = self._faiss.search(_padded(queries), width, params=settings)
        places = np.sort(places.astype(np.int64), axis=1)  # rising, so that ties go to the lowest id
        return rescored(queries, self.vectors, places, k)

    def state(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        arrays, facts = super().state()
        return arrays | self._arrays, facts | {"probes": self.probes, "rescore": self.rescore, "seed": self.seed}

    @classmethod
    def restored(cls, arrays: Arrays, facts: Mapping[str, Any]) -> IvfPqIndex:
        number = State(facts=facts).fact
        index = cls(
            arrays["vectors"], arrays["ids"], metric=facts["metric"], seed=int(number("seed", low=0, high=2**31)),
            probes=int(number("probes", low=1, high=_MOST_EFFORT)), rescore=int(number("rescore", low=1, high=1000)),
            build=False,
        )  # fmt: skip
        index._arrays = {
            name: checked(arrays, name, kind, ndim)
            for name, kind, ndim in (
                ("cells", "f", 2),
                ("codebook", "f", 1),
                ("codes", "u", 2),
                ("members", "i", 1),
                ("edges", "i", 1),
            )
        }
        index._faiss, index._owner = _fast(index._arrays, _padded(index.vectors[:0]).shape[1], len(index))
        return index


def rescored(queries: Vectors, vectors: Vectors, places: Ids, k: int) -> tuple[Ids, Vectors]:
    """The k best of each row's candidate places (n, c), by their true inner products; -1 is no candidate."""
    scores = np.empty(places.shape, dtype=np.float32)
    over_blocks(lambda a, b: score_pairs(queries, vectors, places, scores, a, b), len(queries))
    best = np.full((len(queries), k), -np.inf, dtype=np.float32)
    columns = np.full((len(queries), k), -1, dtype=np.int64)
    merge_topk(scores, 0, best, columns, 0, len(queries))
    sort_topk(best, columns, 0, len(queries))
    found = np.take_along_axis(places, np.maximum(columns, 0), axis=1)
    return np.where(columns >= 0, found, -1), best


def _padded(vectors: Vectors) -> Vectors:
    """Columns of zeros behind, up to a multiple of 4: product codes of two dimensions each come in pairs."""
    short = -vectors.shape[1] % 4
    return np.pad(vectors, ((0, 0), (0, short))) if short else vectors


def _plain_index(dim: int, cells: int) -> Any:
    quantizer = faiss.IndexFlat(dim, faiss.METRIC_INNER_PRODUCT)
    index = faiss.IndexIVFPQ(quantizer, dim, cells, dim // 2, 4, faiss.METRIC_INNER_PRODUCT)
    index.own_fields = True
    quantizer.this.disown()
    index.by_residual = False
    return index


def _arrays_of(index: Any) -> dict[str, npt.NDArray[Any]]:
    """All that is in a trained and filled IndexIVFPQ."""
    lists, codes, members = index.invlists, [], []
    for cell in range(index.nlist):
        size = lists.list_size(cell)
        members.append(faiss.rev_swig_ptr(lists.get_ids(cell), size).copy() if size else np.zeros(0, np.int64))
        taken = (
            faiss.rev_swig_ptr(lists.get_codes(cell), size * index.code_size).copy() if size else np.zeros(0, np.uint8)
        )
        codes.append(taken.reshape(size, index.code_size))
    return {
        "cells": index.quantizer.reconstruct_n(0, index.nlist),
        "codebook": faiss.vector_to_array(index.pq.centroids),
        "codes": np.concatenate(codes),
        "members": np.concatenate(members).astype(np.int64),
        "edges": np.concatenate([[0], np.cumsum([len(m) for m in members])]).astype(np.int64),
    }


def _fast(arrays: Arrays, dim: int, n: int) -> tuple[Any, Any]:
    """The fast-scan index made of `_arrays_of`'s arrays, which are checked: a model file may be damaged."""
    cells, codes, edges, members = arrays["cells"], arrays["codes"], arrays["edges"], arrays["members"]
    index = _plain_index(dim, len(cells))
    sound = (
        len(cells) > 0
        and cells.shape[1] == dim
        and len(arrays["codebook"]) == index.pq.M * index.pq.ksub * index.pq.dsub
        and codes.shape == (n, index.code_size)
        and codes.dtype == np.uint8
        and bool(np.isfinite(cells).all() and np.isfinite(arrays["codebook"]).all())
        and np.array_equal(np.sort(members), np.arange(n))
        and len(edges) == len(cells) + 1
        and edges[0] == 0
        and edges[-1] == n
        and bool(np.all(np.diff(edges) >= 0))
    )
    if not sound:
        raise ModelFileError("the saved codes of the index are damaged; save the model again")
    index.quantizer.add(np.ascontiguousarray(cells, dtype=np.float32))
    faiss.copy_array_to_vector(np.ascontiguousarray(arrays["codebook"], dtype=np.float32), index.pq.centroids)
    for cell, (a, b) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        if b > a:
            labels, taken = np.ascontiguousarray(members[a:b]), np.ascontiguousarray(codes[a:b])
            index.invlists.add_entries(cell, b - a, faiss.swig_ptr(labels), faiss.swig_ptr(taken))
    index.ntotal, index.is_trained = n, True
    return faiss.IndexIVFPQFastScan(index), index  # the first borrows the quantiser of the second
