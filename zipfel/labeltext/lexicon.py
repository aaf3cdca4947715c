"""Numbers of words and stems, and what each word of a text is to the names: its form, its stem, its parts.

A word is analysed once and remembered: texts repeat most of their words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from zipfel.labeltext.stems import Stemmer, folded, light_stem, words_of

Array = npt.NDArray[Any]
_SHORTEST_PART = 4
"""Letters of a part of a compound, at least."""
_LINKS = ("", "s", "es", "n", "en", "e", "er")
"""What German puts between the parts of a compound."""
_MOST_WORDS = 1 << 19
"""Words that are remembered."""
HEAD, MODIFIER = 1, 2


class Analysed(NamedTuple):
    """Words of texts by number; arrays have room for more behind them.

    words: (w, 2) int32, the word's form and its stem, -1 where no name has it. The parts of word i are
    parts[part_at[i]:part_at[i + 1]], float32: (stem, side, share of the word's letters); side: HEAD or MODIFIER.
    """

    words: Array
    part_at: Array
    parts: Array


class Lexicon:
    """Grows while names are taken in, and is fixed from then on.

    stems: stem -> number; forms: word as it is spelt in a name -> number. Copies of a model share it: what it remembers
    is the same for all.
    """

    __slots__ = ("_lock", "_numbers", "_part_at", "_parts_of_all", "_starts", "_stemmer", "_words", "forms", "stems")

    def __init__(self, stemmer: Stemmer = light_stem, stems: Sequence[str] = (), forms: Sequence[str] = ()) -> None:
        self._stemmer = stemmer
        self.stems = {stem: i for i, stem in enumerate(stems)}
        self.forms = {form: i for i, form in enumerate(forms)}
        self._starts = dict(self.stems)
        for form in self.forms:
            low = folded(form)
            number = self.stems.get(stemmer(low))
            if number is not None:
                self._starts.setdefault(low, number)
        self._lock = Lock()
        self._forget()

    @property
    def n_stems(self) -> int:
        return len(self.stems)

    def __deepcopy__(self, memo: dict[int, Any]) -> Lexicon:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """For pickle, without what is remembered."""
        return {"_stemmer": self._stemmer, "stems": self.stems, "forms": self.forms, "_starts": self._starts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._lock = Lock()
        self._forget()

    def stem_id(self, word: str) -> int:
        """The number of the word's stem; a new one where it has none yet."""
        low = folded(word)
        stem = self._stemmer(low)
        number = self.stems.setdefault(stem, len(self.stems))
        self._starts.setdefault(low, number)
        self._starts.setdefault(stem, number)
        return number

    def form_id(self, word: str) -> int:
        return self.forms.setdefault(word, len(self.forms))

    def split(self, word: str) -> tuple[int, int] | None:
        """The stems of the two words that a compound is made of, if both are known; of several ways the one with the
        longest end."""
        low = folded(word)
        stem = self._stemmer(low)
        for cut in range(_SHORTEST_PART, len(low) - _SHORTEST_PART + 1):
            end = self.stems.get(stem[cut:])
            if end is None:
                continue
            for link in _LINKS:
                start = self._starts.get(low[: cut - len(link)]) if low[:cut].endswith(link) else None
                if start is not None and start != end and cut - len(link) >= _SHORTEST_PART:
                    return start, end
        return None

    def _parts(self, low: str, stem: str, own: int) -> list[tuple[int, int, float]]:
        """(stem, side, share of the letters) of the longest known end and the longest known beginning of a word."""
        found: list[tuple[int, int, float]] = []
        length = len(low)
        if length < 2 * _SHORTEST_PART:
            return found
        for cut in range(3, len(stem) - 2):
            end = self.stems.get(stem[cut:])
            if end is not None and length - cut >= _SHORTEST_PART:
                found.append((end, HEAD, (length - cut) / length))
                break
        for cut in range(length - 3, _SHORTEST_PART - 1, -1):
            start = self._starts.get(low[:cut])
            if start is not None and start != own:
                found.append((start, MODIFIER, cut / length))
                break
        return found

    # -- words of texts

    def _forget(self) -> None:
        self._numbers = dict[str, int]()
        self._words = Growing(np.int32, 2)
        self._part_at = Growing(np.int32, 1)
        self._part_at.add(0)
        self._parts_of_all = Growing(np.float32, 3)

    def read(self, texts: Iterable[str]) -> tuple[Array, Array, Analysed]:
        """(n + 1,) starts of the texts, (t,) numbers of their words, and the words."""
        with self._lock:
            if len(self._numbers) > _MOST_WORDS:
                self._forget()
            starts, numbers, known = [0], [], self._numbers
            for text in texts:
                words = words_of(text)
                try:
                    numbers += [known[word] for word in words]
                except KeyError:
                    numbers += [known[word] if word in known else self._analyse(word) for word in words]
                starts.append(len(numbers))
            words_known = Analysed(self._words.rows, self._part_at.rows[:, 0], self._parts_of_all.rows)
            return np.array(starts, dtype=np.int64), np.array(numbers, dtype=np.int32), words_known

    def _analyse(self, word: str) -> int:
        low = folded(word)
        stem = self._stemmer(low)
        number = self.stems.get(stem, -1)
        for part in self._parts(low, stem, number):
            self._parts_of_all.add(*part)
        self._part_at.add(self._parts_of_all.size)
        self._words.add(self.forms.get(word, -1), number)
        return self._numbers.setdefault(word, self._words.size - 1)


class Growing:
    """Rows that are added one by one; `rows` has room for more behind them."""

    def __init__(self, dtype: npt.DTypeLike, width: int) -> None:
        self.rows = np.zeros((1024, width), dtype=dtype)
        self.size = 0

    def add(self, *row: float) -> None:
        if self.size == len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
        self.rows[self.size] = row
        self.size += 1
