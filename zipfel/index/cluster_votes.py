"""k neighbours in the nearest clusters, and their votes (DXML, Algorithm 2); what is left open is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.errors import ModelFileError
from zipfel.index.choice import NEIGHBOURS, SHARPNESS, VoteRule, choose_votes, mean_precision
from zipfel.index.clusters import Clusters
from zipfel.quantize import pack_table, rounded, unpack_table
from zipfel.ranking import Ranking
from zipfel.state import State, pack_csr, unpack_csr

_BLOCK = 4096
"""Queries that are answered at a time."""
_CLUSTER = 6000
"""Points a cluster, as SLEEC has them, with which DXML's paper compares."""
_FEWER_PROBES = 0.001
"""Mean precision that may be given up for searching fewer clusters."""

_RULE = VoteRule(NEIGHBOURS[-1], SHARPNESS[0])
"""Until one is chosen."""

Vectors = npt.NDArray[np.float32]


@dataclass
class ClusterVotes:
    """Points in clusters, their labels Y (n, n_labels), and how their neighbours vote.

    probes: clusters that are searched. A point without labels has nothing to say and should not be among them.
    """

    clusters: Clusters
    Y: sp.csr_matrix
    rule: VoteRule = _RULE
    probes: int = 1

    @classmethod
    def of(
        cls,
        codes: Vectors,
        Y: sp.csr_matrix,
        n_clusters: int | None = None,
        *,
        precision: str = "float32",
        seed: int = 0,
    ) -> ClusterVotes:
        """Those points with codes (n, dim) that have labels Y, in k-means clusters (Algorithm 1, line 5).

        n_clusters: None makes one for 6,000 points. precision: how the codes are kept."""
        voters = np.flatnonzero(np.diff(Y.indptr))
        n_clusters = n_clusters or max(1, round(len(voters) / _CLUSTER))
        return cls(Clusters.fit(rounded(codes[voters], precision), n_clusters, seed), Y[voters])

    def choose(
        self,
        queries: Vectors,
        truth: sp.csr_matrix,
        *,
        n_neighbors: Sequence[int] = NEIGHBOURS,
        sharpness: Sequence[float] = SHARPNESS,
        probes: int | None = None,
    ) -> float:
        """Sets the rule, and `probes` where none are given, to the best on held-out queries; returns their quality."""
        near = self.clusters.search(queries, max(n_neighbors), probes or self.clusters.n_clusters)
        self.rule, quality = choose_votes(*near, self.Y, truth, n_neighbors=n_neighbors, sharpness=sharpness)
        self.probes = probes or self._fewest_probes(queries, truth, quality)
        return quality

    def _fewest_probes(self, queries: Vectors, truth: sp.csr_matrix, quality: float) -> int:
        """The smallest power of two that is within a tenth of a point of searching all clusters."""
        for step in range(self.clusters.n_clusters.bit_length()):
            probes = 1 << step
            ranking = replace(self, probes=probes).rank(queries, 5)
            if mean_precision(ranking, truth) >= quality - _FEWER_PROBES:
                return probes
        return self.clusters.n_clusters

    def rank(self, queries: Vectors, k: int) -> Ranking:
        """Algorithm 2, lines 2-5, for queries (n, dim)."""
        parts = []
        for start in range(0, max(1, len(queries)), _BLOCK):
            near = self.clusters.search(queries[start : start + _BLOCK], self.rule.n_neighbors, self.probes)
            parts.append(self.rule(*near, self.Y, k))
        return Ranking.concatenate(parts)

    def add(self, vectors: Vectors, Y: sp.csr_matrix) -> None:
        """Adds points with their labels. Labels may be new. The clusters and the voting rule stay as they are."""
        known = sp.csr_matrix((self.Y.data, self.Y.indices, self.Y.indptr), (self.Y.shape[0], Y.shape[1]))
        self.clusters.add(vectors)
        self.Y = sp.vstack([known, Y], format="csr")

    def state(self, precision: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Arrays and facts; precision: of the points' vectors."""
        arrays = {"centres": self.clusters.centres, **pack_table("codes", self.clusters.vectors, precision)}
        facts = {"k": self.rule.n_neighbors, "sharpness": self.rule.sharpness, "probes": self.probes}
        sizes = {"points": self.Y.shape[0], "clusters": self.clusters.n_clusters}
        return {**arrays, **pack_csr("Y", self.Y)}, {**facts, **sizes}

    @classmethod
    def restored(cls, state: State, facts: Mapping[str, Any], dim: int, n_labels: int) -> ClusterVotes:
        """The counterpart of `state`; dim: of the points' vectors."""
        try:
            rule, probes = VoteRule(int(facts["k"]), float(facts["sharpness"])), max(1, int(facts["probes"]))
            n_points, n_clusters = int(facts["points"]), int(facts["clusters"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the model's facts are damaged: {error}") from None
        centres = state.array("centres", shape=(n_clusters, dim))
        codes = unpack_table("codes", state.arrays, n_points, dim)
        return cls(Clusters(centres, codes), unpack_csr(state, "Y", (n_points, n_labels)), rule, probes)
