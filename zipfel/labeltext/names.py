"""Names of labels as lists of stems, and the trie and the lists by word that a pass over a text looks them up in.

A name with a qualifier in brackets, such as "Heimat (Motiv)", is also a name without it. A compound of two known words,
such as "Entwicklungspolitik", also matches the two words in any order, if they are near each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from zipfel.errors import ModelFileError
from zipfel.labeltext._trie import add_names
from zipfel.labeltext.lexicon import Lexicon
from zipfel.labeltext.stems import words_of
from zipfel.state import State

Array = npt.NDArray[Any]
PREFERRED, QUALIFIED, SPLIT = 1, 2, 4
"""Kinds of names, as bits: a preferred name, a name without its qualifier, the parts of a compound."""
_QUALIFIER = re.compile(r"\s*[(<\[][^()<>\[\]]*[)>\]]\s*$")
_MOST_WORDS = 12
"""Words of a name that counts: longer ones are descriptions, which no text repeats."""
_MOST_LETTERS = 999


class Name(NamedTuple):
    """One name of a label."""

    label: int
    text: str
    is_preferred: bool = True


class Trie(NamedTuple):
    """Node 0 is the root. slots: (2^b, 3) int32 of (parent, stem, child), a hash table, parent -1 where it is free;
    names[start[node]:start[node + 1]]: those that end at a node; shared: (m,) int32, how many end where this one ends.
    """

    slots: Array
    start: Array
    names: Array
    shared: Array


class ByStem(NamedTuple):
    """names[start[stem]:start[stem + 1]]: the names of several words whose rarest word has this stem."""

    start: Array
    names: Array


@dataclass(frozen=True)
class NameTable:
    """Names by position. label: (m,) int32; kind: (m,) int8, bits; letters: (m,) int16; the words of name i are
    start[i]:start[i + 1] in stems and forms, (t,) int32; forms are -1 of a compound's parts. n_seen: (stems,) int32,
    training documents with a stem."""

    label: Array
    kind: Array
    letters: Array
    start: Array
    stems: Array
    forms: Array
    n_seen: Array

    def __len__(self) -> int:
        return len(self.label)

    @cached_property
    def trie(self) -> Trie:
        """Of all names; a compound's parts end nowhere, as they need not stand in this order."""
        size = 1 << max(3, int(2 * len(self.stems)).bit_length())
        slots = np.full((size, 3), -1, dtype=np.int32)
        ends = add_names(slots, self.start, self.stems)
        whole = np.flatnonzero(self.kind & SPLIT == 0)
        start, names = _grouped(ends[whole], whole, int(ends.max(initial=0)) + 1)
        return Trie(slots, start, names, np.bincount(ends)[ends].astype(np.int32) if len(ends) else ends)

    @cached_property
    def by_stem(self) -> ByStem:
        if not len(self):
            return ByStem(np.zeros(len(self.n_seen) + 1, dtype=np.int32), np.zeros(0, dtype=np.int32))
        owner = np.repeat(np.arange(len(self)), np.diff(self.start))
        order = np.lexsort((self.stems, self.n_seen[self.stems], owner))
        rarest = self.stems[order[self.start[:-1]]]
        lowest, highest = (f.reduceat(self.stems, self.start[:-1]) for f in (np.minimum, np.maximum))
        several = np.flatnonzero(lowest < highest)
        return ByStem(*_grouped(rarest[several], several, len(self.n_seen)))

    def rarity(self, n_documents: int) -> Array:
        """(m,) float32: log(documents / documents with it) of the rarest stem of each name."""
        if not len(self):
            return np.zeros(0, dtype=np.float32)
        rarity = np.log((1 + n_documents) / (1.0 + self.n_seen)).astype(np.float32)
        return np.maximum.reduceat(rarity[self.stems], self.start[:-1])

    def state(self) -> dict[str, Array]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def restored(cls, state: State, n_labels: int, n_stems: int, n_forms: int) -> NameTable:
        """The counterpart of `state`; every index is checked, for a model file may come from anywhere."""
        found = cls(*(state.array(field.name, ndim=1) for field in fields(cls)))
        m, start = len(found.label), found.start
        sound = (
            all(getattr(found, field.name).dtype.kind == "i" for field in fields(cls))
            and len(found.kind) == len(found.letters) == m == len(start) - 1
            and len(found.stems) == len(found.forms)
            and len(found.n_seen) == n_stems
            and start[0] == 0
            and start[-1] == len(found.stems)
            and bool((start[1:] > start[:-1]).all())
            and _within(found.label, 0, n_labels)
            and _within(found.stems, 0, n_stems)
            and _within(found.forms, -1, n_forms)
            and _within(found.letters, 0, _MOST_LETTERS + 1)
            and _within(found.kind, 0, 8)
            and bool((found.n_seen >= 0).all())
        )
        if not sound:
            raise ModelFileError("the names of labels in the model are damaged: their indices do not fit together")
        return found


def _within(array: Array, low: int, high: int) -> bool:
    return len(array) == 0 or (int(array.min()) >= low and int(array.max()) < high)


def variants(names: Iterable[Name]) -> list[tuple[int, int, list[str]]]:
    """(label, kind, words) of each name, and of those that lose a qualifier; each once a label.

    >>> variants([Name(0, "Heimat (Motiv)")])
    [(0, 1, ['Heimat', 'Motiv']), (0, 3, ['Heimat'])]
    """
    seen: set[tuple[int, tuple[str, ...]]] = set()
    found = []
    for label, text, is_preferred in names:
        bare = _QUALIFIER.sub("", text)
        for kind, form in ((0, text), (QUALIFIED, bare))[: 1 + (bare != text)]:
            words = words_of(form)
            key = label, tuple(words)
            if 0 < len(words) <= _MOST_WORDS and key not in seen:
                seen.add(key)
                found.append((label, kind | PREFERRED * is_preferred, words))
    return found


def build_names(names: Sequence[Name], lexicon: Lexicon, n_seen: Array) -> NameTable:
    """lexicon: knows every word of the names; n_seen: (stems,) documents with each stem."""
    rows: list[tuple[int, int, int, list[int], list[int]]] = []
    for label, kind, words in variants(names):
        stems, forms = [lexicon.stem_id(word) for word in words], [lexicon.form_id(word) for word in words]
        letters = min(sum(map(len, words)), _MOST_LETTERS)
        rows.append((label, kind, letters, stems, forms))
        parts = lexicon.split(words[0]) if len(words) == 1 else None
        if parts is not None:
            rows.append((label, kind | SPLIT, letters, list(parts), [-1, -1]))
    start = np.cumsum([0, *(len(row[3]) for row in rows)])
    label_kind_letters = np.array([row[:3] for row in rows], dtype=np.int32).reshape(-1, 3).T
    all_stems = np.array([stem for row in rows for stem in row[3]], dtype=np.int32)
    all_forms = np.array([form for row in rows for form in row[4]], dtype=np.int32)
    return NameTable(
        np.ascontiguousarray(label_kind_letters[0]),
        label_kind_letters[1].astype(np.int8),
        label_kind_letters[2].astype(np.int16),
        start.astype(np.int32),
        all_stems,
        all_forms,
        n_seen.astype(np.int32),
    )


def _grouped(keys: Array, values: Array, n: int) -> tuple[Array, Array]:
    """(n + 1,) starts, and the values by key."""
    order = np.argsort(keys, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(keys, minlength=n)))
    return starts.astype(np.int32), values[order].astype(np.int32)
