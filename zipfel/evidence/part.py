"""The contract of a part: one kind of evidence for a document's labels.

    part = P.fit(config, fold, before)          learns from the fold's points; continues from `before`, if given
    part.neighbours(asked)                      training points that vote for their labels, or None
    part.proposals(asked)                       labels to add to the candidates, or None
    part.opinions(asked, labels)                a number a candidate and column; NaN where the label is unknown
    part.unseen_odds(asked, labels)             log-odds of labels without a training document, or None
    part.explain(asked, label)                  what each of a document's features added to an opinion, or None
    part.joined(more)                           the same part with more training points
    part.state(), P.restored(state, ...)        what a model file holds of it

`fit` returns a finished part: nothing changes it afterwards. A part may hold what a later fit on more points continues
from. A model file does not hold that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.config import Config
from zipfel.evidence.shape import Shape
from zipfel.evidence.training_set import TrainingSet
from zipfel.kernels.sparse_rows import with_columns
from zipfel.points import NO_SOURCES, Points, Sources, Vectors
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
    """What a part's opinion of a label is made of. column: the column of that opinion; added: (t,) by each of the t
    features of a document; start: the value without any feature."""

    column: str
    added: Array
    start: float


@dataclass(frozen=True)
class Fold:
    """What parts are trained from.

    points: all of them, prepared; seen: (n,) which ones may be learnt from; near: neighbours by words of each point,
    itself left out; training: words and labels of all points; made: parts of this fold that are fitted already, by
    name. is_final: no fit comes after this one, so parts need not hold anything for it. near_rows: points that `near`
    is of, rising, where it is of some only: a final fit asks for those that were held out before.
    """

    points: Points
    seen: npt.NDArray[np.bool_]
    near: Near
    training: TrainingSet
    shape: Shape
    run: Run
    is_final: bool
    made: Mapping[str, Part] = field(default_factory=dict)
    near_rows: Array | None = None

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The points that may be learnt from."""
        return np.flatnonzero(self.seen)

    @property
    def learnt_from(self) -> Points:
        """Without embeddings, which only their own part reads."""
        points = replace(self.points, vectors=None)
        return points if self.seen.all() else points.take(self.rows)

    @property
    def seen_counts(self) -> npt.NDArray[np.int64]:
        """(n_labels,) points of each label that may be learnt from."""
        Y = self.points.Y
        return np.bincount(Y.indices[np.repeat(self.seen, np.diff(Y.indptr))], minlength=Y.shape[1])

    @property
    def voters(self) -> npt.NDArray[np.bool_]:
        """(n,) points that may be learnt from and have words and labels."""
        return self.seen & self.training.can_vote

    def with_near_of(self, rows: Array) -> Fold:
        """The same with neighbours of these rows only, which are rising."""
        return replace(self, near=Near(self.near.ids[rows], self.near.cosines[rows]), near_rows=rows)

    def near_among_seen(self, rows: Array) -> Near:
        """The neighbours of some rows, without those that may not be learnt from."""
        places = rows if self.near_rows is None else np.searchsorted(self.near_rows, rows)
        ids, cosines = (part[places] for part in self.near)
        hidden = ~self.seen[ids] | (ids < 0)
        return Near(np.where(hidden, -1, ids), np.where(hidden, np.float32(0), cosines))


class Asked:
    """Documents to predict, with results that several parts need and that are computed once.

    X: (n, n_features), prepared; texts, vectors: of the documents, if known; rows: the documents' numbers, if they are
    training points.
    """

    def __init__(
        self,
        X: sp.csr_matrix,
        training: TrainingSet,
        n_neighbors: int,
        *,
        sources: Sources = NO_SOURCES,
        near: Near | None = None,
        rows: Array | None = None,
    ) -> None:
        self.X, self.training, self.rows = X, training, rows
        self.texts, self.vectors = sources.texts, sources.vectors
        self._n_neighbors = min(n_neighbors, training.n_points)
        self._found: dict[str, Any] = {} if near is None else {"near": near}

    @property
    def fitted_rows(self) -> sp.csr_matrix:
        """The rows without features that came with updates."""
        return self.once("fitted rows", lambda: with_columns(self.X, self.training.n_fitted_features))

    @property
    def near(self) -> Near:
        """Neighbours by words."""
        return self.once("near", lambda: Near(*self.training.words.search(self.X, self._n_neighbors)))

    @property
    def n_neighbors(self) -> int:
        """Neighbours that vote, of each part that has neighbours."""
        return self._n_neighbors

    @property
    def is_blank(self) -> npt.NDArray[np.bool_]:
        """(n,) documents without any known feature, and without an embedding."""
        blank: npt.NDArray[np.bool_] = np.diff(self.X.indptr) == 0
        return blank if self.vectors is None else blank & ~np.asarray(self.vectors.any(axis=1))

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """The result of `compute`, which runs only for the first call with this name."""
        if name not in self._found:
            self._found[name] = compute()
        found: T = self._found[name]
        return found


@dataclass(frozen=True)
class More:
    """Points that are added to a fitted model. X: their rows, prepared; training: all points, with these; new_labels:
    labels that no point had before; n_neighbors: neighbours that vote; vectors: the user's embeddings, if there are
    any."""

    X: sp.csr_matrix
    training: TrainingSet
    new_labels: Array
    n_neighbors: int
    vectors: Vectors | None = None

    @property
    def fitted_rows(self) -> sp.csr_matrix:
        """The rows without features that came with updates."""
        return with_columns(self.X, self.training.n_fitted_features)

    def near(self, rows: slice) -> Near:
        """Neighbours by words of some of the new points among all points, without themselves."""
        ids, cosines = self.training.words.search(self.X[rows], self.n_neighbors + 1)
        own = np.arange(self.training.n_points - self.X.shape[0], self.training.n_points)[rows, None]
        others = ids != own
        others[others.all(axis=1), -1] = False
        shape = len(ids), ids.shape[1] - 1
        return Near(ids[others].reshape(shape), cosines[others].reshape(shape))


class Part(ABC):
    """One kind of evidence. name: its id in parameters, plans and files. columns: names of its opinions; explanations
    show the words before the colon. votes: names of its kinds of votes. can_oppose: columns that may count against a
    label; all others only count for it."""

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
        """before: the same part, fitted on fewer of the points. Returns None if the time is up before the part has
        learnt."""

    def neighbours(self, asked: Asked) -> Voters | None:  # noqa: ARG002 - most have none
        return None

    def proposals(self, asked: Asked) -> Proposals | None:  # noqa: ARG002 - most have none
        return None

    @abstractmethod
    def opinions(self, asked: Asked, labels: Array) -> Sequence[Codes]:
        """(n, c) for each of `columns`: a number for each candidate in labels (n, c), -1 pads; NaN if the part does not
        know the label."""

    def unseen_odds(self, asked: Asked, labels: Array) -> Codes | None:  # noqa: ARG002 - most know nothing of such labels
        """(n, c) log-odds of labels without a training document, which no other part knows; NaN for the others."""
        return None

    def known_features(self) -> npt.NDArray[np.bool_] | None:
        """(n_features,) which features it can use besides those of the training documents' words, or None."""
        return None

    def explain(self, asked: Asked, label: int) -> ByFeature | None:  # noqa: ARG002 - most can't
        """Of one document: what each of its features added to an opinion."""
        return None

    def joined(self, more: More) -> Part:  # noqa: ARG002 - most do not change
        return self

    @abstractmethod
    def state(self) -> State: ...

    @classmethod
    @abstractmethod
    def restored(cls, config: Any, state: State, training: TrainingSet) -> Part:
        """The counterpart of `state`; everything is checked, a model file may come from anywhere."""
