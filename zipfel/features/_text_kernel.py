"""Text to counted word ids, and counts to weighted rows: the loops that see every byte. Plain twins are in the tests.

Hashes only say where to look: words are compared letter by letter and n-grams id by id, so that texts made to collide
cost time but never change a count; and nobody can make such texts, because the hash has a secret drawn by each process.
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
def _mixed(code: int) -> int:
    """Spreads what the high bits know to the low ones, which choose the slot."""
    code = (code ^ (code >> 32)) * _GOLDEN
    return code ^ (code >> 29)


@njit(cache=True, nogil=True)
def _find(table: Table, code: int, parent: int, last: int, text: Array, start: int) -> int:
    """The id of the entry, or -1 - the slot where it belongs; a word's letters are text[start : start + last]."""
    mask = len(table.slots) - 1
    slot = code & mask
    while table.slots[slot] >= 0:
        entry = np.int64(table.slots[slot])
        found = table.entries[entry]
        if found[CODE] == code and found[PARENT] == parent and found[LAST] == last:
            same = 0 if parent < 0 else last
            while same < last and table.arena[found[START] + same] == text[start + same]:
                same += 1
            if same == last:
                return entry
        slot = (slot + 1) & mask
    return -1 - slot


@njit(cache=True, nogil=True)
def _insert(table: Table, place: int, code: int, parent: int, last: int, text: Array, start: int) -> int:
    """A new entry at `place`, as `_find` gave it; there must be room."""
    entry, used = table.size[0], table.size[1]
    table.slots[-1 - place] = entry
    table.entries[entry] = 0
    table.entries[entry, CODE] = code
    table.entries[entry, PARENT] = parent
    table.entries[entry, LAST] = last
    table.entries[entry, START] = used
    if parent < 0:
        for i in range(last):
            table.arena[used + i] = text[start + i]
        table.size[1] = used + last
    table.size[0] = entry + 1
    return entry


@njit(cache=True, nogil=True)
def _code_point(data: Array, i: int) -> tuple[int, int]:
    """The code point that starts at data[i], which is above 127, and where the next one starts; data is sound UTF-8."""
    point = np.int64(data[i])
    if point < 0xE0:
        return (point & 0x1F) << 6 | (data[i + 1] & 0x3F), i + 2
    if point < 0xF0:
        return (point & 0x0F) << 12 | (data[i + 1] & 0x3F) << 6 | (data[i + 2] & 0x3F), i + 3
    high = (point & 0x07) << 18 | (data[i + 1] & 0x3F) << 12
    return high | (data[i + 2] & 0x3F) << 6 | (data[i + 3] & 0x3F), i + 4


@njit(cache=True, nogil=True)
def _add(table: Table, rows: Rows, entry: int, begin: int, nnz: int, where: Array, grow: bool) -> int:
    """Counts one occurrence in the row that starts at `begin`; returns the new nnz."""
    at = where[entry]
    if begin <= at < nnz and rows.ids[at] == entry:
        rows.counts[at] += 1
    else:
        where[entry] = nnz
        rows.ids[nnz] = entry
        rows.counts[nnz] = 1
        nnz += 1
        if grow:
            table.entries[entry, POINTS] += 1
    if grow:
        table.entries[entry, OCCURRENCES] += 1
    return nnz


@njit(cache=True, nogil=True)
def count_words(
    data: Array,
    ends: Array,
    row: int,
    fold: Array,
    secret: Array,
    grow: bool,
    table: Table,
    rows: Rows,
    where: Array,
    grams: Array,
) -> int:
    """Counts the words and n-grams of documents `row`, `row` + 1, ...; returns the first that was not counted.

    data: documents in UTF-8, each with a separator behind it; ends[i] is just behind that of document i.
    fold: code point -> lower-case code point, or 0 where it is no part of a word.
    grow: new words get ids, and counting stops at a document for which the table might be too small;
          otherwise they are passed over.
    where: for each id, where in `ids` it was last written (or anything: a wrong place is recognised).
    grams: (longest n-gram,) space for the n-grams that end with the word before, by length - 1.
    """
    token = np.empty(len(data), np.int32)
    nnz = rows.indptr[row]
    while row < len(ends):
        i = ends[row - 1] if row > 0 else 0
        size = ends[row] - i
        full = table.size[0] + size // 3 * len(grams) > len(table.entries) or table.size[1] + size > len(table.arena)
        if grow and full:  # two letters and a separator are the shortest word
            break
        begin, length, code = nnz, 0, secret[0]
        grams[:] = -1
        while i < ends[row]:
            point = np.int64(data[i])
            if point < 128:
                i += 1
            else:
                point, i = _code_point(data, i)
            letter = fold[point]
            if letter != 0:
                token[length] = letter
                length += 1
                code = (code ^ letter) * secret[1]
                continue
            if length >= 2:
                word = parent = np.int64(-1)
                for order in range(len(grams)):
                    if order == 0:
                        entry = _entry(table, _mixed(code), -1, length, token, grow)
                        word = entry
                    elif parent >= 0 and word >= 0:
                        pair = _mixed(table.entries[parent, CODE] * secret[1] ^ table.entries[word, CODE])
                        entry = _entry(table, pair, parent, word, token, grow)
                    else:
                        entry = -1
                    parent = grams[order]
                    grams[order] = entry
                    if entry >= 0:
                        nnz = _add(table, rows, entry, begin, nnz, where, grow)
            length, code = 0, secret[0]
        row += 1
        rows.indptr[row] = nnz
    return row


@njit(cache=True, nogil=True)
def _entry(table: Table, code: int, parent: int, last: int, text: Array, grow: bool) -> int:
    """The id of a word or n-gram; where there is none, a new one or -1."""
    entry = _find(table, code, parent, last, text, 0)
    if entry < 0:
        entry = _insert(table, entry, code, parent, last, text, 0) if grow else -1
    return entry


@njit(cache=True, nogil=True)
def merge_tables(table: Table, into: Table, mapping: Array) -> None:
    """Adds all entries with their counts to another table, which has room; mapping[id] becomes their id there."""
    for entry in range(table.size[0]):
        found = table.entries[entry]
        parent, last = found[PARENT], found[LAST]
        if parent >= 0:
            parent, last = mapping[parent], mapping[last]
        target = _find(into, found[CODE], parent, last, table.arena, found[START])
        if target < 0:
            target = _insert(into, target, found[CODE], parent, last, table.arena, found[START])
        into.entries[target, POINTS] += found[POINTS]
        into.entries[target, OCCURRENCES] += found[OCCURRENCES]
        mapping[entry] = target


@njit(cache=True, nogil=True)
def _sort(one: Array, two: Array, n: int, most: int) -> tuple[Array, Array]:
    """one[:n] by the number in its high half (at most `most`), a byte at a time; returns (sorted, the other)."""
    places = np.empty(257, np.int64)
    shift = 32
    while most >> (shift - 32) > 0:
        places[:] = 0
        for i in range(n):
            places[((one[i] >> shift) & 255) + 1] += 1
        for i in range(256):
            places[i + 1] += places[i]
        for i in range(n):
            digit = (one[i] >> shift) & 255
            two[places[digit]] = one[i]
            places[digit] += 1
        one, two = two, one
        shift += 8
    return one, two


@njit(cache=True, nogil=True)
def weigh_rows(rows: Rows, columns: Array, idf: Array, sublinear: bool, values: Array) -> int:
    """Turns counted rows into TF-IDF rows of length 1 with sorted columns; returns how many values there are.

    columns: id -> column, or -1 for what is left out. `indptr` and `ids` are overwritten, `values` is filled.
    """
    longest = 0
    for row in range(len(rows.indptr) - 1):
        longest = max(longest, rows.indptr[row + 1] - rows.indptr[row])
    one, two = np.empty(longest, np.int64), np.empty(longest, np.int64)
    weights = np.empty(longest, np.float64)
    stop = written = 0
    for row in range(len(rows.indptr) - 1):
        start, stop = stop, rows.indptr[row + 1]
        n = 0
        for i in range(start, stop):
            column = np.int64(columns[rows.ids[i]])
            if column >= 0:
                one[n] = column << 32 | rows.counts[i]
                n += 1
        one, two = _sort(one, two, n, len(idf) - 1)
        squares = 0.0
        for i in range(n):
            weight = float(one[i] & 0xFFFFFFFF)
            weights[i] = (1.0 + np.log(weight) if sublinear else weight) * idf[one[i] >> 32]
            squares += weights[i] * weights[i]
        scale = 1.0 / np.sqrt(squares) if n > 0 else 0.0
        for i in range(n):
            rows.ids[written] = one[i] >> 32
            values[written] = weights[i] * scale
            written += 1
        rows.indptr[row + 1] = written
    return written
