"""The loop over the words of documents: names by a walk through the trie, parts of words, words near each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from zipfel.labeltext._trie import child_of
from zipfel.labeltext.lexicon import HEAD as IS_HEAD
from zipfel.labeltext.lexicon import Analysed
from zipfel.labeltext.matches import (
    COLUMNS,
    EARLY,
    EXACT,
    HEAD,
    INFLECTED,
    INNER,
    LAST,
    LETTERS,
    MODIFIER,
    NEAR,
    PREFERRED,
    RARITY,
    SHARED,
    SPLIT,
    UNQUALIFIED,
    WORDS,
)
from zipfel.labeltext.names import PREFERRED as IS_PREFERRED
from zipfel.labeltext.names import QUALIFIED as IS_QUALIFIED
from zipfel.labeltext.names import SPLIT as IS_SPLIT
from zipfel.labeltext.names import ByStem, Trie

Array = npt.NDArray[Any]
_WIDTH = len(COLUMNS)
_REACH = 12
"""Words between the words of a name, at most."""
_CHECKS = 4096
"""Names whose words are looked for, at most, for each hundred words of a document."""
_PLACES = 32
"""Places of a word that are looked at for the nearest."""
_FAR = 1 << 30


class Words(NamedTuple):
    """Names as arrays, see `NameTable`; rarity: (m,) float32 of each name's rarest stem."""

    label: Array
    kind: Array
    letters: Array
    start: Array
    stems: Array
    forms: Array
    rarity: Array


class Chains(NamedTuple):
    """The stems of one document, each a chain of its places: first[stem], then following[...], -1 ends it.

    stamp: (stems,) the document in which a stem was met last; met: the document's stems."""

    stamp: Array
    first: Array
    following: Array
    places: Array
    met: Array


class Rows(NamedTuple):
    """owner, row: (n_labels,) the document in which a label was found last, and its row then."""

    owner: Array
    row: Array


# Integers that are passed on are int64, also constants: numba compiles a function once for each type of argument.


@njit(cache=True, nogil=True)
def match_documents(
    indptr: Array, numbers: Array, known: Analysed, names: Words, trie: Trie, by_stem: ByStem, n_labels: int
) -> tuple[Array, Array, Array]:
    """(counts (n,), labels (nnz,), evidence (nnz, f)) of all documents, labels in the order of their first match."""
    n_stems = len(by_stem.start) - 1
    stamp, first = np.full(n_stems, -1, dtype=np.int32), np.zeros(n_stems, dtype=np.int32)
    rows = Rows(np.full(n_labels, -1, dtype=np.int32), np.zeros(n_labels, dtype=np.int32))
    counts = np.zeros(len(indptr) - 1, dtype=np.int64)
    out, labels, size = np.empty((1024, _WIDTH), dtype=np.float32), np.empty(1024, dtype=np.int32), np.int64(0)
    for doc in range(len(indptr) - 1):
        own, before = numbers[indptr[doc] : indptr[doc + 1]], size
        most = len(own)
        for w in own:
            most += known.part_at[w + 1] - known.part_at[w]
        following, places, met = (
            np.empty(most, dtype=np.int32),
            np.empty(most, dtype=np.int32),
            np.empty(most, dtype=np.int32),
        )
        chains = Chains(stamp, first, following, places, met)
        n_met = _chain(doc, own, known, chains)
        out, labels, size = _phrases(doc, own, known, names, trie, rows, out, labels, size)
        out, labels, size = _parts(doc, own, known, names, trie, rows, out, labels, size)
        out, labels, size = _nearby(doc, len(own), met[:n_met], chains, names, trie, by_stem, rows, out, labels, size)
        counts[doc] = size - before
    for r in range(size):
        for column in (EXACT, INFLECTED, INNER):
            out[r, column] = np.log1p(out[r, column])
    return counts, labels[:size].copy(), out[:size].copy()


@njit(cache=True, nogil=True)
def _chain(doc: int, own: Array, known: Analysed, chains: Chains) -> int:
    """Fills the chains with the stems of a document's words and of their parts; how many different ones there are."""
    n_met, n_places = 0, 0
    for i in range(len(own) - 1, -1, -1):  # backwards, so that chains go forwards
        w = own[i]
        for p in range(known.part_at[w] - 1, known.part_at[w + 1]):
            stem = np.int64(known.words[w, 1]) if p < known.part_at[w] else np.int64(known.parts[p, 0])
            if stem < 0:
                continue
            if chains.stamp[stem] != doc:
                chains.stamp[stem], chains.first[stem] = doc, -1
                chains.met[n_met] = stem
                n_met += 1
            chains.places[n_places], chains.following[n_places] = i, chains.first[stem]
            chains.first[stem] = n_places
            n_places += 1
    return n_met


@njit(cache=True, nogil=True)
def _phrases(
    doc: int, own: Array, known: Analysed, names: Words, trie: Trie, rows: Rows, out: Array, labels: Array, size: int
) -> tuple[Array, Array, int]:
    """Names that stand there word by word; those inside of a longer one count apart."""
    until = 0
    for i in range(len(own)):
        node, longest = np.int64(0), 0
        for j in range(i, len(own)):
            stem = np.int64(known.words[own[j], 1])
            node = child_of(trie.slots, node, stem) if stem >= 0 else -1
            if node < 0:
                break
            if trie.start[node + 1] > trie.start[node]:
                longest = j + 1 - i
        node = np.int64(0)
        for j in range(i, i + longest):
            node = child_of(trie.slots, node, np.int64(known.words[own[j], 1]))
            is_inner = j + 1 - i < longest or until >= j + 1
            for p in range(trie.start[node], trie.start[node + 1]):
                name = trie.names[p]
                out, labels = _with_room(out, labels, size)
                r = _row_of(names.label[name], doc, rows, out, labels, size)
                size = max(size, r + 1)
                exact = _is_exact(name, names, known.words, own, i)
                out[r, INNER if is_inner else (EXACT if exact else INFLECTED)] += 1
                _note(out, r, name, i, len(own), names, trie.shared)
        until = max(until, i + longest)
    return out, labels, size


@njit(cache=True, nogil=True)
def _parts(
    doc: int, own: Array, known: Analysed, names: Words, trie: Trie, rows: Rows, out: Array, labels: Array, size: int
) -> tuple[Array, Array, int]:
    """Names of one word that a word of the text begins or ends with."""
    for i in range(len(own)):
        for p in range(known.part_at[own[i]], known.part_at[own[i] + 1]):
            node = child_of(trie.slots, np.int64(0), np.int64(known.parts[p, 0]))
            if node < 0:
                continue
            column = HEAD if known.parts[p, 1] == IS_HEAD else MODIFIER
            for q in range(trie.start[node], trie.start[node + 1]):
                name = trie.names[q]
                out, labels = _with_room(out, labels, size)
                r = _row_of(names.label[name], doc, rows, out, labels, size)
                size = max(size, r + 1)
                out[r, column] = max(out[r, column], known.parts[p, 2])
                _note(out, r, name, i, len(own), names, trie.shared)
    return out, labels, size


@njit(cache=True, nogil=True)
def _nearby(
    doc: int, n_words: int, met: Array, chains: Chains, names: Words, trie: Trie, by_stem: ByStem, rows: Rows,
    out: Array, labels: Array, size: int,
) -> tuple[Array, Array, int]:  # fmt: skip
    """Names whose words all stand near each other, in any order."""
    left = _CHECKS * (1 + n_words // 100)
    for stem in met:
        for q in range(by_stem.start[stem], by_stem.start[stem + 1]):
            left -= 1
            if left < 0:
                return out, labels, size
            name = by_stem.names[q]
            own = names.stems[names.start[name] : names.start[name + 1]]
            gap = _gap(doc, own, chains)
            if gap > _REACH:
                continue
            out, labels = _with_room(out, labels, size)
            r = _row_of(names.label[name], doc, rows, out, labels, size)
            size = max(size, r + 1)
            column = SPLIT if names.kind[name] & IS_SPLIT else NEAR
            out[r, column] = max(out[r, column], np.float32(1 / (1 + gap)))
            _note(out, r, name, np.int64(chains.places[chains.first[stem]]), n_words, names, trie.shared)
    return out, labels, size


@njit(cache=True, nogil=True)
def _gap(doc: int, stems: Array, chains: Chains) -> int:
    """Words between a name's words where they are nearest to each other; very many where one of them is missing."""
    for stem in stems:
        if chains.stamp[stem] != doc:
            return _FAR
    best, at, tried = _FAR, np.int64(chains.first[stems[0]]), 0
    while at >= 0 and tried < _PLACES:
        here = np.int64(chains.places[at])
        low = high = here
        for stem in stems[1:]:
            nearest = _nearest(stem, here, chains)
            low, high = min(low, nearest), max(high, nearest)
        best = min(best, high - low + 1)
        at = np.int64(chains.following[at])
        tried += 1
    return int(max(0, best - len(stems)))


@njit(cache=True, nogil=True)
def _nearest(stem: int, here: int, chains: Chains) -> int:
    at, gap, nearest, tried = np.int64(chains.first[stem]), _FAR, here, 0
    while at >= 0 and tried < _PLACES:
        place = np.int64(chains.places[at])
        if abs(place - here) < gap:
            gap, nearest = abs(place - here), place
        at = np.int64(chains.following[at])
        tried += 1
    return int(nearest)


@njit(cache=True, nogil=True)
def _is_exact(name: int, names: Words, words: Array, own: Array, at: int) -> bool:
    start = names.start[name]
    for j in range(names.start[name + 1] - start):  # noqa: SIM110 - numba has no all()
        if names.forms[start + j] != words[own[at + j], 0]:
            return False
    return True


@njit(cache=True, nogil=True)
def _with_room(out: Array, labels: Array, size: int) -> tuple[Array, Array]:
    """The same with place for one more row."""
    if size < len(labels):
        return out, labels
    wide, longer = np.empty((2 * size, out.shape[1]), dtype=np.float32), np.empty(2 * size, dtype=np.int32)
    for row in range(size):  # not by slices: numba would compile the text of an error for their lengths
        longer[row] = labels[row]
        for column in range(out.shape[1]):
            wide[row, column] = out[row, column]
    return wide, longer


@njit(cache=True, nogil=True)
def _row_of(label: int, doc: int, rows: Rows, out: Array, labels: Array, size: int) -> int:
    """The label's row of evidence in this document; the new one at `size` where it has none yet."""
    if rows.owner[label] != doc:
        rows.owner[label], rows.row[label], labels[size] = doc, size, label
        out[size, :] = 0
        out[size, SHARED], out[size, UNQUALIFIED] = np.inf, 1
    return int(rows.row[label])


@njit(cache=True, nogil=True)
def _note(out: Array, r: int, name: int, place: int, n_words: int, names: Words, shared: Array) -> None:
    """What every kind of match tells: how long and how rare the name is, and where it stands."""
    kind, n_stems = names.kind[name], names.start[name + 1] - names.start[name]
    out[r, WORDS] = max(out[r, WORDS], np.log(np.float32(n_stems)))
    out[r, LETTERS] = max(out[r, LETTERS], np.log(np.float32(names.letters[name])))
    out[r, RARITY] = max(out[r, RARITY], names.rarity[name])
    out[r, SHARED] = min(out[r, SHARED], np.log(np.float32(shared[name])))
    out[r, EARLY] = max(out[r, EARLY], np.float32(1 / (1 + place / 10)))
    out[r, LAST] = max(out[r, LAST], np.float32((place + 1) / n_words))
    if kind & IS_PREFERRED:
        out[r, PREFERRED] = 1
    if not kind & IS_QUALIFIED:
        out[r, UNQUALIFIED] = 0
