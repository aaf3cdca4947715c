"""The contract of a method: fit on sparse rows, rank labels, hand over its state as plain arrays and JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel import config as declared
from zipfel.calibration import HeldOutRanking
from zipfel.points import NO_SOURCES, Points, Sources
from zipfel.ranking import Ranking
from zipfel.run import Run
from zipfel.state import State, pack_csr, under, unpack_csr

__all__ = ["Method", "Points", "State", "pack_csr", "under", "unpack_csr"]


_KEPT = 10 << 20
"""Bytes that libraries keep after their first calls."""


class Method(ABC):
    """One system. `__init__` stores the config; `fit` learns; learned names end in `_`.

    name: its id on the command line. title: one line for `zipfel methods`. paper: the citation.
    presets: named parameter sets, each a dict that `Config.from_dict` takes.
    is_cheap: fitting twice, once without the documents that calibrate its scores, costs little.
    gives_probabilities: its scores need no calibration.
    reads_sources: points come with their texts and embeddings, and `predict` and `explain` take `sources`.
    holds_out: `fit` holds documents out by itself and sets held_out_, which calibrates its scores.
    copies: of the data that `fit` holds at the same time; point_bytes: memory for each point besides; as measured.
    by_workers: what several workers share of its fit: "network" (batches and tables), "tasks" (neighbours, classifiers)
    or nothing.
    takes_new_features: `partial_fit` may be given rows with more columns than there were; they stay from then on.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str] = ""
    Config: ClassVar[type[declared.Config]] = declared.Config
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    is_cheap: ClassVar[bool] = False
    gives_probabilities: ClassVar[bool] = False
    holds_out: ClassVar[bool] = False
    reads_sources: ClassVar[bool] = False
    takes_new_features: ClassVar[bool] = False
    by_workers: ClassVar[str] = ""
    copies: ClassVar[int] = 3
    point_bytes: ClassVar[int] = 0
    held_out_: HeldOutRanking | None = None

    def __init__(self, config: declared.Config) -> None:
        self.config = config

    @abstractmethod
    def fit(self, train: Points, valid: Points | None, run: Run) -> None:
        """Learns from `train`. `valid`, where given, is for every choice; where it is None, a choice that is
        needed is made on a split of `train`."""

    def bytes_needed(self, train: Points) -> int:
        """About what `fit` takes besides the data: copies of it, for each feature and label a row of a table with two
        moments, and what libraries keep."""
        dim = max((getattr(self.config, name, 0) for name in ("dim", "word_dim", "hidden")), default=0)
        rows = int(train.X.shape[1] + train.Y.shape[1])
        return self.copies * stored_bytes(train) + 12 * dim * rows + self.point_bytes * train.n_points + _KEPT

    @abstractmethod
    def predict(self, X: sp.csr_matrix, k: int) -> Ranking:
        """The k best labels of each row; a row's answer does not depend on the other rows."""

    def ranked(self, X: sp.csr_matrix, k: int, sources: Sources = NO_SOURCES) -> Ranking:
        """`predict`, with texts and embeddings if the method reads them."""
        if self.reads_sources:
            return self.predict(X, k, sources=sources)  # type: ignore[call-arg]
        return self.predict(X, k)

    @property
    def vector_dim(self) -> int | None:
        """Numbers of the embeddings that documents to predict need, None if they need none."""
        return None

    def scores_without_bonus(self, ranking: Ranking) -> npt.NDArray[np.float32]:
        """(n, k) scores of a ranking of this method without a bonus for rare labels: what a calibration looks at."""
        return ranking.scores

    @abstractmethod
    def state(self) -> State:
        """What `restore` needs to answer the same."""

    @abstractmethod
    def restore(self, state: State, n_features: int, n_labels: int) -> None:
        """The counterpart of `state`: makes this unfitted method answer like the one that was saved."""


def stored_bytes(points: Points) -> int:
    """Of the entries and rows of both matrices."""
    return sum(8 * matrix.nnz + 8 * matrix.shape[0] for matrix in (points.X, points.Y))
