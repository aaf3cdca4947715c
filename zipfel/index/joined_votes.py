"""A model's own scores and its nearest training points' votes, joined by a share that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.base import Index
from zipfel.index.choice import NEIGHBOURS, SHARPNESS, VoteRule, choose_votes, mean_precision
from zipfel.ranking import Ranking

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the model's own scores that are tried."""
_CELLS = 8_000_000
"""Scores that are held at a time."""
_RULE = VoteRule(NEIGHBOURS[-1], SHARPNESS[0])
"""Until one is chosen."""

Vectors = npt.NDArray[np.float32]
Scores = Callable[[int, int], Vectors]
"""Scores of all labels (stop - start, n_labels) for the rows start to stop, between 0 and 1 as votes are."""


@dataclass
class JoinedVotes:
    """share * scores + (1 - share) * votes. index: of the training points' codes; Y: their labels (n, n_labels)."""

    index: Index
    Y: sp.csr_matrix
    rule: VoteRule = _RULE
    share: float = 0.5

    def choose(
        self,
        codes: Vectors,
        score: Scores,
        truth: sp.csr_matrix,
        *,
        shares: Sequence[float] = SHARES,
        n_neighbors: Sequence[int] = NEIGHBOURS,
        sharpness: Sequence[float] = SHARPNESS,
    ) -> float:
        """Sets rule and share to the best on held-out codes; returns their mean of P@1, P@3 and P@5."""
        near = self.index.search(codes, max(n_neighbors))
        self.rule, _ = choose_votes(*near, self.Y, truth, n_neighbors=n_neighbors, sharpness=sharpness)
        quality = [mean_precision(replace(self, share=share).rank(codes, score, 5), truth) for share in shares]
        self.share = shares[int(np.argmax(quality))]
        return max(quality)

    def rank(self, codes: Vectors, score: Scores, k: int) -> Ranking:
        """The k best labels of each code (n, dim)."""
        size = max(1, min(4096, _CELLS // self.Y.shape[1]))
        starts = range(0, max(1, len(codes)), size)
        return Ranking.concatenate([self._rank(codes, score, at, min(at + size, len(codes)), k) for at in starts])

    def _rank(self, all_codes: Vectors, score: Scores, start: int, stop: int, k: int) -> Ranking:
        codes = all_codes[start:stop]
        if self.share == 1:
            return Ranking.from_dense(score(start, stop), k)
        near = self.index.search(codes, self.rule.n_neighbors)
        if self.share == 0:
            return self.rule(*near, self.Y, k)
        votes = self.rule(*near, self.Y, max(100, 4 * k)).to_csr(self.Y.shape[1])
        joined = np.float32(self.share) * score(start, stop) + np.float32(1 - self.share) * votes
        return Ranking.from_dense(np.asarray(joined, dtype=np.float32), k)
