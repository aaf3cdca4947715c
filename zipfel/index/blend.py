"""Several sources of neighbours, one vote: each source has its rule and its weight, chosen on held-out points."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.index.base import Ids, Index, Vectors
from zipfel.index.build import build_index, load_index
from zipfel.index.choice import CUTS, NEIGHBOURS, SHARPNESS, VoteRule, choose_votes, mean_precision
from zipfel.index.votes import sharpened, vote
from zipfel.quantize import pack_table, unpack_table
from zipfel.ranking import Ranking

RARITY = (0.0, 0.1, 0.2, 0.3)
_STEPS = 4
"""Weights are tried in quarters."""
_BLOCK = 4096
"""Queries that are answered at a time."""
Found = tuple[Ids, Vectors]
"""(n, m) ids and similarities of one source's neighbours, nearest first."""


@dataclass(frozen=True)
class Blend:
    """For each source by name its rule and its weight; the weights sum to one.

    rarity: r, by which a vote for label l counts (1 + N_l)^-r: common labels have votes enough.
    """

    rules: Mapping[str, VoteRule]
    weights: Mapping[str, float]
    rarity: float = 0.0

    def __call__(self, found: Mapping[str, Found], ballots: sp.csr_matrix, k: int) -> Ranking:
        """The k best labels. found: the neighbours of each source; ballots: (n, n_labels), what an id votes for."""
        return vote(*self._weighted(found), ballots, k)

    def _weighted(self, found: Mapping[str, Found]) -> Found:
        """(n, m) all voters, and the weights of their votes."""
        ids, votes = [], []
        for source, rule in self.rules.items():
            near, similar = found[source]
            ids.append(near[:, : rule.n_neighbors])
            votes.append(np.float32(self.weights[source]) * _shares(similar[:, : rule.n_neighbors], rule.sharpness))
        return np.hstack(ids), np.hstack(votes)

    def without_idle(self) -> Blend:
        """The same without the sources of weight 0: they need no index."""
        busy = [source for source, weight in self.weights.items() if weight > 0]
        return Blend({s: self.rules[s] for s in busy}, {s: self.weights[s] for s in busy}, self.rarity)

    def facts(self) -> dict[str, Any]:
        """Plain values for JSON: rarity, and [n_neighbors, sharpness, weight] by source."""
        rules = {s: [rule.n_neighbors, rule.sharpness, self.weights[s]] for s, rule in self.rules.items()}
        return {"rules": rules, "rarity": self.rarity}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Blend:
        rules = {source: VoteRule(int(values[0]), float(values[1])) for source, values in facts["rules"].items()}
        weights = {source: float(values[2]) for source, values in facts["rules"].items()}
        numbers = [*weights.values(), float(facts["rarity"]), *(rule.sharpness for rule in rules.values())]
        if not rules or not np.isfinite(numbers).all() or min(rule.n_neighbors for rule in rules.values()) < 1:
            raise ModelFileError("the rules by which neighbours vote are damaged in the model")
        return cls(rules, weights, float(facts["rarity"]))


class JointNeighbors:
    """Indexes by source over codes in one space, and the ballots that their ids cast.

    codes: by source the (ids, vectors) to search; ballots: (n, n_labels), row i is what id i votes for.
    metric: "inner" where vectors and queries are of unit length already.
    """

    def __init__(
        self,
        codes: Mapping[str, tuple[Ids, Vectors]],
        ballots: sp.csr_matrix,
        *,
        metric: str = "cosine",
        seed: int = 0,
    ) -> None:
        self.ballots = ballots
        self._weighted: dict[float, sp.csr_matrix] = {0.0: ballots}
        self.indexes: dict[str, Index] = {
            source: build_index(vectors, ids, metric=metric, seed=seed) for source, (ids, vectors) in codes.items()
        }

    def choose(
        self,
        queries: Vectors,
        truth: sp.csr_matrix,
        *,
        n_neighbors: Sequence[int] = NEIGHBOURS,
        sharpness: Sequence[float] = SHARPNESS,
        rarity: Sequence[float] = RARITY,
        reserve: Collection[str] = (),
        chance: float = 0.0,
        spare: float = 0.0,
        more: Mapping[str, Found] | None = None,
    ) -> tuple[Blend, float]:
        """(the blend with the best mean of P@1, P@3 and P@5 on held-out queries, that mean).

        First each source's own rule, then the weights, then the rarity: the product of all would take for ever.
        reserve: sources that join the others only where that gains more than `chance`. spare: what may be paid of the
        mean for a higher rarity. more: neighbours of sources that have no index here.
        """
        found = self._search(queries, {source: max(n_neighbors) for source in self.indexes}) | dict(more or {})
        rules = {
            source: choose_votes(*near, self.ballots, truth, n_neighbors=n_neighbors, sharpness=sharpness)[0]
            for source, near in found.items()
        }
        usual = {source: rule for source, rule in rules.items() if source not in reserve} or rules
        best, quality = self._weighed(usual, found, truth, rarity, spare)
        if len(usual) < len(rules):
            other, reached = self._weighed(rules, found, truth, rarity, spare)
            best, quality = (other, reached) if reached > quality + chance else (best, quality)
        return best.without_idle(), quality

    def _weighed(
        self,
        rules: Mapping[str, VoteRule],
        found: Mapping[str, Found],
        truth: sp.csr_matrix,
        rarity: Sequence[float],
        spare: float,
    ) -> tuple[Blend, float]:
        """The best weights for these sources, and then the rarity."""
        blends = [Blend(rules, dict(zip(rules, weights, strict=True))) for weights in simplex(len(rules))]
        best, quality = self._best(blends, found, truth)
        if len(rarity) > 1 or rarity[0] != best.rarity:
            return self._best([replace(best, rarity=r) for r in sorted(rarity)], found, truth, spare)
        return best, quality

    def _best(
        self, blends: Sequence[Blend], found: Mapping[str, Found], truth: sp.csr_matrix, spare: float = 0.0
    ) -> tuple[Blend, float]:
        """The best of them, or the last that is worse by no more than `spare`."""
        quality = [mean_precision(b(found, self._ballots(b.rarity), max(CUTS)), truth) for b in blends]
        best = int(np.argmax(quality))
        if spare:
            best = max(i for i, found in enumerate(quality) if found >= quality[best] - spare)
        return blends[best], quality[best]

    def _ballots(self, rarity: float) -> sp.csr_matrix:
        """The ballots with (1 + N_l)^-r for their ones, scaled so that the rarest label's vote counts one."""
        if rarity not in self._weighted:
            counts = np.bincount(self.ballots.indices, minlength=self.ballots.shape[1])
            rarest = counts[counts > 0].min(initial=counts.max(initial=1))
            weights = ((1 + counts) / (1 + rarest)) ** -rarity
            data = (self.ballots.data * weights[self.ballots.indices]).astype(np.float32)
            parts = (data, self.ballots.indices, self.ballots.indptr)
            self._weighted[rarity] = sp.csr_matrix(parts, shape=self.ballots.shape)
        return self._weighted[rarity]

    def rank(self, queries: Vectors, blend: Blend, k: int, more: Mapping[str, Found] | None = None) -> Ranking:
        """The k best labels of each query (n, d). more: neighbours of sources that have no index here."""
        elsewhere, parts = more or {}, []
        wanted = {source: rule.n_neighbors for source, rule in blend.rules.items() if source not in elsewhere}
        for start in range(0, max(1, len(queries)), _BLOCK):
            mine = slice(start, start + _BLOCK)
            found = self._search(queries[mine], wanted) | {s: (a[mine], b[mine]) for s, (a, b) in elsewhere.items()}
            parts.append(blend(found, self._ballots(blend.rarity), k))
        return Ranking.concatenate(parts)

    def _search(self, queries: Vectors, wanted: Mapping[str, int]) -> dict[str, Found]:
        return {s: self.indexes[s].search(queries, min(m, len(self.indexes[s]))) for s, m in wanted.items()}

    def state(self, precision: str = "float32") -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Arrays and facts of the indexes; the ballots are the caller's to keep. precision: of the vectors."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        facts: dict[str, Any] = {}
        for source, index in self.indexes.items():
            mine, facts[source] = index.state()
            arrays |= pack_table(f"{source}.vectors", mine.pop("vectors"), precision)
            arrays |= {f"{source}.{name}": array for name, array in mine.items()}
        return arrays, facts

    @classmethod
    def restored(
        cls, arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any], ballots: sp.csr_matrix, dim: int
    ) -> JointNeighbors:
        """The counterpart of `state`; arrays that belong to something else are passed over. dim: of the queries."""
        found = cls({}, ballots)
        for source, known in facts.items():
            mine = {n.removeprefix(f"{source}."): a for n, a in arrays.items() if n.startswith(f"{source}.")}
            if "vectors" in mine:
                mine["vectors"] = unpack_table("vectors", mine, len(mine["vectors"]), dim)
            index = load_index(mine, known)
            if index.dim != dim or (len(index) and not 0 <= index.ids[0] <= index.ids[-1] < ballots.shape[0]):
                raise ModelFileError(f"the index {source!r:.60} in the model does not fit its points")
            found.indexes[source] = index
        return found


def simplex(n: int) -> list[tuple[float, ...]]:
    """All n weights in quarters that sum to one."""
    parts = itertools.product(range(_STEPS + 1), repeat=n)
    return [tuple(p / _STEPS for p in chosen) for chosen in parts if sum(chosen) == _STEPS]


def _shares(similar: Vectors, sharpness: float) -> Vectors:
    """(n, m) votes that sum to one in each row, or to zero where there is no neighbour."""
    votes = sharpened(similar, sharpness)
    total = votes.sum(axis=1, keepdims=True)
    shares: Vectors = (votes / np.where(total > 0, total, 1)).astype(np.float32, copy=False)
    return shares
