"""Any method's shortlist, ranked anew by sparse classifiers: `--set ranker.enabled=true`.

    C(x): the `shortlist` best labels of the method                              the method's own `predict`
    m(l) = w_l . x + b_l, learnt on l's positives and on the training points
           whose shortlist names it wrongly                                      `ranker.sparse`
    score(l) = a . [m(l), s(l), -log rank of s(l)], s the method's own score     `ranker.blend`

The blend is learnt on held-out points that neither the method nor the classifiers have seen; they stay unseen, which
costs `valid_share` of the training data and saves fitting everything twice. Shortlists of points that the method was
fitted on are surer than those of new documents, but it is only their wrong labels that the classifiers ask for.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.config import param, part
from zipfel.evidence.blend import Blend, is_true
from zipfel.linear import LinearClassifiers, LinearConfig, Problems, with_random_negatives
from zipfel.methods.base import Method, Points, State
from zipfel.ranking import Ranking
from zipfel.run import Run

Array = npt.NDArray[Any]
_EVIDENCE = ("margin", "score", "rank")
_BLOCK = 2048
"""Rows that are answered at a time."""


@dataclass(frozen=True)
class RerankConfig(LinearConfig):
    enabled: bool = param(False, "sparse classifiers rank the method's shortlist anew")
    shortlist: int = param(100, "labels of the method that are ranked anew", low=1)
    strangers: int = param(10, "random labels of a document that classifiers learn from besides", low=0)
    valid_share: float = param(0.1, "share of train that the blend is learnt on", low=0.01, high=0.5)


class Reranked(Method):
    """Stands before a method in its class's bases (see `reranked`); does nothing until `ranker.enabled`."""

    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        c: RerankConfig = self.config.ranker  # type: ignore[attr-defined]
        if not c.enabled or train.n_points < 10:
            super().fit(train, valid, run)  # type: ignore[safe-super]
            return
        rest, held = train.split(c.valid_share, run.rng(40), at_most=4000)
        super().fit(rest, valid, run)  # type: ignore[safe-super]
        with run.timed("ranker"):
            shortlist = self._shortlist(rest.X).labels.astype(np.int32)
            learnt_from = with_random_negatives(shortlist, rest.n_labels, c.strangers, run.rng(41))
            self.ranker_ = LinearClassifiers(c).fit(rest.X, Problems.build(rest.Y, learnt_from), seed=run.seed)
            labels, evidence = self._evidence(held.X)
            self.rerank_ = Blend.fit_top(_EVIDENCE, evidence, is_true(labels, held.Y), labels >= 0, monotone=_EVIDENCE)
            self.held_out_ = None  # what the method itself held out has other scores

    def _shortlist(self, X: sp.csr_matrix) -> Ranking:
        width = self.config.ranker.shortlist  # type: ignore[attr-defined]
        parts = [super(Reranked, self).predict(X[a : a + _BLOCK], width) for a in range(0, max(1, X.shape[0]), _BLOCK)]  # type: ignore[safe-super]
        return Ranking.concatenate(parts)

    def _evidence(self, X: sp.csr_matrix) -> tuple[Array, Array]:
        """(n, c) labels of the shortlist and (n, c, 3) evidence."""
        found = self._shortlist(X)
        known = found.labels >= 0
        # labels that came later have no classifier
        judged = known & (found.labels < len(self.ranker_.bias_))
        margin = np.where(judged, self.ranker_.score(X, np.where(judged, found.labels, -1)), 0)
        score = np.where(known, found.scores, 0)
        rank = np.broadcast_to(-np.log1p(np.arange(found.k, dtype=np.float32)), score.shape)
        return found.labels, np.stack([margin, score, rank], axis=2).astype(np.float32)

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        if not hasattr(self, "ranker_"):
            return super().predict(X, k)  # type: ignore[safe-super]
        labels, evidence = self._evidence(X)
        return Ranking.from_dense(np.where(labels >= 0, self.rerank_(evidence), -np.inf), k, labels)

    def state(self) -> State:
        inner = super().state()  # type: ignore[safe-super]
        if not hasattr(self, "ranker_"):
            return inner
        arrays = {f"ranker.{name}": array for name, array in self.ranker_.state().items()}
        return State({**inner.arrays, **arrays}, {**inner.facts, "ranker_blend": self.rerank_.facts()})

    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        arrays = state.part("ranker")
        if arrays:
            self.ranker_ = LinearClassifiers.restored(arrays, n_features, n_labels, self.config.ranker)  # type: ignore[attr-defined]
            self.rerank_ = Blend.from_facts(state.facts["ranker_blend"], _EVIDENCE)
        super().restore(state, n_features, n_labels)  # type: ignore[safe-super]


@cache
def reranked(cls: type[Method]) -> type[Method]:
    """The same method with the parameters `ranker.*`; as it is where it has a ranker of its own."""
    if any(f.name == "ranker" for f in dataclasses.fields(cls.Config)):
        return cls
    config = dataclasses.make_dataclass(
        cls.Config.__name__,
        [("ranker", RerankConfig, part(RerankConfig))],
        bases=(cls.Config,),
        frozen=True,
        namespace={"__reduce__": lambda self: (_config, (cls, self.to_dict()))},
    )
    names = {"__module__": __name__, "__doc__": cls.__doc__, "__reduce__": _reduced}
    return type(cls.__name__, (Reranked, cls), {"Config": config, "plain": cls, **names})


# Pickle, and so joblib's processes, can't find classes that are made at run time: they are made again there.


def _config(cls: type[Method], values: dict[str, Any]) -> Any:
    return reranked(cls).Config.from_dict(values)


def _method(cls: type[Method], values: dict[str, Any]) -> Method:
    return reranked(cls)(_config(cls, values))


def _reduced(method: Any) -> tuple[Any, ...]:
    learned = {name: value for name, value in vars(method).items() if name != "config"}
    return _method, (method.plain, method.config.to_dict()), learned
