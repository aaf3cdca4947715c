"""Documents with their labels: `Dataset`, the one thing that readers return and methods learn from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import DataError

_RUN = 1 << 22
"""Numbers that are hashed together."""


@dataclass(frozen=True)
class ReadReport:
    """What a reader mended on the way in, and which columns it took (guessed)."""

    duplicate_features: int = 0
    duplicate_labels: int = 0
    rows_without_labels: int = 0
    rows_without_features: int = 0
    guessed: str = field(default="", compare=False)

    def counts(self) -> dict[str, int]:
        """The numbers by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, int)}

    def sentences(self) -> list[str]:
        """What a user should be told, one sentence each; empty where all was well."""
        said = [self.guessed] if self.guessed else []
        if self.duplicate_features:
            said.append(f"{self.duplicate_features:,} duplicate features in a row were summed")
        if self.duplicate_labels:
            said.append(f"{self.duplicate_labels:,} duplicate labels in a row were merged")
        if self.rows_without_labels:
            said.append(f"{self.rows_without_labels:,} rows have no labels; they are kept")
        if self.rows_without_features:
            said.append(f"{self.rows_without_features:,} rows have no features; they are kept")
        return said


@dataclass(frozen=True)
class Dataset:
    """n documents: sparse features or raw texts (or both), and their labels.

    Y: (n, n_labels) CSR of float32 ones, indices sorted, no duplicates.
    X: (n, n_features) CSR of float32, or None where only texts were read.
    lines: (n,) the line of the file that each document stands in, where that is known.
    """

    Y: sp.csr_matrix
    X: sp.csr_matrix | None = None
    texts: Sequence[str] | None = None
    label_names: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    ids: Sequence[str] | None = None
    name: str = ""
    lines: npt.NDArray[np.int64] | None = None
    report: ReadReport = field(default_factory=ReadReport)

    def __post_init__(self) -> None:
        if self.X is None and self.texts is None:
            raise DataError("a data set needs features X or texts")
        sizes = {
            "X": self.n_points if self.X is None else self.X.shape[0],
            "texts": self.n_points if self.texts is None else len(self.texts),
            "ids": self.n_points if self.ids is None else len(self.ids),
            "lines": self.n_points if self.lines is None else len(self.lines),
        }
        for what, n in sizes.items():
            if n != self.n_points:
                raise DataError(f"{what} has {n} rows but Y has {self.n_points}")
        for what, names, size in (
            ("label names", self.label_names, self.n_labels),
            ("feature names", self.feature_names, self.n_features),
        ):
            if names is not None and len(names) != size:
                raise DataError(f"there are {len(names)} {what} for {size} columns")

    @property
    def n_points(self) -> int:
        return int(self.Y.shape[0])

    @property
    def n_labels(self) -> int:
        return int(self.Y.shape[1])

    @property
    def n_features(self) -> int:
        return 0 if self.X is None else int(self.X.shape[1])

    def __len__(self) -> int:
        return self.n_points

    def take(self, rows: npt.NDArray[np.intp]) -> Dataset:
        """The given rows, in the given order; all labels and features stay."""
        return replace(
            self,
            Y=self.Y[rows],
            X=None if self.X is None else self.X[rows],
            texts=None if self.texts is None else [self.texts[i] for i in rows],
            ids=None if self.ids is None else [self.ids[i] for i in rows],
            lines=None if self.lines is None else self.lines[rows],
        )

    def runs(self, size: int) -> Iterator[Dataset]:
        """Its rows in order, at most `size` of them at a time."""
        for start in range(0, self.n_points, size):
            yield self.take(np.arange(start, min(start + size, self.n_points)))

    def label_counts(self) -> npt.NDArray[np.int64]:
        """Points a label, by label id."""
        return np.bincount(self.Y.indices, minlength=self.n_labels).astype(np.int64)

    def relabel(self, label_names: Sequence[str], *, extend: bool = False) -> Dataset:
        """The same documents with columns in the order of `label_names`.

        Labels that are not among them are dropped, or with `extend` get columns behind them.
        """
        if self.label_names is None:
            raise DataError("relabel needs label names, and this data set has none")
        position = {name: i for i, name in enumerate(label_names)}
        names = list(label_names)
        if extend:
            for name in self.label_names:
                if name not in position:
                    position[name] = len(names)
                    names.append(name)
        target = np.array([position.get(name, -1) for name in self.label_names], dtype=np.int64)
        rows = np.repeat(np.arange(self.n_points), np.diff(self.Y.indptr))
        columns = target[self.Y.indices] if self.Y.nnz else np.zeros(0, dtype=np.int64)
        kept = columns >= 0
        Y = label_matrix(rows[kept], columns[kept], (self.n_points, len(names)))
        return replace(self, Y=Y, label_names=names)

    def fingerprint(self) -> str:
        """A hash of the contents, kept in models to tell what they were trained on."""
        digest = hashlib.sha256()
        for matrix in (self.X, self.Y):
            if matrix is not None:
                digest.update(repr(matrix.shape).encode())
                for array, kind in ((matrix.indptr, np.int64), (matrix.indices, np.int64), (matrix.data, None)):
                    for start in range(0, len(array), _RUN):
                        run = array[start : start + _RUN]
                        digest.update(np.ascontiguousarray(run, dtype=kind or array.dtype).data)
        for text in self.texts or ():
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()


def label_matrix(
    rows: npt.NDArray[np.integer], columns: npt.NDArray[np.integer], shape: tuple[int, int]
) -> sp.csr_matrix:
    """(n, n_labels) CSR of float32 ones; duplicates are merged, indices sorted."""
    Y = sp.csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)
    Y.sum_duplicates()
    Y.data[:] = 1.0
    return Y


def binary(Y: sp.spmatrix | sp.sparray) -> sp.csr_matrix:
    """Any sparse matrix as labels: what is stored and not zero counts as one."""
    Y = sp.csr_matrix(Y, dtype=np.float32, copy=True)
    Y.sum_duplicates()
    Y.eliminate_zeros()
    Y.data[:] = 1.0
    return Y
