"""Finds the names of labels in texts: fitted once on the names, then one pass over each document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfel.errors import ModelFileError
from zipfel.labeltext._matching import Words, match_documents
from zipfel.labeltext.lexicon import Lexicon
from zipfel.labeltext.matches import Matches
from zipfel.labeltext.names import Name, NameTable, build_names
from zipfel.labeltext.stems import LIGHT, make_stemmer, words_of
from zipfel.state import State

Array = npt.NDArray[Any]
_BLOCK = 4096
"""Documents whose words are counted at a time."""


@dataclass(frozen=True)
class NameMatcher:
    """stemmer: see `make_stemmer`; n_documents: those in which stems were counted.

    >>> matcher = NameMatcher.fit([Name(0, "Computer game"), Name(1, "Boat")], ["games for boats"], n_labels=2)
    >>> found = matcher.match(["A game for computers, with boats"])
    >>> found.labels.tolist(), found.columns[1], (found.evidence[:, 1] > 0).tolist()
    ([0, 1], 'inflected', [False, True])
    """

    lexicon: Lexicon
    names: NameTable
    n_labels: int
    n_documents: int
    stemmer: str = LIGHT

    @classmethod
    def fit(
        cls, names: Sequence[Name], texts: Sequence[str | None], n_labels: int, stemmer: str = LIGHT
    ) -> NameMatcher:
        """texts: training documents, which tell how rare words are."""
        lexicon = Lexicon(make_stemmer(stemmer))
        for name in names:
            for word in words_of(name.text):
                lexicon.stem_id(word)
                lexicon.form_id(word)
        n_seen = _document_counts(lexicon, texts)
        return cls(lexicon, build_names(names, lexicon, n_seen), n_labels, len(texts), stemmer)

    def match(self, texts: Iterable[str | None]) -> Matches:
        """A document without a text has no match."""
        starts, numbers, known = self.lexicon.read(text or "" for text in texts)
        counts, labels, evidence = match_documents(
            starts, numbers, known, self._words, self.names.trie, self.names.by_stem, self.n_labels
        )
        rows = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((labels, rows))
        return Matches(np.append(0, np.cumsum(counts)), labels[order], evidence[order])

    @cached_property
    def _words(self) -> Words:
        n = self.names
        return Words(n.label, n.kind, n.letters, n.start, n.stems, n.forms, n.rarity(self.n_documents))

    # -- keeping

    def state(self) -> State:
        arrays = {
            "stems_text": _packed(self.lexicon.stems),
            "forms_text": _packed(self.lexicon.forms),
            **self.names.state(),
        }
        return State(arrays, {"n_documents": self.n_documents, "stemmer": self.stemmer})

    @classmethod
    def restored(cls, state: State, n_labels: int) -> NameMatcher:
        """The counterpart of `state`; every index is checked."""
        stems, forms = _unpacked(state, "stems_text"), _unpacked(state, "forms_text")
        n_documents, stemmer = int(state.fact("n_documents", low=0, high=1 << 40)), state.facts.get("stemmer")
        if not isinstance(stemmer, str):
            raise ModelFileError(f"the model's stemmer must be a name, got {stemmer!r:.60}")
        names = NameTable.restored(state, n_labels, len(stems), len(forms))
        return cls(Lexicon(make_stemmer(stemmer), stems, forms), names, n_labels, n_documents, stemmer)


def _document_counts(lexicon: Lexicon, texts: Sequence[str | None]) -> npt.NDArray[np.int64]:
    """(stems,) documents with each stem."""
    counts = np.zeros(lexicon.n_stems, dtype=np.int64)
    for start in range(0, len(texts), _BLOCK):
        starts, numbers, known = lexicon.read(text or "" for text in texts[start : start + _BLOCK])
        stems = known.words[numbers, 1].astype(np.int64)
        rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        pairs = np.unique((rows * lexicon.n_stems + stems)[stems >= 0])
        counts += np.bincount(pairs % lexicon.n_stems, minlength=lexicon.n_stems)
    return counts


def _packed(words: Iterable[str]) -> npt.NDArray[np.uint8]:
    return np.frombuffer("\n".join(words).encode(), dtype=np.uint8)


def _unpacked(state: State, name: str) -> list[str]:
    array = state.array(name, ndim=1)
    try:
        words = array.astype(np.uint8, casting="safe").tobytes().decode().split("\n") if len(array) else []
    except (TypeError, UnicodeDecodeError):
        raise ModelFileError(f"{name} in the model is no list of words") from None
    if len(set(words)) < len(words):
        raise ModelFileError(f"{name} in the model holds a word twice")
    return words
