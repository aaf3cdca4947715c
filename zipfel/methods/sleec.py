"""SLEEC: label sets embedded locally, a linear map to the codes in each cluster of documents, nearest neighbours.

Bhatia, Jain, Kar, Varma, Jain: Sparse Local Embeddings for Extreme Multi-label Classification, NIPS 2015. All five
papers of this library compare with it.

Algorithm 1: documents in C clusters by k-means, and in each cluster                 `sparse_clusters`
    Omega: each label set with its nearest ones, by cosine                            `graph.nearest_sets`
    Z: min sum over Omega of (y_i . y_j - z_i . z_j)^2                                `graph.neighbour_codes`
    V: min |Z - X V|^2 + lambda |V|^2; the codes of the cluster's points are X V      `linear.ridge`, `Learner.fit`
Algorithm 2: nearest cluster, z = x V, k neighbours in it, their labels summed        `Learner.neighbours`, `_votes`
Several learners with different clusters are averaged.

50 near label sets, and lambda = 1 / 2C with liblinear's C of 0.1, are the values of the authors' program. k is chosen
on held-out points. Deviations (docs/methods/sleec.md has measurements; the authors' program needs Matlab):
- Z is found by gradient steps from a random projection, not by singular value projection of Z Z'. The objective is the
  same. A start at eigenvectors is no better (bibtex, held out: 63.0 / 38.1 / 28.1 for 64.6 / 37.6 / 27.7).
- V is ridge regression, by 30 steps of conjugate gradients. The authors' has an l1 norm on X V as well, and drops the
  smaller weights of V (no effect on delicious) and the smaller numbers of X V.
- Codes have unit length before their distances are compared.
- A cluster with fewer than k points gives fewer votes. Documents without a known feature get the most frequent labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel import config as declared
from zipfel.config import param
from zipfel.errors import ModelFileError
from zipfel.graph.neighbour_codes import neighbour_codes
from zipfel.index.base import unit_rows
from zipfel.index.choice import CUTS, NEIGHBOURS, mean_precision
from zipfel.index.sparse import unit_csr
from zipfel.index.sparse_clusters import nearest_centre, sparse_clusters
from zipfel.index.votes import vote_shares
from zipfel.kernels.sparse_rows import has_entries
from zipfel.linear.ridge import ridge
from zipfel.methods.base import Method, Points, State, pack_csr, unpack_csr
from zipfel.methods.popular import fill_blank, label_priors
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.training.held_out import split_to_choose

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
_BLOCK = 2048
"""Rows that are answered at a time."""


@dataclass(frozen=True)
class SleecConfig(declared.Config):
    """The values of the authors' program, as far as they are known."""

    dim: int = param(100, "numbers in a code (100 for small data, 50 for large)", low=1)
    near: int = param(50, "near label sets whose inner products are kept", low=1)
    steps: int = param(100, "gradient steps of the codes", low=1)
    cluster: int = param(6000, "training points a cluster, about", low=2)
    learners: int = param(3, "clusterings that are averaged (5 to 20)", low=1, high=50)
    ridge: float = param(5.0, "weight of |V|^2, 1 / 2C of the program's C", symbol="lambda", low=1e-6)
    n_neighbors: int | None = param(None, "voters; none: by held-out points", symbol="k", low=1)
    valid_share: float = param(0.2, "share held out where no validation set is given", low=0.01, high=0.5)


@dataclass(frozen=True)
class Learner:
    """One clustering: centres (C, n_features), maps (C, n_features, dim), and the codes (n, dim) and clusters (n,) of
    the training points."""

    centres: Floats
    maps: Floats
    codes: Floats
    mine: Ids

    @classmethod
    def fit(cls, X: sp.csr_matrix, Y: sp.csr_matrix, c: SleecConfig, rng: np.random.Generator) -> Learner:
        """X: rows of unit length with labels Y."""
        centres = sparse_clusters(X, max(1, round(X.shape[0] / c.cluster)), rng)
        mine = nearest_centre(X, centres)
        maps = np.zeros((len(centres), X.shape[1], c.dim), dtype=np.float32)
        for cluster in np.unique(mine):
            rows = np.flatnonzero(mine == cluster)
            Z = neighbour_codes(Y[rows], c.dim, n_neighbors=c.near, steps=c.steps, seed=int(rng.integers(2**31)))
            maps[cluster] = ridge(X[rows], Z, c.ridge).astype(np.float16)  # as they are kept
        return cls(centres, maps, cls._encoded(X, maps, mine), mine)

    @staticmethod
    def _encoded(X: sp.csr_matrix, maps: Floats, mine: Ids) -> Floats:
        codes = np.zeros((X.shape[0], maps.shape[2]), dtype=np.float32)
        for cluster in np.unique(mine):
            rows = np.flatnonzero(mine == cluster)
            codes[rows] = unit_rows(np.asarray(X[rows] @ maps[cluster], dtype=np.float32))
        return codes

    def neighbours(self, X: sp.csr_matrix, k: int) -> Ids:
        """(n, k) training points of the nearest cluster, nearest code first, ties to the lowest; -1 pads."""
        mine = nearest_centre(X, self.centres)
        codes, found = self._encoded(X, self.maps, mine), np.full((X.shape[0], k), -1, dtype=np.int64)
        for cluster in np.unique(mine):
            rows, points = np.flatnonzero(mine == cluster), np.flatnonzero(self.mine == cluster)
            ranking = Ranking.from_dense(codes[rows] @ self.codes[points].T, min(k, len(points)))
            found[rows[:, None], np.arange(ranking.k)] = points[ranking.labels]
        return found


class Sleec(Method):
    """Documents find neighbours by codes that keep the distances of near label sets."""

    name: ClassVar[str] = "sleec"
    title: ClassVar[str] = "SLEEC: local embeddings of label sets, linear maps in clusters, nearest neighbours"
    paper: ClassVar[str] = "Bhatia, Jain, Kar, Varma and Jain: Sparse Local Embeddings for XMC, NIPS 2015"
    Config = SleecConfig
    config: SleecConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        **{name: {} for name in ("paper", "best", "bibtex", "delicious", "mediamill", "eurlex")},
        **{name: {"dim": 50} for name in ("wiki10", "delicious-large", "amazon")},
    }

    # -- fit: learners to choose k by, then the final ones on all points

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        rest, held, everything = split_to_choose(train, valid, self.config.valid_share, run.rng(50))
        self.k_ = self.config.n_neighbors or 0
        if not self.k_:
            with run.timed("choice"):
                self._learn(rest, run, learners=1)
                self.k_ = max(NEIGHBOURS, key=lambda k: mean_precision(self._rank(held.X, max(CUTS), k), held.Y))
        with run.timed("training"):
            self._learn(everything, run, self.config.learners)

    def _learn(self, points: Points, run: Run, learners: int) -> None:
        full = np.flatnonzero((np.diff(points.Y.indptr) > 0) & (np.diff(points.X.indptr) > 0))
        X, self.Y_, self.priors_ = unit_csr(points.X[full]), points.Y[full], label_priors(points.Y)
        self.learners_: list[Learner] = []
        for number in range(learners):
            if self.learners_ and run.time_left() <= 0:
                break
            self.learners_.append(Learner.fit(X, self.Y_, self.config, run.rng(51, number)))

    # -- predict: nearest cluster, code, neighbours, votes

    def _votes(self, X: sp.csr_matrix, k: int) -> sp.csr_matrix:
        """(n, n_labels) share of the k neighbours of each learner that have a label."""
        near = np.hstack([learner.neighbours(unit_csr(X), k) for learner in self.learners_])
        near[~self._knows(X)] = -1
        return vote_shares(near, (near >= 0).astype(np.float32), self.Y_.shape[0]) @ self.Y_

    def _knows(self, X: sp.csr_matrix) -> npt.NDArray[np.bool_]:
        return has_entries(X, np.any(self.learners_[0].maps, axis=(0, 2)))

    def _rank(self, X: sp.csr_matrix, k: int, n_neighbors: int) -> Ranking:
        parts = []
        for start in range(0, max(1, X.shape[0]), _BLOCK):
            votes = self._votes(X[start : start + _BLOCK], n_neighbors)
            parts.append(Ranking.from_csr(votes, k))
        return fill_blank(Ranking.concatenate(parts), self.priors_)

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        return self._rank(X, k, self.k_)

    # -- state

    def state(self) -> State:
        arrays: dict[str, npt.NDArray[Any]] = {"priors": self.priors_, **pack_csr("Y", self.Y_)}
        for number, learner in enumerate(self.learners_):
            arrays |= {f"{number}.{name}": array for name, array in vars(learner).items()}
            arrays[f"{number}.maps"] = learner.maps.astype(np.float16)
        sizes = [len(self.learners_), self.Y_.shape[0]]
        return State(arrays, {"k": self.k_, "sizes": sizes, "clusters": [len(x.centres) for x in self.learners_]})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        try:
            (n, n_points), dim = map(int, state.facts["sizes"]), self.config.dim
            clusters = [int(size) for size in state.facts["clusters"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the model's facts are damaged: {error}") from None
        self.k_, self.learners_ = int(min(state.fact("k", low=1), max(n_points, 1))), []
        self.Y_ = unpack_csr(state, "Y", (n_points, n_labels))
        self.priors_ = state.array("priors", shape=(n_labels,)).astype(np.float32)
        if n < 1 or len(clusters) != n:
            raise ModelFileError("the model's facts are damaged: its learners have no clusters")
        for number, size in enumerate(clusters):
            shapes = {"centres": (size, n_features), "maps": (size, n_features, dim), "codes": (n_points, dim)}
            arrays = {name: state.array(f"{number}.{name}", shape=shape) for name, shape in shapes.items()}
            parts = {name: array.astype(np.float32) for name, array in arrays.items()}
            mine = state.array(f"{number}.mine", shape=(n_points,))
            if mine.dtype.kind != "i" or (n_points and not 0 <= mine.min() <= mine.max() < size):
                raise ModelFileError("the clusters of the model's training points are damaged")
            self.learners_.append(Learner(**parts, mine=mine.astype(np.int64)))
