"""Astec's module 2: the hardest labels of a point by two search structures, label centroids and training points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.index.base import Ids, Index, Vectors, unit_rows
from zipfel.index.build import build_index, load_index
from zipfel.index.votes import vote
from zipfel.kernels.topk import pair_products
from zipfel.quantize import pack_table, rounded, unpack_table
from zipfel.state import State, pack_csr, under, unpack_csr
from zipfel.training.label_codes import centroids
from zipfel.training.shortlist import merged

Arrays = dict[str, npt.NDArray[Any]]
_BLOCK = 4096
"""Points asked at a time."""


class NeighbourLabels:
    """Training points by their codes (n, d), with their labels Y (n, L)."""

    def __init__(self, index: Index, Y: sp.csr_matrix) -> None:
        self.index, self.Y = index, Y

    @classmethod
    def of(cls, codes: Vectors, Y: sp.csr_matrix, *, kind: str, k: int, precision: str, seed: int) -> NeighbourLabels:
        units = rounded(unit_rows(codes), precision)
        return cls(build_index(units, metric="inner", kind=kind, queries=units, k=k, recall=0.8, seed=seed), Y)

    def labels(self, codes: Vectors, k: int, n_neighbors: int, *, first: int | None = None) -> Ids:
        """(n, k) the labels with most votes, weighted by cosine, of each row's neighbours; -1 pads.

        first: the rows are the training points from this one on, and have no vote for themselves.
        """
        found, cosines = self.index.search(unit_rows(codes), n_neighbors + (first is not None))
        if first is not None:
            found[found == np.arange(first, first + len(codes))[:, None]] = -1
        labels: Ids = vote(found, np.maximum(cosines, 1e-6), self.Y, k).labels
        return labels

    def state(self, precision: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        return _index_state(self.index, precision)

    @classmethod
    def restored(
        cls, arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any], Y: sp.csr_matrix, dim: int
    ) -> NeighbourLabels:
        index = _index_of(arrays, facts, Y.shape[0], dim)
        if not np.array_equal(index.ids, np.arange(Y.shape[0])):
            raise ModelFileError("the saved index of training points is damaged; save the model again")
        return cls(index, Y)


class TwoSearches:
    """labels: an index of the label centroids. near: the training points, or None where only centroids are searched.

    k: labels of a shortlist; where there are no more, every label is in it. n_neighbors: training points asked.
    """

    def __init__(self, labels: Index, near: NeighbourLabels | None, k: int, n_neighbors: int) -> None:
        self.labels, self.near, self.k, self.n_neighbors = labels, near, k, n_neighbors

    @classmethod
    def of(
        cls, v: Vectors, Y: sp.csr_matrix, k: int, n_neighbors: int, *, kind: str, precision: str, seed: int
    ) -> TwoSearches:
        """v: (N, d) training points, Y: (N, L) their labels."""
        units = rounded(unit_rows(centroids(v, Y)), precision)
        if k >= len(units):
            return cls(build_index(units, metric="inner", kind="exact"), None, k, 0)
        index = build_index(units, metric="inner", kind=kind, queries=unit_rows(v), k=k, recall=0.8, seed=seed)
        if not n_neighbors:
            return cls(index, None, k, 0)
        near = NeighbourLabels.of(v, Y, kind=kind, k=n_neighbors, precision=precision, seed=seed)
        return cls(index, near, k, n_neighbors)

    def shortlist(self, v: Vectors) -> Ids | None:
        """(n, k) the hardest labels, -1 where there are fewer; None: all labels."""
        if self.k >= len(self.labels):
            return None
        return np.concatenate([self._found(v[a : a + _BLOCK], None) for a in range(0, max(1, len(v)), _BLOCK)])

    def of_train(self, v: Vectors) -> npt.NDArray[np.int32]:
        """(N, k) shortlists of the training points."""
        if self.k >= len(self.labels):
            return np.tile(np.arange(len(self.labels), dtype=np.int32), (len(v), 1))
        found = np.empty((len(v), self.k), dtype=np.int32)
        for a in range(0, len(v), _BLOCK):
            found[a : a + _BLOCK] = self._found(v[a : a + _BLOCK], a)
        return found

    def _found(self, v: Vectors, first: int | None) -> Ids:
        """Of a block of rows, which are the training points from `first` on where there is one."""
        if self.near is None:
            return self.labels.search(unit_rows(v), self.k)[0]
        voted = self.near.labels(v, self.k // 2, self.n_neighbors, first=first)
        return merged(voted, self.labels.search(unit_rows(v), self.k - self.k // 2)[0])

    def cosines(self, v: Vectors, places: Ids | None) -> Vectors:
        """(n, c) of each row and the centroids at places (n, c), or all; -inf at -1."""
        units = unit_rows(v)
        found: Vectors = (
            units @ self.labels.vectors.T if places is None else pair_products(units, self.labels.vectors, places)
        )
        return found

    def state(self, precision: str) -> tuple[Arrays, dict[str, Any]]:
        arrays, facts = _index_state(self.labels, precision)
        kept, near = under("labels", arrays), dict[str, Any]()
        if self.near is not None:
            found, near = self.near.state(precision)
            kept |= under("near", found) | pack_csr("Y", self.near.Y)
        return kept, {"labels": facts, "near": near, "k": self.k, "n_neighbors": self.n_neighbors}

    @classmethod
    def restored(cls, state: State, n_labels: int, dim: int) -> TwoSearches:
        k, n_neighbors = int(state.fact("k", low=1)), int(state.fact("n_neighbors", low=0))
        labels, near = _index_of(state.part("labels"), state.facts["labels"], n_labels, dim), None
        if state.facts["near"]:
            Y = unpack_csr(state, "Y", (len(state.array("Y.indptr")) - 1, n_labels))
            near = NeighbourLabels.restored(state.part("near"), state.facts["near"], Y, dim)
        return cls(labels, near, k, n_neighbors)


def _index_state(index: Index, precision: str) -> tuple[Arrays, dict[str, Any]]:
    arrays, facts = index.state()
    kept = {f"index.{name}": array for name, array in arrays.items() if name != "vectors"}
    return {**kept, **pack_table("units", index.vectors, precision)}, facts


def _index_of(arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any], n: int, dim: int) -> Index:
    saved = {name.removeprefix("index."): array for name, array in arrays.items() if name.startswith("index.")}
    return load_index({**saved, "vectors": unpack_table("units", arrays, n, dim)}, facts, n_ids=n)
