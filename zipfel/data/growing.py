"""Arrays and matrices that grow while a file is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp


class Growing:
    """An array to append to. Room that is reserved but not used costs no memory before something is written to it."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._array: npt.NDArray[Any] = np.empty(0, dtype=dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, values: npt.ArrayLike) -> None:
        values = np.asarray(values)
        size = self._size + len(values)
        if size > len(self._array):
            self.reserve(max(size, len(self._array) * 3 // 2))
        self._array[self._size : size] = values
        self._size = size

    def reserve(self, size: int) -> None:
        """Makes room for `size` values in all."""
        if size > len(self._array):
            larger = np.empty(size, dtype=self._array.dtype)
            larger[: self._size] = self._array[: self._size]
            self._array = larger

    def trim(self, size: int) -> None:
        self._size = min(size, self._size)

    def finish(self) -> npt.NDArray[Any]:
        """The array, cut to its size; this object is empty afterwards."""
        array, size = self._array, self._size
        self._array, self._size = np.empty(0, dtype=array.dtype), 0
        array.resize(size, refcheck=False)  # gives the unused room back in place; there are no views of it
        return array


class GrowingCSR:
    """A sparse float32 matrix that is built row by row. Columns are sorted and unique within each row."""

    def __init__(self) -> None:
        self.lengths = Growing(np.int32)  # entries a row
        self.columns = Growing(np.int32)
        self.values = Growing(np.float32)

    def append(self, lengths: npt.ArrayLike, columns: npt.ArrayLike, values: npt.ArrayLike) -> None:
        self.lengths.append(lengths)
        self.columns.append(columns)
        self.values.append(values)

    def reserve(self, rows: int, entries: int) -> None:
        self.lengths.reserve(rows)
        self.columns.reserve(entries)
        self.values.reserve(entries)

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
