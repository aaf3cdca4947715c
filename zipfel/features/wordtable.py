"""Words and n-grams with their ids and counts; grows while it counts, or only looks up."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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
        longest = int(np.diff(self.rows.indptr).max(initial=0))
        space = (np.empty(size, dtype=np.int64) for size in (longest, longest, 257))
        n = kernel.weigh_rows(self.rows, columns, idf, sublinear, values, *space)
        return values[:n], self.rows.ids[:n], self.rows.indptr


class _Terms(NamedTuple):
    """Documents as ids, one an occurrence; filled by the kernels."""

    bounds: Array  # int64 (n + 1,)
    ids: Array  # int32, -1 for what has no id

    @classmethod
    def space(cls, n_texts: int, most: int) -> _Terms:
        return cls(np.zeros(n_texts + 1, dtype=np.int64), np.empty(most, dtype=np.int32))


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
        return self._counted(texts, grow=True)

    def look_up(self, texts: Sequence[str]) -> Counted:
        """Counts the texts; what has no id is passed over. Changes nothing, so that threads may share the table."""
        return self._counted(texts, grow=False)

    def _counted(self, texts: Sequence[str], *, grow: bool) -> Counted:
        terms = self._words(texts, grow)
        if self.ngrams > 1:
            terms = self._with_grams(terms, grow)
        most = int(terms.bounds[-1])
        indptr = np.zeros(len(texts) + 1, dtype=np.int64)
        rows = kernel.Rows(indptr, np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32))
        where = self._where if grow else np.zeros(len(self._where), dtype=np.int32)
        kernel.count_terms(terms.bounds, terms.ids, grow, self._arrays.entries, rows, where)
        nnz = indptr[-1]
        return Counted(kernel.Rows(indptr, rows.ids[:nnz].copy(), rows.counts[:nnz].copy()), self)

    def _words(self, texts: Sequence[str], grow: bool) -> _Terms:
        data, ends = encoded(texts, self.lowercase)
        fold, sizes = folding(self.lowercase), np.diff(ends, prepend=0)
        token = np.empty(int(sizes.max(initial=0)), dtype=np.int32)
        words = _Terms.space(len(texts), len(data) // 3)  # two letters and a separator are the shortest word
        row = 0
        while row < len(texts):
            row = kernel.find_words(data, ends, row, fold, _SECRET, grow, self._arrays, token, *words)
            if row < len(texts):
                self._grow(int(sizes[row]) // 3, int(sizes[row]))
        return words

    def _with_grams(self, words: _Terms, grow: bool) -> _Terms:
        n_texts, sizes = len(words.bounds) - 1, np.diff(words.bounds)
        terms = _Terms.space(n_texts, int(words.bounds[-1]) * self.ngrams)
        grams = np.empty(self.ngrams, dtype=np.int64)
        row = 0
        while row < n_texts:
            row = kernel.find_grams(*words, row, _SECRET, grow, self._arrays, grams, *terms)
            if row < n_texts:
                self._grow(int(sizes[row]) * self.ngrams, 0)
        return terms

    def absorb(self, other: WordTable) -> Array:
        """Adds the other's entries and counts; returns, for each id there, the id here."""
        if len(other) == 0:
            return np.zeros(0, dtype=np.int64)
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

    def in_order(self, ids: Array) -> Array:
        """These ids, sorted by their names.

        It is enough to spell and sort the words: the blank of an n-gram sorts before all that words are made of.
        """
        words = self._word_ids(ids)
        used = np.unique(words[words >= 0])
        spelled = self._spelled(used)
        ranks = np.full(len(self) + 1, -1, dtype=np.int64)  # one more, for the place that -1 points to
        ranks[used[sorted(range(len(used)), key=spelled.__getitem__)]] = np.arange(len(used))
        return np.asarray(ids[np.lexsort(ranks[words].T[::-1])])

    def names(self, ids: Array) -> list[str]:
        """The words and n-grams (words joined by a blank) of these ids."""
        words = self._word_ids(ids)
        used = np.unique(words[words >= 0])
        spelled = dict(zip(used.tolist(), self._spelled(used), strict=True))
        names = [spelled[word] for word in words[:, 0].tolist()]
        for place in range(1, self.ngrams):
            more = zip(names, words[:, place].tolist(), strict=True)
            names = [f"{name} {spelled[word]}" if word >= 0 else name for name, word in more]
        return names

    def _spelled(self, words: Array) -> list[str]:
        entries, letters = self._arrays.entries, int(self._arrays.size[1])
        text = self._arrays.arena[:letters].astype("<u4").tobytes().decode("utf-32-le")
        starts = entries[words, kernel.START]
        ends = starts + entries[words, kernel.LAST]
        return [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]

    def _word_ids(self, ids: Array) -> Array:
        """(n, ngrams): the ids of the words of each, filled up with -1."""
        entries = self._arrays.entries
        words = np.full((len(ids), self.ngrams), -1, dtype=np.int64)
        rest = ids
        for place in range(self.ngrams - 1, -1, -1):  # the last word first, so that what is not there is in front
            parents = np.where(rest >= 0, entries[rest, kernel.PARENT], -1)
            words[:, place] = np.where(parents >= 0, entries[rest, kernel.LAST], rest)
            rest = parents
        return np.take_along_axis(words, np.argsort(words < 0, axis=1, kind="stable"), axis=1)


def _empty(capacity: int, letters: int) -> kernel.Table:
    slots = 1 << (2 * capacity - 1).bit_length()  # at most half full
    return kernel.Table(
        slots=np.full(slots, -1, dtype=np.int32),
        entries=np.empty((capacity, 6), dtype=np.int64),
        arena=np.empty(letters, dtype=np.int32),
        size=np.zeros(2, dtype=np.int64),
    )
