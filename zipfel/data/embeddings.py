"""Embeddings that the user made: a .npy file or an array with a row a document, checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.errors import DataError

_BLOCK = 1 << 14
_MAGIC = b"\x93NUMPY"
_REMEDY = "numpy.save(file, array.astype('float32')) writes one"


def read_embeddings(path: str | Path) -> npt.NDArray[Any]:
    """The (n, dim) array of a .npy file, which stays in the file and is read where it is used.

    path: the file. A pickle in it is refused.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp()) / "two.npy"
    >>> np.save(file, np.ones((2, 3), dtype=np.float32))
    >>> read_embeddings(file).shape
    (2, 3)
    """
    try:
        with Path(path).open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise DataError("is no .npy file", path=path, remedy=_REMEDY)
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=path) from None
    except (ValueError, EOFError, SyntaxError, TypeError, OverflowError) as error:
        raise DataError(f"is no sound .npy file of numbers: {error}", path=path, remedy=_REMEDY) from None
    try:
        return checked_embeddings(found)
    except DataError as error:
        raise DataError(str(error), path=path) from None


def checked_embeddings(array: Any) -> npt.NDArray[Any]:
    """The array, if it has two dimensions and finite numbers that fit into float32.

    array: (n, dim) numbers; lists of lists will do. A row of zeros stands for a document without an embedding.

    >>> checked_embeddings([[1.0, float("nan")]])
    Traceback (most recent call last):
    ...
    zipfel.errors.DataError: embeddings must be finite numbers: row 0 holds NaN or inf
    """
    try:
        found: npt.NDArray[Any] = np.asanyarray(array)
    except (TypeError, ValueError) as error:
        raise DataError(f"embeddings must be an array of numbers: {error}") from None
    if found.ndim != 2 or found.shape[1] == 0 or found.dtype.kind not in "fiu":
        raise DataError(
            f"embeddings must be an array of numbers with a row a document, got {found.dtype} of shape {found.shape}"
        )
    for a in range(0, len(found), _BLOCK):
        with np.errstate(over="ignore"):
            finite = np.isfinite(np.asarray(found[a : a + _BLOCK], dtype=np.float32)).all(axis=1)
        if not finite.all():
            row = a + int(np.flatnonzero(~finite)[0])
            raise DataError(f"embeddings must be finite numbers: row {row} holds NaN or inf")
    return found
