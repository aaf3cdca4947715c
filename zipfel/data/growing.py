"""Arrays and matrices that grow while a file is read, so that its entries never exist twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp


class Growing:
    """An array that grows in place."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._array: npt.NDArray[Any] = np.empty(0, dtype=dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, values: npt.ArrayLike) -> None:
        values = np.asarray(values)
        size = self._size + len(values)
        if size > len(self._array):
            # In place: the allocator moves pages, not bytes. A view of it is never handed out before `finish`.
            self._array.resize(max(size, len(self._array) * 5 // 4), refcheck=False)
        self._array[self._size : size] = values
        self._size = size

    def trim(self, size: int) -> None:
        self._size = min(size, self._size)

    def finish(self) -> npt.NDArray[Any]:
        """The array, cut to its size; this object is empty afterwards."""
        array, size = self._array, self._size
        self._array, self._size = np.empty(0, dtype=array.dtype), 0
        array.resize(size, refcheck=False)
        return array


class GrowingCSR:
    """A sparse matrix of float32 that gets its rows in order; columns are sorted and unique within each row."""

    def __init__(self) -> None:
        self.lengths = Growing(np.int32)  # entries a row
        self.columns = Growing(np.int32)
        self.values = Growing(np.float32)

    def append(self, lengths: npt.ArrayLike, columns: npt.ArrayLike, values: npt.ArrayLike) -> None:
        self.lengths.append(lengths)
        self.columns.append(columns)
        self.values.append(values)

    def finish(self, width: int | None = None) -> sp.csr_matrix:
        """(rows, width) CSR; None makes it as wide as the largest column asks for."""
        columns, values, lengths = self.columns.finish(), self.values.finish(), self.lengths.finish()
        indptr = np.zeros(len(lengths) + 1, dtype=np.int32 if len(columns) < 1 << 31 else np.int64)
        np.cumsum(lengths, out=indptr[1:])
        if width is None:
            width = int(columns.max()) + 1 if len(columns) else 0
        matrix = sp.csr_matrix((values, columns, indptr), shape=(len(lengths), width), copy=False)
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix
