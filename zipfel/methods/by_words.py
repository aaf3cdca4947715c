"""What the words say beside a network (LightDXML's, GLaS's): near training points vote, sparse classifiers judge.

    t: the feature values to the power `ranker.damping`, rows of unit length                  `ranker.damped`
    N(t): the m training points with the largest cosine with t                                `ranker.words`
    u(j) = votes of N(t) for label j, under three weightings                                  `ranker.words`
    m(j) = u_j . t + c_j, learnt on j's positives, on the points whose neighbours vote for
           it wrongly, and on a few strangers                                                 `ranker.sparse`

None of it needs the network, so both are learnt at once, one thread each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.config import param
from zipfel.linear import LinearClassifiers, LinearConfig, damped
from zipfel.methods.auto_parts import Fitting, Found
from zipfel.methods.base import Points, State, under, unpack_csr
from zipfel.neighbors import words
from zipfel.neighbors.votes import cast_votes
from zipfel.run import Run

Array = npt.NDArray[Any]
_SHORT, _STRANGERS = 50, 10
"""Labels that a training point's neighbours vote for, and random ones, that sparse classifiers learn from."""


@dataclass(frozen=True)
class SparseConfig(LinearConfig):
    """Weights of half the usual number: the sparse classifiers are one opinion of several."""

    threshold: float = param(0.07, "weights up to this are dropped", low=0)


class Asked(Protocol):
    """What a method's config says of it: whether neighbours vote and how many, whether classifiers judge and how."""

    @property
    def votes(self) -> bool | None: ...

    @property
    def sparse(self) -> bool | None: ...

    @property
    def neighbors(self) -> int: ...

    @property
    def ranker(self) -> SparseConfig: ...


@dataclass(frozen=True)
class Words:
    """Voters and sparse classifiers, either of which may be missing. Y: (n, n_labels), what the voters vote for."""

    settings: Asked
    Y: sp.csr_matrix
    memory: words.WordIndex | None = None
    ranker: LinearClassifiers | None = None

    def damped(self, X: sp.csr_matrix) -> sp.csr_matrix:
        return damped(X, self.settings.ranker.damping)

    def vote(self, rows: sp.csr_matrix, width: int, near: Found | None = None) -> tuple[Array, Array]:
        """(n, width) labels of damped rows, most votes first, -1 pads, and (n, width, 3) votes. near: the neighbours,
        where they are known."""
        assert self.memory is not None
        ids, cosines = near if near is not None else self.memory.search(rows, self.settings.neighbors)
        return cast_votes(ids, words.weights_by_cosine(cosines), self.Y, width)

    def margins(self, rows: sp.csr_matrix, labels: Array) -> Array:
        """(n, c) of damped rows and labels (n, c); -1, a plain no, where there is none."""
        assert self.ranker is not None
        return np.where(labels >= 0, self.ranker.score(rows, labels), np.float32(-1))

    def state(self) -> dict[str, Array]:
        arrays: dict[str, Array] = {}
        if self.memory is not None:
            arrays |= {"edges": self.Y.indptr, "labels": self.Y.indices, **under("memory", self.memory.state())}
        return arrays | (under("ranker", self.ranker.state()) if self.ranker is not None else {})

    @classmethod
    def restored(cls, settings: Asked, state: State, n_features: int, n_labels: int) -> Words:
        """The counterpart of `state`; every index is checked, a model file may come from anywhere."""
        found = cls(settings, sp.csr_matrix((0, n_labels), dtype=np.float32))
        if settings.votes:
            edges, labels = state.array("edges", ndim=1), state.array("labels", ndim=1)
            rows = {"Y.indptr": edges, "Y.indices": labels, "Y.data": np.ones(len(labels), dtype=np.float32)}
            n_points = max(0, len(edges) - 1)
            Y = unpack_csr(State(rows), "Y", (n_points, n_labels))
            memory = words.WordIndex.restored(state.part("memory"), n_points, n_features)
            found = replace(found, Y=Y, memory=memory)
        if settings.sparse:
            ranker = LinearClassifiers.restored(state.part("ranker"), n_features, n_labels, _undamped(settings))
            found = replace(found, ranker=ranker)
        return found


@dataclass(frozen=True)
class Learnt:
    """first: with classifiers that have not seen the held-out points; near: the neighbours of those, none of them
    held out; final: with classifiers that know all."""

    first: Words
    near: Found
    final: Words


def learn_words(settings: Asked, points: Points, n_train: int, run: Run) -> Learnt:
    """From points of which the first n_train are train, the others held out."""
    everyone = np.ones(points.n_points, dtype=bool)
    seen = np.arange(points.n_points) < n_train
    with run.timed("words"):
        points = Points(damped(points.X, settings.ranker.damping), points.Y)
        memory = words.WordIndex.build(points.X, np.diff(points.Y.indptr) > 0)
        fitting = Fitting(points, memory.search_own(points.X, settings.neighbors), run)
        near = fitting.near_among(seen, slice(n_train, None))
    rankers: list[LinearClassifiers | None] = [None, None]
    if settings.sparse:
        with run.timed("sparse"):
            for i, known in enumerate((seen, everyone)):
                ranker = LinearClassifiers(_undamped(settings))
                fitting.train_classifiers(ranker, fitting.problems(known, _SHORT, _STRANGERS), known)
                rankers[i] = ranker
    first = Words(settings, points.Y, memory if settings.votes else None, rankers[0])
    return Learnt(first, near, replace(first, ranker=rankers[1]))


def _undamped(settings: Asked) -> Any:
    """The sparse classifiers' parameters: their rows come damped."""
    return settings.ranker.replace(damping=1.0)
