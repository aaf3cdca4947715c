"""A dictionary from words of documents to words of label names, learnt from training documents.

    P(g | w) = documents with word w and a label whose name has stem g / (documents with w + 3)
    strongest(d, l) = sum_g v_lg max_w P(g | w)                      w: words of document d, g: stems of label l's names
    together(d, l)  = sum_g v_lg sum_w -log(1 - P(g | w))            v_lg: share of g in the rarity of the names' stems

The word "cryptology" then raises all labels with "Kryptologie" in their names, including labels with few documents.
Kept are pairs of two documents or more with P above 0.04 and three times the odds that chance gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from zipfel.labeltext.names import NameTable
from zipfel.state import State, pack_csr, unpack_csr

Array = npt.NDArray[Any]
_SHRUNK, _TIMES, _LEAST, _LIFT, _MOST = 3.0, 2, 0.04, 3.0, 0.9


@dataclass(frozen=True)
class Dictionary:
    """pairs: (n_features, stems) P(g | w); shares: (n_labels, stems) v_lg."""

    pairs: sp.csr_matrix
    shares: sp.csr_matrix

    @classmethod
    def learn(cls, X: sp.csr_matrix, Y: sp.csr_matrix, names: NameTable) -> Dictionary:
        owner = np.repeat(names.label, np.diff(names.start))
        shape = int(Y.shape[1]), len(names.n_seen)
        has = sp.csr_matrix((np.ones(len(owner), dtype=np.float32), (owner, names.stems)), shape=shape)
        has.data[:] = 1
        words, stems = _ones(X), _ones((_ones(Y) @ has).tocsr())
        together = (words.T.tocsr() @ stems).tocsr()
        n_words, n_stems = (np.asarray(part.sum(axis=0)).ravel() for part in (words, stems))
        rows = np.repeat(np.arange(together.shape[0]), np.diff(together.indptr))
        p = together.data / (n_words[rows] + _SHRUNK)
        by_chance = n_stems[together.indices] / max(1, X.shape[0])
        kept = (together.data >= _TIMES) & (p > _LEAST) & (p * (1 - by_chance) > _LIFT * by_chance * (1 - p))
        pairs = sp.csr_matrix((p[kept], (rows[kept], together.indices[kept])), shape=together.shape, dtype=np.float32)
        rarity = np.log(max(2, X.shape[0]) / (1 + n_stems))
        shares = has.multiply(np.maximum(rarity, 0.1)[None, :]).tocsr()
        totals = np.asarray(shares.sum(axis=1)).ravel()
        shares.data /= np.repeat(np.maximum(totals, 1e-9), np.diff(shares.indptr))
        return cls(pairs, shares.astype(np.float32))

    def scores(self, X: sp.csr_matrix, labels: Array) -> npt.NDArray[np.float32]:
        """(n, c, 2): strongest and together, of candidates (n, c); 0 of pads and of labels that came later."""
        pairs, shares = self.pairs, self.shares
        return np.asarray(
            _scores(
                X.indptr, X.indices, pairs.indptr, pairs.indices, pairs.data,
                shares.indptr, shares.indices, shares.data, np.ascontiguousarray(labels, dtype=np.int64),
                pairs.shape[1],
            )
        )  # fmt: skip

    def state(self) -> State:
        return State(
            {**pack_csr("pairs", self.pairs), **pack_csr("shares", self.shares)}, {"n_stems": int(self.pairs.shape[1])}
        )

    @classmethod
    def restored(cls, state: State, n_features: int, n_labels: int) -> Dictionary:
        """The counterpart of `state`; every index is checked. There may be more labels by now."""
        n_stems = int(state.fact("n_stems", low=0, high=2**31 - 1))
        known = min(n_labels, len(state.array("shares.indptr", ndim=1)) - 1)
        return cls(unpack_csr(state, "pairs", (n_features, n_stems)), unpack_csr(state, "shares", (known, n_stems)))


def _ones(matrix: sp.csr_matrix) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(matrix.nnz, dtype=np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)


@njit(cache=True, nogil=True)
def _scores(
    indptr: Array, words: Array, pair_start: Array, stems: Array, p: Array,
    share_start: Array, label_stems: Array, share: Array, labels: Array, n_stems: int,
) -> Array:  # fmt: skip
    out = np.zeros((labels.shape[0], labels.shape[1], 2), dtype=np.float32)
    largest, total = np.zeros(n_stems, dtype=np.float32), np.zeros(n_stems, dtype=np.float32)
    for i in range(len(labels)):
        for a in range(indptr[i], indptr[i + 1]):
            for b in range(pair_start[words[a]], pair_start[words[a] + 1]):
                largest[stems[b]] = max(largest[stems[b]], p[b])
                total[stems[b]] -= np.log(1 - min(p[b], _MOST))
        for c in range(labels.shape[1]):
            label = labels[i, c]
            if 0 <= label < len(share_start) - 1:
                for b in range(share_start[label], share_start[label + 1]):
                    out[i, c, 0] += share[b] * largest[label_stems[b]]
                    out[i, c, 1] += share[b] * total[label_stems[b]]
        for a in range(indptr[i], indptr[i + 1]):  # only what was touched
            for b in range(pair_start[words[a]], pair_start[words[a] + 1]):
                largest[stems[b]] = total[stems[b]] = 0
    return out
