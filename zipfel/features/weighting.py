"""The weights of ready-made sparse features: as they are, rows of length 1, or TF-IDF rows of length 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import DataError, ModelFileError, NotFittedError, ParameterError, nearest
from zipfel.features.vocabulary import idf
from zipfel.system.threads import get_threads, over_blocks

Array = npt.NDArray[Any]

WEIGHTINGS = ("none", "l2", "tfidf")

_BLOCK = 1 << 22  # values that are weighed at a time


class Weighting:
    """fit learns what the kind needs (tfidf: in how many rows each feature is not zero); transform weighs any rows."""

    def __init__(self, kind: str) -> None:
        if kind not in WEIGHTINGS:
            raise ParameterError(f"unknown weighting {kind!r}{nearest(kind, WEIGHTINGS)}")
        self.kind = kind
        self.idf_: Array | None = None

    def fit(self, X: sp.csr_matrix) -> Weighting:
        if self.kind == "tfidf":
            X = _canonical(X)
            points = np.bincount(X.indices[X.data != 0], minlength=X.shape[1])
            self.idf_ = idf(points, X.shape[0]).astype(np.float32)
        return self

    def transform(self, X: sp.csr_matrix) -> sp.csr_matrix:
        """A float32 matrix with new values for the same non-zeros and sorted columns. X stays as it is; its arrays are
        shared if possible. A zero row stays one."""
        X = _canonical(X)
        if self.kind == "tfidf" and self.idf_ is None:
            raise NotFittedError("this weighting has not seen any rows yet: call fit first")
        if self.idf_ is not None and len(self.idf_) != X.shape[1]:
            raise DataError(f"the rows have {X.shape[1]} features, but {len(self.idf_)} were fitted")
        if self.kind == "none" and X.dtype == np.float32:
            return X
        data = np.empty(X.nnz, dtype=np.float32)

        def weigh(start: int, stop: int) -> None:
            part = slice(X.indptr[start], X.indptr[stop])
            data[part] = self._weighed(X.data[part], X.indices[part], np.diff(X.indptr[start : stop + 1]))

        over_blocks(weigh, X.shape[0], parts=max(get_threads(), X.nnz // _BLOCK))
        return sp.csr_matrix((data, X.indices, X.indptr), shape=X.shape)

    def _weighed(self, data: Array, indices: Array, sizes: Array) -> Array:
        """The new values of a run of rows with so many values each."""
        if self.kind == "none":
            return data
        data = data.astype(np.float64)
        if self.idf_ is not None:
            data *= self.idf_[indices]
        rows = np.repeat(np.arange(len(sizes)), sizes)
        lengths = np.sqrt(np.bincount(rows, weights=data * data, minlength=len(sizes)))
        return np.asarray(data / np.where(lengths > 0, lengths, 1.0)[rows])

    def fit_transform(self, X: sp.csr_matrix) -> sp.csr_matrix:
        return self.fit(X).transform(X)

    def arrays(self) -> dict[str, Array]:
        """What `restore` needs besides the kind."""
        return {} if self.idf_ is None else {"idf": self.idf_}

    @classmethod
    def restore(cls, kind: str, arrays: Mapping[str, Array], n_features: int) -> Weighting:
        """The counterpart of `kind` and `arrays`, checked: a model file may come from anywhere."""
        if kind not in WEIGHTINGS:
            raise ModelFileError(f"the model's weighting {kind!r:.60} is not one of {', '.join(WEIGHTINGS)}")
        weighting = cls(kind)
        if kind == "tfidf":
            found = arrays.get("idf")
            if found is None or found.shape != (n_features,) or found.dtype != np.float32 or not _positive(found):
                raise ModelFileError(
                    f"the model's weighting needs an array idf of {n_features} positive float32 numbers"
                )
            weighting.idf_ = found
        return weighting


def _positive(values: Array) -> bool:
    return bool((np.isfinite(values) & (values > 0)).all())


def _canonical(X: sp.csr_matrix) -> sp.csr_matrix:
    """X with sorted columns and no duplicates, itself where it is so."""
    X = X if isinstance(X, sp.csr_matrix) else sp.csr_matrix(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
