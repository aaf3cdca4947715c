"""Word vectors from a text file in the format of fastText and GloVe: a word and its numbers a line."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import DataError, ParameterError


def read_word_vectors(path: str | Path, names: Sequence[str], table: npt.NDArray[np.float32]) -> int:
    """Overwrites the rows of `table` (len(names), dim) whose names are in the file; returns how many those are.

    A first line of two numbers (fastText's "words dim") is a header. Words are looked up as they are and in lower case.
    """
    place = {name: row for row, name in enumerate(names)}
    open_text = gzip.open if str(path).endswith(".gz") else open
    found = np.zeros(len(names), dtype=bool)
    with open_text(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            word, *numbers = line.rstrip().split(" ")
            if number == 1 and len(numbers) == 1:
                continue
            row = place.get(word, place.get(word.lower()))
            if row is None or found[row]:
                continue
            table[row], found[row] = _vector(numbers, table.shape[1], path, number), True
    return int(found.sum())


def word_start(
    X: sp.csr_matrix,
    dim: int,
    spread: float,
    rng: np.random.Generator,
    path: str = "",
    names: Sequence[str] | None = None,
) -> npt.NDArray[np.float32]:
    """(n_features, dim) vectors to train from: of the file where there is one and it has the word, else N(0, spread^2).

    Features that no row of X has get zeros: they are never trained, and random ones would disturb.
    """
    start = rng.standard_normal((X.shape[1], dim), dtype=np.float32)
    start *= np.float32(spread)
    if path:
        if names is None:
            raise ParameterError("words: word vectors need the names of the features, and this data has none")
        if read_word_vectors(path, names, start) == 0:
            raise ParameterError(f"words: none of the features is a word in {path}; check its language and case")
    start[np.bincount(X.indices, minlength=X.shape[1]) == 0] = 0
    return start


def _vector(numbers: list[str], dim: int, path: str | Path, line: int) -> npt.NDArray[np.float32]:
    if len(numbers) != dim:
        raise DataError(
            f"{len(numbers)} numbers, expected dim = {dim}", path=path, line=line, remedy="set dim to match"
        )
    try:
        vector = np.array(numbers, dtype=np.float32)
    except ValueError:
        raise DataError("a word's numbers can't be read", path=path, line=line) from None
    if not np.isfinite(vector).all():
        raise DataError("a word's numbers are not finite", path=path, line=line)
    return vector
