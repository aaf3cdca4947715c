"""Pairs of .npz files as scipy.sparse.save_npz writes them: X in one, Y in the other. Nothing in them is unpickled."""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data.dataset import Dataset, binary
from zipfel.data.limits import check_size, check_swell
from zipfel.data.names import with_names_beside
from zipfel.data.plain_rows import MAX_COLUMNS
from zipfel.data.sparse_rows import report_on
from zipfel.data.streams import STDIN, unreadable
from zipfel.errors import DataError

_REMEDY = "write it with scipy.sparse.save_npz"
_FORMATS = ("csr", "csc", "coo")


def read_npz(path: str, labels: str | Path | None) -> Dataset:
    """Features from `path`, labels from `labels`; without a second file, no row has labels."""
    if path == STDIN:
        raise DataError(".npz cannot come from standard input", path="<stdin>", remedy="name the two files")
    X, duplicates = _tidy(_load(path), path)
    Y, merged = sp.csr_matrix((X.shape[0], 0), dtype=np.float32), 0
    if labels is not None:
        Y, merged = _tidy(_load(labels), labels)
        Y = binary(Y)
        if Y.shape[0] != X.shape[0]:
            message = f"has {Y.shape[0]:,} rows but the features in {path} have {X.shape[0]:,}"
            raise DataError(message, path=str(labels), remedy="give the two files of one part")
    return with_names_beside(Dataset(Y=Y, X=X, report=report_on(X, Y, duplicates, merged)), path)


def _tidy(matrix: sp.csr_matrix, path: str | Path) -> tuple[sp.csr_matrix, int]:
    """(sorted, float32, finite; number of duplicates)."""
    stored = matrix.nnz
    matrix.sum_duplicates()
    duplicates = stored - matrix.nnz
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = matrix.astype(np.float32)
    if not np.isfinite(matrix.data).all():
        raise DataError("holds nan, inf or numbers that a float32 cannot hold", path=str(path))
    matrix.eliminate_zeros()
    return matrix, duplicates


def _load(path: str | Path) -> sp.csr_matrix:
    try:
        with zipfile.ZipFile(path) as archive:
            return _matrix({name: _array(archive, name) for name in _members(archive, path)}, str(path))
    except OSError as error:
        raise unreadable(path, error) from None
    except DataError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"is not a sound .npz file: {str(error)[:200]}", path=str(path), remedy=_REMEDY) from None
    except (NotImplementedError, RuntimeError, SyntaxError, MemoryError, OverflowError) as error:
        raise DataError(f"is not a .npz file that zipfel reads: {str(error)[:200]}", path=str(path)) from None


def _members(archive: zipfile.ZipFile, path: str | Path) -> list[str]:
    members = archive.infolist()
    check_swell(sum(info.file_size for info in members), sum(info.compress_size for info in members), str(path))
    return [info.filename for info in members]


def _array(archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    """One member, whose header may not promise more than the member holds."""
    with archive.open(name) as member:
        version = np.lib.format.read_magic(member)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"{name} has an unknown version")
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(member)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize > archive.getinfo(name).file_size:
        raise ValueError(f"{name} promises more than it holds")
    with archive.open(name) as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _matrix(arrays: dict[str, npt.NDArray[Any]], path: str) -> sp.csr_matrix:
    """A CSR matrix from the arrays of save_npz; what they say is checked before scipy's C code sees it."""
    kind = arrays["format.npy"].item()
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    if kind not in _FORMATS:
        raise ValueError(f"the format is {kind[:20]!r}, not one of {', '.join(_FORMATS)}")
    n_rows, width = (int(size) for size in arrays["shape.npy"])
    if not (0 <= n_rows < 1 << 31 and 0 <= width <= MAX_COLUMNS):
        raise ValueError(f"the shape {n_rows:,} x {width:,} is beyond what zipfel takes")
    data = arrays["data.npy"]
    if kind != "csr":  # which holds a number for each row
        check_size(n_rows, data.size, "rows", path)
    if data.ndim != 1 or data.dtype.kind not in "fiub":
        raise ValueError(f"the data must be numbers, got {data.dtype}")
    data = data.astype(np.float64) if data.dtype.kind == "f" and data.dtype.itemsize != 4 else data.astype(np.float32)
    if kind == "coo":
        rows, columns = _ids(arrays["row.npy"], n_rows), _ids(arrays["col.npy"], width)
        if not len(rows) == len(columns) == len(data):
            raise ValueError("the arrays differ in length")
        return _coo(data, rows, columns, (n_rows, width))
    outer, inner = (n_rows, width) if kind == "csr" else (width, n_rows)
    indices, indptr = _ids(arrays["indices.npy"], inner), _ids(arrays["indptr.npy"], len(data) + 1)
    sound = len(indptr) == outer + 1 and len(indices) == len(data) and indptr[0] == 0 and indptr[-1] == len(data)
    if not sound or (np.diff(indptr) < 0).any():
        raise ValueError("the index arrays contradict each other")
    made = sp.csr_matrix if kind == "csr" else sp.csc_matrix
    return made((data, indices, indptr), shape=(n_rows, width)).tocsr()


def _coo(
    data: npt.NDArray[Any], rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64], shape: tuple[int, int]
) -> sp.csr_matrix:
    """Not by way of scipy, which would add up duplicates before they are counted."""
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return sp.csr_matrix((data[order], columns[order], indptr), shape=shape)


def _ids(array: npt.NDArray[Any], bound: int) -> npt.NDArray[np.int64]:
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"indices must be whole numbers, got {array.dtype}")
    if len(array) and (int(array.min()) < 0 or int(array.max()) >= bound):
        raise ValueError("an index is out of range")
    return array.astype(np.int32 if bound < 1 << 31 else np.int64)
