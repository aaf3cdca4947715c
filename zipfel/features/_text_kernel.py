"""Text to counted word ids, and counts to weighted rows: the loops that see every byte. Plain twins are in the tests.

A hash only finds the slot; words are then compared letter by letter and n-grams id by id. Colliding texts cost time and
never change a count. Each process hashes with its own secret, which makes such texts hard to construct. Numbers are
made np.int64 where numba would otherwise compile a function once more for another type.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]

CODE, PARENT, LAST, START, POINTS, OCCURRENCES = range(6)
_GOLDEN = -7046029254386353131  # 2^64 / golden ratio, as a signed number


class Table(NamedTuple):
    """Words and n-grams by id. A word has PARENT -1, its length as LAST, and its letters in the arena from START.

    An n-gram is its first n-1 words (PARENT, an id) and its last word (LAST, an id).
    """

    slots: Array  # int32 (2^b,), open addressing: the id of an entry, or -1
    entries: Array  # int64 (capacity, 6), one row an id: CODE, PARENT, LAST, START, POINTS, OCCURRENCES
    arena: Array  # int32, the code points of all words, one behind the other
    size: Array  # int64 (2,): entries in use, code points in use


class Rows(NamedTuple):
    """Counted documents: CSR with the ids of a table, in order of appearance."""

    indptr: Array  # int64 (n + 1,)
    ids: Array  # int32 (nnz,)
    counts: Array  # int32 (nnz,)


@njit(cache=True, nogil=True)
def _find(
    slots: Array, entries: Array, arena: Array, code: int, parent: int, last: int, text: Array, start: int
) -> int:
    """The id of a word, whose letters are text[start : start + last], or of an n-gram.

    Where there is none: -1 - the slot where it belongs.
    """
    mask = len(slots) - 1
    mixed = (code ^ (code >> 32)) * _GOLDEN  # so that the low bits, which choose the slot, hear from the high ones
    slot = (mixed ^ (mixed >> 29)) & mask
    entry = np.int64(slots[slot])
    while entry >= 0:
        if entries[entry, CODE] == code and entries[entry, PARENT] == parent and entries[entry, LAST] == last:
            at = entries[entry, START]
            same = np.int64(0) if parent < 0 else last
            while same < last and arena[at + same] == text[start + same]:
                same += 1
            if same == last:
                return int(entry)
        slot = (slot + 1) & mask
        entry = np.int64(slots[slot])
    return int(-1 - slot)


@njit(cache=True, nogil=True)
def _insert(
    slots: Array,
    entries: Array,
    arena: Array,
    size: Array,
    place: int,
    code: int,
    parent: int,
    last: int,
    text: Array,
    start: int,
) -> int:
    """A new id, at the place that `_find` gave; there must be room."""
    entry, at = size[0], size[1]
    size[0] = entry + 1
    slots[-1 - place] = entry
    entries[entry, CODE] = code
    entries[entry, PARENT] = parent
    entries[entry, LAST] = last
    entries[entry, START] = at
    entries[entry, POINTS] = 0
    entries[entry, OCCURRENCES] = 0
    if parent < 0:
        for i in range(last):
            arena[at + i] = text[start + i]
        size[1] = at + last
    return int(entry)


@njit(cache=True, nogil=True)
def find_words(
    data: Array,
    ends: Array,
    row: int,
    fold: Array,
    secret: Array,
    grow: bool,
    table: Table,
    token: Array,
    bounds: Array,
    words: Array,
) -> int:
    """The ids of the words of documents `row`, `row` + 1, ...; returns the first document that was not read.

    data: documents in UTF-8, each with a separator behind it; ends[i] is just behind that of document i.
    fold: code point -> lower-case code point, or 0 where it is no part of a word.
    grow: new words get ids, and reading stops at a document for which the table might be too small;
          otherwise they are -1.
    token: int32 space for the longest word. bounds, words: (n + 1,) and the ids of all words in order.
    """
    slots, entries, arena, size = table
    seed, multiplier = secret[0], secret[1]
    n = bounds[row]
    while row < len(ends):
        i, stop = ends[row - 1] if row > 0 else np.int64(0), ends[row]
        if grow and (size[0] + (stop - i) // 3 > len(entries) or size[1] + stop - i > len(arena)):
            break
        length, code = np.int64(0), seed
        while i < stop:
            point = np.int64(data[i])
            i += 1
            if point >= 128:
                more = 1 if point < 0xE0 else 2 if point < 0xF0 else 3
                point &= 0x3F >> more
                for _ in range(more):
                    point = point << 6 | (data[i] & 0x3F)
                    i += 1
            letter = np.int64(fold[point])
            if letter != 0:
                token[length] = letter
                length += 1
                code = (code ^ letter) * multiplier
                continue
            if length >= 2:
                entry = _find(slots, entries, arena, code, np.int64(-1), length, token, np.int64(0))
                if entry < 0 and grow:
                    entry = _insert(slots, entries, arena, size, entry, code, np.int64(-1), length, token, np.int64(0))
                words[n] = max(entry, -1)
                n += 1
            length, code = np.int64(0), seed
        row += 1
        bounds[row] = n
    return row


@njit(cache=True, nogil=True)
def find_grams(
    bounds: Array,
    words: Array,
    row: int,
    secret: Array,
    grow: bool,
    table: Table,
    grams: Array,
    term_bounds: Array,
    terms: Array,
) -> int:
    """The ids of words and of the n-grams that end with them, in order; returns the first document that was not read.

    grow: as in `find_words`, for n-grams. grams: (longest n-gram,) space for those that end with the word before.
    """
    slots, entries, arena, size = table
    n = term_bounds[row]
    while row < len(bounds) - 1:
        if grow and size[0] + (bounds[row + 1] - bounds[row]) * (len(grams) - 1) > len(entries):
            break
        for order in range(len(grams)):
            grams[order] = -1
        for i in range(bounds[row], bounds[row + 1]):
            word = np.int64(words[i])
            entry, parent = word, np.int64(-1)
            for order in range(len(grams)):
                if order > 0:
                    entry = np.int64(-1)
                    if parent >= 0 and word >= 0:
                        code = entries[parent, CODE] * secret[1] ^ entries[word, CODE]
                        entry = _find(slots, entries, arena, code, parent, word, arena, np.int64(0))
                        if entry < 0 and grow:
                            entry = _insert(slots, entries, arena, size, entry, code, parent, word, arena, 0)
                parent, grams[order] = grams[order], max(entry, -1)
                terms[n] = grams[order]
                n += 1
        row += 1
        term_bounds[row] = n
    return row


@njit(cache=True, nogil=True)
def count_terms(bounds: Array, terms: Array, learn: bool, entries: Array, rows: Rows, where: Array) -> None:
    """Counts the ids of each document, -1 left out. learn: POINTS and OCCURRENCES are kept.

    where: for each id, where in `ids` it was last written (or anything: a wrong place is recognised).
    """
    indptr, ids, counts = rows
    nnz = np.int64(0)
    for row in range(len(bounds) - 1):
        begin = nnz
        for i in range(bounds[row], bounds[row + 1]):
            entry = np.int64(terms[i])
            if entry < 0:
                continue
            at = np.int64(where[entry])
            if begin <= at < nnz and ids[at] == entry:
                counts[at] += 1
            else:
                where[entry] = nnz
                ids[nnz] = entry
                counts[nnz] = 1
                nnz += 1
        indptr[row + 1] = nnz
        if learn:
            for i in range(begin, nnz):
                entries[ids[i], POINTS] += 1
                entries[ids[i], OCCURRENCES] += counts[i]


@njit(cache=True, nogil=True)
def merge_tables(table: Table, into: Table, mapping: Array) -> None:
    """Adds all entries with their counts to another table, which has room; mapping[id] becomes their id there."""
    entries, arena, size = table.entries, table.arena, table.size
    slots, into_entries, into_arena, into_size = into
    for entry in range(size[0]):
        code, parent, last = entries[entry, CODE], entries[entry, PARENT], entries[entry, LAST]
        if parent >= 0:
            parent, last = mapping[parent], mapping[last]
        start = entries[entry, START]
        target = _find(slots, into_entries, into_arena, code, parent, last, arena, start)
        if target < 0:
            target = _insert(slots, into_entries, into_arena, into_size, target, code, parent, last, arena, start)
        into_entries[target, POINTS] += entries[entry, POINTS]
        into_entries[target, OCCURRENCES] += entries[entry, OCCURRENCES]
        mapping[entry] = target


@njit(cache=True, nogil=True)
def _sort(one: Array, two: Array, places: Array, n: int, most: int) -> None:
    """one[:n] by the number in its high half (at most `most`), a byte of it at a time; the rest is space."""
    shift = 32
    while most >> (shift - 32) > 0:
        for i in range(257):
            places[i] = 0
        for i in range(n):
            places[((one[i] >> shift) & 255) + 1] += 1
        for i in range(256):
            places[i + 1] += places[i]
        for i in range(n):
            digit = (one[i] >> shift) & 255
            two[places[digit]] = one[i]
            places[digit] += 1
        for i in range(n):
            one[i] = two[i]
        shift += 8


@njit(cache=True, nogil=True)
def weigh_rows(
    rows: Rows, columns: Array, idf: Array, sublinear: bool, values: Array, keys: Array, two: Array, places: Array
) -> int:
    """Turns counted rows into TF-IDF rows of length 1 with sorted columns; returns how many values there are.

    columns: id -> column, or -1 for what is left out. `indptr` and `ids` are overwritten, `values` is filled.
    keys, two, places: int64 space, for the longest row and 257.
    """
    indptr, ids, counts = rows
    stop = written = np.int64(0)
    for row in range(len(indptr) - 1):
        start, stop = stop, indptr[row + 1]
        n = np.int64(0)
        for i in range(start, stop):
            column = np.int64(columns[ids[i]])
            if column >= 0:
                keys[n] = column << 32 | counts[i]
                n += 1
        _sort(keys, two, places, n, len(idf) - 1)
        begin, squares = written, 0.0
        for i in range(n):
            weight = float(keys[i] & 0xFFFFFFFF)
            if sublinear:
                weight = 1.0 + np.log(weight)
            weight *= idf[keys[i] >> 32]
            squares += weight * weight
            ids[written] = keys[i] >> 32
            values[written] = weight
            written += 1
        for i in range(begin, written):
            values[i] = values[i] / np.sqrt(squares)
        indptr[row + 1] = written
    return int(written)
