"""Training points that vote for their labels, the nearest to a document by the cosine of their codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.index.base import Index
from zipfel.index.build import build_index
from zipfel.neighbors.votes import cast_votes, vote_weights
from zipfel.quantize import pack_table, rounded, unpack_table

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.float32]
KINDS = ("near", "crowd")
"""Votes that listen to the nearest points, and votes of all of them nearly alike."""
_SHARP, _FLAT = 20.0, 5.0


class Voters:
    """codes: (n, d), kept in `precision`; Y: (n, n_labels), the labels that each of them votes for.

    neighbors: how many vote. A point without labels has nothing to vote for and is not asked.
    """

    def __init__(
        self, codes: Codes, Y: sp.csr_matrix, *, neighbors: int = 80, precision: str = "int8", seed: int = 0
    ) -> None:
        self.codes, self.Y, self.neighbors, self.precision = rounded(codes, precision), Y, neighbors, precision
        voting = np.flatnonzero(np.diff(Y.indptr) > 0).astype(np.int64)
        self.index: Index = build_index(self.codes[voting], voting, k=neighbors, recall=0.9, seed=seed)

    def vote(self, codes: Codes, width: int) -> tuple[npt.NDArray[np.int64], Codes]:
        """(n, width) labels, most votes first, -1 pads, and (n, width, 2) votes, each a share of all."""
        ids, cosines = self.index.search(codes, self.neighbors)
        return cast_votes(ids, vote_weights(cosines, (_SHARP, _FLAT)), self.Y, width)

    def state(self) -> dict[str, Array]:
        return {**pack_table("codes", self.codes, self.precision), "edges": self.Y.indptr, "labels": self.Y.indices}

    @classmethod
    def restored(
        cls, arrays: Mapping[str, Array], n_labels: int, dim: int, *, neighbors: int, precision: str, seed: int = 0
    ) -> Voters:
        """The counterpart of `state`; every index is checked, a model file may come from anywhere."""
        edges, labels = (arrays.get(name, np.zeros(0, dtype=np.int32)) for name in ("edges", "labels"))
        sound = (
            edges.ndim == labels.ndim == 1
            and edges.dtype.kind == labels.dtype.kind == "i"  # differences of unsigned ones are never negative
            and len(edges) > 0
            and edges[0] == 0
            and edges[-1] == len(labels)
            and bool((np.diff(edges) >= 0).all())
            and (len(labels) == 0 or (labels.min() >= 0 and labels.max() < n_labels))
        )
        if not sound:
            raise ModelFileError("the labels of the voting points are damaged in the model")
        ones = np.ones(len(labels), dtype=np.float32)
        Y = sp.csr_matrix((ones, labels, edges), shape=(len(edges) - 1, n_labels))
        codes = unpack_table("codes", arrays, Y.shape[0], dim)
        return cls(codes, Y, neighbors=neighbors, precision=precision, seed=seed)


def votes_of(
    asked: npt.NDArray[np.int64], labels: npt.NDArray[np.int64], votes: Codes, n_labels: int
) -> npt.NDArray[np.float32]:
    """(n, c, s): the votes for the labels `asked` (n, c), 0 where they are not among `labels` (n, w).

    votes: (n, w, s). Both may be padded with -1.
    """
    row = np.arange(len(asked))[:, None] * np.int64(n_labels)
    known = np.where(labels >= 0, row + labels, -1).ravel()
    wanted = np.where(asked >= 0, row + asked, -2)  # (n, c)
    if known.size == 0:
        return np.zeros((*asked.shape, votes.shape[2]), dtype=np.float32)
    order = np.argsort(known, kind="stable")
    place = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    found = votes.reshape(-1, votes.shape[2])[place]
    return np.where((known[place] == wanted)[:, :, None], found, np.float32(0))
