"""An index of the training points by words: search by cosine, and the weights of the neighbours' votes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.errors import ModelFileError
from zipfel.index.dense import DenseRows, is_dense
from zipfel.index.sparse import SparseIndex, unit_csr
from zipfel.kernels.sparse_rows import with_columns
from zipfel.kernels.sparse_topk import kernel_arrays
from zipfel.neighbors.votes import vote_weights

Array = npt.NDArray[Any]
POWERS = (1, 3, 8)
"""Votes count by the cosine to these powers. A higher power gives more weight to the nearest points."""
VOTES = ("words: crowd", "words: near", "words: nearest")
A_WORD, A_DOCUMENT = 500, 30_000
"""Additions that a search may take a word of the document, or a document if that is more, on average."""
ALL_ADDITIONS, FEWEST_ADDITIONS = 5_000_000_000, 10_000
"""Those of all documents together, where that leaves this many for each. The most frequent words are passed over."""
_MANY = 1 << 23
"""Words of all points from which on their index takes more than 64 MB."""


class WordIndex:
    """Rows of train, searched by cosine through inverted lists.

    The lists of the most frequent features are left out where they would cost too much (see A_WORD). Values are
    kept in a byte, the largest of each row being 255, or 127 where some are negative. Rows in which many features
    have a value are searched as dense vectors.
    """

    def __init__(self, rows: sp.csr_matrix) -> None:
        """rows: (n, n_features), uint8, or int8 from -127 to 127; an empty row is never found."""
        self.rows = rows

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n_features)"""
        return int(self.rows.shape[0]), int(self.rows.shape[1])

    @cached_property
    def _index(self) -> SparseIndex | DenseRows:
        """Made for the first search."""
        return self._made_index()

    def _made_index(self) -> SparseIndex | DenseRows:
        unit = unit_csr(self.rows)
        return DenseRows(unit) if is_dense(self.rows) else SparseIndex(unit, keeps_rows=False)

    @cached_property
    def can_vote(self) -> npt.NDArray[np.bool_]:
        """(n,) whether a point has words and labels. The index keeps no words of points without labels."""
        found: npt.NDArray[np.bool_] = np.diff(self.rows.indptr) > 0
        return found

    @cached_property
    def unit_rows(self) -> sp.csr_matrix:
        """The rows as they are compared, of unit length."""
        return unit_csr(self.rows)

    @classmethod
    def build(cls, X: sp.csr_matrix, voters: Array) -> WordIndex:
        """X: (n, n_features); voters: (n,) which rows may be found."""
        counts = np.bincount(X.indices, minlength=X.shape[1]).astype(np.float64)
        order = np.argsort(counts, kind="stable")
        cheap = np.full(X.shape[1], is_dense(X))
        cheap[order[np.cumsum(counts[order] ** 2) <= _allowed(X.shape[0], X.nnz)]] = True
        return cls(_rounded(X, cheap, voters))

    @classmethod
    def whole(cls, X: sp.csr_matrix) -> WordIndex:
        """All rows with all of their features."""
        return cls(_rounded(X))

    def joined(self, X: sp.csr_matrix, voters: Array) -> WordIndex:
        """With more rows behind its own, which may have more features. A feature that none of its rows has was passed
        over as too frequent, and is again; unless there was room for all, or it is new."""
        counts = np.bincount(self.rows.indices, minlength=X.shape[1]).astype(np.float64)
        room_for_all = (counts**2).sum() + len(self) ** 2 <= _allowed(len(self), self.rows.nnz)
        searched = (counts > 0) | room_for_all
        searched[self.shape[1] :] = True
        own, more = with_columns(self.rows, int(X.shape[1])), _rounded(X, searched, voters)
        if more.dtype != own.dtype:  # one of them has negative values: 127 is the most in both
            rows = sp.vstack([own.astype(np.float32), more.astype(np.float32)], format="csr")
            return WordIndex(_rounded(rows))
        return WordIndex(sp.vstack([own, more], format="csr"))

    def __len__(self) -> int:
        return self.shape[0]

    def search(self, X: sp.csr_matrix, m: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """(n, m) rows of train, nearest first, -1 pads, and (n, m) cosines, 0 there."""
        return _padded(*self._index.search(X, m))

    def cosines(self, X: sp.csr_matrix) -> npt.NDArray[np.float32]:
        """(n, len(self)): with every row, for so few rows that it is worth it."""
        return self._index.cosines(X)

    def steady_cosines(self, X: sp.csr_matrix) -> npt.NDArray[np.float32]:
        """The same, a little slower, and of sparse rows the same to the last bit whatever other rows X has."""
        return self._index.steady_cosines(X)

    def search_own(self, X: sp.csr_matrix, m: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """`search` for the indexed points themselves (n, n_features): none is its own neighbour. Of many points the
        index is not kept for later searches, as a fit needs the memory."""
        index = self._index if self.rows.nnz < _MANY else self._made_index()
        ids, cosines = _padded(*index.search_own(X, m))
        return ids.astype(np.int32), cosines

    def state(self) -> dict[str, Array]:
        narrow = np.uint16 if self.shape[1] <= np.iinfo(np.uint16).max else np.int32
        rows = self.rows
        return {
            "indptr": rows.indptr.astype(np.int64),
            "features": rows.indices.astype(narrow),
            "values": rows.data,
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], n_points: int, n_features: int) -> WordIndex:
        """The counterpart of `state`; every index is checked, a model file may come from anywhere."""
        lacking = {"indptr", "features", "values"} - set(arrays)
        if lacking:
            raise ModelFileError(f"the index of words in the model lacks {', '.join(sorted(lacking))}")
        indptr, features, values = arrays["indptr"], arrays["features"], arrays["values"]
        sound = (
            indptr.dtype == np.int64
            and features.dtype.kind in "iu"
            and values.dtype in (np.uint8, np.int8)
            and indptr.shape == (n_points + 1,)
            and features.shape == values.shape == (int(indptr[-1]),)
            and int(indptr[0]) == 0
            and bool((indptr[1:] >= indptr[:-1]).all())  # differences could wrap around
            and (len(features) == 0 or (int(features.min()) >= 0 and int(features.max()) < n_features))
        )
        if not sound:
            raise ModelFileError("the index of words in the model is damaged: its arrays do not fit each other")
        parts = (values, features.astype(np.int32, copy=False), indptr)
        return cls(sp.csr_matrix(parts, shape=(n_points, n_features)))


def _padded(
    ids: npt.NDArray[np.int64], cosines: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """-1 and 0 for rows that are no neighbours, in place: their cosine is not above zero."""
    none = ~(cosines > 0)
    ids[none], cosines[none] = -1, 0
    return ids, cosines


def _allowed(n_points: int, n_words: int) -> float:
    """Additions for searching all of n points, which have so many words together."""
    wanted = max(A_WORD * n_words, A_DOCUMENT * n_points)
    return min(wanted, max(ALL_ADDITIONS, FEWEST_ADDITIONS * n_points))


def weights_by_cosine(cosines: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """(n, m, 3): what each neighbour's vote counts under each of POWERS; shares of all, by cosines (n, m), 0: none."""
    similar = np.full(cosines.shape, -np.inf, dtype=np.float32)
    return vote_weights(np.log(cosines, out=similar, where=cosines > 0), POWERS)


def _rounded(X: sp.csr_matrix, columns: Array | None = None, voters: Array | None = None) -> sp.csr_matrix:
    """X as whole numbers up to 255, in proportion to each row's largest value, or from -127 to 127 where some are
    negative; as bytes. Only entries of these columns (n_features,) and rows (n,)."""
    keep = np.ones(X.shape[1], dtype=bool) if columns is None else columns
    vote = np.ones(X.shape[0], dtype=bool) if voters is None else voters
    most, dtype = (127, np.int8) if len(X.data) and X.data.min() < 0 else (255, np.uint8)
    ptr, ids, values = kernel_arrays(X)
    n, indptr = int(ptr[-1]), np.zeros(len(ptr), dtype=np.int64)
    indices, steps = np.empty(n, dtype=np.int32), np.empty(n, dtype=dtype)
    filled = _round_rows(ptr, ids, values, keep, vote, np.float32(most), indptr, indices, steps)
    return sp.csr_matrix((steps[:filled].copy(), indices[:filled].copy(), indptr), shape=X.shape)


@njit(cache=True, nogil=True)
def _round_rows(  # type: ignore[no-untyped-def]
    ptr, ids, values, keep, vote, most, indptr, indices, steps
):
    """How many entries are not rounded to 0; they are in indices and steps, and the rows' ends in indptr."""
    filled = 0
    for i in range(len(ptr) - 1):
        largest = np.float32(0.0)
        if vote[i]:
            for t in range(ptr[i], ptr[i + 1]):
                if keep[ids[t]]:
                    largest = max(largest, abs(values[t]))
        if largest > 0:
            factor = most / largest
            for t in range(ptr[i], ptr[i + 1]):
                step = np.rint(values[t] * factor)
                if keep[ids[t]] and step != 0:
                    indices[filled], steps[filled] = ids[t], step
                    filled += 1
        indptr[i + 1] = filled
    return filled
