"""Two words of a document together as a feature of their own: long texts have many, and what two of the weightiest
words mean together no sum over single ones tells.

    z_h(i, j) = sqrt(x_i x_j)      for each two of the `words` largest values of x; h: a hash to 2^20 places
    m2(l) = w_l . (x, z) + b_l     classifiers like those of single words, x and z of equal length

Nothing is kept but the weights: a hash needs no list of pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.config import Config, param
from zipfel.errors import ModelFileError
from zipfel.index.sparse import unit_csr
from zipfel.kernels.sparse_topk import kernel_arrays
from zipfel.linear.classifiers import LinearClassifiers, LinearConfig
from zipfel.linear.problems import Problems
from zipfel.threads import over_blocks

Array = npt.NDArray[Any]
PLACES, MOST_WORDS = 1 << 20, 50
_ROOM = MOST_WORDS * (MOST_WORDS - 1) // 2
"""Places at the end that only pairs are moved to whose own are taken."""
_AS_GIVEN = LinearConfig(damping=1.0)


@dataclass(frozen=True)
class ConjunctionConfig(Config):
    words: int = param(20, "weightiest words of a document that are taken together, two by two", low=2, high=MOST_WORDS)
    threshold: float = param(0.15, "weights of these classifiers up to this are dropped", low=0)


@dataclass(frozen=True)
class Conjunctions:
    """Classifiers of words and pairs of words. ranker: (n_labels, n_features + 2^20)."""

    words: int
    ranker: LinearClassifiers

    OPINIONS: ClassVar[tuple[str, ...]] = ("conjunctions: doubt", "conjunctions: trust")

    @classmethod
    def fit(
        cls, config: ConjunctionConfig, ranker: LinearConfig, rows: sp.csr_matrix, problems: Problems, seed: int
    ) -> Conjunctions:
        """rows: of `with_pairs`; ranker: as the classifiers of single words are."""
        asked = ranker.replace(damping=1.0, threshold=config.threshold)
        return cls(config.words, LinearClassifiers(asked).fit(rows, problems, seed=seed))

    def opinions(self, X: sp.csr_matrix, labels: Array, plain: Array) -> list[npt.NDArray[np.float32]]:
        """OPINIONS of the labels (n, c) of each row: its margin, a slope of its own on either side of zero. plain:
        (n, c) what classifiers of single words say, which stands for labels that came later, and for none."""
        known = self._has_learnt[np.where(labels < len(self._has_learnt), labels, -1)]
        margin = self.ranker.score(with_pairs(X, self.words), np.where(known, labels, -1))
        margin = np.where(known, margin, plain).astype(np.float32)
        return [np.minimum(margin, 0), np.maximum(margin, 0)]

    @cached_property
    def _has_learnt(self) -> npt.NDArray[np.bool_]:
        """(n_labels + 1,) which labels had points; the last, none, has not."""
        ranker = self.ranker
        return np.append((np.diff(ranker.weights_.indptr) > 0) | (ranker.bias_ != -1), False)

    def state(self) -> dict[str, Array]:
        return {"words": np.array([self.words], dtype=np.int64), **self.ranker.state()}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], n_features: int, n_labels: int) -> Conjunctions:
        """The counterpart of `state`; a model file may come from anywhere."""
        words, n_known = arrays.get("words", np.zeros(())), arrays.get("bias", np.zeros(0)).size
        fits = words.shape == (1,) and words.dtype == np.int64 and 2 <= words[0] <= MOST_WORDS
        if not fits or not 1 <= n_known <= n_labels:
            raise ModelFileError("the classifiers of words together are damaged in the model: words, or labels")
        return cls(int(words[0]), LinearClassifiers.restored(arrays, n_features + PLACES, n_known, _AS_GIVEN))


def with_pairs(X: sp.csr_matrix, words: int) -> sp.csr_matrix:
    """(n, n_features + 2^20): the rows, of unit length, and the pairs of their weightiest words, each half of the
    length. A row of one word has no pairs, and stays as it is."""
    X = unit_csr(X)
    sizes = np.diff(X.indptr).astype(np.int64)
    paired = np.minimum(sizes, words)
    ends = np.append(0, np.cumsum(sizes + paired * (paired - 1) // 2))
    ids, values = np.empty(ends[-1], dtype=np.int32), np.empty(ends[-1], dtype=np.float32)
    rows = kernel_arrays(X)
    over_blocks(lambda a, b: _pair_up(a, b, *rows, words, int(X.shape[1]), ends, ids, values), X.shape[0])
    found = sp.csr_matrix((values, ids, ends), shape=(X.shape[0], X.shape[1] + PLACES))
    found.has_canonical_format = True  # as `_pair_up` makes them
    return found


@njit(cache=True, nogil=True)
def place_of(one: int, other: int) -> int:
    """Where the pair of two features is kept, the lower one first: from 0 to 2^20, less some room at the end."""
    mixed = np.uint64(one) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(other) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    found: int = np.int64(mixed % np.uint64(PLACES - _ROOM))
    return found


@njit(cache=True, nogil=True)
def _pair_up(
    start: int,
    stop: int,
    ptr: Array,
    features: Array,
    values: Array,
    words: int,
    n_features: int,
    ends: Array,
    ids: Array,
    out: Array,
) -> None:
    """Rows start..stop of `with_pairs`: each row's own features, and behind them its pairs, in rising order. Two pairs
    of a row that fall on one place: the second is moved to the next."""
    best = np.empty(words, dtype=np.int64)
    for row in range(start, stop):
        a, b, at = ptr[row], ptr[row + 1], ends[row]
        n = 0
        for t in range(a, b):  # the weightiest, by insertion
            place = n if n < words else words - 1
            if n == words and abs(values[t]) <= abs(values[best[place]]):
                continue
            while place > 0 and abs(values[t]) > abs(values[best[place - 1]]):
                best[place] = best[place - 1]
                place -= 1
            best[place] = t
            n = min(n + 1, words)
        square, used = np.float32(0.0), at + b - a
        for i in range(n):
            for j in range(i):
                one, other = min(best[i], best[j]), max(best[i], best[j])
                product = values[one] * values[other]
                size, place = np.float32(np.sqrt(abs(product))), place_of(features[one], features[other]) + n_features
                square += abs(product)
                t = used
                while t > at + b - a and ids[t - 1] > place:
                    ids[t], out[t] = ids[t - 1], out[t - 1]
                    t -= 1
                ids[t], out[t] = place, size if product >= 0 else -size
                used += 1
        share = np.float32(np.sqrt(0.5)) if square > 0 else np.float32(1.0)
        for t in range(a, b):
            ids[at + t - a], out[at + t - a] = features[t], values[t] * share
        for t in range(at + b - a, used):
            out[t] *= share / np.float32(np.sqrt(square)) if square > 0 else np.float32(0.0)
            if t > at + b - a and ids[t] <= ids[t - 1]:
                ids[t] = ids[t - 1] + 1
