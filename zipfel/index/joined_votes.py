"""A model's own scores and its nearest training points' votes, joined by a share that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.index.blend import Blend, JointNeighbors
from zipfel.index.build import build_index
from zipfel.index.choice import NEIGHBOURS, SHARPNESS, mean_precision
from zipfel.kernels.topk import topk
from zipfel.quantize import rounded
from zipfel.ranking import Ranking
from zipfel.state import State, pack_csr, unpack_csr

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the model's own scores that are tried."""
_USUAL, _CHANCE = 0.25, 0.002
"""The default share, which won on most splits, and the gain in mean precision that another share must reach. Held-out
points are few, so smaller gains are chance."""
_CELLS = 8_000_000
"""Scores that are held at a time."""
_PACKED = "int8"
"""How codes are kept: a byte a number, in the file and for the search."""

Vectors = npt.NDArray[np.float32]
Scores = Callable[[int, int], Vectors]
"""Scores of all labels (stop - start, n_labels) for the rows start to stop, between 0 and 1 as votes are."""


@dataclass
class JoinedVotes:
    """share * scores + (1 - share) * votes.

    near: the training points by their codes, from one source or several. blend: how each source's neighbours vote; none
    where only the scores count.
    """

    near: JointNeighbors
    blend: Blend | None = None
    share: float = 1.0

    @classmethod
    def of(cls, codes: Mapping[str, Vectors], Y: sp.csr_matrix, *, seed: int) -> JoinedVotes:
        """codes: by source (n, dim), whose inner products say who is near; Y (n, n_labels): the points' labels."""
        near = JointNeighbors({}, Y)
        for source, vectors in codes.items():
            near.indexes[source] = build_index(rounded(vectors, _PACKED), metric="inner", seed=seed)
        return cls(near)

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
        """Sets blend and share to the best on held-out codes, but for chance; returns their mean of P@1, P@3, P@5."""
        if self.near.indexes:
            self.blend, _ = self.near.choose(codes, truth, n_neighbors=n_neighbors, sharpness=sharpness, chance=_CHANCE)
        quality = [mean_precision(replace(self, share=share).rank(codes, score, 5), truth) for share in shares]
        best = int(np.argmax([q + _CHANCE * (share == _USUAL) for q, share in zip(quality, shares, strict=True)]))
        self.share = shares[best]
        if self.share == 1:
            self.blend = None
        return quality[best]

    def rank(self, codes: Vectors, score: Scores, k: int) -> Ranking:
        """The k best labels of each code (n, dim)."""
        size = max(1, min(4096, _CELLS // self.near.ballots.shape[1]))
        edges = [(at, min(at + size, len(codes))) for at in range(0, max(1, len(codes)), size)]
        return Ranking.concatenate([self._rank(codes[a:b], partial(score, a, b), k) for a, b in edges])

    def _rank(self, codes: Vectors, score: Callable[[], Vectors], k: int) -> Ranking:
        if self.share == 1 or self.blend is None:
            return Ranking(*topk(score(), k))
        if self.share == 0:
            return self.near.rank(codes, self.blend, k)
        votes = self.near.rank(codes, self.blend, max(100, 4 * k)).to_csr(self.near.ballots.shape[1])
        joined = np.float32(self.share) * score() + np.float32(1 - self.share) * votes
        return Ranking(*topk(np.asarray(joined, dtype=np.float32), k))

    def state(self) -> State:
        """Vectors, facts and, where there is a voter, the voters' labels."""
        arrays, indexes = self.near.state(_PACKED)
        blend = None if self.blend is None else self.blend.facts()
        Y = self.near.ballots
        arrays |= pack_csr("Y", Y) if Y.shape[0] else {}
        return State(arrays, {"indexes": indexes, "blend": blend, "share": self.share, "points": Y.shape[0]})

    @classmethod
    def restored(cls, state: State, n_labels: int, dim: int) -> JoinedVotes:
        """The counterpart of `state`. dim: of the codes that will be asked for."""
        facts, n_points = state.facts, int(state.fact("points", low=0))
        none = sp.csr_matrix((0, n_labels), dtype=np.float32)
        Y = unpack_csr(state, "Y", (n_points, n_labels)) if n_points else none
        near = JointNeighbors.restored(state.arrays, facts["indexes"], Y, dim)
        blend = None if facts["blend"] is None else Blend.from_facts(facts["blend"])
        if blend is not None and not blend.rules.keys() <= near.indexes.keys():
            raise KeyError("an index that the votes ask for")
        share = float(facts["share"])
        if not 0 <= share <= 1 or (blend is None and share < 1):
            raise ValueError(f"share {share}")
        return cls(near, blend, share)
