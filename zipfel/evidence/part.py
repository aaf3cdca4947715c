"""The contract of a part: one kind of evidence for a document's labels.

    part = P.fit(config, fold, before)          learns from the fold's points; goes on from `before`, if there is one
    part.neighbours(asked)                      training points that vote for their labels, or none
    part.proposals(asked)                       labels that it brings up itself, or none
    part.opinions(asked, labels)                what it thinks of candidates, a number a column; NaN: it does not know
    part.unseen_odds(asked, labels)                   log-odds of labels without a training document, or none
    part.explain(asked, label)                  what each of a document's features added to an opinion, or none
    part.joined(more)                           the same part when more training points have come
    part.state(), P.restored(state, ...)        how it is kept

Parts are finished when `fit` returns them; nothing changes them afterwards. What a part left for a later fit on more
points (`before`) is not kept in a model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.config import Config
from zipfel.evidence.shape import Shape
from zipfel.evidence.training_set import TrainingSet
from zipfel.points import Points, Texts
from zipfel.run import Run
from zipfel.state import State

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.float32]
T = TypeVar("T")


class Near(NamedTuple):
    """Neighbours by words. ids: (n, m) training points, nearest first, -1 pads; cosines: (n, m), 0 there."""

    ids: Array
    cosines: Array


class Voters(NamedTuple):
    """ids: (n, m) training points that vote, -1 pads; weights: (n, m, s) what each vote counts, in s kinds of votes."""

    ids: Array
    weights: Array


class Proposals(NamedTuple):
    """labels: (n, c), the strongest first, -1 pads."""

    labels: Array


class ByFeature(NamedTuple):
    """What a part's opinion of a label is made of. column: which of its opinions; added: (t,) by each of the t features
    of a document; start: what the label has before the document says anything."""

    column: str
    added: Array
    start: float


@dataclass(frozen=True)
class Fold:
    """What parts are trained from.

    points: all of them, prepared; seen: (n,) which ones may be learnt from; near: neighbours by words of each point,
    itself left out; training: words and labels of all points; made: parts that were fitted before in this fold.
    is_final: this fit is kept, so nothing has to be left for a later one.
    """

    points: Points
    seen: npt.NDArray[np.bool_]
    near: Near
    training: TrainingSet
    shape: Shape
    run: Run
    is_final: bool
    made: Mapping[str, Part] = field(default_factory=dict)

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The points that may be learnt from."""
        return np.flatnonzero(self.seen)

    @property
    def learnt_from(self) -> Points:
        return self.points if self.seen.all() else self.points.take(self.rows)

    @property
    def voters(self) -> npt.NDArray[np.bool_]:
        """(n,) points that may be learnt from and have words and labels."""
        return self.seen & self.training.can_vote

    def near_among_seen(self, rows: Array | slice = slice(None)) -> Near:
        """The neighbours of some rows, without those that may not be learnt from."""
        ids, cosines = (part[rows] for part in self.near)
        hidden = ~self.seen[ids] | (ids < 0)
        return Near(np.where(hidden, -1, ids), np.where(hidden, np.float32(0), cosines))


class Asked:
    """Documents that parts are asked about, and what was found out about them so far.

    X: (n, n_features), prepared; texts: theirs, where they are known; rows: which training points they are, where
    they are such.
    """

    def __init__(
        self,
        X: sp.csr_matrix,
        training: TrainingSet,
        n_neighbors: int,
        *,
        texts: Texts | None = None,
        near: Near | None = None,
        rows: Array | None = None,
    ) -> None:
        self.X, self.training, self.texts, self.rows = X, training, texts, rows
        self._n_neighbors = min(n_neighbors, training.n_points)
        self._found: dict[str, Any] = {} if near is None else {"near": near}

    @property
    def near(self) -> Near:
        """Neighbours by words."""
        return self.once("near", lambda: Near(*self.training.words.search(self.X, self._n_neighbors)))

    @property
    def n_neighbors(self) -> int:
        """Neighbours that vote, of each part that has some."""
        return self._n_neighbors

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """What `compute` returned when it was first asked for under this name."""
        if name not in self._found:
            self._found[name] = compute()
        found: T = self._found[name]
        return found


@dataclass(frozen=True)
class More:
    """Points that come to a fitted model. X: theirs, prepared; training: all points with them; new_labels: that no
    point had before; n_neighbors: that vote."""

    X: sp.csr_matrix
    training: TrainingSet
    new_labels: Array
    n_neighbors: int


class Part(ABC):
    """One kind of evidence. name: its id in parameters, plans and files. columns: names of its opinions; before a
    colon stands what explanations call them. votes: names of its kinds of votes. can_oppose: columns that may count
    against a label; all others only ever count for it."""

    name: ClassVar[str]
    title: ClassVar[str]
    Config: ClassVar[type[Config]] = Config
    votes: ClassVar[tuple[str, ...]] = ()
    can_oppose: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]: ...

    @classmethod
    @abstractmethod
    def fit(cls, config: Any, fold: Fold, before: Any) -> Part | None:
        """before: the same part, fitted on fewer of the points. None where the time is up before it has learnt."""

    def neighbours(self, asked: Asked) -> Voters | None:  # noqa: ARG002 - most have none
        return None

    def proposals(self, asked: Asked) -> Proposals | None:  # noqa: ARG002 - most have none
        return None

    @abstractmethod
    def opinions(self, asked: Asked, labels: Array) -> Sequence[Codes]:
        """(n, c) for each of `columns`, of candidates (n, c), -1 pads; NaN for a label that the part does not know."""

    def unseen_odds(self, asked: Asked, labels: Array) -> Codes | None:  # noqa: ARG002 - most know nothing of such labels
        """(n, c) log-odds of labels without a training document, of which no other part can know anything; NaN of all
        others."""
        return None

    def explain(self, asked: Asked, label: int) -> ByFeature | None:  # noqa: ARG002 - most can't
        """Of one document: what each of its features added to an opinion."""
        return None

    def joined(self, more: More) -> Part:  # noqa: ARG002 - it goes on as it is
        return self

    @abstractmethod
    def state(self) -> State: ...

    @classmethod
    @abstractmethod
    def restored(cls, config: Any, state: State, training: TrainingSet) -> Part:
        """The counterpart of `state`; everything is checked, a model file may come from anywhere."""
