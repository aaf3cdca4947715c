"""Neighbours by codes: the training points nearest to a document, by features and by label sets, and their votes."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index import Index, build_index
from zipfel.index.bytes import ByteIndex
from zipfel.index.exact import ExactIndex
from zipfel.kernels.topk import score_pairs
from zipfel.neighbors.given import GivenEncoder
from zipfel.neighbors.label_sets import Encoder
from zipfel.neighbors.regression import RegressionEncoder
from zipfel.neighbors.votes import vote_weights
from zipfel.quantize import pack_table, rounded, unpack_table
from zipfel.system.threads import over_blocks

Array = npt.NDArray[Any]
AnyEncoder = Encoder | RegressionEncoder | GivenEncoder
_SHARP, _FLAT = 15.0, 4.0
MANY = 60_000
"""Points above which neighbours are searched by shorter codes (IVF-PQ), if faiss is installed."""


class PointCodes:
    """Codes of the training points: f(x) and, where the encoder has them, g(y) of each. Neighbours are searched once,
    by the mean of the two cosines, and then weighed by each of them."""

    def __init__(
        self,
        encoder: AnyEncoder,
        codes: npt.NDArray[np.float32],
        Y: sp.csr_matrix,
        voters: Array,
        *,
        exact: bool = False,
    ) -> None:
        """codes: (n, dim) of the training points as they are searched, rounded to a byte a number.
        voters: (n,) which of them may be found. exact: search without an index, as for few
        searches building one takes longer."""
        self.codes, self.sets = codes, encoder.sets(Y)
        self.voters = np.flatnonzero(voters & codes.any(axis=1)).astype(np.int64)
        self._exact = exact

    @cached_property
    def index(self) -> Index:
        """Built at the first search, always from the same seed, so that a loaded model has the same index."""
        mean = self.codes
        if self.sets is not None:
            mean = self.codes + self.sets
            mean *= np.float32(0.5)
        if self._exact:
            return ExactIndex(mean[self.voters], self.voters, metric="inner")
        if len(self.codes) <= MANY or importlib.util.find_spec("faiss") is None:
            return ByteIndex(mean[self.voters], self.voters)
        return build_index(mean[self.voters], self.voters, metric="inner", kind="ivfpq", k=50, recall=0.9, seed=0)

    def search(self, asked: npt.NDArray[np.float32], m: int) -> tuple[Array, Array]:
        """(n, m) rows of train, -1 pads, and (n, m, s) weights of their votes, of each of the encoder's VOTES: of those
        whose features are alike, of those whose label sets are (where it has them), and of all nearly alike."""
        ids, mean = self.index.search(asked, m)
        ids = np.where(np.isneginf(mean), -1, ids)
        if self.sets is None:
            return ids, vote_weights(mean, (_SHARP, _FLAT))
        by_points = np.empty(ids.shape, dtype=np.float32)
        over_blocks(lambda a, b: score_pairs(asked, self.codes, ids, by_points, a, b), len(asked))
        by_points[ids < 0] = 0
        by_sets = 2 * mean - by_points  # the mean of two cosines is what was searched by
        kinds = [(np.where(ids < 0, -np.inf, by_points), _SHARP), (by_sets, _SHARP), (mean, _FLAT)]
        return ids, np.concatenate([vote_weights(s, (t,)) for s, t in kinds], axis=2)


@dataclass(frozen=True)
class Space:
    """An encoder, and the codes that it gives the training points."""

    encoder: AnyEncoder
    points: PointCodes

    @classmethod
    def build(
        cls,
        encoder: AnyEncoder,
        codes: npt.NDArray[np.float32],
        Y: sp.csr_matrix,
        voters: Array,
        *,
        exact: bool = False,
    ) -> Space:
        """codes: (n, dim) of all points, as the encoder gave them; voters, exact: see `PointCodes`."""
        return cls(encoder, PointCodes(encoder, _searched(encoder, codes), Y, voters, exact=exact))

    def search(self, codes: npt.NDArray[np.float32], m: int) -> tuple[Array, Array]:
        """`PointCodes.search` for what the encoder gave."""
        return self.points.search(self.encoder.searched(codes), m)

    def joined(self, codes: npt.NDArray[np.float32], Y: sp.csr_matrix, new: npt.NDArray[np.int64]) -> Space:
        """With more points behind its own. codes: what the encoder gave them; Y: labels of all; new: which of them its
        points did not have."""
        codes = np.vstack([self.points.codes, _searched(self.encoder, codes)])
        encoder = self.encoder.extended(codes, Y, new)
        return Space(encoder, PointCodes(encoder, codes, Y, np.diff(Y.indptr) > 0))

    def state(self) -> dict[str, Array]:
        return {**pack_table("codes", self.points.codes, "int8"), **self.encoder.state()}

    @classmethod
    def restored(cls, kind: type[AnyEncoder], arrays: Mapping[str, Array], Y: sp.csr_matrix, n_features: int) -> Space:
        """The counterpart of `state`, every shape checked."""
        kept = arrays.get("codes", np.zeros(()))
        width = kept.shape[1] if kept.ndim == 2 else 0
        encoder = kind.restored(arrays, n_features, Y.shape[1], width)
        codes = unpack_table("codes", arrays, Y.shape[0], width)
        return cls(encoder, PointCodes(encoder, codes, Y, np.diff(Y.indptr) > 0))


def _searched(encoder: AnyEncoder, codes: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """(n, dim) codes as they are searched, rounded to a byte a number."""
    return rounded(encoder.searched(codes), "int8")
