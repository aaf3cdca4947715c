"""What users hand in - matrices, arrays, texts, names, ids - made into a `Dataset`, or refused in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data import Dataset, binary, label_matrix
from zipfel.data.embeddings import checked_embeddings
from zipfel.errors import DataError
from zipfel.estimator.frames import Names, frame_labels, frame_numbers, frame_texts, is_column, is_frame, values

LabelNames = Sequence[str] | None


def as_dataset(
    X: Any, Y: Any, *, label_names: LabelNames = None, text: Names = None, labels: str | None = None
) -> Dataset:
    """Documents with labels as a `Dataset`. X: texts or a matrix; Y: a 0/1 matrix, lists of names, or lists of ids.

    text, labels: columns of X, where it is a DataFrame.
    """
    if isinstance(X, Dataset):
        if Y is not None:
            raise DataError("a Dataset brings its own labels: leave Y out")
        return X
    if Y is not None and labels is not None:
        raise DataError("y and labels= both name labels: give one of them")
    if is_frame(X) and Y is None:
        Y = frame_labels(X, labels)
    X = documents_of(X, text)
    if Y is None:
        raise DataError(
            "fit requires y to be passed, but the target y is None: pass a 0/1 matrix, or for each document the "
            "list of its label names or ids"
        )
    matrix, names = as_labels(Y, label_names)
    texts, features = as_features(X)
    return Dataset(Y=matrix, X=features, texts=texts, label_names=names)


def validation_dataset(valid: Any, *, text: Names = None, labels: str | None = None) -> Dataset:
    """A Dataset, a DataFrame, or a pair (X, y), as documents to make choices on."""
    if isinstance(valid, tuple):
        return as_dataset(*valid, text=text if is_frame(valid[0]) else None)
    return as_dataset(valid, None, text=text, labels=labels)


def documents_of(X: Any, text: Names = None, embeddings: Any = None) -> Any:
    """X with the texts or the numbers of a DataFrame in its place; anything else as it is. With embeddings a Dataset.

    >>> documents_of(["a text"])
    ['a text']
    """
    if is_frame(X):
        texts = frame_texts(X, text)
        X = frame_numbers(X) if texts is None else texts
    elif text is not None:
        raise DataError(f"text={text!r} names a column of a DataFrame, and X is {type(X).__name__}: leave it out")
    return X if embeddings is None else with_embeddings(X, embeddings)


def with_embeddings(X: Any, embeddings: Any) -> Any:
    """Documents with their embeddings, as a Dataset; X itself if there are none.

    >>> with_embeddings(["a bike"], [[0.5, 1.0]]).embeddings.shape
    (1, 2)
    """
    if embeddings is None:
        return X
    found = checked_embeddings(embeddings)
    texts, features = (X.texts, X.X) if isinstance(X, Dataset) else as_features(X)
    n = features.shape[0] if features is not None else len(texts or ())
    if len(found) != n:
        raise DataError(f"there are {len(found)} rows of embeddings and {n} documents: each document needs one row")
    if isinstance(X, Dataset):
        return replace(X, embeddings=found)
    return Dataset(sp.csr_matrix((n, 0), dtype=np.float32), features, texts, embeddings=found)


def as_dataset_of_any(X: Any, Y: Any, *, text: Names = None, labels: str | None = None) -> Dataset:
    """`as_dataset` of documents whose labels a model need not know: names are taken as they come."""
    if is_frame(X):
        if Y is None:
            Y, labels = frame_labels(X, labels), None
        X, text = documents_of(X, text), None
    if isinstance(X, Dataset) or Y is None or sp.issparse(Y) or (isinstance(Y, np.ndarray) and Y.ndim == 2):
        return as_dataset(X, Y, text=text, labels=labels)
    Y = _rows_of(Y)
    names = sorted({label for row in Y for label in ([row] if isinstance(row, str) else row) if isinstance(label, str)})
    return as_dataset(X, Y, label_names=names or None)


def aligned(data: Dataset, names: LabelNames, n_labels: int) -> Dataset:
    """The data with a model's labels as the first columns. Labels that are unknown to the model follow."""
    if names is not None and data.label_names is not None:
        return data if list(data.label_names) == list(names) else data.relabel(names, extend=True)
    if data.n_labels > n_labels and (names is None) != (data.label_names is None):
        raise DataError(
            f"the data has {data.n_labels} labels, the model {n_labels}, and only one of them has label names"
        )
    wide = max(data.n_labels, n_labels)
    return replace(data, Y=with_columns(data.Y, wide), label_names=names if wide == n_labels else None)


def as_features(X: Any) -> tuple[list[str] | None, sp.csr_matrix | None]:
    """(texts, None) or (None, CSR of float32): whichever X is."""
    if isinstance(X, str):
        raise DataError("X is one text: pass a list of texts, such as [text]")
    if sp.issparse(X):
        return None, as_csr(X)
    if isinstance(X, np.ndarray) and X.dtype.kind not in "OUS":
        return None, as_csr(X)
    if not isinstance(X, Iterable):
        raise DataError(f"X must be a list of texts or a matrix, got {type(X).__name__}")
    if is_frame(X):
        return as_features(documents_of(X))
    rows = list(X)
    if all(isinstance(row, str) for row in rows):
        return [str(row) for row in rows], None
    if any(isinstance(row, str) for row in rows):
        place = next(i for i, row in enumerate(rows) if not isinstance(row, str))
        shown = f"{type(rows[place]).__name__} {str(rows[place])[:40]!r}"
        raise DataError(f"X holds texts and other things: row {place} is {shown}; every document must be one text")
    try:
        return None, as_csr(np.asarray(rows, dtype=np.float64))
    except (TypeError, ValueError):
        raise DataError("X must be a list of texts or a matrix of numbers") from None


def as_csr(X: Any) -> sp.csr_matrix:
    """A 2-d matrix as CSR of float32: finite, duplicates summed, indices sorted. The user's own is left alone."""
    if not sp.issparse(X):
        X = np.asarray(X)
        if X.ndim != 2:
            raise DataError(
                f"X must have two dimensions (documents, features), got {X.ndim}. "
                "Reshape your data: X.reshape(1, -1) where it is one document"
            )
    if np.issubdtype(X.dtype, np.complexfloating):
        raise DataError("Complex data not supported: X must hold real numbers")
    check_indices(X, "X")
    matrix = sp.csr_matrix(X, dtype=np.float32, copy=True)
    matrix.sum_duplicates()
    bad = ~np.isfinite(matrix.data)
    if bad.any():
        row = int(np.searchsorted(matrix.indptr, np.flatnonzero(bad)[0], side="right"))
        raise DataError(f"X holds NaN or inf (first in row {row - 1}): replace or remove it")
    if not matrix.data.all():
        matrix.eliminate_zeros()
    return matrix


def check_indices(matrix: Any, name: str) -> None:
    """Raises where a sparse matrix has indices beyond its shape: scipy's compiled code would follow them anywhere."""
    if not hasattr(matrix, "check_format"):  # formats that check it themselves
        return
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"{name} is a malformed {matrix.format} matrix: {error}") from None


def as_labels(Y: Any, label_names: LabelNames = None) -> tuple[sp.csr_matrix, LabelNames]:
    """(CSR of ones, names or None) from a 0/1 matrix or from lists of names or of ids."""
    if isinstance(Y, np.ndarray) and Y.dtype.kind == "c":
        raise DataError("Complex data not supported: Y must hold labels")
    if isinstance(Y, np.ndarray) and Y.ndim == 2 and Y.dtype.kind in "bifu":
        Y = sp.csr_matrix(Y)
    if sp.issparse(Y):
        check_indices(Y, "Y")
        return binary(Y), label_names
    rows = [_label_row(row, place) for place, row in enumerate(_rows_of(Y))]
    flat = [label for row in rows for label in row]
    if all(isinstance(label, str) for label in flat):
        return _from_names(rows, flat, label_names)
    if all(_is_id(label) for label in flat):
        return _from_ids(rows, flat, label_names)
    place, odd = _odd_label(rows)
    raise DataError(
        f"the labels of row {place} hold {odd!r:.60}: use label names or label ids, one of the two everywhere"
    )


def _is_id(label: Any) -> bool:
    return isinstance(label, int | np.integer) and not isinstance(label, bool)


def _odd_label(rows: list[list[Any]]) -> tuple[int, Any]:
    """(row, label) of the first label that is of another kind than the first one."""
    found = [(place, label) for place, row in enumerate(rows) for label in row]
    named = isinstance(found[0][1], str)
    return next(pair for pair in found if not (isinstance(pair[1], str) if named else _is_id(pair[1])))


def _rows_of(Y: Any) -> list[Any]:
    """The labels of each document. Strings that look like lists of labels are refused."""
    if is_frame(Y):
        names = [str(name) for name in Y.columns]
        if len(names) != 1:
            raise DataError(f"y is a DataFrame with {len(names)} columns: pass its column of labels, or a 0/1 array")
        Y = Y[names[0]]
    rows = [[] if row is None else row for row in values(Y)] if is_column(Y) else list(Y)
    if rows and all(isinstance(row, str) or not len(row) for row in rows if isinstance(row, Sized)):
        _refuse_joined([row for row in rows if isinstance(row, str)])
    return rows


def _refuse_joined(rows: list[str]) -> None:
    """Raises an error if the labels are strings and many of them look like several labels in one string."""
    for separator in "|;,\t":
        joined = [row for row in rows if separator in row]
        if len(joined) * 10 > len(rows):
            raise DataError(
                f"y holds strings that look like several labels, such as {joined[0][:60]!r}: pass lists, e.g. "
                f"[row.split({separator!r}) for row in y]; or [[row] for row in y] if each is one label"
            )


def _label_row(row: Any, place: int) -> list[Any]:
    if isinstance(row, str | int | np.integer):
        return [row]
    if not isinstance(row, Iterable):
        raise DataError(
            f"the labels of row {place} must be a list of labels, got {type(row).__name__} {str(row)[:40]!r}"
        )
    return list(row)


def _from_names(rows: list[list[str]], flat: list[str], names: LabelNames) -> tuple[sp.csr_matrix, LabelNames]:
    known = list(names) if names is not None else sorted(set(flat))
    position = {name: i for i, name in enumerate(known)}
    missing = [name for name in flat if name not in position]
    if missing:
        raise DataError(f"label {missing[0]!r} is not among the given label names")
    columns = np.array([position[name] for name in flat], dtype=np.int64)
    return label_matrix(_row_numbers(rows), columns, (len(rows), len(known))), known


def _from_ids(rows: list[list[int]], flat: list[int], names: LabelNames) -> tuple[sp.csr_matrix, LabelNames]:
    columns = np.array(flat, dtype=np.int64)
    if len(columns) and columns.min() < 0:
        raise DataError(f"label ids count from 0, got {columns.min()}")
    n_labels = len(names) if names is not None else int(columns.max(initial=-1)) + 1
    if len(columns) and columns.max() >= n_labels:
        raise DataError(f"label id {columns.max()} but there are only {n_labels} label names")
    return label_matrix(_row_numbers(rows), columns, (len(rows), n_labels)), names


def _row_numbers(rows: list[list[Any]]) -> npt.NDArray[np.int64]:
    return np.repeat(np.arange(len(rows), dtype=np.int64), [len(row) for row in rows])


def with_columns(matrix: sp.csr_matrix, n_columns: int) -> sp.csr_matrix:
    """The matrix with exactly n_columns columns: further ones are dropped, missing ones are empty."""
    if matrix.shape[1] == n_columns:
        return matrix
    if matrix.shape[1] < n_columns:
        return sp.csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], n_columns))
    return matrix[:, :n_columns]


def check_trainable(train: Dataset) -> None:
    if train.n_points == 0:
        raise DataError("there is nothing to learn from: the data has no rows (0 sample(s))")
    if train.X is None and train.texts is not None and not any(text.strip() for text in train.texts):
        raise DataError("there is nothing to learn from: every text is empty (is the text column the right one?)")
    if train.n_labels == 0 or train.Y.nnz == 0:
        raise DataError("there is nothing to learn from: no row has a label")
    if train.X is not None and train.X.shape[1] == 0:
        shape = f"(shape={train.X.shape})"
        raise DataError(f"there is nothing to learn from: 0 feature(s) {shape} while a minimum of 1 is required.")
