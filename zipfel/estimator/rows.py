"""From documents to the sparse rows that methods learn from: texts through a vectoriser, ready-made rows weighted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy.typing as npt
import scipy.sparse as sp

from zipfel.data import Dataset
from zipfel.errors import DataError, ModelFileError, ParameterError
from zipfel.estimator.inputs import as_features, with_columns
from zipfel.estimator.selection import choose_weighting
from zipfel.features import Vectorizer, VectorizerConfig, Weighting
from zipfel.methods import Points
from zipfel.persistence import read_names
from zipfel.points import Sources
from zipfel.run import Run, Task

WEIGHTINGS = ("auto", "none", "l2", "tfidf")


class RowMaker:
    """Fitted once on train, then makes the same rows of any document.

    vectorizer: set where the training data were texts; otherwise `weighting` holds.
    """

    def __init__(self) -> None:
        self.vectorizer: Vectorizer | None = None
        self.weighting = Weighting("none")
        self.feature_names: Sequence[str] | None = None
        self.n_features = 0

    def fit_transform(
        self, train: Dataset, run: Run, *, weighting: str = "auto", vectorizer: Mapping[str, Any] | None = None
    ) -> sp.csr_matrix:
        check_weighting(weighting)
        with run.timed("features"):
            rows = (
                self._from_texts(train, run, vectorizer or {})
                if train.X is None
                else self._from_rows(train, run, weighting)
            )
        self.n_features = int(rows.shape[1])
        return rows

    def _from_texts(self, train: Dataset, run: Run, vectorizer: Mapping[str, Any]) -> sp.csr_matrix:
        assert train.texts is not None  # a Dataset holds texts or rows
        self.vectorizer = Vectorizer(VectorizerConfig.from_dict(vectorizer))
        with run.progress.task("reading words", total=train.n_points) as task:
            rows = self.vectorizer.fit_transform(_Watched(train.texts, task))
        self.feature_names = self.vectorizer.feature_names
        return rows

    def _from_rows(self, train: Dataset, run: Run, weighting: str) -> sp.csr_matrix:
        assert train.X is not None
        kind = choose_weighting(Points(train.X, train.Y), run) if weighting == "auto" else weighting
        self.weighting = Weighting(kind).fit(train.X)
        self.feature_names = train.feature_names
        return self.weighting.transform(train.X)

    def extend(self, X: Any) -> int:
        """Words of more texts get columns behind the others; returns how many are new."""
        texts = X.texts if isinstance(X, Dataset) else as_features(X)[0]
        if self.vectorizer is None or texts is None:
            return 0
        self.vectorizer = copy(self.vectorizer)  # others may have the one that there was
        new = self.vectorizer.extend(texts)
        self.feature_names, self.n_features = self.vectorizer.feature_names, self.vectorizer.n_features
        return new

    def transform(self, X: Any) -> sp.csr_matrix:
        """The rows alone that `read` makes."""
        return self.read(X)[0]

    def read(self, X: Any) -> tuple[sp.csr_matrix, Sources]:
        """Rows, texts and embeddings of a Dataset, a list of texts or a feature matrix; unknown words are ignored.

        A matrix must have the columns that the model was trained on. A file need not: sparse formats name only the
        columns that they use. Unknown columns are ignored, and missing ones are empty. Ready-made features come without
        texts.
        """
        texts, features = (X.texts, X.X) if isinstance(X, Dataset) else as_features(X)
        vectors = X.embeddings if isinstance(X, Dataset) else None
        if self.vectorizer is not None:
            if texts is None:
                raise DataError("this model was trained on texts: hand in texts, not a feature matrix")
            return self.vectorizer.transform(texts), Sources(texts, vectors)
        if features is None:
            raise DataError("this model was trained on a feature matrix: hand in rows of the same features, not texts")
        if not isinstance(X, Dataset) and features.shape[1] != self.n_features:
            raise DataError(
                f"X has {features.shape[1]} features, but Zipfel is expecting {self.n_features} features as input"
            )
        return self.weighting.transform(with_columns(features, self.n_features)), Sources(vectors=vectors)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {f"weighting.{name}": array for name, array in self.weighting.arrays().items()}

    def documents(self) -> dict[str, Any]:
        """JSON files for the model folder."""
        if self.vectorizer is not None:
            return {"vectorizer": self.vectorizer.to_json()}
        return {} if self.feature_names is None else {"features": list(self.feature_names)}

    @classmethod
    def restore(
        cls, kind: str, n_features: int, arrays: Mapping[str, npt.NDArray[Any]], documents: Mapping[str, Any]
    ) -> RowMaker:
        """The counterpart of `arrays` and `documents`."""
        maker = cls()
        maker.n_features = n_features
        if "vectorizer" in documents:
            maker.vectorizer = Vectorizer.from_json(documents["vectorizer"])
            maker.feature_names = maker.vectorizer.feature_names
            if maker.vectorizer.n_features != n_features:
                raise ModelFileError(
                    f"the vectoriser knows {maker.vectorizer.n_features} words, the model {n_features}"
                )
            return maker
        stored = {name.removeprefix("weighting."): a for name, a in arrays.items() if name.startswith("weighting.")}
        maker.weighting = Weighting.restore(kind, stored, n_features)
        maker.feature_names = read_names(documents, "features", n_features)
        return maker


def check_weighting(weighting: str) -> None:
    if weighting not in WEIGHTINGS:
        raise ParameterError(f"weighting must be one of {', '.join(WEIGHTINGS)}, got {weighting!r}")


class _Watched(Collection[str]):
    """Texts whose first reading tells the progress line of every thousand."""

    def __init__(self, texts: Sequence[str], task: Task) -> None:
        self._texts, self._task, self._told = texts, task, 0

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, text: object) -> bool:
        return text in self._texts

    def __iter__(self) -> Iterator[str]:
        for i, text in enumerate(self._texts, 1):
            yield text
            if i % 1000 == 0 and i > self._told:
                self._told = i
                self._task.advance(1000)
