"""How likely a label is right when its name was found: learnt from training documents and their labels.

    odds(d, l) = b . [what was found, how often a match of this label was right, how frequent the label is] + c

Matches are strong (word by word, or all words near each other) or weak (in compounds, or inside of a longer name). Of
each kind a label has r right ones of m, which counts as log (r + 2 p) / (m - r + 2 (1 - p)), p the share of right ones
among all matches of the kind. A training document from which the weights b are learnt does not count itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.labeltext.matcher import NameMatcher
from zipfel.labeltext.matches import (
    COLUMNS,
    EARLY,
    EXACT,
    HEAD,
    INFLECTED,
    MODIFIER,
    NEAR,
    RARITY,
    SPLIT,
    Matches,
)
from zipfel.linear.blend import Blend

Array = npt.NDArray[Any]
_PRIOR = 2.0
_BLOCK, _EVERY = 2048, 5
STRONG_FOUND, STRONG_RIGHT, WEAK_FOUND, WEAK_RIGHT, POINTS = range(5)
COUNTED = 5
LEARNT = (
    *COLUMNS,
    "strong",
    "trust of strong",
    "trust of weak",
    "frequency",
    "unseen",
    "share of the label's documents",
    "rarity of strong",
    "rarity of head",
    "rarity of modifier",
    "rarity of split",
    "early and strong",
    "is exact",
    "is inflected",
    "is split",
    "is head",
    "is modifier",
    "unseen and strong",
    "unseen and rare",
)


@dataclass(frozen=True)
class Found:
    """What was found in all training documents: labels of document i in indptr[i]:indptr[i + 1], and whether a match
    is strong."""

    indptr: Array
    labels: Array
    strong: Array

    @classmethod
    def of(cls, matcher: NameMatcher, texts: Sequence[str | None]) -> Found:
        labels, strong, sizes = [], [], [np.zeros(1, dtype=np.int64)]
        for start in range(0, len(texts), _BLOCK):
            matches = matcher.match(texts[start : start + _BLOCK])
            labels.append(matches.labels)
            strong.append(is_strong(matches))
            sizes.append(np.diff(matches.indptr))
        return cls(np.cumsum(np.concatenate(sizes)), np.concatenate(labels), np.concatenate(strong))

    def counts(self, seen: npt.NDArray[np.bool_], Y: sp.csr_matrix) -> npt.NDArray[np.int64]:
        """(n_labels, 5): strong matches and right ones, weak matches and right ones, and documents of each label, among
        the documents that are seen."""
        n_labels, mine = int(Y.shape[1]), np.repeat(seen, np.diff(self.indptr))
        rows = np.repeat(np.arange(len(seen)), np.diff(self.indptr))
        right = _are_true(rows, self.labels, Y)
        kinds = (self.strong, self.strong & right, ~self.strong, ~self.strong & right)
        columns = [np.bincount(self.labels[mine & kind], minlength=n_labels) for kind in kinds]
        points = np.bincount(Y.indices[np.repeat(seen, np.diff(Y.indptr))], minlength=n_labels)
        return np.stack([*columns, points], axis=1).astype(np.int64)


def _are_true(rows: Array, labels: Array, Y: sp.csr_matrix) -> npt.NDArray[np.bool_]:
    """(nnz,) whether each label is one of its row in Y."""
    n_labels = int(Y.shape[1])
    true = np.sort(np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)) * n_labels + Y.indices)
    if not len(true):
        return np.zeros(len(rows), dtype=bool)
    asked = rows * n_labels + labels
    return np.asarray(true[np.minimum(np.searchsorted(true, asked), len(true) - 1)] == asked)


def is_strong(matches: Matches) -> npt.NDArray[np.bool_]:
    """(nnz,) word by word, or all words near each other."""
    return np.asarray((matches.evidence[:, [EXACT, INFLECTED, NEAR]] > 0).any(axis=1))


def columns_of(matches: Matches, counts: Array, own: Array | None = None) -> npt.NDArray[np.float32]:
    """(nnz, f) in the order of `LEARNT`. own: (nnz,) whether each label is the document's, where the document is one of
    those that were counted."""
    E, strong = matches.evidence, is_strong(matches)
    mine = counts[matches.labels].astype(np.float64)
    totals = counts.sum(axis=0).astype(np.float64)
    if own is not None:
        mine -= np.stack([strong, strong & own, ~strong, ~strong & own, own], axis=1)
    trusted = _trust(mine[:, STRONG_FOUND], mine[:, STRONG_RIGHT], totals[STRONG_FOUND], totals[STRONG_RIGHT])
    doubted = _trust(mine[:, WEAK_FOUND], mine[:, WEAK_RIGHT], totals[WEAK_FOUND], totals[WEAK_RIGHT])
    unseen = mine[:, POINTS] == 0
    share = np.log((mine[:, STRONG_RIGHT] + 0.3) / (mine[:, POINTS] + 1))
    kinds = [E[:, kind] > 0 for kind in (HEAD, MODIFIER, SPLIT)]
    found = [
        *E.T,
        strong,
        trusted * strong,
        doubted * ~strong,
        np.log1p(mine[:, POINTS]),
        unseen,
        share * strong,
        E[:, RARITY] * strong,
        *(E[:, RARITY] * kind for kind in kinds),
        E[:, EARLY] * strong,
        E[:, EXACT] > 0,
        E[:, INFLECTED] > 0,
        kinds[2],
        kinds[0],
        kinds[1],
        unseen & strong,
        unseen * E[:, RARITY],
    ]
    return np.stack(found, axis=1).astype(np.float32)


def _trust(found: Array, right: Array, all_found: float, all_right: float) -> Array:
    p = (all_right + 1) / (all_found + 100)
    return np.asarray(np.log((right + _PRIOR * p) / (np.maximum(found - right, 0) + _PRIOR * (1 - p))))


def learn_odds(matches: Matches, Y: sp.csr_matrix, counts: Array) -> Blend:
    """matches: of some of the counted documents; Y: their labels. Of the wrong matches one in `_EVERY` is enough:
    without the others all odds are larger by that factor, which is taken off."""
    own = _are_true(matches.rows, matches.labels, Y)
    kept = own | (np.arange(len(own)) % _EVERY == 0)
    found = Blend.fit(LEARNT, columns_of(matches, counts, own)[kept], own[kept])
    return replace(found, bias=found.bias - math.log(_EVERY))
