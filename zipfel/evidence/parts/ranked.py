"""Any system that ranks labels, as a part. Its best labels become candidates; its score and rank are evidence.

    score(l)   the system's score of l; if l is not among its best labels, the score of the last of these
    rank(l)    -log(1 + rank of l)

`methods/auto.py` makes parts of the papers' methods so: evidence does not import methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp

from zipfel.config import Config
from zipfel.errors import ModelFileError
from zipfel.evidence.part import Array, Asked, Codes, Fold, Part, Proposals
from zipfel.evidence.training_set import TrainingSet
from zipfel.points import Points
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.state import State

_WIDTH, _PROPOSED = 100, 20
"""Best labels that the system is asked for; those of them that become candidates."""


class Ranker(Protocol):
    """A method: see `methods/base.py`."""

    config: Config

    def fit(self, train: Points, valid: Points | None, run: Run) -> None: ...

    def predict(self, X: sp.csr_matrix, k: int) -> Ranking: ...

    def state(self) -> State: ...

    def restore(self, state: State, n_features: int, n_labels: int) -> None: ...


@dataclass(frozen=True)
class RankedPart(Part):
    """n_labels: labels that the system was trained with."""

    system: Ranker
    n_labels: int

    make: ClassVar[Callable[[Mapping[str, Any] | None], Ranker]]

    @property
    def columns(self) -> tuple[str, ...]:
        return (f"{self.name}: score", f"{self.name}: rank")

    @classmethod
    def fit(cls, config: Any, fold: Fold, before: RankedPart | None) -> RankedPart:  # noqa: ARG003 - trained anew
        system = cls.make(None)
        system.fit(fold.learnt_from, None, replace(fold.run, checkpoint=None, resume=False))
        return cls(system, fold.points.n_labels)

    def _ranking(self, asked: Asked) -> Ranking:
        return asked.once(self.name, lambda: self.system.predict(asked.fitted_rows, min(_WIDTH, self.n_labels)))

    def proposals(self, asked: Asked) -> Proposals:
        return Proposals(self._ranking(asked).labels[:, :_PROPOSED])

    def opinions(self, asked: Asked, labels: Array) -> list[Codes]:
        found = self._ranking(asked)
        n, k = found.labels.shape
        known = found.labels >= 0
        last = np.where(known, found.scores, np.inf).min(axis=1, initial=np.inf)
        last = np.where(np.isfinite(last), last, 0).astype(np.float32)
        place = np.full((n, labels.shape[1]), k, dtype=np.int64)
        for rank in range(k):  # (n, c) at a time: no array of n x c x k
            place[(labels == found.labels[:, rank : rank + 1]) & (labels >= 0) & (place == k)] = rank
        wide = np.concatenate([np.where(known, found.scores, last[:, None]), last[:, None]], axis=1)
        score = np.take_along_axis(wide, place, axis=1).astype(np.float32)
        ranks = -np.log1p(place).astype(np.float32)
        unknown = labels >= self.n_labels
        return [np.where(unknown, np.float32(np.nan), column) for column in (score, ranks)]

    def state(self) -> State:
        state = self.system.state()
        facts = {"facts": dict(state.facts), "config": self.system.config.to_dict(), "n_labels": self.n_labels}
        return State(state.arrays, facts)

    @classmethod
    def restored(cls, config: Any, state: State, training: TrainingSet) -> RankedPart:  # noqa: ARG003 - in the state
        n_labels = int(state.fact("n_labels", low=1, high=training.n_labels))
        facts, given = state.facts.get("facts"), state.facts.get("config")
        if not isinstance(facts, dict) or not isinstance(given, dict):
            raise ModelFileError(f"the part {cls.name!r} in the model is damaged")
        system = cls.make(given)
        system.restore(State(state.arrays, facts), training.n_fitted_features, n_labels)
        return cls(system, n_labels)


def ranked_part(name: str, title: str, make: Callable[[Mapping[str, Any] | None], Ranker]) -> type[RankedPart]:
    """make: returns an unfitted system with the given parameters, or with its defaults as a part."""
    return type(name.title(), (RankedPart,), {"name": name, "title": title, "make": staticmethod(partial(make))})
