"""What was found of labels' names in documents: candidates, and evidence for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

COLUMNS = (
    "exact",  # log(1 + how often a name stands there as it is spelt)
    "inflected",  # log(1 + how often it stands there in another form or case)
    "inner",  # log(1 + how often it is only a part of a longer name that stands there)
    "head",  # share of letters of a word that ends in the name, the largest
    "modifier",  # share of letters of a word that begins with the name, the largest
    "near",  # 1 / (1 + words between the words of the name), where they stand apart; the largest
    "split",  # the same of the parts of a compound
    "words",  # log of the words of the longest name
    "letters",  # log of its letters
    "rarity",  # rarity of the rarest word of a name: log(documents / documents with its stem)
    "shared",  # log of the labels that are called so, the smallest
    "early",  # 1 / (1 + words before the first match / 10)
    "last",  # share of the document behind the last match
    "preferred",  # 1 if a preferred name was found
    "unqualified",  # 1 if all that was found had lost its qualifier
)
_PLACES = range(len(COLUMNS))
EXACT, INFLECTED, INNER, HEAD, MODIFIER, NEAR, SPLIT, WORDS = _PLACES[:8]
LETTERS, RARITY, SHARED, EARLY, LAST, PREFERRED, UNQUALIFIED = _PLACES[8:]


@dataclass(frozen=True)
class Matches:
    """indptr: (n + 1,) int64; labels: (nnz,) int32 of document i in indptr[i]:indptr[i + 1], rising; evidence:
    (nnz, f) float32 in the order of `columns`."""

    indptr: Array
    labels: Array
    evidence: Array
    columns: Sequence[str] = COLUMNS

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def rows(self) -> Array:
        """(nnz,) the document of each match."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def places(self, labels: Array) -> Array:
        """(n, c) where each of the labels (n, c) of a document is among its matches; -1 where it is not."""
        if not len(self.labels):
            return np.full(labels.shape, -1, dtype=np.int64)
        width = max(int(self.labels.max()), int(labels.max(initial=0))) + 1
        keys = self.rows * width + self.labels
        asked = np.arange(len(self))[:, None] * width + labels
        found = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        return np.where((keys[found] == asked) & (labels >= 0), found, -1)

    def take(self, rows: Array) -> Matches:
        """The matches of these documents."""
        sizes = np.diff(self.indptr)[rows]
        indptr = np.append(0, np.cumsum(sizes))
        kept = np.repeat(self.indptr[:-1][rows] - indptr[:-1], sizes) + np.arange(indptr[-1])
        return Matches(indptr, self.labels[kept], self.evidence[kept], self.columns)
