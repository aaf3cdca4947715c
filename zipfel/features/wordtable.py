"""Words and n-grams with their ids and counts; grows while it counts, or only looks up."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.features import _text_kernel as kernel
from zipfel.features.characters import encoded, folding

Array = npt.NDArray[Any]

_SECRET = np.array([secrets.randbits(63), secrets.randbits(63) | 1], dtype=np.int64)  # see _text_kernel
_FIRST_CAPACITY = 1 << 12


@dataclass(frozen=True)
class Counted:
    """Counted rows, and the table whose ids they use."""

    rows: kernel.Rows
    table: WordTable

    @property
    def n_rows(self) -> int:
        return len(self.rows.indptr) - 1

    def weighed(self, columns: Array, idf: Array, sublinear: bool) -> tuple[Array, Array, Array]:
        """(values, columns, indptr) of TF-IDF rows; uses up the counts."""
        values = np.empty(len(self.rows.ids), dtype=np.float32)
        n = kernel.weigh_rows(self.rows, columns, idf, sublinear, values)
        return values[:n], self.rows.ids[:n], self.rows.indptr


class WordTable:
    """Ids are given in order of appearance, those of an n-gram's words before its own."""

    def __init__(self, ngrams: int, lowercase: bool, *, capacity: int = _FIRST_CAPACITY, letters: int = 0) -> None:
        self.ngrams, self.lowercase = ngrams, lowercase
        self._arrays = _empty(capacity, max(letters, 8 * capacity))
        self._where = np.zeros(capacity, dtype=np.int32)

    def __len__(self) -> int:
        return int(self._arrays.size[0])

    @property
    def points(self) -> Array:
        """For each id, in how many documents it was."""
        return self._arrays.entries[: len(self), kernel.POINTS]

    @property
    def occurrences(self) -> Array:
        return self._arrays.entries[: len(self), kernel.OCCURRENCES]

    def count(self, texts: Sequence[str]) -> Counted:
        """Counts the texts; new words and n-grams get new ids."""
        data, ends = encoded(texts, self.lowercase)
        rows = _space(data, len(ends), self.ngrams)
        row = self._count(data, ends, 0, rows, self._where, grow=True)
        while row < len(ends):
            size = int(ends[row] - (ends[row - 1] if row else 0))
            self._grow(size // 3 * self.ngrams, size)
            row = self._count(data, ends, row, rows, self._where, grow=True)
        return Counted(_trimmed(rows), self)

    def look_up(self, texts: Sequence[str]) -> Counted:
        """Counts the texts; what has no id is passed over. Changes nothing, so that threads may share the table."""
        data, ends = encoded(texts, self.lowercase)
        rows = _space(data, len(ends), self.ngrams)
        self._count(data, ends, 0, rows, np.zeros_like(self._where), grow=False)
        return Counted(_trimmed(rows), self)

    def _count(self, data: Array, ends: Array, row: int, rows: kernel.Rows, where: Array, *, grow: bool) -> int:
        grams = np.empty(self.ngrams, dtype=np.int64)
        fold = folding(self.lowercase)
        return int(kernel.count_words(data, ends, row, fold, _SECRET, grow, self._arrays, rows, where, grams))

    def absorb(self, other: WordTable) -> Array:
        """Adds the other's entries and counts; returns, for each id there, the id here."""
        self._grow(len(other), int(other._arrays.size[1]))
        mapping = np.empty(len(other), dtype=np.int64)
        kernel.merge_tables(other._arrays, self._arrays, mapping)
        return mapping

    def _grow(self, entries: int, letters: int) -> None:
        """Makes room for that many more, at least doubling what has to grow; ids stay."""
        arrays = self._arrays
        capacity, space = len(arrays.entries), len(arrays.arena)
        needed, needed_letters = len(self) + entries, int(arrays.size[1]) + letters
        if needed <= capacity and needed_letters <= space:
            return
        self._arrays = _empty(
            max(needed, 2 * capacity) if needed > capacity else capacity,
            max(needed_letters, 2 * space) if needed_letters > space else space,
        )
        self._where = np.zeros(len(self._arrays.entries), dtype=np.int32)
        kernel.merge_tables(arrays, self._arrays, np.empty(int(arrays.size[0]), dtype=np.int64))

    def names(self, ids: Array) -> list[str]:
        """The words and n-grams (words joined by a blank) of these ids."""
        size, entries = self._arrays.size, self._arrays.entries
        text = self._arrays.arena[: size[1]].astype("<u4").tobytes().decode("utf-32-le")
        found = []
        for parent, last, start in entries[ids][:, [kernel.PARENT, kernel.LAST, kernel.START]].tolist():
            words: list[str] = []
            while parent >= 0:
                word, length = entries[last, [kernel.START, kernel.LAST]].tolist()
                words.insert(0, text[word : word + length])
                parent, last, start = entries[parent, [kernel.PARENT, kernel.LAST, kernel.START]].tolist()
            found.append(" ".join([text[start : start + last], *words]))
        return found


def _empty(capacity: int, letters: int) -> kernel.Table:
    slots = 1 << (2 * capacity - 1).bit_length()  # at most half full
    return kernel.Table(
        slots=np.full(slots, -1, dtype=np.int32),
        entries=np.empty((capacity, 6), dtype=np.int64),
        arena=np.empty(letters, dtype=np.int32),
        size=np.zeros(2, dtype=np.int64),
    )


def _space(data: Array, n_rows: int, ngrams: int) -> kernel.Rows:
    """Room for the most that could be in these bytes: a word has two letters and a separator."""
    most = len(data) // 3 * ngrams
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    return kernel.Rows(indptr, np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32))


def _trimmed(rows: kernel.Rows) -> kernel.Rows:
    nnz = rows.indptr[-1]
    return kernel.Rows(rows.indptr, rows.ids[:nnz].copy(), rows.counts[:nnz].copy())
