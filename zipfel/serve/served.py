"""One model as it is served: its labels by identifier and name, its batches, and the swap for a newer one."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from zipfel.classifier import Zipfel
from zipfel.data.vocabulary import NO_LANGUAGE, Concept, Vocabulary
from zipfel.explanation import Explained
from zipfel.persistence import read_config
from zipfel.ranking import PAD, Ranking
from zipfel.serve.errors import RequestError

Document = str | Mapping[str, float]
"""A text, or a row of features: value by name or by column number."""
RELIABILITY = "reliability"
"""Key of `Zipfel.training_`: the reliability diagram on the documents that `--test` named."""
_RANKED = 100
"""Labels of an explained document whose probabilities are told."""
Scored = list[tuple[int, float]]
"""(label id, probability) pairs, best first."""


@dataclass(frozen=True)
class Wish:
    """What a request wants of its documents.

    k: labels at most. threshold: the probability that they must have, or "auto" or "auto:document" for the model's own
    thresholds. optimise: the metric for which sets of labels are chosen.
    """

    k: int
    threshold: float | str = 0.0
    optimise: str | None = None


class Labels:
    """Identifiers and names of a model's labels; without a vocabulary, both are the label's own string."""

    def __init__(self, model: Zipfel) -> None:
        self.vocabulary: Vocabulary | None = getattr(model, "vocabulary_", None)
        self.known: Sequence[str] = model.label_names_ or [str(i) for i in range(model.n_labels_)]
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.known)

    @property
    def languages(self) -> list[str]:
        return [] if self.vocabulary is None else [name for name in self.vocabulary.languages if name]

    def _concept(self, label: int) -> Concept | None:
        """None where the label was learned later than the vocabulary."""
        return self.vocabulary.concepts[label] if self.vocabulary and label < len(self.vocabulary) else None

    def identifier(self, label: int) -> str:
        concept = self._concept(label)
        return self.known[label] if concept is None else concept.id

    def name(self, label: int, language: str | None = None) -> str:
        concept = self._concept(label)
        return self.known[label] if concept is None else concept.name(language)

    def notation(self, label: int) -> str | None:
        concept = self._concept(label)
        return None if concept is None else concept.notation

    @cached_property
    def positions(self) -> dict[str, int]:
        """Label id by the model's own string, and by the vocabulary's identifier."""
        found = {} if self.vocabulary is None else dict(self.vocabulary.positions)
        return {**{name: i for i, name in enumerate(self.known)}, **found}

    def position(self, label: str) -> int | None:
        return self.positions.get(label)

    @cached_property
    def _searched(self) -> Vocabulary:
        if self.vocabulary is not None and len(self.vocabulary) >= len(self.known):
            return self.vocabulary
        return Vocabulary([self._concept(i) or _searchable(name) for i, name in enumerate(self.known)])

    def find(self, query: str, language: str | None = None, limit: int = 20) -> list[int]:
        """Labels with a name or an alternative name that matches, see `Vocabulary.find`."""
        with self._lock:  # the first search builds the table of names
            return self._searched.find(query, language, limit)


def _searchable(name: str) -> Concept:
    """A label as a concept. A name such as `use::editing` is found by each of its words."""
    words = " ".join(re.split(r"[\W_]+", name)).strip()
    return Concept(name, {NO_LANGUAGE: name}, {NO_LANGUAGE: [words]} if words and words != name else {})


@dataclass(frozen=True)
class Snapshot:
    """A model that is not changed any more, with its labels. version: counts the swaps."""

    model: Zipfel
    labels: Labels
    version: int = 1

    @classmethod
    def of(cls, model: Zipfel, version: int = 1) -> Snapshot:
        return cls(model, Labels(model), version)

    @property
    def takes_texts(self) -> bool:
        return self.model.rows_.vectorizer is not None

    @cached_property
    def columns(self) -> dict[str, int]:
        """Column by feature name; empty where features have no names."""
        return {name: i for i, name in enumerate(self.model.rows_.feature_names or ())}


@dataclass(frozen=True)
class Answered:
    """The labels of one request's documents, and the snapshot that gave them."""

    snapshot: Snapshot
    rows: list[Scored]


@dataclass(frozen=True)
class WhyAnswered:
    """An explanation, with the probabilities of the document's best labels."""

    snapshot: Snapshot
    explained: Explained
    probabilities: Mapping[int, float]


@dataclass
class ServedModel:
    """A model by name. `snapshot` is replaced as a whole; a batch works on the one that it began with.

    openings: how each training document begins. examples: texts that the page offers. measured: the last metrics that
    are known. parts: what each part gained. stamp: of the folder when it was last read or written.
    """

    name: str
    folder: Path
    snapshot: Snapshot
    openings: Sequence[str] = ()
    examples: Sequence[str] = ()
    measured: Mapping[str, Any] = field(default_factory=dict)
    parts: Sequence[Mapping[str, Any]] = ()
    stamp: tuple[int, int] | None = None
    executor: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "zipfel-inference"))

    def answer(self, documents: Sequence[Document], sizes: Sequence[int], wish: Wish) -> list[Answered]:
        """One answer for each request; called in the executor. sizes: how many documents each request has."""
        snapshot = self.snapshot
        model, features = snapshot.model, _features(snapshot, documents)
        k = min(wish.k, model.n_labels_)
        if isinstance(wish.threshold, str) or wish.optimise is not None:
            accepted = wish.threshold if isinstance(wish.threshold, str) else None
            rows = scored(model.predict_sets(features, threshold=accepted, limit=k, optimise=wish.optimise))
        else:
            least = wish.threshold
            rows = [[pair for pair in row if pair[1] >= least] for row in scored(model.predict(features, k))]
        edges = np.cumsum([0, *sizes]).tolist()
        return [Answered(snapshot, rows[a:b]) for a, b in pairwise(edges)]

    def explain(self, document: Document, labels: Sequence[int] | None, k: int) -> WhyAnswered:
        """Why a document gets its k best labels, or would get the given ones; called in the executor."""
        snapshot = self.snapshot
        model = snapshot.model
        features = _features(snapshot, [document])
        found = model.explain(document if isinstance(document, str) else features, labels, min(k, model.n_labels_))
        (row,) = scored(model.predict(features, min(max(k, _RANKED), model.n_labels_)))
        return WhyAnswered(snapshot, found, dict(row))

    def describe(self) -> None:
        """Reads what the folder tells of the model; called whenever it was read."""
        model, facts = self.snapshot.model, read_config(self.folder).get("facts", {})
        self.parts = [row for row in facts.get("plan") or [] if isinstance(row, Mapping)]
        if model.metrics_:
            found = {"metrics": model.metrics_, "n_documents": model.training_["n_points"]}
            self.measured = found | {RELIABILITY: model.training_.get(RELIABILITY)}

    def warm(self, snapshot: Snapshot) -> Snapshot:
        """Predicts once before the first request, so that kernels are compiled and tables are built."""
        names = snapshot.model.rows_.feature_names or ()
        document: Document = " ".join(names[:20]) if snapshot.takes_texts else {}
        for n_documents in (1, 16):  # one document and several take different kernels
            snapshot.model.predict(_features(snapshot, [document] * n_documents), 1)
        return snapshot


def _features(snapshot: Snapshot, documents: Sequence[Document]) -> Any:
    """What `Zipfel.predict` takes: texts, or a sparse matrix for a model of ready-made features."""
    if snapshot.takes_texts:
        if not all(isinstance(document, str) for document in documents):
            raise RequestError(422, "this model was trained on texts: send `text` or `texts`, not `rows`")
        return list(documents)
    rows, n_features = [], snapshot.model.rows_.n_features
    for document in documents:
        if isinstance(document, str):
            raise RequestError(422, "this model was trained on ready-made features: send `rows`, not texts")
        rows.append({_column(name, snapshot.columns, n_features): value for name, value in document.items()})
    lengths = [len(row) for row in rows]
    columns = [i for row in rows for i in row]
    values = np.array([value for row in rows for value in row.values()], dtype=np.float32)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return sp.csr_matrix((values, np.array(columns, dtype=np.int64), indptr), shape=(len(rows), n_features))


def _column(name: str, known: Mapping[str, int], n_features: int) -> int:
    if name in known:
        return known[name]
    if not known and name.isascii() and name.isdigit() and len(name) < 12 and int(name) < n_features:
        return int(name)
    rule = "one of its feature names" if known else f"a column number from 0 to {n_features - 1}"
    raise RequestError(422, f"the model has no feature {name!r:.60}: it must be {rule}")


def scored(ranking: Ranking) -> list[Scored]:
    """(label, probability) pairs of each document, without the padding."""
    return [
        [(label, share) for label, share in zip(labels, row, strict=True) if label != PAD]
        for labels, row in zip(ranking.labels.tolist(), ranking.scores.tolist(), strict=True)
    ]
