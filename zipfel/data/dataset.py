"""Documents with their labels: `Dataset`, the one thing that readers return and methods learn from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import DataError

_RUN = 1 << 22
"""Numbers that are hashed together."""


@dataclass(frozen=True)
class ReadReport:
    """What a reader corrected, by number of rows or entries.

    duplicate_features: features that stood twice in a row and were summed; duplicate_labels: labels that stood twice
    and were merged; rows_without_labels, rows_without_features: rows that were kept; guessed: which columns it took.

    >>> report = ReadReport(rows_without_labels=2)
    >>> report.sentences(), report.counts()["rows_without_labels"]
    (['2 rows have no labels; they are kept'], 2)
    """

    duplicate_features: int = 0
    duplicate_labels: int = 0
    rows_without_labels: int = 0
    rows_without_features: int = 0
    guessed: str = field(default="", compare=False)

    def counts(self) -> dict[str, int]:
        """The numbers by name.

        >>> ReadReport(duplicate_labels=1).counts()["duplicate_labels"]
        1
        """
        return {name: value for name, value in vars(self).items() if isinstance(value, int)}

    def sentences(self) -> list[str]:
        """What a user should know, one sentence each. Empty if nothing was corrected.

        >>> ReadReport(duplicate_labels=1).sentences()
        ['1 duplicate labels in a row were merged']
        """
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
    """n documents with sparse features or texts (or both), and their labels.

    >>> data = Dataset(label_matrix(np.array([0, 1]), np.array([1, 0]), (2, 2)), texts=["a boat", "a bike"])
    >>> data.n_points, data.n_labels, data.n_features
    (2, 2, 0)

    `zipfel.data.read` makes one of a file.

    Y: (n, n_labels) CSR of float32 ones, indices sorted, no duplicates.
    X: (n, n_features) CSR of float32, or None if only texts were read.
    texts, ids: (n,) text and identifier of each document, or None.
    label_names, feature_names: names of the columns of Y and X, or None.
    embeddings: (n, dim) the user's embedding of each document, or None.
    name: of the data set, e.g. the file's.
    lines: (n,) the line of each document in its file, if that is known.
    report: what the reader corrected.
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
    embeddings: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        if self.X is None and self.texts is None:
            raise DataError("a data set needs features X or texts")
        sizes = {
            "X": self.n_points if self.X is None else self.X.shape[0],
            "texts": self.n_points if self.texts is None else len(self.texts),
            "ids": self.n_points if self.ids is None else len(self.ids),
            "lines": self.n_points if self.lines is None else len(self.lines),
            "the array of embeddings": self.n_points if self.embeddings is None else len(self.embeddings),
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
        """Number of documents."""
        return int(self.Y.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of label columns, with and without documents."""
        return int(self.Y.shape[1])

    @property
    def n_features(self) -> int:
        """Number of feature columns; 0 if there are only texts."""
        return 0 if self.X is None else int(self.X.shape[1])

    def __len__(self) -> int:
        return self.n_points

    def take(self, rows: npt.NDArray[np.intp]) -> Dataset:
        """The given rows, in the given order. All label and feature columns stay.

        >>> data = Dataset(label_matrix(np.array([0, 1, 1]), np.array([1, 0, 1]), (2, 2)), texts=["a boat", "a bike"])
        >>> data.take(np.array([1])).texts
        ['a bike']
        """
        return replace(
            self,
            Y=self.Y[rows],
            X=None if self.X is None else self.X[rows],
            texts=None if self.texts is None else [self.texts[i] for i in rows],
            ids=None if self.ids is None else [self.ids[i] for i in rows],
            lines=None if self.lines is None else self.lines[rows],
            embeddings=None if self.embeddings is None else self.embeddings[rows],
        )

    def runs(self, size: int) -> Iterator[Dataset]:
        """The rows in order, at most `size` at a time.

        >>> data = Dataset(label_matrix(np.array([0, 1, 1]), np.array([1, 0, 1]), (2, 2)), texts=["a boat", "a bike"])
        >>> [len(run) for run in data.runs(size=1)]
        [1, 1]
        """
        for start in range(0, self.n_points, size):
            yield self.take(np.arange(start, min(start + size, self.n_points)))

    def label_counts(self) -> npt.NDArray[np.int64]:
        """(n_labels,) documents of each label.

        >>> data = Dataset(label_matrix(np.array([0, 1, 1]), np.array([1, 0, 1]), (2, 2)), texts=["a boat", "a bike"])
        >>> data.label_counts().tolist()
        [1, 2]
        """
        return np.bincount(self.Y.indices, minlength=self.n_labels).astype(np.int64)

    def relabel(self, label_names: Sequence[str], *, extend: bool = False) -> Dataset:
        """The same documents with columns in the order of `label_names`.

        Other labels are dropped, or with `extend` get columns behind.

        >>> Y = label_matrix(np.array([0, 1]), np.array([0, 1]), (2, 2))
        >>> data = Dataset(Y, texts=["a bike", "a boat"], label_names=["bike", "boat"])
        >>> data.relabel(["boat", "bike"]).Y.toarray().tolist()
        [[0.0, 1.0], [1.0, 0.0]]
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
        """A hash of the contents. Models keep that of their training set.

        >>> data = Dataset(label_matrix(np.array([0, 1, 1]), np.array([1, 0, 1]), (2, 2)), texts=["a boat", "a bike"])
        >>> data.fingerprint() == data.take(np.array([0, 1])).fingerprint()
        True
        """
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
    """A sparse matrix of ones; duplicates are merged, indices sorted.

    rows, columns: of each one; shape: (n, n_labels).

    >>> label_matrix(np.array([0, 0]), np.array([1, 1]), (1, 2)).toarray().tolist()
    [[0.0, 1.0]]
    """
    Y = sp.csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)
    Y.sum_duplicates()
    Y.data[:] = 1.0
    return Y


def binary(Y: sp.spmatrix | sp.sparray) -> sp.csr_matrix:
    """Any sparse matrix Y as labels: each value that is not zero becomes one.

    >>> binary(sp.csr_matrix(np.array([[0.5, 0.0]]))).toarray().tolist()
    [[1.0, 0.0]]
    """
    Y = sp.csr_matrix(Y, dtype=np.float32, copy=True)
    Y.sum_duplicates()
    Y.eliminate_zeros()
    Y.data[:] = 1.0
    return Y
