"""What an estimator does with documents that come after it was fitted: they are added without training it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data import Dataset, Vocabulary
from zipfel.errors import DataError, ParameterError
from zipfel.estimator.copies import copied
from zipfel.estimator.drift import Growth, some_rows
from zipfel.estimator.history import after_update, known_after, new_documents
from zipfel.estimator.inputs import aligned, as_dataset, as_dataset_of_any, with_columns, with_embeddings
from zipfel.estimator.label_changes import LabelChanges
from zipfel.estimator.rows import RowMaker
from zipfel.estimator.snapshots import Snapshots
from zipfel.estimator.vocabularies import extended, named_alike
from zipfel.methods import Method, Points
from zipfel.methods.registry import methods_with
from zipfel.points import Sources
from zipfel.ranking import Ranking
from zipfel.system.interrupts import holding_signals
from zipfel.system.threads import use_threads

Self = TypeVar("Self", bound="Updating")


class Updating(Snapshots):
    """Of a fitted estimator; `Zipfel` inherits it."""

    method: str
    threads: int | None
    n_labels_: int
    n_features_in_: int
    label_names_: list[str] | None
    label_counts_: npt.NDArray[Any]
    label_changes_: LabelChanges
    vocabulary_: Vocabulary | None
    document_ids_: Any
    training_: dict[str, Any]
    metrics_: dict[str, float]
    method_: Method
    rows_: RowMaker

    def _ranking(self, rows: sp.csr_matrix, k: int, sources: Sources) -> Ranking:
        raise NotImplementedError

    def _read(self, documents: Any) -> tuple[sp.csr_matrix, Sources]:
        raise NotImplementedError

    def _points(self, method: Method, rows: sp.csr_matrix, Y: sp.csr_matrix, sources: Sources) -> Points:
        raise NotImplementedError

    @holding_signals
    def partial_fit(
        self: Self, X: Any, y: Any = None, *, label_names: Sequence[str] | None = None, embeddings: Any = None
    ) -> Self:
        """Adds documents to a fitted model without training it again. They vote at once, for new labels as well.

        Only methods whose training documents vote can do that: auto, knn and dxml. A model that is not fitted is
        fitted. Other threads may predict during an update. A failed update leaves the model unchanged. Documents of a
        Dataset whose ids the model knows are skipped. embeddings: as in `fit`.

        >>> from zipfel import Zipfel
        >>> model = Zipfel("knn").fit(["a red bike", "a blue boat"], [["bike"], ["boat"]])
        >>> model.partial_fit(["a green kite"], [["kite"]]).predict(["green"], k=1).names
        [['kite']]
        """
        if not hasattr(self, "method_"):
            fitted: Self = self.fit(X, y, label_names=label_names, embeddings=embeddings)  # type: ignore[attr-defined]
            return fitted
        fresh = self._as_it_is()
        X = with_embeddings(X, embeddings) if isinstance(X, Dataset) else X
        learned = new_documents(X, self.document_ids_, self.training_) if isinstance(X, Dataset) else X
        if not isinstance(X, Dataset) or len(learned) or not len(X):
            fresh._add(learned, y, label_names, None if isinstance(X, Dataset) else embeddings)
        if isinstance(X, Dataset):
            fresh.document_ids_ = known_after(self.document_ids_, learned)
        fresh.training_ = after_update(self.training_, fresh.training_, X, fresh.n_labels_ - self.n_labels_)
        return self._become(fresh)

    def _add(self, X: Any, y: Any, label_names: Sequence[str] | None, embeddings: Any) -> None:
        """`partial_fit` of a model that no other thread uses yet."""
        self.method_ = copied(self.method_)
        self.rows_ = copied(self.rows_)
        n_words = self.rows_.n_features
        given = as_dataset_of_any(X, y) if label_names is None else as_dataset(X, y, label_names=label_names)
        if given.label_names is not None and self.label_names_ is None:
            raise DataError("the model has label numbers and the new documents have label names: use numbers for both")
        data = aligned(named_alike(given, self.label_names_, self.vocabulary_), self.label_names_, self.n_labels_)
        data = replace(data, Y=self.label_changes_.of_labels(data.Y))
        new_words = self.rows_.extend(X) if self.method_.takes_new_features else 0
        rows, sources = self._read(with_embeddings(X, embeddings))
        learn = self._able("partial_fit")
        with use_threads(self.threads):
            some = some_rows(data.n_points)
            asked = self._points(self.method_, rows[some], data.Y[some], sources.of_rows(some))
            best = self._ranking(with_columns(asked.X, n_words), 1, asked.sources)
            learn(self._points(self.method_, rows, data.Y, sources))
        grown = self._growth().joined(best, asked.Y, data.Y, self.n_labels_, new_words)
        if self.label_names_ is not None and data.label_names is not None:
            self.label_names_ = list(data.label_names)
        self.vocabulary_ = extended(self.vocabulary_, self.label_names_, self.n_labels_)
        self.label_counts_ = np.pad(self.label_counts_, (0, data.n_labels - self.n_labels_)) + data.label_counts()
        self.n_labels_ = data.n_labels
        self.n_features_in_ = self.rows_.n_features
        n_points = int(self.training_["n_points"]) + data.n_points
        self.training_ = {**self.training_, "n_points": n_points, "growth": grown.facts()}
        self.metrics_ = {}

    def _growth(self) -> Growth:
        """What came since the model was fitted."""
        kept = self.training_.get("growth")
        return Growth.from_facts(kept) if kept else Growth(int(self.training_["n_points"]), self.n_features_in_)

    def _able(self, verb: str) -> Any:
        """What the method offers beyond the contract, or in words that it does not."""
        found = getattr(self.method_, verb, None)
        if found is None:
            raise ParameterError(f"method {self.method!r} has no {verb}; these have: {', '.join(methods_with(verb))}")
        return found
